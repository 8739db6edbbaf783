"""Claims of Do & Tran 2020 about CelebA (appendices A.4.1 and A.18), judged on CelebA.

The models have 65 latents and the weight 50. Tables 6 and 7 show six attributes, from which the text concludes "in general";
here scores are means over all forty, so that no number of the tables stands beside them. MISJED is Table 5's, of 50 bins and a
tenth of the images; that of 100 bins and every image stands beside. "Very far" from the best score is more than four fifths of
the way for RMIG, and half of it for JEMMIG. Section 3.2's order of pairs is judged here too, on dSprites.

Consistency (A.18) is shown in pictures there. Here two runs are as alike as `hackle.metrics.consistency` has it, computed from
the stored codes and informativeness; the claim is that FactorVAE's runs reach 0.7 of the 1 that equal codes have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, below, claims_of, within
from hackle.claims.measures import (
    INFORMATIVE,
    Measure,
    Number,
    between,
    by_run,
    difference,
    difference_of,
    of_arrays,
    ratio_numbers,
    value,
)
from hackle.claims.statistics import Floats, Units, jackknife
from hackle.claims.view import Column, Data, Frame
from hackle.information.ranks import spearman_matrix
from hackle.papers.do2020.claims import (
    BETA_10,
    EQUALLY,
    FACTOR_10,
    INFORMATIVE_CODES,
    LEAST,
    PAPER,
    SEEDS,
    STEADY,
    claim,
    order,
    runs,
)

_FACTOR, _BETA = (runs(method, 50.0, 65, "celeba") for method in ("factor-vae", "beta-vae"))
_AAE = runs("adversarial-autoencoder", 50.0, 65, "celeba")
_MODELS = {"factor": _FACTOR, "beta": _BETA, "aae": _AAE}
_BY_NAME = {"FactorVAE": _FACTOR, "β-VAE": _BETA, "the adversarial autoencoder": _AAE}
_VAES = {name: _BY_NAME[name] for name in ("FactorVAE", "β-VAE")}
STEP = 0.1
"""The least rise of MISJED, in nats, from one kind of pair to the next."""

_NOISE_CODES = of_arrays(lambda array: float((array <= INFORMATIVE).sum()), "informativeness")
_LEAST_TO_MOST = of_arrays(lambda array: float(np.min(array) / max(np.max(array), 1e-12)), "informativeness")
"""The least informativeness of a code as part of the most, of all codes: one without information counts, too."""
_INFORMATIVENESS = (
    claim(
        "aae-codes-equal-celeba",
        "Figure 9",
        "On CelebA all codes of the adversarial autoencoder are equally informative.",
        "least informativeness of a code as part of the most",
        above(EQUALLY, by_run(_LEAST_TO_MOST), _AAE),
    ),
    claim(
        "aae-most-informative-celeba",
        "Figure 9",
        "On CelebA the adversarial autoencoder's codes are more informative than FactorVAE's and β-VAE's.",
        "mean informativeness of the adversarial autoencoder's codes minus that of FactorVAE's or β-VAE's, whichever is "
        "nearer, in nats",
        above(0.0, difference("informativeness_mean"), every={name: (vae, _AAE) for name, vae in _VAES.items()}),
    ),
    claim(
        "noise-codes-celeba",
        "Figure 9",
        "On CelebA some of FactorVAE's and β-VAE's codes are noise without any information.",
        "number of codes without information, in the model that has fewer",
        above(0.5, by_run(_NOISE_CODES), every=_VAES),
    ),
)

_PAIRS = {
    "both informative": ("z1_z2", "z1_z3"),
    "one of noise": ("z1_z-1", "z1_z-2"),
    "both noise": ("z-1_z-2", "z-1_z-3"),
}
_MISJEDS = tuple(f"misjed_{pair}" for pairs in _PAIRS.values() for pair in pairs)
_TOP = "MISJED of the most informative codes"
_WHOLE = "with 100 bins and every image, over the three most informative codes,", difference("whole_misjed_top")


def _of_pairs(rows: Frame, kind: str) -> Column:
    """The mean MISJED of two of Table 5's columns."""
    return rows[[f"misjed_{pair}" for pair in _PAIRS[kind]]].mean(axis=1, skipna=False)


_APART = difference_of(Number(lambda data, rows: _of_pairs(rows, "both informative"), _MISJEDS[:2]))
"""MISJED of the most informative codes under the second condition minus that under the first, as Table 5 has it."""


def _smaller_step(data: Data, rows: Frame) -> Column:
    """The smaller of two rises of MISJED: from two informative codes to one, and from one to none."""
    two, one, none = (_of_pairs(rows, kind).to_numpy(float) for kind in _PAIRS)
    return np.minimum(one - two, none - one)


def _orders_pairs(name: str, where: str, on: str, models: Mapping[str, Condition], **more: Any) -> Claim:
    return claim(
        name,
        where,
        f"On {on} MISJED is lowest for two informative codes, higher if one is noise and highest if both are, in FactorVAE and "
        "β-VAE.",
        "smaller of the two steps of MISJED, in nats, in the model where the claim is weakest",
        above(STEP, by_run(Number(_smaller_step, scores=_MISJEDS)), every=models),
        **more,
    )


_TABLES = (
    claim(
        "misjed-beta-above-aae",
        "Table 5",
        f"β-VAE has a higher {_TOP} on CelebA than the adversarial autoencoder.",
        f"{_TOP}, mean of the pairs z1, z2 and z1, z3, of β-VAE minus that of the adversarial autoencoder, in nats",
        above(LEAST, _APART, _AAE, _BETA),
        paper_effect=0.122 - 0.0225,
        beside=(_WHOLE,),
    ),
    claim(
        "misjed-aae-above-factor",
        "Table 5",
        f"The adversarial autoencoder has a higher {_TOP} on CelebA than FactorVAE.",
        f"{_TOP}, mean of the pairs z1, z2 and z1, z3, of the adversarial autoencoder minus that of FactorVAE, in nats",
        above(0.005, _APART, _FACTOR, _AAE),
        paper_effect=0.0225 - 0.0085,
        beside=(_WHOLE,),
    ),
    _orders_pairs("misjed-orders-pairs", "Section 3.2", "dSprites", {"FactorVAE": FACTOR_10, "β-VAE": BETA_10}),
    _orders_pairs(
        "misjed-orders-pairs-celeba", "Table 5", "CelebA", _VAES, paper_effect=(4.858 + 4.892 - 2.476 - 2.443) / 2
    ),
    *(order(f"rmig-above-{one}-celeba", "Table 6", "rmig", ("factor", one), _MODELS) for one in ("beta", "aae")),
    *(order(f"jemmig-below-{one}-celeba", "Table 7", "jemmig", (one, "factor"), _MODELS) for one in ("beta", "aae")),
    claim(
        "rmig-poor-celeba",
        "Table 6",
        "On CelebA every model's RMIG is very far from 1.",
        "RMIG of the model for which it is highest",
        below(0.2, value("rmig"), every=_BY_NAME),
    ),
    claim(
        "jemmig-poor-celeba",
        "Table 7",
        "On CelebA every model's JEMMIG is very far from 0.",
        "JEMMIG of the model for which it is lowest",
        above(0.5, value("jemmig"), every=_BY_NAME),
    ),
)


def alike(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> float:
    """How alike two models' codes (points, codes) are, each with its informativeness: 1 where they are the same up to order,
    sign and monotone transformations. The score of `hackle.metrics.consistency`."""
    left, right = first[1], second[1]
    # Newer stores keep the codes of more images; the first ones are the same.
    rows = min(len(first[0]), len(second[0]))
    agreement = np.abs(spearman_matrix(first[0][:rows], second[0][:rows], constant=0.0))
    total = left.sum() + right.sum()
    if total <= 0:
        return 0.0
    weighted = (left[:, None] + right) / total * agreement
    return float(weighted[linear_sum_assignment(weighted, maximize=True)].sum())


def _consistency(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The mean similarity of two seeds' codes, jackknifed over seeds."""
    codes, information = data.array("codes"), data.array("informativeness")
    rows = data.rows(conditions[0])
    known = [run for run in rows.index if run in codes and run in information]
    if len(known) < 3:
        return None
    models = [(np.asarray(codes[run], float), np.asarray(information[run], float)) for run in known]
    similarity = np.zeros((len(known), len(known)))
    for i, j in combinations(range(len(known)), 2):
        similarity[i, j] = alike(models[i], models[j])

    def mean(kept: np.ndarray) -> float:
        return float(similarity[np.ix_(kept, kept)].sum() / (len(kept) * (len(kept) - 1) / 2))

    return Units(jackknife(mean, len(known)), 1, span=(0.0, 1.0))


_WIDTH = of_arrays(lambda codes: float(np.asarray(codes, float).std(axis=0).mean()), "codes")
_CHANGE = "of the deviation of a code's means over images, mean over codes"
_LARGER = {f"{latents} latents": (_FACTOR, {**_FACTOR, "latents": latents}) for latents in (100, 200)}
of_appendix = claims_of(PAPER, seeds=SEEDS, study="do2020-appendix")
_CONSISTENCY = (
    of_appendix(
        "aae-codes-narrow",
        "Figure 22",
        "On CelebA the codes of the adversarial autoencoder are narrower with 200 latents than with 65.",
        f"relative change from 65 to 200 latents {_CHANGE}",
        below(-STEADY, between(ratio_numbers, _WIDTH), _AAE, {**_AAE, "latents": 200}),
    ),
    of_appendix(
        "aae-codes-keep-their-width",
        "Figure 22",
        "On CelebA the codes of the adversarial autoencoder are as wide with 100 latents as with 65.",
        f"relative change from 65 to 100 latents {_CHANGE}",
        within(-STEADY, STEADY, between(ratio_numbers, _WIDTH), _AAE, {**_AAE, "latents": 100}),
    ),
    claim(
        "consistent-codes",
        "Appendix A.18",
        "On CelebA FactorVAE learns the same codes with every seed, up to order and sign.",
        "mean similarity of two seeds' codes, of at most 1",
        above(0.7, Measure(_consistency, arrays=("codes", "informativeness")), _FACTOR),
    ),
    of_appendix(
        "consistent-number-of-codes",
        "Appendix A.18",
        "On CelebA FactorVAE learns as many informative codes with 100 and with 200 latents as with 65.",
        "relative change of the number of informative codes, at the number of latents for which the claim is weaker",
        within(-0.2, 0.2, between(ratio_numbers, INFORMATIVE_CODES), every=_LARGER),
    ),
)

CLAIMS: tuple[Claim, ...] = (*_INFORMATIVENESS, *_TABLES, *_CONSISTENCY)
