"""What Schott et al.'s claims take of two methods with seeds of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from claims.synthetic import sweep, tables
from hackle.claims import CLAIMS
from hackle.claims.statistics import mean_of
from hackle.papers.schott2022.claims import LOSS, above_loss, inside_gain, weakest

FEW, MANY = np.array([0.001, -0.002, 0.003]), np.array([0.004, 0.006, 0.002, 0.005, 0.003])


def test_the_method_with_the_largest_p_decides_whatever_its_mean() -> None:
    """Three seeds say less than five, though their mean is nearer to 0."""
    found = weakest([MANY, FEW], inside_gain)
    assert found.values == pytest.approx(FEW)
    assert not found.widened
    estimate = mean_of([found])
    margins = [LOSS / 2 - part * np.sign(part.mean()) for part in (MANY, FEW)]
    chances = [t.sf(part.mean() / (part.std(ddof=1) / np.sqrt(len(part))), len(part) - 1) for part in margins]
    assert estimate.chance_below(LOSS / 2) == pytest.approx(max(chances))


def test_seeds_of_one_method_are_not_lost_for_another() -> None:
    many = 0.7 + np.array([0.1, -0.1, 0.05, -0.05, 0.0])
    found = weakest([many, np.array([0.9, 0.91, 0.92])], above_loss)
    assert found.values == pytest.approx(many)
    assert found.runs_per_seed == pytest.approx(8 / 5)


def test_a_method_outside_the_bounds_is_widened_since_it_was_chosen() -> None:
    found = weakest([MANY, -0.2 + FEW], inside_gain)
    assert found.values == pytest.approx(-0.2 + FEW)
    assert found.widened


@pytest.mark.parametrize("seeds", [0, 1])
def test_what_is_said_of_both_needs_both(seeds: int) -> None:
    claim = CLAIMS["schott2022.random-combinations"]
    (stratum,) = (one for one in claim.strata if one.name == "dsprites")
    conditions = dict(stratum.conditions[0])
    designs = [
        *sweep(**{**conditions, "method": "beta-vae"}, seed=range(5)),
        *sweep(**{**conditions, "method": "ada-gvae"}, seed=range(seeds)),
    ]
    evidence = claim.test(tables(designs, lambda run, noise: {"generalisation_loss": 0.001 * noise()}))
    assert evidence.estimate is None
