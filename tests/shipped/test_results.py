"""The results that come with hackle: read by their name, small, complete, and told truly by what is kept beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from benchmarks.choosing import cost_table, of_the_study, over_draws, selection_of, within_methods
from benchmarks.outputs import with_outputs
from benchmarks.reasons import reasons
from benchmarks.replication import replication_page
from benchmarks.ship import DOCS, KEPT, MOST_RESULTS, chance_kept, score_text, verdict_text, write_table
from benchmarks.which_metric import PICTURE, SEES, agreement_matrix, chance_levels, which_metric_page
from website.heat_map import heat_map

import hackle
from hackle.claims import CLAIMS, Judgement, judge
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.explorer.catalogue import Catalogue
from hackle.papers.locatello2019.claims import METRICS
from hackle.shipped import RESULTS, names_of_results, place_of_results
from hackle.store import Store, StoreError, parquet, read
from hackle.store.tables import Outcome, Tables
from made_up_outcomes import made_up, made_up_run

NAME = "hackle-2026"


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read(NAME)


@pytest.fixture(scope="module")
def judged(tables: Tables) -> list[Judgement]:
    # Without claims of files that other tests include in this process.
    return judge(tables, [found.part for found in CLAIMS.found.values() if found.origin == "hackle"])


def test_the_results_are_there_and_small() -> None:
    assert names_of_results() == [NAME]
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    assert sorted(files) == sorted(parquet.files(RESULTS / NAME))
    assert sum(path.stat().st_size for path in files) <= MOST_RESULTS


def test_every_run_is_there_once_and_is_what_was_written() -> None:
    with Store.open(NAME) as store:
        store.check(thorough=True)
        runs = store.runs()
    assert len(runs) >= 467
    assert runs["run"].is_unique
    assert set(runs["status"]) <= {"done", "failed"}
    assert "" not in set(runs.query("status == 'failed'")["reason"])
    codes = read(NAME).array("codes")
    assert len(codes) >= 467
    assert max(len(rows) for rows in codes.values()) == 512


def test_the_name_stands_where_a_folder_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = hackle.results(NAME)
    assert {"ada-gvae", "beta-vae", "factor-vae"} <= set(frame["method"])
    with Store.open(NAME) as store:
        runs = store.runs()
    assert len(Catalogue(NAME).contents.runs) == len(runs)
    assert len(set(frame["run"])) == list(runs["status"]).count("done")
    # A folder of that name is meant before it.
    (tmp_path / NAME).mkdir()
    assert place_of_results(NAME) == Path(NAME)
    with pytest.raises(StoreError, match="hackle-2026 holds no results"):
        hackle.results(NAME)


def test_an_unknown_name_is_told_which_there_are() -> None:
    with pytest.raises(HackleError, match=r"hackle-2025 holds no results.* with hackle come hackle-2026"):
        hackle.results("hackle-2025")


def test_the_explorer_shows_a_shipped_runs_curves_and_record() -> None:
    catalogue = Catalogue(NAME)
    first = catalogue.contents.runs.iloc[0]
    run = first["id"]
    assert len(catalogue.curves(run)["step"]) == 50
    assert catalogue.record(run)["dataset"] == first["dataset"]
    assert catalogue.row(run)["status"] == "scores only"


def test_the_kept_verdicts_are_those_of_the_table(judged: list[Judgement]) -> None:
    """`python -m benchmarks.ship results` writes them anew where claims or runs have changed."""
    assert verdict_text(judged).split() == (KEPT / "verdicts.txt").read_text("utf-8").split()


def test_the_kept_scores_are_those_of_the_table(tables: Tables) -> None:
    assert score_text(tables) == (KEPT / "scores.md").read_text("utf-8")


def test_the_page_on_replication_is_made_of_the_table(tables: Tables, judged: list[Judgement]) -> None:
    """`python -m benchmarks.ship results` writes it anew, too."""
    assert replication_page(tables, judged) == (DOCS / "replication.md").read_text("utf-8")


def test_the_page_on_metrics_and_its_picture_are_made_of_the_table(tables: Tables) -> None:
    assert which_metric_page(tables, chance_kept()) == (DOCS / "which-metric.md").read_text("utf-8")
    picture = (DOCS / PICTURE).read_text("utf-8")
    assert heat_map(agreement_matrix(tables), "rank correlations of metrics") == picture
    assert len(picture.encode()) <= 40_000
    assert all((DOCS / "metrics" / f"{page}.md").is_file() for page, _ in SEES.values())


def test_the_page_on_choosing_tells_what_choosing_costs(tables: Tables) -> None:
    """`python -m benchmarks.choosing` prints all of it."""
    page = (DOCS / "choosing.md").read_text("utf-8")
    told = " ".join(page.split())
    sweep = of_the_study(tables)
    assert f"The {len(sweep.runs)} runs on dSprites" in page
    assert cost_table(selection_of(sweep)) in page
    assert f"UDR's correlation with MIG is {within_methods(sweep)} (`--by-method`)" in told
    correlations, regrets = over_draws(sweep)
    ends = *(f"{end(correlations):.2f}" for end in (min, max)), *(f"{end(regrets):.3f}" for end in (min, max))
    assert "over ten draws of the labels {} to {}, with a regret of {} to {})".format(*ends) in told


def test_the_page_on_results_tells_what_a_run_takes(tables: Tables) -> None:
    page = (DOCS / "results.md").read_text("utf-8")
    runs = len(tables.runs)
    sizes = {path.stem: path.stat().st_size for path in parquet.files(RESULTS / NAME)}
    said = {name: re.findall(rf"^\| `?{name}`? \| ([\d,]+) \|", page, re.MULTILINE) for name in (*sizes, "all")}
    assert said == {name: [f"{size / runs:,.0f}"] for name, size in {**sizes, "all": sum(sizes.values())}.items()}
    assert f"With runs such as these {runs:,}, 2,000 stay" in page
    assert f"2,000 runs: {2_000 * sum(sizes.values()) / runs / 1e6:.0f} MB" in page
    finished = (tables.runs["status"] == "done").sum()
    assert f"{len(tables.scores) / finished:.0f} scores of a finished run" in page
    assert f"in the {tables.per_factor()['run'].nunique()} runs that have it" in page
    more = len(tables.array("correlations"))
    assert f"{more} of the runs also hold" in page
    assert f"the other {finished - more} finished runs" in page


def test_what_is_kept_says_how_alike_settings_are_on_dsprites_with_colour(
    tables: Tables, judged: list[Judgement]
) -> None:
    of = tables.runs["study"].eq("locatello2019")
    scores: Any = tables.scores
    scores = scores[scores["run"].isin(list(tables.runs["run"][of])) & scores["representation"].ne("sampled")]
    scores = scores[scores["metric"].isin(METRICS) & scores["protocol"].eq("locatello2019")]
    found = []
    for rows in (scores, scores[scores["seed"] < 5]):
        medians = rows.groupby(["metric", "dataset", "method", "strength"], observed=True)["score"].median()
        both = medians.unstack("dataset")[["dsprites", "color-dsprites"]].dropna()
        each = [
            part["dsprites"].corr(part["color-dsprites"], "spearman")
            for _, part in both.groupby(level=0, observed=True)
        ]
        found.append(f"{sum(each) / len(METRICS):.2f}")
    (verdict,) = (one.evidence for one in judged if one.claim.id == "locatello2019.transfer-to-color")
    told = " ".join((KEPT / "README.md").read_text("utf-8").split())
    assert f"correlate at {found[0]} (Spearman, mean over six metrics;" in told
    assert f"of seeds 0 to 4 alone, which both have, {found[1]})" in told
    assert f"`transfer-to-color` says {verdict.effect:.2f} [{verdict.low:.2f}, {verdict.high:g}]" in told


def test_runs_of_other_data_sets_change_nothing_that_is_said_of_dsprites(tables: Tables) -> None:
    mine: Any = tables.runs[tables.runs["study"].eq("locatello2019") & tables.runs["dataset"].eq("dsprites")]
    named = {run: f"{run[:-1]}-" for run in mine["run"][:40]}
    scores: Any = tables.scores[tables.scores["run"].isin(list(named))]
    other = {"dataset": "cars3d"}
    renamed = [frame.assign(run=frame["run"].astype(str).map(named), **other) for frame in (mine[:40], scores)]
    renamed[1] = renamed[1].assign(score=-renamed[1]["score"], seconds=1e6, reference=0.5)
    runs, rows = (pd.concat(pair) for pair in zip((tables.runs, tables.scores), renamed, strict=True))
    more = Tables(rows, runs, tables.curve, tables.array, tables.per_factor)
    assert which_metric_page(more, chance_kept()) == (DOCS / "which-metric.md").read_text("utf-8")
    assert reasons(more) == reasons(tables)


def test_the_runs_of_a_claim_are_counted_one_by_one(tables: Tables, judged: list[Judgement]) -> None:
    """Of the claims on bins, whose seeds have different numbers of runs."""
    scores: Any = tables.scores
    scores = scores[scores["metric"].eq("rmig") & scores["protocol"].astype(str).str.match(r"do2020-bins-\d+$")]
    mine = tables.runs[tables.runs["study"].eq("do2020") & tables.runs["method"].isin(["beta-vae", "factor-vae"])]
    scores = scores[scores["run"].isin(list(mine["run"])) & scores["latents"].eq(10)]
    found = [one.evidence.runs for one in judged if one.claim.id.startswith("do2020.rmig-") and "bins" in one.claim.id]
    assert found == [scores["run"].nunique()] * 2


def test_a_page_gets_what_its_blocks_print() -> None:
    """Outputs that leave something out stay as they are, and blocks share what they define."""
    page = "```python\nx = 2\n```\ntext\n\n```python\nprint(x)\n```\n\n```output\n{}\n```\n\n```output\n1 … 3\n```\n"
    assert with_outputs(page.format("1\n1")) == page.format(2)


def test_noise_scores_what_is_kept_as_chance() -> None:
    """`python -m benchmarks.ship chance` computes all of them anew."""
    found = chance_levels(["mig", "modularity", "mcc"])
    assert found == pytest.approx({name: chance_kept()[name] for name in found}, abs=1e-3)
    assert set(found) == {"mig", "modularity", "mcc"}


def test_the_report_of_a_name_goes_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written = []
    monkeypatch.setattr("hackle.report.write_study_page", lambda tables, target, **_: written.append(target))
    main(["report", NAME])
    assert written == [Path(f"{NAME}.html")]
    assert f"{NAME}.html" in capsys.readouterr().out


def test_runs_are_added_to_the_table_and_those_that_failed_are_replaced(tmp_path: Path) -> None:
    def study(name: str, *outcomes: Outcome) -> Path:
        with Store.create_or_open(tmp_path / name) as store:
            for outcome in outcomes:
                store.add(outcome)
        return tmp_path / name

    table = tmp_path / "table"
    write_table(table, [study("first", made_up(0), Outcome(made_up_run(1), "failed", "diverged"))])
    assert sorted(read(table).runs["status"]) == ["done", "failed"]
    write_table(table, [study("second", made_up(1), made_up(2)), study("third", made_up(3))])
    runs = read(table).runs
    assert set(runs["run"]) == {record_hash(made_up_run(number)) for number in range(4)}
    assert set(runs["status"]) == {"done"}
