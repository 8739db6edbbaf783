"""What metrics need of a data set and a model, and what one of these lacks, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hackle.core.factors import FactorGrid, scored_factors


@dataclass(frozen=True)
class Subject:
    """What decides which metrics apply. grid: the data set's factors; if None (not available), they are assumed to
    satisfy every need except "a continuous factor". codes: how many there are. posteriors, likelihood: whether the
    model has posteriors and a likelihood of images. left_out: whether its training left combinations of factors out.
    autoregressive: whether its latents depend on each other given the image; it then counts as having neither of the two,
    since the metrics that need them take latents to be independent. discrete: whether a code is a class number."""

    grid: FactorGrid | None
    protocol: Any
    codes: int
    posteriors: bool = True
    likelihood: bool = True
    left_out: bool = False
    autoregressive: bool = False
    discrete: bool = False


FactorNeed = Literal["factors", "two factors", "a numeric factor", "an ordered factor", "a continuous factor"]
"""What makes a metric one that compares codes with factors."""
Need = Literal[
    FactorNeed,
    "two codes",
    "posteriors",
    "a likelihood",
    "left-out combinations",
    "interventions",
    "an autoregressive posterior",
    "class numbers",
    "groups of codes",
]


def numeric_factors(grid: FactorGrid, protocol: Any) -> list[int]:
    """The positions, among the scored factors, of those that the protocol's DCI uses."""
    return [
        position
        for position, column in enumerate(scored_factors(grid))
        if not (protocol.dci_skips_categorical and grid.kinds[column] == "categorical")
    ]


def lacks(need: Need, subject: Subject) -> str:
    """What a subject is missing for one need, in words; "" if nothing."""
    grid = subject.grid
    if need == "two codes":
        return "two codes or more (there is one)" if subject.codes < 2 else ""
    if need == "posteriors":
        hint = "posteriors; this encoder gives codes only. One that returns means and logvars has them"
        return "" if subject.posteriors else hint
    if need == "a likelihood":
        return "" if subject.likelihood else "a hackle model whose decoder gives images a likelihood"
    if need == "an autoregressive posterior":
        return "" if subject.autoregressive else "a model whose latents depend on each other given the image"
    if need == "left-out combinations":
        return "" if subject.left_out else "a model whose training left combinations of factors out (drawing.left_out)"
    if need == "class numbers":
        return "" if subject.discrete else "codes that are class numbers (there are none)"
    if need == "groups of codes":
        named = sorted(code for group in subject.protocol.groups for code in group)
        whole = bool(named) and named == list(range(subject.codes))
        return "" if whole else f"groups that name each of the {subject.codes} codes once (groups=, --groups 0,1/2)"
    if need == "a continuous factor":
        kinds = [] if grid is None else [grid.kinds[column] for column in scored_factors(grid)]
        return "" if "continuous" in kinds else "a continuous factor (there is none)"
    if grid is None:
        return ""
    if not scored_factors(grid):
        return "observed factors with more than one value (the data set has none)"
    if need == "two factors" and len(scored_factors(grid)) < 2:
        return "two observed factors with more than one value (the data set has one)"
    if need == "a numeric factor" and not numeric_factors(grid, subject.protocol):
        return (
            "a factor that is not categorical (the data set has none), because the protocol "
            f"{subject.protocol.name} skips categorical ones"
        )
    able = grid.complete or need != "interventions" or any(len(grid.settable(one)) for one in scored_factors(grid))
    if not able:
        return (
            "images that differ in one factor alone, at each of its values (there are none); an encoder scored on a data set "
            "that has every combination of its factors has them"
        )
    # Numbers to correlate with: of factors that are not categorical, or have two values.
    scored = [grid.factors[column] for column in scored_factors(grid)]
    if need == "an ordered factor" and all(one.kind == "categorical" and one.size != 2 for one in scored):
        return "a factor with an order or with two values (the data set has only categorical ones of more)"
    return ""
