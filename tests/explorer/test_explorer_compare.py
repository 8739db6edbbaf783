"""Runs side by side in a real browser: names first, one scale of colours, everything in sight, linked and matched latents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from browser_pages import PIXELS, UNNAMED, changed, in_css, screens, shows
from explorer_fixtures import columns_of
from playwright.sync_api import Page, expect

from hackle.explorer import create_app
from hackle.train.model import Model


@pytest.fixture(scope="module")
def turned(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and the same with its latents in another order and the first of them reversed."""
    place = tmp_path_factory.mktemp("turned")
    model = Model.load(served / "beta")
    model.save(place / "one")
    weights = model.weights()
    order, signs = torch.tensor([2, 0, 1]), torch.tensor([-1.0, 1.0, 1.0])
    for name in ("encoder.4.linear.weight", "encoder.4.linear.bias"):
        means, logvars = weights[name].chunk(2)
        turned = means[order] * signs.reshape(-1, *[1] * (means.ndim - 1))
        weights[name] = torch.cat([turned, logvars[order]])
    weights["decoder.0.weight"] = weights["decoder.0.weight"][:, order] * signs
    Model(model.run, model.shape, weights).save(place / "turned")
    return place


ALIKE = """() => {
  const [one, other] = [...document.querySelectorAll(".heads canvas.mirror")].map((canvas) =>
    canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data);
  return one.every((value, at) => Math.abs(value - other[at]) <= 2);
}"""
"""Whether two runs show the same image; the second may be there before the first."""


def listed(client: httpx.Client) -> dict[str, str]:
    columns = columns_of(client.get("/api/runs").json())
    return dict(zip(columns["name"], columns["id"], strict=True))


def test_latents_in_another_order_are_matched_and_a_reversed_one_is_said(turned: Path, visit: Any) -> None:
    client = visit(create_app(turned))
    ids = listed(client)
    found = client.get("/api/match", params={"runs": f"{ids['one']},{ids['turned']}"}).json()
    assert found["by"] == "information"
    pairs = {row[0]["latent"]: (row[1]["latent"], row[1]["sign"]) for row in found["rows"]}
    assert pairs == {2: (0, -1), 0: (1, 1), 1: (2, 1)}
    refused = client.get("/api/match", params={"runs": ",".join([ids["one"]] * 7)})
    assert refused.status_code == 422
    assert "at most 6" in refused.json()["detail"]


def test_class_numbers_have_no_partner_among_numbers(client: httpx.Client, ids: dict[str, str]) -> None:
    found = client.get("/api/match", params={"runs": f"{ids['beta']},{ids['gan']}"}).json()
    assert found["by"] == "information"
    assert [None, {"latent": 2, "sign": 1}] in found["rows"]


@pytest.mark.parametrize("width", [1280, 390])
def test_names_come_first_and_everything_is_in_sight(page: Page, ids: dict[str, str], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    names = ("beta", "plain", "gan", "beta", "plain", "gan")
    page.goto(f"/#/compare/{','.join(ids[name] for name in names)}")
    page.wait_for_selector(".latents-matched[data-drawn]")
    expect(page.locator(".maps .heat")).to_have_count(6)
    expect(page.locator(".heads h2 a")).to_have_text(list(names))
    expect(page.locator(".heads h2 .tag")).to_have_text(list("ABCDEF"))
    wide = "parts => parts.filter(part => part.getBoundingClientRect().right > innerWidth + 1).length"
    for theme in screens(page, width):
        parts = page.locator(".columns > *, .heat td, .heat th, .compare .plain td, .traversal canvas")
        assert parts.evaluate_all(wide) == 0
        # Every run has as much room for its scores, however long its name is, and every traversal its values.
        widths = page.locator(".compare .plain thead th.number:has(.tag)").evaluate_all(
            "heads => heads.map(head => head.getBoundingClientRect().width)"
        )
        assert len(widths) == 6
        assert max(widths) - min(widths) < 1
        assert page.locator(".matched canvas").count() == page.locator(".matched .axis").count() > 6
        assert "−0.0" not in page.locator(".latents-matched").inner_text()
        # The GAN has no curves, and the legend no colours for it.
        chart = page.locator(".curves .chart").first
        expect(chart.locator(".legend .entry").filter(visible=True)).to_have_count(4)
        keys = chart.locator(".legend .key").filter(visible=True)
        assert set(keys.evaluate_all("keys => keys.map(key => key.getBoundingClientRect().width)")) == {12}
        assert page.evaluate(UNNAMED) == []
        for place in range(6):
            expect(page.locator(".heads h2 .tag").nth(place)).to_have_css(
                "border-bottom-color", in_css(theme.palette[place])
            )


def test_one_scale_of_colours_for_all_runs(page: Page, ids: dict[str, str], client: httpx.Client) -> None:
    page.goto(f"/#/compare/{ids['beta']},{ids['plain']}")
    expect(page.locator(".maps .heat")).to_have_count(2)
    information = [
        client.get(f"/api/runs/{ids[name]}/captured").json()["posterior_information"] for name in ("beta", "plain")
    ]
    top = max(0.1, np.max(information))
    cells = page.locator(".maps .heat tbody td")
    shares = cells.evaluate_all("cells => cells.map(cell => Number(cell.style.getPropertyValue('--share')))")
    values = cells.evaluate_all("cells => cells.map(cell => Number(cell.title.split(': ')[1]))")
    np.testing.assert_allclose(shares, np.array(values) / top, atol=2e-3)
    expect(page.locator(".colour-scale")).to_contain_text(f"{top:.2f} nats")
    # The scale ends in the colour of a cell that knows as much, light or dark.
    cells.first.evaluate("cell => cell.style.setProperty('--share', 1)")
    scale = page.get_by_role("img", name=f"from no tint, 0, to the deepest, {top:.2f} nats")
    for theme in screens(page):
        deepest = cells.first.evaluate("cell => getComputedStyle(cell).backgroundColor")
        expect(scale).to_have_css("background-image", f"linear-gradient(to right, {in_css(theme.paper)}, {deepest})")


def test_a_slider_moves_the_matched_latents_of_all_runs_and_a_link_keeps_it(
    elsewhere: Page, turned: Path, visit: Any
) -> None:
    client = visit(create_app(turned))
    ids = listed(client)
    elsewhere.goto(f"{client.base_url}/#/compare/{ids['one']},{ids['turned']}")
    elsewhere.wait_for_selector(".latents-matched[data-drawn]")
    row = elsewhere.locator(".matched", has_text="reversed")
    expect(row).to_have_count(1)
    decoded = elsewhere.locator(".heads canvas.mirror")
    slider = row.get_by_label("Latents A z2, B z0")
    for key, theme in zip(("End", "Home") * 2, screens(elsewhere), strict=True):
        expect(row.locator(".tag.s1")).to_have_css("border-bottom-color", in_css(theme.palette[1]))
        changed(elsewhere, ".heads canvas.mirror", lambda key=key: slider.press(key), at=1)
        # The models are the same but for the order and the sign of their latents, and so are their images.
        elsewhere.wait_for_function(ALIKE)
    expect(elsewhere).to_have_url(re.compile("moved=2%3A0"))
    values = [
        [float(text.replace("−", "-")) for text in row.locator(".axis").nth(at).locator("span").all_text_contents()]
        for at in (0, 1)
    ]
    assert len(values[0]) == 9
    np.testing.assert_allclose(values[0], -np.array(values[1]), atol=0.11)
    strips = [row.locator("canvas").nth(at).evaluate(PIXELS).split(",") for at in (0, 1)]
    np.testing.assert_allclose(np.array(strips[0], float), np.array(strips[1], float), atol=2)
    before = decoded.nth(0).evaluate(PIXELS)
    elsewhere.reload()
    elsewhere.wait_for_selector(".latents-matched[data-drawn]")
    shows(decoded.nth(0), before)
    expect(slider).to_have_value("0")
    changed(elsewhere, ".heads canvas.mirror", lambda: elsewhere.get_by_role("button", name="Reset").click())
    expect(elsewhere).not_to_have_url(re.compile("moved"))
