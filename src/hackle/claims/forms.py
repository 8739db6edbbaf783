"""How the papers' claims are written: the sentence and the effect in words, then the test in one line.

    claim = claims_of("kim2018", seeds=10)

    claim(
        "factor-vae-above-vae",
        "Figure 4",
        "On 2D Shapes FactorVAE disentangles better than a VAE.",
        "FactorVAE score of the best FactorVAE minus that of the VAE",
        above(0.02, best_difference("factor_vae"), VAE, FACTOR),
    )

`above`, `below` and `within` say where the effect lies, `inside` takes a region. The conditions that follow the measure are
one stratum, named after its data set. For several, `mean` or `every` has the conditions of each by name: their mean must lie
there, or every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from hackle.claims.claim import Claim, Region
from hackle.claims.conditions import Condition, several
from hackle.claims.measures import Measure
from hackle.claims.stratum import Stratum

Strata = Mapping[str, Condition | tuple[Condition, ...]]
"""The conditions of strata, by their names."""


def runs(
    method: str | tuple[str, ...], dataset: str | tuple[str, ...], latents: int = 10, **more: Any
) -> dict[str, Any]:
    """The condition of runs of some methods on some data sets, with ten latents if nothing else is said."""
    return {"method": method, "dataset": dataset, "latents": latents, **more}


class Form(NamedTuple):
    """The four fields of a claim that make up its test."""

    region: Region
    measure: Measure
    strata: tuple[Stratum, ...]
    combine: Literal["mean", "every"]


def inside(
    region: Region, measure: Measure, *conditions: Condition, mean: Strata | None = None, every: Strata | None = None
) -> Form:
    """The effect lies in a region."""
    strata = mean or every or {" or ".join(several(conditions[0].get("dataset", "any data set"))): conditions}
    named = tuple(Stratum(name, several(part)) for name, part in strata.items())
    return Form(region, measure, named, "every" if every else "mean")


def above(bound: float, measure: Measure, *conditions: Condition, **strata: Strata) -> Form:
    """The effect lies above a bound."""
    return inside(Region(low=bound), measure, *conditions, **strata)


def below(bound: float, measure: Measure, *conditions: Condition, **strata: Strata) -> Form:
    """The effect lies below a bound."""
    return inside(Region(high=bound), measure, *conditions, **strata)


def within(low: float, high: float, measure: Measure, *conditions: Condition, **strata: Strata) -> Form:
    """The effect lies between two bounds."""
    return inside(Region(low, high), measure, *conditions, **strata)


def claims_of(paper: str, **usual: Any) -> Callable[..., Claim]:
    """What makes the claims of a paper, with the fields that most of them share; see above."""

    def claim(name: str, where: str, statement: str, effect: str, form: Form, **more: Any) -> Claim:
        return Claim(name, paper, where, statement, effect, *form, **{**usual, **more})

    return claim
