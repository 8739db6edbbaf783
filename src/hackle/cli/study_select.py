"""The command `hackle study select`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackle.cli.progress import told
from hackle.cli.words import (
    ResultsDirectory,
    Root,
    count,
    listed,
    not_negative,
    plain_table,
    say,
    table_console,
    writable,
)
from hackle.core.errors import HackleError

if TYPE_CHECKING:
    from hackle.selection import Selection


def select_command(
    directory: ResultsDirectory,
    scores: str | None = None,
    labels: str = "100,1000",
    label_metrics: str = "mig,dci_disentanglement",
    label_seed: int = 0,
    by_method: bool = False,
    cka: bool = False,
    protocol: str | None = None,
    rank: str = "udr",
    top: int = 10,
    csv: Path | None = None,
    overwrite: bool = False,
    root: Root = None,
) -> None:
    """Rank a study's runs without labels (UDR, ELBO, reconstruction, KL, total correlation) and with n labels, and show what
    choosing by each would have cost against the best run. Nothing is trained, and the study is only read.

    Args:
        scores: What runs are judged by, names separated by commas; mig, dci_disentanglement and factor_vae, or those of them
            that the study has, if not given.
        labels: Numbers of labelled images, separated by commas; 0 for none. They are drawn from the images whose codes the
            study keeps.
        label_metrics: What is computed from them: mig, dci_disentanglement, sap.
        label_seed: Which images are labelled.
        by_method: Choose among the runs of each method, not among all of a data set.
        cka: Also rank by linear CKA with other seeds, which does not see how codes are rotated.
        protocol: Protocol of the scores; that of most scores if not given.
        rank: The criterion of the list of best runs below the table.
        top: How many runs that list has; 0 for no list.
        csv: Write every run's criteria and scores to this file.
        overwrite: Replace that file if it is there.
    """
    from hackle.claims.view import View
    from hackle.selection import select
    from hackle.store import read
    from hackle.store.tables import for_spreadsheets

    not_negative(top=top)
    numbers = _whole_numbers(labels)
    if csv is not None:
        writable(csv, overwrite)
    tables = read(directory)
    datasets = View(tables).runs["dataset"].astype(str).unique()
    grids = {name: grid for name in datasets if numbers and (grid := _grid_of(name, root)) is not None}
    with told("ranking") as tell:
        selection = select(
            tables,
            {name: rows for name, (rows, _) in grids.items()},
            kinds={name: kinds for name, (_, kinds) in grids.items()},
            scores=None if scores is None else listed(scores),
            labels=numbers,
            label_metrics=listed(label_metrics),
            label_seed=label_seed,
            by_method=by_method,
            with_cka=cka,
            protocol=protocol,
            tell=tell,
        )
    ranking = selection.ranking(rank)
    runs = View(tables).runs
    described = _described(tables.runs.set_index("run").loc[runs.index])
    _print_choices(selection, described)
    if top and not len(ranking):
        say(f"\nno run has the criterion {rank}; --rank takes another, such as elbo")
    elif top:
        say(f"\nthe best {min(top, len(ranking))} of {count(len(ranking), 'run')} by {rank}:")
        table = plain_table("run", "setting", *ranking, left=2)
        for run, row in zip(ranking.index[:top], ranking.to_numpy(float)[:top], strict=True):
            table.add_row(str(run), described[run], *("" if value != value else f"{value:.3f}" for value in row))
        table_console().print(table)
    for line in selection.lines:
        say(line, "yellow")
    if csv is not None:
        written = runs.join(selection.criteria).join(selection.scores.add_prefix("score_"))
        for_spreadsheets(written.reset_index()).to_csv(csv, index=False)
        say(str(csv))


def _print_choices(selection: Selection, described: dict[str, str]) -> None:
    """A table for each data set, method and score: what each criterion chooses."""
    columns = "criterion", "chooses", "its score", "regret", "rank correlation", "runs without"
    groups: Any = selection.table.groupby(["dataset", "method", "score"], sort=False)
    for (dataset, method, score), part in groups:
        rows = part.to_dict("records")
        runs = count(max(row["runs"] + row["lacking"] for row in rows), "run")
        best, median = max(rows, key=lambda row: row["runs"])["best"], max(rows, key=lambda row: row["runs"])["median"]
        say(f"\n{score} of {runs} of {method or 'all methods'} on {dataset}: best {best:.3f}, median {median:.3f}")
        table = plain_table(*columns, left=2)
        for row in rows:
            correlation = "" if row["correlation"] != row["correlation"] else f"{row['correlation']:.2f}"
            values = f"{row['chosen_score']:.3f}", f"{row['regret']:.3f}", correlation, str(row["lacking"] or "")
            table.add_row(row["criterion"], described[row["chosen"]], *values)
        table_console().print(table)


def _whole_numbers(words: str) -> list[int]:
    """Numbers separated by commas, without zeros."""
    given = listed(words)
    if wrong := [word for word in given if not word.isdigit()]:
        raise HackleError(f"--labels has {wrong[0]!r}; expected whole numbers separated by commas, such as 100,1000")
    return [int(word) for word in given if int(word)]


def _described(runs: Any) -> dict[str, str]:
    """Each run in a few words: method, strength and seed, and whatever else differs between the runs."""
    from hackle.core.design import CONFIGURATION, heading, in_words
    from hackle.store.records import telling_fields

    others = [name for name in CONFIGURATION if name not in ("dataset", "method", "strength")]
    varied = [name for name in others if runs[name].astype(str).nunique() > 1]
    more = telling_fields(runs, [*CONFIGURATION, "steps"])
    described = {}
    for row, extra in zip(runs.reset_index().to_dict("records"), more.to_dict("records"), strict=True):
        strength = "" if row["strength"] != row["strength"] else f" {row['strength']:g}"
        words = [in_words(name, row[name]) for name in varied]
        words += [f"{heading(str(name))} {value}" for name, value in extra.items() if value is not None]
        described[row["run"]] = ", ".join([f"{row['method']}{strength}", *filter(None, words), f"seed {row['seed']}"])
    return described


def _grid_of(name: str, root: Path | None) -> tuple[Any, Any] | None:
    """The factors of the images of a data set whose codes studies keep, and their kinds; None, after a line that says why, if
    they cannot be had."""
    from hackle.core.factors import scored_factors
    from hackle.datasets import load_of_run, needs_trust
    from hackle.scoring.plan import kept_images, values_of

    try:
        if needs_trust(name):
            raise HackleError("it is made by code that this command does not run")
        grid = load_of_run(name, root).factors
    except HackleError as error:
        say(f"{name}: no criteria with labels, since its factors are not known here: {error}", "yellow")
        return None
    columns = scored_factors(grid)
    if not columns:
        say(f"{name}: no criteria with labels, since no factor is observed", "yellow")
        return None
    return values_of(grid, kept_images(grid)), tuple(grid.kinds[column] for column in columns)
