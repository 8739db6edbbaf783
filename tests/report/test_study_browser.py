"""What the page of a study does in a browser: wide and narrow, light and dark, for readers who see it and who do not."""

from __future__ import annotations

import csv
import io
import re
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hackle.claims import Judgement, as_frame
from hackle.core.commit import full_version, in_words
from hackle.core.papers import PAPERS
from hackle.figures import FIGURES
from hackle.store.tables import Tables
from hackle.studies import STUDIES
from report.tabs import LOOKS, look

AXE = Path(__file__).parents[1] / "explorer" / "vendor" / "axe.min.js"
VIOLATIONS = """async (rules) => {
  const standard = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const runOnly = rules.length ? { type: "rule", values: rules } : { type: "tag", values: standard };
  const found = await axe.run({ runOnly, resultTypes: ["violations"] });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).slice(0, 3)}`);
}"""
SMALLEST = """() => {
  const sizes = [];
  for (const text of document.querySelectorAll(".whole svg text")) {
    const drawing = text.closest(".drawing"), group = text.closest("[id*=-panel-]");
    const size = parseFloat(getComputedStyle(text).fontSize);
    if (!drawing.classList.contains("apart")) sizes.push(size * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b));
    else if (group) {
      const index = group.id.match(/panel-(\\d+)/)[1];
      const panel = drawing.querySelector(`.panel svg[data-panel="${index}"]`);
      sizes.push(size * panel.getScreenCTM().a);
    }
  }
  return [sizes.length, Math.min(...sizes)];
}"""
HEARD = "new Promise((heard) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(heard))))"
"""Until the page has heard of what was scrolled, which it does with the next frame."""
PANEL = """(id) => {
  const drawing = document.querySelector(`#${id} .drawing`), whole = drawing.querySelector(".whole svg");
  return [drawing.classList.contains("apart") ? drawing.querySelector('.panel svg[data-panel="1"]') : whole, whole];
}"""
"""What shows a figure's second panel, and the drawing of the whole."""
FIGURE, ROW = "yang2020-figure-2", "yang2020.mig-vae-10-dsprites"
OWN = ("split-encoder", "yang2020")
"""The studies whose runs the page is about."""


def laid_out(tab: Any, *names: str) -> None:
    """These figures, or all of them, have come into view once, and the table of scores is drawn."""
    for name in names or tab.eval_on_selector_all(".drawing", "all => all.map((one) => one.dataset.figure)"):
        tab.evaluate("id => document.getElementById(id).scrollIntoView({ behavior: 'instant' })", name)
        tab.evaluate(HEARD)
    tab.locator("#scores").scroll_into_view_if_needed()
    tab.wait_for_selector("#score-table tbody tr")


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_every_letter_of_a_figure_can_be_read(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    opened.emulate_media(reduced_motion="reduce")
    laid_out(opened)
    opened.click('[data-verdict-filter="undecided"]')
    opened.click(".claims details:not([hidden]) > summary >> nth=0")
    count, smallest = opened.evaluate(SMALLEST)
    assert count > 100
    assert smallest > (10.99 if width == 390 else 8.5)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    unnamed = opened.eval_on_selector_all(
        ".drawing svg",
        "all => all.filter((one) => !one.closest('[role=img][aria-label]:not([aria-label=\"\"]), [aria-hidden]'))",
    )
    assert unnamed == []
    opened.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    # Drawings are pictures with an alternative; what is inside them has no meaning of its own, and is most of the page.
    opened.eval_on_selector_all(".drawing svg", "all => all.forEach((one) => one.replaceChildren())")
    for theme in ("light", "dark"):
        opened.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert opened.evaluate(VIOLATIONS, ["color-contrast"] if theme == "dark" else []) == [], theme


def test_a_narrow_figure_has_its_panels_below_each_other(opened: Any) -> None:
    opened.set_viewport_size({"width": 390, "height": 900})
    laid_out(opened, FIGURE)
    panels = opened.locator(f"#{FIGURE} .panel")
    assert panels.count() == 3
    boxes = [panels.nth(index).bounding_box() for index in range(3)]
    assert all(first["y"] + first["height"] <= second["y"] for first, second in pairwise(boxes))
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert opened.locator(f"#{FIGURE} .legend li").count() == 2
    assert opened.locator(f"#{FIGURE} .legend").is_visible()
    # What a neighbour's label says in the wide figure is said of each panel here.
    words = opened.eval_on_selector_all(f"#{FIGURE} .panel svg[role=img]", "all => all.map((one) => one.ariaLabel)")
    names = (
        "Reconstruction: reconstruction error (nats)",
        "KL: KL to the prior (nats)",
        "TC: TC from batches of 64 (nats)",
    )
    for text, name in zip(words, names, strict=True):
        assert text.startswith(f"{name} against VAE, FactorVAE and β-TCVAE, ")
        assert " points, from " in text
    opened.set_viewport_size({"width": 1280, "height": 900})
    opened.wait_for_function(f"!document.querySelector('#{FIGURE} .drawing').classList.contains('apart')")
    assert not opened.locator(f"#{FIGURE} .legend").is_visible()
    assert not any(panel.is_visible() for panel in panels.all())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_follows_a_phone_that_is_turned(opened: Any, theme: str) -> None:
    """Upright its panels stand below each other, on its side they stand as the paper has them, as often as one likes; letters
    can be read and a dot still names its run."""
    drawing, tip = opened.locator(f"#{FIGURE} .drawing"), opened.locator("#tip")
    opened.emulate_media(color_scheme=theme, reduced_motion="reduce")
    for width, height in [(390, 844), (844, 390), (390, 844), (844, 390)]:
        upright = width < height
        opened.set_viewport_size({"width": width, "height": height})
        laid_out(opened, FIGURE)
        opened.wait_for_function(
            "([id, apart]) => document.querySelector(`#${id} .drawing`).classList.contains('apart') === apart",
            arg=[FIGURE, upright],
        )
        assert drawing.locator(".panel:visible").count() == (3 if upright else 0)
        assert drawing.locator(".legend").is_visible() == upright
        _, smallest = opened.evaluate(SMALLEST.replace(".whole svg text", f"#{FIGURE} .whole svg text"))
        assert smallest > (10.99 if upright else 8.5)
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        place = place_of_dot(opened, FIGURE, 0)
        opened.mouse.move(*place)
        tip.wait_for(state="visible")
        assert "on dSprites, 10 latents" in tip.inner_text()
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        opened.mouse.move(1, 1)


TOO_WIDE = """() => {
  for (const one of document.querySelectorAll(".exhibit details")) one.open = true;
  const seen = [...document.querySelectorAll(".wide:not(#score-table)")].filter((one) => one.checkVisibility());
  return [seen.length, seen.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText.slice(0, 80))];
}"""


def test_no_table_but_that_of_scores_is_wider_than_its_place(looked_at: Any) -> None:
    laid_out(looked_at)
    count, wide = looked_at.evaluate(TOO_WIDE)
    assert count > 4
    assert wide == []


def place_of_dot(tab: Any, figure: str, at: int) -> list[float]:
    """Where a dot of a figure's second panel is, after it has come into view."""
    tab.evaluate(f"id => ({PANEL})(id)[0].scrollIntoView({{ block: 'center', behavior: 'instant' }})", figure)
    tab.evaluate(HEARD)
    return tab.evaluate(
        f"""([id, at]) => {{
          const [svg, whole] = ({PANEL})(id), {{ dots }} = JSON.parse(whole.dataset.panels)[1];
          const point = new DOMPoint(dots[2 * at], dots[2 * at + 1]).matrixTransform(svg.getScreenCTM());
          return [point.x, point.y];
        }}""",
        [figure, at],
    )


def test_a_dot_names_its_run_and_leads_to_it(looked_at: Any, study: Tables) -> None:
    opened = looked_at
    laid_out(opened, FIGURE)
    points = FIGURES[FIGURE](study, judged={}).panels[1].points
    target = points["y"].idxmax()
    at = points.index.get_loc(target)
    place = place_of_dot(opened, FIGURE, at)
    opened.mouse.move(*place)
    run = study.runs[study.runs["run"] == points.loc[target, "run"]].iloc[0]
    tip = opened.locator("#tip")
    tip.wait_for(state="visible")
    assert f"seed {run['seed']}, run {run['run']}" in tip.inner_text()
    assert "on dSprites, 10 latents" in tip.inner_text()
    assert f"{points.loc[target, 'y']:.3g}" in tip.inner_text()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= opened.viewport_size["width"]
    opened.mouse.click(*place)
    assert opened.locator("tr.shown").get_attribute("data-run") == run["run"]
    opened.locator("tr.shown").wait_for(state="visible")
    opened.mouse.move(1, 1)
    tip.wait_for(state="hidden")


def test_the_data_of_a_figure_is_a_table_without_formulas(opened: Any, study: Tables) -> None:
    opened.evaluate(
        """id => {
          const holder = document.getElementById("figure-data"), data = JSON.parse(holder.textContent);
          const panel = data.figures[id].panels[0];
          panel.title = "=1+1";
          data.figures[id].series[0] = '@SUM("a", 2)';
          panel.points[1][0] = -0.5;
          data.settings = data.settings.map(() => "-2+3");
          holder.textContent = JSON.stringify(data);
        }""",
        FIGURE,
    )
    chart = FIGURES[FIGURE](study, judged={})
    for width, theme in LOOKS:
        look(opened, width, theme)
        with opened.expect_download() as waiting:
            opened.click(f"#{FIGURE} a.csv")
        assert waiting.value.suggested_filename == f"{FIGURE}.csv"
        rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8-sig"))))
        runs = [row for row in rows if row["kind"] == "run"]
        assert len(runs) == sum(len(panel.points) for panel in chart.panels)
        assert len(rows) - len(runs) == sum(len(panel.summary) for panel in chart.panels)
        assert (runs[0]["panel"], runs[0]["y"], runs[0]["setting"]) == ("'=1+1", "-0.5", "'-2+3")
        assert '\'@SUM("a", 2)' in {row["series"] for row in rows}
        second = chart.panels[1].points.iloc[0]
        found = next(row for row in runs[len(chart.panels[0].points) :])
        assert found["run"] == second["run"]
        assert float(found["y"]) == pytest.approx(second["y"], rel=1e-5)
        assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_the_theme_can_be_switched_without_scrolling_the_links(looked_at: Any) -> None:
    box = looked_at.locator("#theme").bounding_box()
    assert 0 <= box["x"] <= looked_at.viewport_size["width"] - box["width"]


def test_a_link_to_a_claim_opens_it(looked_at: Any, page: Path) -> None:
    _, shown, *_, hidden = re.findall(r'<details id="(claim-[^"]+)"', page.read_text(encoding="utf-8"))
    tab = looked_at
    for name in (hidden, shown):
        tab.goto("about:blank")
        tab.goto(f"{page.as_uri()}#{name}")
        claim = tab.locator(f'[id="{name}"]')
        assert claim.evaluate("one => one.closest('.untested') !== null") == (name == hidden)
        assert claim.evaluate("one => one.open")
        assert claim.locator("dl").is_visible()
        assert 0 <= claim.bounding_box()["y"] < 900


def test_a_link_from_a_figure_opens_a_claim_that_is_filtered_out(opened: Any) -> None:
    link = opened.locator('.also a[href^="#claim-"]').first
    name = link.get_attribute("href")[1:]
    fate = opened.locator(f'[id="{name}"]').get_attribute("data-verdict")
    opened.click(f'[data-verdict-filter="{"holds" if fate != "holds" else "undecided"}"]')
    for _ in range(2):
        link.click()
        opened.wait_for_function("id => document.getElementById(id).open", arg=name)
        assert opened.locator(f'[id="{name}"] dl').is_visible()
        opened.evaluate("id => { document.getElementById(id).open = false; }", name)


def test_the_page_names_its_commit_and_each_papers_authors_with_a_link(looked_at: Any) -> None:
    opened = looked_at
    line = opened.inner_text(".made")
    assert f"by hackle {in_words(full_version())} with hackle report first." in line
    # Tables of before commits were kept.
    assert "The runs are of hackle 0.1.0 (commit unknown)" in line
    for name in OWN:
        heading = opened.locator(f'h3.paper[id="{name}"]')
        if PAPERS[name].names:
            assert heading.locator("a").get_attribute("href") == PAPERS[name].address
            assert heading.locator(".authors").inner_text() == PAPERS[name].names
        assert PAPERS[name].authors in heading.inner_text()


def test_each_row_shows_verdict_effect_region_chance_runs_strata_and_why(
    looked_at: Any, judged: list[Judgement]
) -> None:
    row = next(one for one in as_frame(judged).to_dict("records") if one["claim"] == ROW)
    claim = looked_at.locator(f'[id="claim-{ROW}"] > summary')
    claim.scroll_into_view_if_needed()
    shown = " ".join(claim.inner_text().split()).replace("−", "-")
    assert row["verdict"] in shown
    assert re.search(r"\d\S* \[-?[\d.]+, -?[\d.]+\]", shown)
    assert f"claimed {row['claimed']}" in shown
    assert re.search(r"p [=<] [\d.]+ corrected", shown)
    assert f"{row['runs']} runs, {row['strata']} of {row['strata_claimed']} strat" in shown
    assert re.search(r"p [=<] [\d.]+ after correction over \d+ claims: " + row["verdict"], shown)
    box = claim.bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= looked_at.viewport_size["width"]


def test_the_papers_numbers_stand_beside_ours(looked_at: Any) -> None:
    """In the table below a figure: what is compared, the paper's, ours with its interval, and the number of runs."""
    laid_out(looked_at, FIGURE)
    table = looked_at.locator(f"#{FIGURE} .beside table").first
    assert [text.lower() for text in table.locator("th").all_inner_texts()][-3:] == ["paper", "here", "n"]
    rows = [[cell.strip() for cell in row.split("\t")] for row in table.locator("tbody tr").all_inner_texts()]
    assert any(row[1] and re.match(r"[−\d.]+", row[2]) for row in rows)
    assert table.bounding_box()["x"] + table.bounding_box()["width"] <= looked_at.viewport_size["width"]


def test_most_figures_fit_a_phone_and_others_say_that_they_scroll(opened: Any) -> None:
    opened.set_viewport_size({"width": 390, "height": 900})
    laid_out(opened)
    wide = opened.eval_on_selector_all(
        ".panel", "all => all.map((one) => [one.scrollWidth > one.clientWidth + 1, one.classList.contains('scrolls')])"
    )
    assert all(beyond == said for beyond, said in wide)
    assert sum(beyond for beyond, _ in wide) < 0.1 * len(wide)


def test_the_page_begins_with_when_and_how_what_and_its_limits(looked_at: Any, study: Tables) -> None:
    opened = looked_at
    text = opened.inner_text("main")
    first = text[: text.index("\nClaims\n")]
    assert "by hackle 0." in first
    assert "with hackle report first" in first
    done = study.runs["status"].tolist().count("done")
    assert f"{done} models were trained: " in first
    counts = {
        name: opened.locator(f'.claims details[data-verdict="{name}"]').count() for name in ("holds", "undecided")
    }
    assert f", {counts['undecided']} cannot be decided by these runs, and " in first
    assert first.index("Abstract") < first.index("Limits")
    assert f"{counts['undecided']} claims are undecided, which is not the same as refuted" in first
    assert "1 run failed and is left out." in first
    assert "No setting has more than 3 seeds" in first
    seeds = [f"{name} (3 of {signature(STUDIES[name].runs).parameters['seeds'].default})" for name in OWN]
    assert f"Trained with fewer seeds than in the paper: {' and '.join(seeds)}." in first
    strengths = opened.evaluate(
        "JSON.parse(document.getElementById('score-data').textContent).names.indexOf('strength')"
    )
    opened.locator("#scores").scroll_into_view_if_needed()
    opened.wait_for_selector("#score-table tbody tr")
    shown = opened.eval_on_selector_all(
        f"#score-table td:nth-child({strengths + 1})", "all => all.map(c => c.textContent)"
    )
    assert any(text.startswith("γ = ") for text in shown)
    assert any(text.startswith("β = ") for text in shown)
