"""The table that says, for each criterion, how well it ranks the runs and what choosing by it would have cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from hackle.claims.view import View
from hackle.core.columns import Kinds
from hackle.core.errors import HackleError
from hackle.core.parts import nearest
from hackle.selection.choice import choose
from hackle.selection.criteria import (
    LABEL_METRICS,
    STORED,
    Arrays,
    kl_of_runs,
    label_scores,
    same_rows,
    stored_scores,
    udr_of_runs,
)
from hackle.store.tables import Tables

Frame = Any
MAIN = ("mig", "dci_disentanglement", "factor_vae")
"""The scores that choices are judged by unless others are named."""
SELECTION_COLUMNS = (
    *("dataset", "method", "score", "criterion", "labels", "runs", "lacking", "correlation", "chosen"),
    *("chosen_score", "best", "median", "regret"),
)
"""The columns of `Selection.table`."""


@dataclass(frozen=True)
class Selection:
    """What choosing among a study's runs by each criterion costs.

    table: a row for each data set (and method), score and criterion, with `SELECTION_COLUMNS`; `method` is empty where runs
    of all methods are compared, `labels` is how many images' labels the criterion uses, and `lacking` how many runs with the
    score lack the criterion.

    criteria: a row for each run; `udr_a2a` compares a run with all that it competes with. scores: the test scores.
    signs: 1 or −1 by criterion, as higher or lower is better. lines: sentences on what was lacking.
    """

    table: pd.DataFrame
    criteria: pd.DataFrame
    scores: pd.DataFrame
    signs: Mapping[str, int]
    lines: tuple[str, ...]

    def ranking(self, criterion: str) -> pd.DataFrame:
        """The runs that have a criterion, best first: its value and the test scores."""
        if criterion not in self.criteria:
            raise HackleError(f"no criterion {criterion!r}; there are {', '.join(self.criteria)}")
        column: Frame = self.criteria[criterion].dropna()
        order = (-self.signs.get(criterion, 1) * column).sort_values(kind="stable").index
        return pd.concat([column[order], self.scores.loc[order]], axis=1)


def select(
    tables: Tables,
    factors: Mapping[str, NDArray[Any]] | None = None,
    *,
    scores: Sequence[str] | None = None,
    labels: Sequence[int] = (100, 1_000),
    label_metrics: Sequence[str] = ("mig", "dci_disentanglement"),
    label_seed: int = 0,
    by_method: bool = False,
    with_cka: bool = False,
    protocol: str | None = None,
    kinds: Mapping[str, Kinds] | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Selection:
    """What choosing among a study's runs by each criterion would have cost, judged by the scores named, or by those of the
    three usual ones that there are.

    tables: of `hackle.store.read`. factors: by data set, the factors (N, f) of the images whose codes are stored
    (`hackle.scoring.plan.kept_images`), for criteria with labels; kinds: theirs. labels: how many images are labelled; a
    number above those stored becomes theirs. label_metrics: of `LABEL_METRICS`. label_seed: which images. by_method: runs of
    each method are compared among themselves, not with those of others. with_cka: also the median CKA with other seeds.
    protocol: of the scores; by default that of most scores. tell: called with the runs done and in all, once for each of
    the criteria that take time.
    """
    view = View(tables)
    data, runs = view.of(""), view.runs
    for name in label_metrics:
        if name not in LABEL_METRICS:
            raise HackleError(f"no metric {name!r} of few labels; {nearest(name, LABEL_METRICS)}")
    judged: Frame = stored_scores(data, MAIN if scores is None else scores, protocol)
    missing = [name for name in judged if judged[name].isna().all()]
    if scores is None and len(missing) < len(MAIN):
        judged, missing = judged.drop(columns=missing), []
    if missing:
        known = sorted({name.partition("/")[0] for one in view.protocols for name in view.scores(one)})
        raise HackleError(f"no finished run has the score {missing[0]}; there are {', '.join(known) or 'none'}")
    pools = [part for _, part in runs.groupby(["dataset", "method"] if by_method else ["dataset"], observed=True)]
    codes, kls = view.array("codes"), kl_of_runs(view)
    lines = _lacking(runs, codes, kls)
    rounds = 3 + with_cka + (len(set(labels)) if factors else 0)
    counted = _Count(tell, rounds * sum(run in codes for run in runs.index))
    criteria: Frame = pd.concat(
        [_agreements(part, codes, kls, pools, with_cka, counted.one) for _, part in _by_dataset(runs)]
    )
    criteria = criteria.reindex(runs.index).assign(
        **{name: data.scored(one, protocol) for name, (one, _) in STORED.items()}
    )
    used = dict.fromkeys(criteria, 0)
    for dataset, part in _by_dataset(runs):
        here = same_rows({run: codes[run] for run in part.index if run in codes})
        if not here or dataset not in (factors or {}):
            continue
        rows = (factors or {})[dataset]
        stored = min(len(rows), len(next(iter(here.values()))))
        for number in dict.fromkeys(min(count, stored) for count in labels):
            kind = (kinds or {}).get(dataset, "categorical")
            options: dict[str, Any] = {"seed": label_seed, "metrics": label_metrics, "kinds": kind}
            by_labels = label_scores(here, rows, number, **options, tell=counted.one)
            for name in label_metrics:
                used[f"{name}@{number}"] = number
                criteria.loc[by_labels.index, f"{name}@{number}"] = by_labels[name]
        if short := " and ".join(f"{count:,}" for count in labels if count > stored):
            lines.append(
                f"{dataset}: codes of {stored:,} images are stored, too few for {short} labels: all are used instead"
            )
    better = dict(zip(tables.scores["metric"].astype(str), tables.scores["better"].astype(str), strict=True))
    signs = {name: sign for name, (_, sign) in STORED.items()}
    table = []
    for part in pools:
        for score, name in product(judged, criteria):
            own, test = criteria.loc[part.index, name], judged.loc[part.index, score]
            sign = -1 if better.get(score.partition("/")[0]) == "lower" else 1
            choice = choose(own, test, sign=signs.get(name, 1), score_sign=sign)
            if choice is not None:
                head = (
                    str(part["dataset"].iloc[0]),
                    str(part["method"].iloc[0]) if by_method else "",
                    score,
                    name,
                    used[name],
                )
                table.append((*head, choice.runs, int(test.notna().sum()) - choice.runs, *choice[1:]))
    return Selection(pd.DataFrame(table, columns=list(SELECTION_COLUMNS)), criteria, judged, signs, tuple(lines))


@dataclass
class _Count:
    """Counts what is done for whoever watches."""

    tell: Callable[[int, int], None]
    total: int
    done: int = 0

    def one(self) -> None:
        self.done += 1
        self.tell(self.done, self.total)


def _by_dataset(runs: Frame) -> list[tuple[str, Frame]]:
    return [(str(name), part) for name, part in runs.groupby("dataset", observed=True)]


def _agreements(
    runs: Frame, codes: Arrays, kls: Arrays, pools: Sequence[Frame], with_cka: bool, tell: Callable[[], None]
) -> pd.DataFrame:
    """How well the runs of one data set agree: with other seeds of their setting, and with all runs that they compete with."""
    settings = runs["setting"].to_dict()
    together = {run: number for number, part in enumerate(pools) for run in part.index if run in settings}
    columns = {
        "udr": udr_of_runs(codes, kls, settings, tell=tell),
        "udr_spearman": udr_of_runs(codes, kls, settings, similarity="spearman", tell=tell),
        "udr_a2a": udr_of_runs(codes, kls, together, tell=tell),
    }
    if with_cka:
        columns["cka"] = udr_of_runs(codes, kls, settings, agreement="cka", tell=tell)
    return pd.DataFrame(columns, index=runs.index)


def _lacking(runs: Frame, codes: Mapping[str, NDArray], kls: Mapping[str, NDArray]) -> list[str]:
    """Sentences on runs that UDR leaves out."""
    lines = []
    for what, known in (("codes", codes), ("KLs per latent", kls)):
        if count := sum(run not in known for run in runs.index):
            lines.append(f"{count:,} of {len(runs):,} runs have no stored {what}: UDR leaves them out")
    if alone := int((runs.groupby("setting")["setting"].transform("size") < 2).sum()):
        lines.append(f"{alone:,} of {len(runs):,} runs are the only seed of their setting and have no UDR")
    return lines
