"""Curves in a real browser: smoothing, scale, zoom, the shared cursor, and how far a run in training has come."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser_pages import UNNAMED, in_css, screens
from playwright.sync_api import CDPSession, Locator, Page, expect
from small_runs import write_curves


def opened(page: Page, identifier: str, width: int = 1280) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"/#/run/{identifier}/training")
    page.wait_for_selector(".chart")


def test_smoothing_is_the_moving_average_without_the_pull_of_its_start(page: Page) -> None:
    page.goto("/")
    values = np.random.default_rng(0).normal(3, 1, 40)
    found = page.evaluate(
        "async (values) => (await import('./js/curves.js')).smoothed([...values, null, 7], 0.9)", values.tolist()
    )
    weights = 0.9 ** np.arange(39, -1, -1)
    assert found[39] == pytest.approx((weights * values).sum() / weights.sum(), rel=1e-12)
    assert found[0] == pytest.approx(values[0], rel=1e-12)
    assert found[40] is None
    assert found[41] == pytest.approx((0.9 * (weights * values).sum() + 7) / (0.9 * weights.sum() + 1), rel=1e-12)


def test_times_and_ticks(page: Page) -> None:
    page.goto("/")
    left, words, ticks, at = page.evaluate("""async () => {
      const { timeLeft, duration } = await import("./js/training.js"), chart = await import("./js/chart.js");
      const points = [{ step: 100, at: 50 }, { step: 200, at: 60 }, { step: 400, at: 90 }];
      return [[timeLeft(points, 1000), timeLeft(points.slice(0, 1), 1000)], [5, 200, 7200, 200000].map(duration),
        [chart.logarithmicTicks(0.02, 3), chart.logarithmicTicks(1, 1e8), chart.logarithmicTicks(3, 4)],
        [0, 4, 5.1, 99].map((value) => chart.nearest([1, 4, 6, 9], value))];
    }""")
    assert left == [80, None]
    assert words == ["5 s", "3 min", "2 h", "2.3 days"]
    assert ticks == [pytest.approx([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]), [1, 1e2, 1e4, 1e6, 1e8], [3, 3.25, 3.5, 3.75, 4]]
    assert at == [0, 1, 2, 3]


@pytest.mark.parametrize("width", [1280, 390])
def test_smoothing_is_stated_and_the_values_stay_in_sight(page: Page, ids: dict[str, str], width: int) -> None:
    opened(page, ids["beta"], width)
    expect(page.locator(".line.raw")).to_have_count(0)
    page.get_by_label("Smoothing").fill("0.6")
    expect(page.locator(".line.raw")).to_have_count(4)
    expect(page.get_by_text("exponential moving average of weight 0.60, corrected for its start")).to_be_visible()
    page.get_by_label("Logarithmic").check()
    expect(page.get_by_role("img", name="reconstruction, across: step, up: nats, logarithmic")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(UNNAMED) == []
    page.get_by_label("Smoothing").fill("0")
    expect(page.locator(".line.raw")).to_have_count(0)


def test_a_logarithmic_axis_says_what_it_leaves_out(page: Page, ids: dict[str, str], served: Path) -> None:
    (served / "training" / "curves.csv").write_text("step,kl\n10,3\n20,0\n30,-1\n40,300\n")
    opened(page, ids["training"])
    path = page.locator(".line").get_attribute("d") or ""
    assert path.count("L") == 3
    page.get_by_label("Logarithmic").check()
    expect(page.get_by_text("leaves out values that are not positive")).to_be_visible()
    assert (page.locator(".line").get_attribute("d") or "").count("L") == 1
    page.get_by_role("checkbox", name="Logarithmic").uncheck()
    # A run whose last values are not finite has diverged, and a chart without any says so.
    (served / "training" / "curves.csv").write_text("step,kl,reconstruction,capacity\n10,3,,5\n20,,,\n")
    page.reload()
    for _ in screens(page):
        expect(page.locator(".facts[role=status] span")).to_have_text(
            ["training", "step 20 of 100", "diverged: its last values are not finite"]
        )
        expect(page.locator(".chart .axis.y")).to_have_text(["nats"] * 3)
        expect(page.locator(".chart", has_text="reconstruction").get_by_text("no finite value")).to_be_visible()
        expect(page.locator(".chart", has_text="KL").get_by_text("no finite value")).to_be_hidden()
    write_curves(served / "training", range(10, 60, 10))


SIZES = "texts => texts.map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"


def test_axes_are_named_and_large_enough_to_read(page: Page, ids: dict[str, str]) -> None:
    opened(page, ids["beta"])
    for _ in screens(page):
        expect(page.locator(".chart .axis.x")).to_have_text(["step"] * 3)
        expect(page.locator(".chart .axis.y")).to_have_text(["nats"] * 3)
        assert min(page.locator(".chart svg[role=img] text").evaluate_all(SIZES)) >= 11


def pressed_across(page: Page, chart: Locator, finger: CDPSession | None) -> Iterator[None]:
    """Drags from the middle of a chart to near its end, by a finger or by the mouse; what is said before the release is
    asked for at the pause."""
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    start, *along = [(box["x"] + share * box["width"], height) for share in (0.5, 0.56, 0.62, 0.68, 0.74, 0.8)]
    if finger:

        def touch(kind: str, *places: tuple[float, float]) -> None:
            points = [{"x": x, "y": y} for x, y in places]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", start)
        for place in along:
            touch("touchMove", place)
        yield
        touch("touchEnd")
    else:
        page.mouse.move(*start)
        page.mouse.down()
        for place in along:
            page.mouse.move(*place)
        yield
        page.mouse.up()


def test_zooming_in_one_chart_zooms_all_and_can_be_typed_and_undone(page: Page, ids: dict[str, str]) -> None:
    """With a mouse, and on a phone, which has none, by touch."""
    opened(page, ids["beta"])
    charts, first, last = page.locator(".chart"), page.get_by_label("From step"), page.get_by_label("To step")
    devtools = page.context.new_cdp_session(page)
    for theme in screens(page):
        phone = page.evaluate("innerWidth") < 500
        if phone:
            devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        for _ in pressed_across(page, charts.nth(1).locator("svg.zooms"), devtools if phone else None):
            expect(charts.nth(1).locator(".range")).to_be_visible()
        expect(page.get_by_role("button", name="All steps")).to_be_visible()
        expect(charts.nth(1).locator(".line")).to_have_css("stroke", in_css(theme.palette[0]))
        assert 45 <= int(first.input_value()) <= 55
        assert 75 <= int(last.input_value()) <= 85
        # All charts, with words at both axes and letters that can be read.
        for at in range(3):
            labels = charts.nth(at).locator("svg[role=img] > text[text-anchor=middle]").all_text_contents()
            assert labels
            assert all(45 <= float(text) <= 85 for text in labels)
        assert min(charts.locator("svg[role=img] text").evaluate_all(SIZES)) >= 11
        assert page.evaluate(UNNAMED) == []
        page.get_by_role("button", name="All steps").click()
        expect(first).to_have_value("10")
        expect(last).to_have_value("100")
        first.fill("40")
        first.press("Enter")
        expect(charts.nth(2).locator("text[text-anchor=middle]").first).to_have_text("40")
        charts.nth(1).locator("svg.zooms").dblclick()
        expect(first).to_have_value("10")
    devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    devtools.detach()
    # Escape shows all steps, too.
    last.fill("60")
    last.press("Enter")
    expect(page.get_by_role("button", name="All steps")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="All steps")).to_be_hidden()


def test_one_cursor_reads_every_curve(page: Page, ids: dict[str, str]) -> None:
    opened(page, ids["beta"])
    page.locator(".chart svg.zooms").first.hover()
    captions = page.locator(".chart figcaption")
    expect(captions.first).to_have_text(re.compile(r"^reconstruction at step (50|60): \d"))
    step = int((captions.first.text_content() or "").partition(" at step ")[2].partition(":")[0])
    expect(captions).to_have_text(
        [
            f"reconstruction at step {step}: {1000 / step:.3f}".removesuffix(".000"),
            f"KL at step {step}: {step / 100:.3f}",
            f"KL per latent at step {step}",
        ]
    )
    expect(page.locator(".chart .legend b")).to_have_text([f"{step / 200:.3f}", f"{step / 300:.3f}"])
    expect(page.locator(".chart .cursor[visibility=visible]")).to_have_count(3)
    page.mouse.move(0, 0)
    expect(captions.first).to_have_text("reconstruction")


def test_a_run_in_training_says_how_far_it_is_and_how_long_it_takes(
    page: Page, ids: dict[str, str], served: Path
) -> None:
    table, now = served / "training" / "curves.csv", time.time()
    os.utime(table, (now - 20, now - 20))
    opened(page, ids["training"])
    state = page.locator(".facts[role=status]")
    expect(state).to_contain_text("step 50 of 100")
    expect(state).to_contain_text("known after the next point")
    # Thirty steps took twenty seconds: the last twenty take 13.
    write_curves(served / "training", range(10, 90, 10))
    os.utime(table, (now, now))
    expect(state).to_contain_text("about 13 s left")
    for theme in screens(page):
        expect(state.get_by_text("step 80 of 100")).to_be_visible()
        expect(state.get_by_text("about 13 s left")).to_be_visible()
        expect(state.locator(".live")).to_have_css("color", in_css(theme.warm))
    write_curves(served / "training", range(10, 60, 10))
    os.utime(table, (now - 600, now - 600))
    page.reload()
    expect(state).to_contain_text("no new point for 10 min: was it stopped?")
    expect(state.locator(".live")).to_be_hidden()
