"""The forms in which papers' claims are written say what the fields of a claim say."""

from __future__ import annotations

from hackle.claims.claim import Claim, Region
from hackle.claims.forms import above, below, claims_of, within
from hackle.claims.measures import difference
from hackle.claims.stratum import Stratum

MIG = difference("mig")
PLAIN, NOISY = ({"method": "vae", "dataset": "dsprites", "correlation": sigma} for sigma in (0.0, 0.9))
IN_3D = {"method": "vae", "dataset": ("shapes3d", "rooms3d")}


def test_a_form_is_the_test_of_a_claim() -> None:
    claim = claims_of("paper", seeds=5)
    found = claim("name", "Figure 1", "sentence", "effect", above(0.1, MIG, PLAIN, NOISY), study="other")
    strata = (Stratum("dsprites", (PLAIN, NOISY)),)
    words = "name", "paper", "Figure 1", "sentence", "effect"
    assert found == Claim(*words, Region(low=0.1), MIG, strata, "mean", seeds=5, study="other")
    assert claim("name", "Figure 1", "sentence", "effect", above(0.1, MIG, PLAIN, NOISY), seeds=3).seeds == 3


def test_bounds_are_regions_and_a_stratum_is_named_after_its_data() -> None:
    assert below(0.2, MIG, IN_3D).region == Region(high=0.2)
    assert within(-0.1, 0.2, MIG, IN_3D).region == Region(-0.1, 0.2)
    assert below(0.2, MIG, IN_3D).strata == (Stratum("shapes3d or rooms3d", (IN_3D,)),)
    assert below(0.2, MIG, {"method": "vae"}).strata[0].name == "any data set"


def test_several_strata_are_judged_by_their_mean_or_one_by_one() -> None:
    both = {"plain": PLAIN, "pair": (PLAIN, NOISY)}
    strata = (Stratum("plain", (PLAIN,)), Stratum("pair", (PLAIN, NOISY)))
    assert above(0.0, MIG, mean=both)[2:] == (strata, "mean")
    assert above(0.0, MIG, every=both)[2:] == (strata, "every")
