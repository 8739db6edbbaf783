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

from hackle.claims.claim import Claim, Region, Stratum
from hackle.claims.measures import INFORMATIVE, Measure, by_run, by_seed, difference, of_arrays, ratio_numbers, value
from hackle.claims.statistics import Floats, Units, jackknife
from hackle.claims.view import Column, Condition, Data, Frame
from hackle.information.ranks import spearman_matrix
from hackle.papers.do2020.claims import (
    BETA_10,
    EQUALLY,
    FACTOR_10,
    LEAST,
    STEADY,
    claim,
    informative_codes,
    order,
    runs,
)

_FACTOR, _BETA = (runs(method, 50.0, 65, "celeba") for method in ("factor-vae", "beta-vae"))
_AAE = runs("adversarial-autoencoder", 50.0, 65, "celeba")
_MODELS = {"factor": _FACTOR, "beta": _BETA, "aae": _AAE}
_BY_NAME = {"FactorVAE": _FACTOR, "β-VAE": _BETA, "the adversarial autoencoder": _AAE}
_VAES = {name: _BY_NAME[name] for name in ("FactorVAE", "β-VAE")}
_INFORMATION = ("informativeness",)
STEP = 0.1
"""The least rise of MISJED, in nats, from one kind of pair to the next."""


def _noise_codes(data: Data, rows: Frame) -> Column:
    return of_arrays(data, rows, lambda array: float((array <= INFORMATIVE).sum()), *_INFORMATION)


def _least_to_most(data: Data, rows: Frame) -> Column:
    """The least informativeness of a code as part of the most, of all codes: one without information counts, too."""
    return of_arrays(data, rows, lambda array: float(np.min(array) / max(np.max(array), 1e-12)), *_INFORMATION)


_INFORMATIVENESS = (
    claim(
        "aae-codes-equal-celeba",
        "Figure 9",
        "On CelebA all codes of the adversarial autoencoder are equally informative.",
        "least informativeness of a code as part of the most",
        Region(low=EQUALLY),
        by_run(_least_to_most, arrays=_INFORMATION),
        _AAE,
    ),
    claim(
        "aae-most-informative-celeba",
        "Figure 9",
        "On CelebA the adversarial autoencoder's codes are more informative than FactorVAE's and β-VAE's.",
        "mean informativeness of the adversarial autoencoder's codes minus that of FactorVAE's or β-VAE's, whichever is "
        "nearer, in nats",
        Region(low=0.0),
        difference("informativeness_mean"),
        strata=tuple(Stratum(name, (condition, _AAE)) for name, condition in _VAES.items()),
        combine="every",
    ),
    claim(
        "noise-codes-celeba",
        "Figure 9",
        "On CelebA some of FactorVAE's and β-VAE's codes are noise without any information.",
        "number of codes without information, in the model that has fewer",
        Region(low=0.5),
        by_run(_noise_codes, arrays=_INFORMATION),
        strata=tuple(Stratum(name, (condition,)) for name, condition in _VAES.items()),
        combine="every",
    ),
)

_PAIRS = {
    "both informative": ("z1_z2", "z1_z3"),
    "one of noise": ("z1_z-1", "z1_z-2"),
    "both noise": ("z-1_z-2", "z-1_z-3"),
}
_MISJEDS = tuple(f"misjed_{pair}" for pairs in _PAIRS.values() for pair in pairs)
_TOP, _WHOLE = (
    "MISJED of the most informative codes",
    "with 100 bins and every image, over the three most informative codes,",
)


def _of_pairs(rows: Frame, kind: str) -> Column:
    """The mean MISJED of two of Table 5's columns."""
    return rows[[f"misjed_{pair}" for pair in _PAIRS[kind]]].mean(axis=1, skipna=False)


def _misjed_apart(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """MISJED of the most informative codes under the second condition minus that under the first, as Table 5 has it."""
    parts = [rows.assign(top=_of_pairs(rows, "both informative")) for rows in data.matched(conditions, _MISJEDS[:2])]
    sides = [by_seed(rows, rows["top"]) for rows in parts]
    seeds = sides[0].index.intersection(sides[1].index)
    return Units((sides[1][seeds] - sides[0][seeds]).to_numpy(), 2) if len(seeds) else None


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
        "smaller of the two steps of MISJED, in nats, in the model where it is smaller",
        Region(low=STEP),
        by_run(_smaller_step, scores=_MISJEDS),
        strata=tuple(Stratum(title, (condition,)) for title, condition in models.items()),
        combine="every",
        **more,
    )


_APART = Measure(_misjed_apart, _MISJEDS[:2])
_TABLES = (
    *(
        claim(
            name,
            "Table 5",
            f"{title} has a higher {_TOP} on CelebA than {other}.",
            f"{_TOP}, mean of the pairs z1, z2 and z1, z3, of {title.replace('The', 'the')} minus that of {other}, in nats",
            Region(low=least),
            _APART,
            *conditions,
            paper_effect=printed,
            beside=((_WHOLE, difference("whole_misjed_top")),),
        )
        for name, title, other, conditions, least, printed in (
            *(("misjed-beta-above-aae", "β-VAE", "the adversarial autoencoder", (_AAE, _BETA), LEAST, 0.122 - 0.0225),),
            *(
                (
                    "misjed-aae-above-factor",
                    "The adversarial autoencoder",
                    "FactorVAE",
                    (_FACTOR, _AAE),
                    0.005,
                    0.0225 - 0.0085,
                ),
            ),
        )
    ),
    _orders_pairs("misjed-orders-pairs", "Section 3.2", "dSprites", {"FactorVAE": FACTOR_10, "β-VAE": BETA_10}),
    _orders_pairs(
        "misjed-orders-pairs-celeba", "Table 5", "CelebA", _VAES, paper_effect=(4.858 + 4.892 - 2.476 - 2.443) / 2
    ),
    *(
        order(f"rmig-above-{one}-celeba", "Table 6", "RMIG", "rmig", ("factor", one), _MODELS)
        for one in ("beta", "aae")
    ),
    *(
        order(f"jemmig-below-{one}-celeba", "Table 7", "JEMMIG", "jemmig", (one, "factor"), _MODELS)
        for one in ("beta", "aae")
    ),
    *(
        claim(
            f"{score}-poor-celeba",
            where,
            f"On CelebA every model's {score.upper()} is very far from {best}.",
            f"{score.upper()} of the model for which it is {nearest}",
            region,
            value(score),
            strata=tuple(Stratum(name, (condition,)) for name, condition in _BY_NAME.items()),
            combine="every",
        )
        for score, where, best, nearest, region in (
            ("rmig", "Table 6", 1, "highest", Region(high=0.2)),
            ("jemmig", "Table 7", 0, "lowest", Region(low=0.5)),
        )
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


def _number_of_codes(data: Data, conditions: Sequence[Condition]) -> Units | None:
    sides = []
    for condition in conditions:
        rows = data.rows(condition)
        counts = np.asarray(informative_codes(data, rows), float)
        known = np.isfinite(counts)
        sides.append(by_seed(rows[known], counts[known]))
    seeds = sides[0].index.intersection(sides[1].index)
    if seeds.empty or sides[0][seeds].mean() == 0:
        return None
    return Units(ratio_numbers(sides[0][seeds].to_numpy(), sides[1][seeds].to_numpy()), 2)


def _width(codes: Any) -> float:
    """The mean over codes of the deviation of a code's means over images."""
    return float(np.asarray(codes, float).std(axis=0).mean())


def _change_of_width(data: Data, conditions: Sequence[Condition]) -> Units | None:
    sides = []
    for rows in map(data.rows, conditions):
        found = of_arrays(data, rows, _width, "codes")
        sides.append(by_seed(rows[np.isfinite(found)], found[np.isfinite(found)]))
    seeds = sides[0].index.intersection(sides[1].index)
    return Units(ratio_numbers(*(side[seeds].to_numpy() for side in sides)), 2) if len(seeds) else None


_WIDTH = Measure(_change_of_width, arrays=("codes",))
_NARROWING = tuple(
    claim(
        name,
        "Figure 22",
        statement,
        f"relative change from 65 to {latents} latents of the deviation of a code's means over images, mean over codes",
        region,
        _WIDTH,
        _AAE,
        {**_AAE, "latents": latents},
        study="do2020-appendix",
    )
    for name, latents, statement, region in (
        (
            "aae-codes-narrow",
            200,
            "On CelebA the codes of the adversarial autoencoder are narrower with 200 latents than with 65.",
            Region(high=-STEADY),
        ),
        (
            "aae-codes-keep-their-width",
            100,
            "On CelebA the codes of the adversarial autoencoder are as wide with 100 latents as with 65.",
            Region(-STEADY, STEADY),
        ),
    )
)
_CONSISTENCY = (
    claim(
        "consistent-codes",
        "Appendix A.18",
        "On CelebA FactorVAE learns the same codes with every seed, up to order and sign.",
        "mean similarity of two seeds' codes, of at most 1",
        Region(low=0.7),
        Measure(_consistency, arrays=("codes", "informativeness")),
        _FACTOR,
    ),
    claim(
        "consistent-number-of-codes",
        "Appendix A.18",
        "On CelebA FactorVAE learns as many informative codes with 100 and with 200 latents as with 65.",
        "relative change of the number of informative codes, at the number of latents for which the claim is weaker",
        Region(-0.2, 0.2),
        Measure(_number_of_codes, arrays=_INFORMATION),
        strata=tuple(
            Stratum(f"{latents} latents", (_FACTOR, runs("factor-vae", 50.0, latents, "celeba")))
            for latents in (100, 200)
        ),
        combine="every",
        study="do2020-appendix",
    ),
)

CLAIMS: tuple[Claim, ...] = (*_INFORMATIVENESS, *_TABLES, *_NARROWING, *_CONSISTENCY)
