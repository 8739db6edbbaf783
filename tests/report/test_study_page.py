"""The page of a study: self-contained, complete, and working in a browser."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from figures import tables as made
from hackle.claims import CLAIMS, Judgement, as_frame, judge
from hackle.claims.reasons import chance_in_words
from hackle.core.design import USUAL, heading
from hackle.core.papers import PAPERS
from hackle.core.records import to_json
from hackle.core.types import Adam
from hackle.figures import FIGURES, Chart, Comparison, Panel, words
from hackle.objectives import AnnealedVAE
from hackle.report import ReportError, write_study_page
from hackle.report.html import render
from hackle.report.own_studies import MOST_SETTINGS, own_studies
from hackle.report.setting_names import setting_names
from hackle.report.study_page import drawing
from hackle.report.study_scores import SETTING, score_data
from hackle.report.study_sections import Figure, missing_seeds, protocols
from hackle.store.tables import RUN_COLUMNS, SCORE_COLUMNS, Tables
from hackle.studies.presets import default_run


@pytest.fixture(scope="module")
def verdicts(judged: list[Judgement]) -> pd.DataFrame:
    return as_frame(judged)


def one_claim(tables: Tables) -> list[Judgement]:
    """For pages of whose claims a test says nothing: one is judged, in place of hundreds."""
    return judge(tables, [CLAIMS["yang2020.mig-vae-10-dsprites"]])


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a page says: its drawings, which take most of its time, are empty."""
    monkeypatch.setattr("hackle.report.study_page.svg", lambda chart, name: "<svg></svg>")


def written(page: Path) -> str:
    """What a page says, without the line breaks between its tags."""
    return re.sub(r">\s+<", "><", page.read_text(encoding="utf-8"))


class Tags(HTMLParser):
    """Every tag with its attributes, and whether opening and closing tags match."""

    VOID = ("meta", "link", "img", "input", "br")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_needs_nothing_but_itself(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    for tag, attributes in tags.found:
        for name in ("src", "href", "xlink:href", "action"):
            target = attributes.get(name)
            # Papers are linked to; nothing is loaded from there.
            paper = tag == "a" and target in {paper.address for paper in PAPERS.values()}
            assert target is None or target.startswith(("#", "data:")) or paper, (tag, target)
    assert not re.search(r"url\((?!#|data:)", text)
    assert "@import" not in text
    ids = [attributes["id"] for _, attributes in tags.found if attributes.get("id")]
    assert len(ids) == len(set(ids))
    links = {str(attributes["href"]) for tag, attributes in tags.found if tag == "a"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert {paper.address for paper in PAPERS.values()} - {""} <= links


def test_every_figure_is_drawn_or_listed_as_lacking(page: Path, study: Tables) -> None:
    text = written(page)
    made = re.search(r'<p class="made">Written on (.*?) by hackle', text)
    assert made is not None
    now, day = datetime.now(UTC), datetime.strptime(made[1], "%d %B %Y").replace(tzinfo=UTC)
    assert timedelta(0) <= now - day < timedelta(days=1, hours=1)
    assert not made[1].startswith("0")
    for name, item in FIGURES.items():
        if item(study, judged={}).panels:
            assert f'<section class="exhibit" id="{name}">' in text
        else:
            assert f"{item.number}. {item.title}" in text.replace("&#39;", "'").replace("&amp;", "&")
    assert text.count("hackle study run locatello2019") >= 14


def fate(row: Any) -> str:
    return row["verdict"] if row["runs"] else "no runs"


def test_every_claim_has_its_verdict(page: Path, verdicts: pd.DataFrame) -> None:
    text = written(page)
    for row in verdicts.to_dict("records"):
        assert f'<details id="claim-{row["claim"]}" data-verdict="{fate(row)}">' in text
    counts = Counter(fate(row) for row in verdicts.to_dict("records"))
    assert 0 < int(counts["undecided"]) < int(counts["no runs"])
    for name in ("holds", "does not hold", "undecided", "no runs"):
        assert re.search(rf'data-verdict-filter="{name}">.*?</span> {counts.get(name, 0)}</button>', text)


def test_a_claims_number_is_explained(page: Path, verdicts: pd.DataFrame) -> None:
    text = written(page)
    claims = text[text.index('id="claims"') : text.index('id="figures"')]
    assert 0 < claims.index("95% interval") < claims.index("<details id=")
    assert claims.index("p ≤ 0.05 after Holm") < claims.index("<details id=")
    (row,) = [row for row in verdicts.to_dict("records") if row["claim"] == "yang2020.mig-vae-10-dsprites"]
    line = re.findall(r'<details id="claim-yang2020.mig-vae-10-dsprites".*?<summary>(.*?)</summary>', claims)[0]
    assert f"<small>{row['effect']}</small>" in line
    assert f"<small>claimed {row['claimed']}</small>" in line
    known = f"{row['runs']} runs, {row['strata']} of {words.counted(row['strata_claimed'], 'stratum', 'strata')}"
    assert f"<small>{html.escape(chance_in_words(row['chance']))} corrected</small><small>{known}</small>" in line
    assert f'<small class="why">{html.escape(row["why"])}</small>' in line


def test_a_claim_shows_that_it_opens(opened: Any) -> None:
    marker = "getComputedStyle(document.querySelector('.claims details > summary'), '::before').content"
    assert opened.evaluate(marker) == '"▸"'
    opened.click(".claims details > summary >> nth=0")
    assert opened.evaluate(marker) == '"▾"'


def test_claims_without_runs_are_folded_and_own_papers_come_first(
    page: Path, study: Tables, verdicts: pd.DataFrame
) -> None:
    text = written(page)
    untested = set(verdicts.loc[verdicts["runs"] == 0, "claim"])
    assert 0 < len(untested) < len(verdicts)
    folds = re.findall(r'<details class="absent untested"><summary>(.*?)</summary>(.*?)</div></details>', text)
    assert {name for _, fold in folds for name in re.findall(r'id="claim-([^"]+)"', fold)} == untested
    assert sum(int(count.split()[0]) for count, _ in folds) == len(untested)
    papers = re.findall(r'<h3 class="paper" id="([^"]+)">', text)
    own = set(study.runs["study"]).intersection(papers)
    assert own
    assert set(papers[: len(own)]) == own


def test_failed_and_missing_runs_are_shown(page: Path, study: Tables) -> None:
    text = written(page)
    assert "step 812: &lt;kl&gt; is not finite" in text
    assert missing_seeds(study) == [("VAE on dSprites, 10 latents", 2, 3)]


def test_the_score_table_holds_every_score(study: Tables) -> None:
    data = score_data(study)
    assert len(data["runs"]) == study.scores["run"].nunique()
    assert sum(value is not None for run in data["runs"] for value in run[3]) == len(study.scores)
    at = data["columns"].index("mig, sampled")
    row = study.scores[(study.scores["metric"] == "mig") & (study.scores["representation"] == "sampled")].iloc[5]
    found = next(run for run in data["runs"] if run[2] == row["run"])
    assert found[3][at] == pytest.approx(row["score"], rel=1e-3)
    setting = dict(zip(data["names"], data["settings"][found[0]], strict=True))
    assert setting["method"] == row["method"]
    assert setting["latents"] == row["latents"]
    assert data["names"] == ["data set", "method", "strength", "architecture", "latents", "σ", "steps"]


def test_the_protocol_of_the_scores_is_named(page: Path, study: Tables) -> None:
    text = written(page)
    head, _, scores = text.partition('<h2 id="scores">')
    assert "Scored by the protocol yang2020." in head
    assert "Scored by the protocol yang2020." in scores
    several = [study.scores.head(10 - index).assign(protocol=f"p{index}") for index in range(6)]
    mixed = replace(study, scores=pd.concat(several))
    assert protocols(mixed) == "Scored by the protocols p0, p1, p2 and 3 more."
    names = ("locatello2019", "do2020", "do2020-bins-10", "do2020-bins-20", "kim2018-pairs-100-iterations-1000@0")
    several = [study.scores.head(10 - at).assign(protocol=name) for at, name in enumerate(names)]
    told = "Scored by the protocols locatello2019, do2020 and kim2018 (3 variants of them included)."
    assert protocols(replace(study, scores=pd.concat(several))) == told
    assert protocols(replace(study, scores=several[2])) == "Scored by the protocol do2020 (1 variant of it included)."


def own_runs() -> list[dict[str, Any]]:
    """Two seeds each of a warm-up by thresholds and learning rates, as columns show it: one setting. One run failed."""
    rows = []
    for threshold, rate, seed in product((1_000, 5_000, 20_000), (1e-3, 1e-4), range(2)):
        run = replace(default_run("annealed-vae", "rooms3d"), seed=seed, steps=1000)
        run = replace(run, method=AnnealedVAE(iteration_threshold=threshold), optimiser=Adam(learning_rate=rate))
        (row,) = made.settings(dataset="rooms3d", method="annealed-vae", strength=25.0, seed=seed, study="mine.py:warm")
        rows.append({**row, "record": json.dumps(to_json(run))})
    rows[3] |= {"status": "failed", "reason": "step 7: kl is not finite"}
    return rows


@pytest.mark.usefixtures("undrawn")
def test_settings_are_told_apart_by_whole_records(tmp_path: Path) -> None:
    mine = made.tables(own_runs(), protocols=("locatello2019",), codes=("mig",), posterior=("kl",))
    data = score_data(mine)
    # No run has correlated noise, which is named only where one has.
    named = [heading(name) for name in SETTING if name not in USUAL]
    assert data["names"] == [*named, "iteration threshold", "learning rate"]
    assert [row[-2:] for row in data["settings"]] == [[t, r] for t in (1000, 5000, 20000) for r in (1e-3, 1e-4)]
    assert np.bincount([run[0] for run in data["runs"]]).tolist() == [2, 1, 2, 2, 2, 2]
    text = written(write_study_page(mine, tmp_path / "page.html", judged=one_claim(mine), papers=["yang2020"]))
    assert "<b>6</b><span>settings</span>" in text
    name = "AnnealedVAE C = 25 on rooms3d, 10 latents, iteration threshold 1000, learning rate 0.0001"
    assert missing_seeds(mine) == [(name.replace("rooms3d", "Rooms3D"), 1, 2)]
    assert text.count(f"<td>{name.replace('rooms3d', 'Rooms3D')}</td>") == 2


@pytest.mark.usefixtures("undrawn")
def test_a_study_of_ones_own_is_drawn_and_papers_without_runs_are_folded(tmp_path: Path) -> None:
    mine = made.tables(own_runs(), protocols=("locatello2019",), codes=("mig", "sap"), posterior=("kl", "elbo"))
    ((drawing_of_mine, chart),) = own_studies(mine)
    assert [panel.y.label for panel in chart.panels] == ["MIG", "SAP", "KL to the prior (nats)"]
    (panel, *_) = chart.panels
    assert panel.x.label == "iteration threshold, learning rate"
    assert panel.x.ticks == tuple(f"{t}, {r}" for t in (1000, 5000, 20000) for r in (0.001, 0.0001))
    scores = mine.scores[(mine.scores["metric"] == "mig") & (mine.scores["representation"] == "mean")]
    np.testing.assert_allclose(np.sort(panel.points["y"]), np.sort(scores["score"]))
    assert panel.summary["n"].tolist() == [2, 1, 2, 2, 2, 2]
    judged = judge(mine)
    told: list[tuple[int, int]] = []
    tell = lambda done, total: told.append((done, total))  # noqa: E731
    text = written(write_study_page(mine, tmp_path / "page.html", judged=judged, tell=tell))
    assert {total for _, total in told} == {2 * len(FIGURES) + 1}
    assert told == sorted(told)
    assert told[-1] == (told[0][1], told[0][1])
    assert f'<section class="exhibit" id="{drawing_of_mine.id}"><h3>Study mine.py:warm. Scores by setting</h3>' in text
    drawn = {item.paper for item in FIGURES.values() if item(mine, judged={}).panels}
    places = {paper: text.index(f'id="{paper}"') for paper in PAPERS}
    fold = text.index(f"<summary>{len(PAPERS) - len(drawn)} papers without anything to draw</summary>")
    assert {paper for paper, place in places.items() if place < fold} == drawn
    verdicts = as_frame(judged)
    idle = set(PAPERS) - set(verdicts.loc[verdicts["runs"] > 0, "paper"])
    claims = verdicts[verdicts["paper"].isin(list(idle))]
    assert len(idle) > 1
    fold = text.index(f"<summary>{len(claims)} claims of {len(idle)} papers without any run: ")
    assert min(text.index(f'id="claim-{name}"') for name in claims["claim"]) > fold
    assert set(re.findall(r'<a href="#([^"]*)">', text[: text.index("<main>")])) == drawn | {
        *("abstract", "claims", "figures", "runs", "scores", "commands")
    }


@pytest.mark.usefixtures("undrawn")
def test_what_several_figures_lack_is_said_once(tmp_path: Path) -> None:
    mine = made.tables(made.locatello2019(2, ("dsprites", "cars3d"))[:40])
    charts = [item(mine, judged={}) for item in FIGURES.values() if item.paper == "locatello2019"]
    lacking = Counter(line for chart in charts if chart.panels for line in chart.missing)
    shared = [line for line, count in lacking.items() if count > 1]
    assert shared
    page = write_study_page(mine, tmp_path / "page.html", judged=one_claim(mine), papers=["locatello2019"])
    text = html.unescape(written(page))
    shown = re.sub(r'<details class="absent">.*?</details>', "", text, flags=re.DOTALL)
    for line in shared:
        assert shown.count(f">{line}</li>") == 1
        assert f">Missing: {line}</li>" not in shown


def test_a_comparison_with_nothing_is_left_out() -> None:
    item = FIGURES["yang2020-figure-1"]
    rows = (Comparison("measured", 0.5, 0.4), Comparison("said", "high", "low"), Comparison("neither", 0.5, np.nan))
    text = render("exhibit.html", figure=Figure(item, Chart(comparisons=rows), ""))
    assert re.findall(r"<tr><td>(.*?)</td>", text) == ["measured", "said"]
    assert "<table>" not in render("exhibit.html", figure=Figure(item, Chart(comparisons=rows[2:]), ""))


def test_a_picture_has_no_table_to_save() -> None:
    picture = Panel(picture=np.zeros((2, 2, 3), np.uint8))
    numbers = Panel(cells=pd.DataFrame([[0.5]]))
    for panels, saved in (((picture,), False), ((picture, numbers), True)):
        figure = Figure(FIGURES["locatello2019-figure-1"], Chart((panels,)), "<svg></svg>")
        assert ('class="csv"' in render("exhibit.html", figure=figure)) == saved


def test_settings_of_many_studies_are_told_in_words_beside_the_main_scores() -> None:
    """More fields than have columns: one column, with what tells a setting from its like and no more."""
    rows = []
    for at, (rate, width) in enumerate(((1e-3, 256), (1e-4, 256), (1e-4, 128))):
        record = {"a": at, "b": at, "optimiser": {"learning_rate": rate}, "architecture": {"hidden": width}}
        rows += made.settings(seed=range(2), record=json.dumps(record))
    record = json.dumps({"a": 7, "b": 8, "optimiser": {"learning_rate": 0.5}, "architecture": {"hidden": 64}})
    rows += made.settings(seed=range(2), latents=20, record=record)
    rows += made.settings(dataset="cars3d", study="yang2020", seed=range(3))
    mine = made.tables(rows, codes=("mig", "sap"), posterior=("kl",), protocols=("kim2018", "locatello2019"))
    few = mine.scores["run"].isin(list(mine.scores["run"].unique())[:2]) | (mine.scores["protocol"] != "kim2018")
    data = score_data(replace(mine, scores=mine.scores[few]))
    assert data["names"][-1] == "also"
    assert [row[-1] for row in data["settings"] if row[0] == "dsprites"] == ["a 0", "a 1", "a 2", ""]
    assert [data["columns"][at] for at in data["shown"]] == [f"{name} (locatello2019)" for name in ("mig", "sap", "kl")]
    assert setting_names(mine.runs)[::2][:4] == [
        *(f"VAE on dSprites, 10 latents, a {at}" for at in range(3)),
        "VAE on dSprites, 20 latents",
    ]


def test_a_data_set_with_fewer_seeds_by_design_lacks_none() -> None:
    runs = made.yang2020(3, ["dsprites"]) + [row for row in made.yang2020(2, ["cars3d"]) if row["dataset"] == "cars3d"]
    assert missing_seeds(made.tables(runs, codes=("mig",), posterior=())) == []


@pytest.mark.usefixtures("undrawn")
def test_too_many_settings_are_not_drawn(tmp_path: Path) -> None:
    runs = made.settings(latents=range(1, MOST_SETTINGS + 2), study="mine.py:many")
    many = made.tables(runs, codes=("mig",))
    text = written(write_study_page(many, tmp_path / "page.html", judged=one_claim(many)))
    assert f"{MOST_SETTINGS + 1} settings are too many to draw side by side" in text


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_one_paper(study: Tables, judged: list[Judgement], tmp_path: Path) -> None:
    text = written(write_study_page(study, tmp_path / "page.html", judged=judged, papers=["yang2020"]))
    assert 'id="yang2020-figure-1"' in text
    assert "split-encoder-figure-3" not in text
    assert "claim-split-encoder" not in text
    with pytest.raises(ReportError, match="no paper 'yang'; there are locatello2019"):
        write_study_page(study, tmp_path / "page.html", papers=["yang"])


def test_a_page_of_nothing(tmp_path: Path) -> None:
    none = Tables(pd.DataFrame(columns=list(SCORE_COLUMNS)), pd.DataFrame(columns=list(RUN_COLUMNS)))
    text = written(write_study_page(none, tmp_path / "page.html"))
    assert "<b>0</b><span>settings</span>" in text
    assert "figures and tables not drawn for want of runs" in text
    assert json.loads(re.findall(r'id="score-data">(.*?)</script>', text)[0])["runs"] == []


@pytest.mark.usefixtures("undrawn")
def test_one_of_a_kind_is_singular(tmp_path: Path) -> None:
    one = made.tables(own_runs()[:1])
    text = written(write_study_page(one, tmp_path / "page.html", judged=one_claim(one), papers=["yang2020"]))
    for name in ("run done", "setting", "seed"):
        assert f"<b>1</b><span>{name}</span>" in text


@pytest.mark.usefixtures("forked_workers")
def test_two_processes_draw_the_same(study: Tables) -> None:
    charts = {name: FIGURES[name](study) for name in ("yang2020-figure-1", "split-encoder-figure-3")}
    drawn = []
    for workers in (1, 2):
        with drawing(charts, workers) as waiting:
            drawn.append({name: one.result() for name, one in waiting.items()})
    assert drawn[0] == drawn[1]


def column(tab: Any, index: int) -> list[str]:
    return tab.eval_on_selector_all(
        f"#score-table tbody tr:not(.run) td:nth-child({index + 1})", "cells => cells.map(c => c.textContent)"
    )


def test_the_score_table_sorts_filters_and_opens(opened: Any, study: Tables) -> None:
    opened.locator("#scores").scroll_into_view_if_needed()
    opened.wait_for_selector("#score-table tbody tr")
    heads = opened.eval_on_selector_all("#score-table th", "cells => cells.map(c => c.textContent)")
    at = heads.index("mig")
    opened.click(f"#score-table th:nth-child({at + 1})")
    falling = [float(text.split(" ")[0]) for text in column(opened, at) if text]
    assert falling == sorted(falling, reverse=True)
    opened.focus(f"#score-table th:nth-child({at + 1})")
    opened.keyboard.press("Enter")
    rising = [float(text.split(" ")[0]) for text in column(opened, at) if text]
    assert rising == sorted(rising)
    assert opened.get_attribute(f"#score-table th:nth-child({at + 1})", "aria-sort") == "ascending"
    mine = study.scores[(study.scores["metric"] == "mig") & (study.scores["representation"] == "mean")]
    means: Any = mine.groupby([*SETTING], dropna=False)["score"].mean()
    np.testing.assert_allclose(rising, sorted(means), rtol=0.006)
    opened.select_option("#score-summary", "median")
    rising = [float(text.split(" ")[0]) for text in column(opened, at) if text]
    groups: Any = mine.groupby([*SETTING], dropna=False)["score"]
    np.testing.assert_allclose(rising, sorted(groups.median()), rtol=0.006)
    quartiles = [text.partition("(")[2].strip(")").split(" to ") for text in column(opened, at) if "(" in text]
    for shown, share in zip(zip(*quartiles, strict=True), (0.25, 0.75), strict=True):
        np.testing.assert_allclose(sorted(map(float, shown)), sorted(groups.quantile(share)), rtol=0.006)
    opened.select_option("#score-summary", "mean")
    opened.fill("#score-find", "split")
    assert set(column(opened, heads.index("architecture"))) == {"split"}
    opened.click("#score-table tbody button >> nth=0")
    assert opened.locator("#score-table tr.run").count() == 3
    opened.fill("#score-find", "")
    opened.select_option("#score-dataset", "mnist")
    assert {text.strip("▸") for text in column(opened, 0)} == {"MNIST"}
    # Names as papers write them are shown, and those of commands are found, too.
    opened.select_option("#score-dataset", "")
    assert "β-TCVAE" in column(opened, heads.index("method"))
    opened.fill("#score-find", "beta-tcvae")
    assert set(column(opened, heads.index("method"))) == {"β-TCVAE"}
    opened.fill("#score-find", "")
    assert set(column(opened, heads.index("steps"))) == {f"{steps:,}" for steps in study.runs["steps"]}


def test_verdicts_filter_and_themes_switch(opened: Any) -> None:
    shown = ".claims details:not([hidden])"
    everything = opened.locator(shown).count()
    for name in ("undecided", "no runs"):
        opened.click(f'[data-verdict-filter="{name}"]')
        verdicts = opened.eval_on_selector_all(shown, "items => items.map(i => i.dataset.verdict)")
        assert set(verdicts) == {name}
        folds = opened.locator(".untested").count() if name == "no runs" else 0
        assert opened.locator(".untested:not([hidden])").count() == folds
    opened.click('[data-verdict-filter="no runs"]')
    assert opened.locator(shown).count() == everything
    paper = "getComputedStyle(document.body).backgroundColor"
    opened.click("#theme")
    assert opened.evaluate(paper) == "rgb(255, 255, 255)"
    opened.click("#theme")
    assert opened.evaluate(paper) == "rgb(20, 23, 27)"
    ink = opened.evaluate("getComputedStyle(document.querySelector('.drawing svg text')).fill")
    assert ink == "rgb(230, 233, 236)"


@pytest.mark.parametrize("width", [375, 1280])
def test_no_page_wider_than_the_window(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    opened.emulate_media(color_scheme="dark")
    opened.reload()
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
