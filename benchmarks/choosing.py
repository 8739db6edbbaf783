"""What docs/choosing.md says of the runs of Locatello et al.'s study on dSprites in the table hackle-2026.

    python -m benchmarks.choosing      # half a minute: prints the page's table and the numbers of its sentences

`hackle study select hackle-2026` ranks all runs of a data set together, those of other studies, too; here are those of one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.reasons.runs import DATA, STUDY
from hackle.core.factors import scored_factors
from hackle.datasets import load
from hackle.figures.words import METHODS
from hackle.scoring.plan import kept_images, values_of
from hackle.selection import Selection, choose, label_scores, select
from hackle.store import read
from hackle.store.tables import Tables

SCORES = ("mig", "dci_disentanglement", "factor_vae")
FEW, DRAWS = 100, 10
"""How many labels the page calls few, and how many times it draws them."""


def of_the_study(tables: Tables) -> Tables:
    """The runs of the study on dSprites alone."""
    runs: Any = tables.runs
    runs = runs[runs["study"].eq(STUDY) & runs["dataset"].eq(DATA) & runs["status"].eq("done")]
    scores: Any = tables.scores
    return replace(tables, runs=runs, scores=scores[scores["run"].isin(list(runs["run"]))])


def selection_of(tables: Tables) -> Selection:
    """The choice among all runs, with labels."""
    factors, kinds = _labels()
    return select(tables, {DATA: factors}, kinds={DATA: kinds})


def cost_table(selection: Selection) -> str:
    """A row for each criterion: its rank correlation with each score, and its regret in each."""
    table: Any = selection.table.set_index(["criterion", "score"])
    rows = []
    for name in dict.fromkeys(selection.table["criterion"]):
        correlations = [_signed(table.at[(name, score), "correlation"]) for score in SCORES]
        regrets = [f"{table.at[(name, score), 'regret']:.3f}" for score in SCORES]
        rows.append(f"| `{name}` | {' | '.join([*correlations, *regrets])} |")
    scores = [selection.scores[name].dropna() for name in SCORES]
    ends = [f"{one.max():.3f}; {one.median():.3f}" for one in scores]
    return "\n".join([*rows, f"| best; median | | | | {' | '.join(ends)} |"])


def within_methods(tables: Tables) -> str:
    """UDR's rank correlation with MIG among the runs of each method, highest first."""
    table: Any = select(tables, scores=["mig"], labels=(), by_method=True).table.query("criterion == 'udr'")
    ordered = table.sort_values("correlation", ascending=False)
    said = [
        f"{_signed(number)} for {METHODS[method]}"
        for method, number in zip(ordered["method"], ordered["correlation"], strict=True)
    ]
    return f"{', '.join(said[:-1])} and {said[-1]}"


def over_draws(tables: Tables) -> tuple[list[float], list[float]]:
    """Rank correlation with MIG, and regret in it, of MIG from a few labels, for each of ten draws of the labels."""
    factors, kinds = _labels()
    scores: Any = tables.scores
    scores = scores[
        scores["metric"].eq("mig") & scores["representation"].eq("mean") & scores["protocol"].eq("locatello2019")
    ]
    mig = scores.set_index("run")["score"]
    codes = {run: rows for run, rows in tables.array("codes").items() if run in mig.index}
    found = []
    for seed in range(DRAWS):
        few = label_scores(codes, factors, FEW, seed=seed, metrics=["mig"], kinds=kinds)["mig"]
        choice = choose(few, mig)
        assert choice is not None
        found.append(choice)
    return [one.correlation for one in found], [one.regret for one in found]


def _labels() -> tuple[Any, Any]:
    """The factors of the images whose codes are kept, and their kinds, as `hackle study select` takes them."""
    grid = load(DATA).factors
    return values_of(grid, kept_images(grid)), tuple(grid.kinds[column] for column in scored_factors(grid))


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")


def main() -> None:
    tables = of_the_study(read("hackle-2026"))
    selection = selection_of(tables)
    print(f"{len(tables.runs)} runs")
    print(cost_table(selection))
    chosen: Any = tables.runs.set_index("run")
    for _, row in selection.table.query("score == 'mig'").iterrows():
        run, lacking = chosen.loc[row["chosen"]], row["lacking"]
        print(
            f"{row['criterion']} chooses {run['method']} {run['strength']:g}, seed {run['seed']}; {lacking} runs lack it"
        )
    print(f"UDR and MIG within a method: {within_methods(tables)}")
    correlations, regrets = over_draws(tables)
    print(f"MIG from {FEW} labels, {DRAWS} draws: correlation {min(correlations):.2f} to {max(correlations):.2f}")
    print(f"regret {min(regrets):.3f} to {max(regrets):.3f}")


if __name__ == "__main__":
    main()
