"""Pages and what they are made of: templates that escape, come with the package and cost nothing where no page is written."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import forked
import hackle
from hackle.cli.demo import TRAINED, demo_run
from hackle.objectives import VAE, BetaVAE
from hackle.report import write_run_page
from hackle.report.html import render
from hackle.report.run_page import run_title, score_rows
from hackle.train.model import Model
from train.test_fleet import small_run

SOURCE = Path(hackle.__file__).parent


def scores(**changes: Any) -> pd.DataFrame:
    row = {"metric": "mig", "representation": "mean", "score": 0.25, "reference": 0.5, "better": "higher"}
    return pd.DataFrame([{**row, "protocol": "locatello2019", "seconds": 0.1, **changes}])


def test_the_page_of_a_run(squares: Any, tmp_path: Path) -> None:
    model = Model(small_run(VAE()), squares.shape)
    folder = tmp_path / "my run"
    folder.mkdir()
    (folder / "curves.csv").write_text("step,kl,kl_0\n1,2.0,2.0\n2,1.5,1.5\n")
    shown = scores(metric="<b>my score</b>")
    text = write_run_page(model, squares, shown, tmp_path / "page.html", folder=folder).read_text(encoding="utf-8")
    assert f"<h1>VAE on {model.run.dataset}, seed 0</h1>" in text
    assert (
        run_title(replace(model.run, method=BetaVAE(beta=4.0), dataset="dsprites")) == "β-VAE β = 4 on dSprites, seed 0"
    )
    assert text.index("<h2>What each latent does</h2>") < text.index("<h2>Scores</h2>")
    assert "<td>&lt;b&gt;my score&lt;/b&gt;</td>" in text
    assert '<i style="width: 25.0%"></i><b style="left: calc(50.0% - 1px)"></b>' in text
    assert text.count("<figure>") == 5
    assert "<h2>Training</h2>" in text
    assert f"hackle score '{folder}'\n" in html.unescape(text)
    assert '"seed": 0' in text.replace("&#34;", '"')
    assert "Scores of each factor" not in text
    shown = pd.concat(
        [shown, scores(metric="rmig", per_factor={"<i>shape</i>": 0.24, "x": 0.71}), scores(per_factor={"x": 0.5})]
    )
    text = write_run_page(model, squares, shown, tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<th scope="col" class="number">&lt;i&gt;shape&lt;/i&gt;</th><th scope="col" class="number">x</th>' in text
    assert '<tr><td>rmig</td><td>mean</td><td class="number">0.240</td><td class="number">0.710</td></tr>' in text
    assert '<tr><td>mig</td><td>mean</td><td class="number"></td><td class="number">0.500</td></tr>' in text
    bare = write_run_page(model, squares, shown.head(0), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>Training</h2>" not in bare
    assert "<h2>What a trained model does</h2>" not in bare
    assert "<h2>Commands</h2>" not in bare


def test_scores_are_in_sight_on_a_phone(squares: Any, tmp_path: Path, browser: Any) -> None:
    shown = scores(metric="dci_es_explicitness_above_zero", representation="sampled")
    page = write_run_page(Model(small_run(VAE()), squares.shape), squares, shown, tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.goto(page.as_uri())
    score, bar = tab.locator("td.number").first.bounding_box(), tab.locator(".meter").first.bounding_box()
    assert score["x"] + score["width"] < bar["x"] + bar["width"] < 390
    assert tab.locator("td").first.inner_text() == "dci_es_explicitness_above_zero"
    tab.close()


def test_a_model_that_comes_with_hackle_is_shown_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKLE_DATA", str(tmp_path))
    dataset = hackle.load("dsprites")
    model = Model(demo_run(1), dataset.shape)
    text = write_run_page(model, dataset, scores(), tmp_path / "page.html", beside=TRAINED).read_text(encoding="utf-8")
    below = text.partition("<h2>What a trained model does</h2>")[2].partition("<h2>")[0]
    card = hackle.models().set_index("name").loc[TRAINED]
    assert f"{card['weight']}, {card['steps']:,} steps, MIG {card['mig']:.2f}" in below
    assert f"hackle explore {TRAINED}" in below
    assert below.count("<figure>") == 1
    assert below.partition('src="')[2].partition('"')[0] not in text.partition("<h2>What a trained")[0]


@pytest.mark.parametrize(("score", "reference", "bar"), [(1.2, 1.0, [100, 100]), (-0.1, 0.5, [0, 50]), (3.0, None, [])])
def test_a_bar_ends_where_it_must(score: float, reference: float | None, bar: list[float]) -> None:
    (row,) = score_rows(scores(score=score, reference=reference))
    assert row["bar"] == bar
    assert row["reference"] == ("" if reference is None else f"{reference:.3f}")


def test_data_cannot_end_their_script() -> None:
    data = {"views": [], "order": [], "name": "</script><script>alert(1)</script>"}
    text = render("traversals.html", title="<i>", data=data)
    assert "<title>&lt;i&gt;</title>" in text
    assert "</script><script>alert" not in text


def test_templates_style_sheets_and_scripts_come_with_the_package() -> None:
    from importlib.resources import files

    for name in (
        "page.html",
        "run.html",
        "study.html",
        "exhibit.html",
        "claims.html",
        "listed.html",
        "traversals.html",
    ):
        assert files("hackle.report").joinpath("templates", name).is_file()
    for name in ("report/page.css", "report/page.js", "report/study.css", "report/study.js"):
        assert files("hackle").joinpath(name).is_file()


def test_no_line_of_the_pages_sources_is_too_long_to_read() -> None:
    for path in [*SOURCE.rglob("*.css"), *SOURCE.rglob("*.js")]:
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120, path


def test_who_writes_no_page_loads_no_templates(tmp_path: Path) -> None:
    program = "import sys, hackle.cli.main, hackle.engine, hackle.report; print('jinja2' in sys.modules)"
    # It has imported more than these, and has not used them.
    process = forked.start(program, said=(tmp_path / "out", tmp_path / "error"))
    process.join()
    assert (tmp_path / "out").read_text().strip() == "False"
