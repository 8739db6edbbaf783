"""The list's filter in a real browser: the language, what is said of words that are not known, the address, the bars."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from browser_pages import UNNAMED, complaints_of, in_css, names, screens
from playwright.sync_api import Page, expect
from small_runs import SCORES

from hackle.explorer import create_app
from hackle.explorer.catalogue import Catalogue
from hackle.explorer.listing import Listing, in_order
from hackle.store import Store
from made_up_outcomes import made_up

FITS = """async ([text, rows]) => {
  const { parseFilter } = await import("./js/filter.js");
  const texts = (key, word, words, titles) =>
    [key, { key, word, kind: "text", words, titles, numbers: rows.map((row) => words.indexOf(row[key])) }];
  const numbers = (key, kind, label) => [key, { key, kind, label, numbers: rows.map((row) => row[key] ?? NaN) }];
  const columns = new Map([
    texts("method", "method", ["beta-vae", "vae", "factor-vae"], ["β-VAE", "VAE", "FactorVAE"]),
    texts("dataset", "data set", ["", "dsprites", "my own set"]),
    numbers("mig", "score", "mutual information gap"),
    numbers("dci_disentanglement", "score"),
    numbers("seed", "number"),
  ]);
  const { conditions, problems } = parseFilter(text, columns);
  const fits = rows.map((_, row) => row).filter((row) => conditions.every((condition) => condition.fits(row)));
  return [fits, conditions.map((condition) => condition.words), problems];
}"""
ROWS = [
    {"method": "beta-vae", "dataset": "dsprites", "mig": 0.1, "dci_disentanglement": 0.5, "seed": 0},
    {"method": "vae", "dataset": "my own set", "mig": 0.2, "dci_disentanglement": 0.1, "seed": 1},
    {"method": "factor-vae", "dataset": "", "mig": None, "dci_disentanglement": 0.9, "seed": 2},
]


def test_a_filter_keeps_the_rows_that_its_words_say(page: Page) -> None:
    page.goto("/")
    for text, kept, words in (
        ("", [0, 1, 2], []),
        ("MIG > 0.15", [1], ["MIG > 0.15"]),
        ("mig>=0.1", [0, 1], ["MIG ≥ 0.1"]),
        ("mutual information gap ≤ 0.1", [0], ["MIG ≤ 0.1"]),
        ("DCI D < 0.6, seed is not 1", [0], ["DCI D < 0.6", "seed is not 1"]),
        ("method is not β-VAE", [1, 2], ["method is not β-VAE"]),
        ("method = BETA-VAE and mig>0", [0], ["method is β-VAE", "MIG > 0"]),
        ("method is vae or FactorVAE", [1, 2], ["method is VAE or FactorVAE"]),
        ("data set is my own set", [1], ["data set is my own set"]),
        ('dataset="my own set" seed=1', [1], ["data set is my own set", "seed is 1"]),
        ("mig is missing", [2], ["MIG is missing"]),
        ("mig is not missing, data set is missing", [], ["MIG is not missing", "data set is missing"]),
        ("seed != 1 seed ≠ 2", [0], ["seed is not 1", "seed is not 2"]),
        ("seed is 0 or 2", [0, 2], ["seed is 0 or 2"]),
        ("factorvae", [2], ["“factorvae”"]),
        ("vae dsprites", [0], ["“vae”", "“dsprites”"]),
    ):
        assert page.evaluate(FITS, [text, ROWS]) == [kept, words, []]


def test_what_a_filter_does_not_know_is_said_and_the_rest_is_kept(page: Page) -> None:
    page.goto("/")
    for text, kept, problem in (
        ("migg > 0.1, seed = 1", [1], "no column ‘migg’; did you mean mig?"),
        ("sede is 3", [0, 1, 2], "no column ‘sede’; did you mean seed?"),
        ("nonsense=3 mig>0", [0, 1], "no column ‘nonsense’"),
        ("mig > high", [0, 1, 2], "MIG is compared with numbers; ‘high’ is none"),
        ("mig >", [0, 1, 2], "MIG > what?"),
        ("mig is, seed is 1", [1], "MIG is what?"),
        ("method > 3", [0, 1, 2], "method is a text, which is compared by “is” and “is not”"),
        ("method is beta-vea", [0, 1, 2], "no run has the method ‘beta-vea’; did you mean beta-vae?"),
        ("data set is cars3d", [0, 1, 2], "no run has the data set ‘cars3d’; there are dsprites, my own set"),
        ("> seed=1", [1], "a column is missing before >"),
    ):
        fits, _, problems = page.evaluate(FITS, [text, ROWS])
        assert problems == [problem]
        assert fits == kept


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_the_filter_in_words_that_can_be_taken_away(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/")
    field = page.get_by_label("Filter runs")
    field.fill("mig>0.01, method is not β-VAE")
    conditions = page.locator(".condition")
    expect(conditions).to_have_text(["MIG > 0.01 ×", "method is not β-VAE ×"])
    assert names(page) == ["plain"]
    assert page.evaluate(UNNAMED) == []
    page.get_by_role("button", name="Remove the condition MIG > 0.01").click()
    expect(field).to_have_value("method is not β-VAE")
    expect(page.get_by_text("4 of 5")).to_be_visible()
    page.get_by_label("status", exact=True).select_option("done")
    expect(field).to_have_value("method is not β-VAE, status is done")
    expect(page.get_by_text("2 of 5")).to_be_visible()
    page.get_by_label("status", exact=True).select_option("")
    expect(field).to_have_value("method is not β-VAE")
    field.fill("migg>0.01")
    expect(page.locator(".filter-words")).to_have_text("no column ‘migg’; did you mean mig?")
    expect(page.get_by_text("5 runs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_link_shows_the_same_list(page: Page, browser: Any, address: str) -> None:
    page.goto("/")
    page.get_by_label("Filter runs").fill("MIG > 0.1")
    # The address has the filter when the list does, and the order after it.
    expect(page.get_by_text("2 of 5")).to_be_visible()
    page.get_by_role("button", name="MIG", exact=True).click()
    page.get_by_text("Scores", exact=True).click()
    page.get_by_label("KL", exact=True).uncheck()
    expect(page).to_have_url(re.compile("filter=MIG.*sort=mig.*scores=mig"))
    other = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    complaints = complaints_of(other, address)
    other.goto(page.url)
    expect(other.get_by_label("Filter runs")).to_have_value("MIG > 0.1")
    expect(other.locator("table.runs tbody th[scope=row] a")).to_have_text(["beta", "plain"])
    assert names(page) == ["beta", "plain"]
    expect(other.locator("thead th")).to_have_text(page.locator("thead th").all_inner_texts())
    # Back from a run, the list is as it was.
    other.get_by_role("link", name="plain").click()
    other.wait_for_selector(".tool[data-drawn]")
    other.go_back()
    expect(other.get_by_text("2 of 5")).to_be_visible()
    other.close()
    assert complaints == []


def test_bars_run_from_chance_to_the_reference_and_both_are_said(
    elsewhere: Page, served: Path, tmp_path: Path, visit: Any
) -> None:
    for name, chance in {"beta": 0.05, "plain": 0.15}.items():
        shutil.copytree(served / name, tmp_path / name)
        rows = json.loads((tmp_path / name / "scores.json").read_text())
        (tmp_path / name / "scores.json").write_text(json.dumps([rows[0] | {"chance": chance}, rows[1]]))
    elsewhere.goto(str(visit(create_app(tmp_path)).base_url))
    cells = elsewhere.locator("td.score")
    expect(cells).to_have_count(2)
    # The way is from 0.1, the middle of what chance gave, to 0.9.
    shares = cells.evaluate_all("cells => cells.map(cell => Number(cell.style.getPropertyValue('--share')))")
    assert shares == pytest.approx([(SCORES[name] - 0.1) / 0.8 for name in ("plain", "beta")], abs=1e-3)
    for theme in screens(elsewhere):
        assert cells.first.get_attribute("title") == "MIG 0.750: from 0.100, by chance, to 0.900, of perfect codes"
        colours = (theme.faint, theme.faint, theme.palette[0], theme.track)
        ways = [f"linear-gradient({in_css(colour)}, {in_css(colour)})" for colour in colours]
        expect(cells.first).to_have_css("background-image", ", ".join(ways))
    elsewhere.get_by_role("link", name="beta").click()
    elsewhere.get_by_role("tab", name="What it captured").click()
    bar = elsewhere.locator(".scores .way")
    expect(bar).to_have_count(1)
    for theme in screens(elsewhere):
        expect(bar).to_have_attribute("aria-label", "from 0.050, by chance, to 0.900, of perfect codes")
        expect(bar).to_have_css("background-color", in_css(theme.track))
        expect(bar.locator("i")).to_have_css("background-color", in_css(theme.palette[0]))
    share = bar.evaluate("bar => Number(bar.style.getPropertyValue('--share'))")
    assert share == pytest.approx((0.25 - 0.05) / 0.85, abs=1e-3)


def test_where_chance_was_not_measured_bars_begin_at_the_worst_there_is(tmp_path: Path) -> None:
    (row, _) = (row for row in made_up().scores if row["metric"] == "metric_1")
    low = {**row, "metric": "jemmig", "better": "lower", "score": 0.5, "reference": 0.1}
    with Store.create_or_open(tmp_path) as store:
        store.add(made_up(scores=[low, {**row, "metric": "mig"}]))
    listed = json.loads(gzip.decompress(Listing(Catalogue(tmp_path)).answer()[1]))
    mig, jemmig = (column for column in listed["columns"] if column["kind"] == "score")
    assert mig["worst"] == 0
    # Of what should be small, the worst is the most: 0.5 is not better than the reference 0.1.
    assert jemmig["worst"] == 1
    assert [row["metric"] for row in in_order([low, {**row, "metric": "mig"}])] == ["mig", "jemmig"]
    assert mig["levels"] == {"dsprites": [None, 0.9]}
