"""Runs without weights: the command that trains each of them again, and links to what a run's page shows."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser_pages import PIXELS, changed, in_css, open_model, screens
from playwright.sync_api import Browser, Page, expect

from hackle.cli import train
from hackle.core.records import record_hash, to_json
from hackle.core.regimes import Labels, Pairs
from hackle.core.scored import Scored
from hackle.core.types import Adam, Run
from hackle.explorer import create_app
from hackle.explorer.commands import train_command
from hackle.nets import MLP
from hackle.objectives import FactorVAE
from hackle.store import Store
from hackle.studies.presets import default_run, method_at
from hackle.train.record_files import run_of_record
from made_up_outcomes import made_up, made_up_run

RUNS = {
    "plain": replace(default_run("vae", "dsprites"), seed=3),
    "strength": replace(default_run("beta-vae", "rooms3d"), method=method_at("beta-vae", 0.1), steps=1234, latents=6),
    "noise": replace(default_run("factor-vae", "dsprites"), correlation=0.9, precision="bfloat16", batch_size=32),
    "optimiser": replace(default_run("beta-tcvae", "dsprites"), optimiser=Adam(learning_rate=3e-5, beta1=0.5)),
    "discriminator": replace(
        default_run("factor-vae", "dsprites"),
        method=FactorVAE(6.0, discriminator_optimiser=Adam(learning_rate=1e-3, beta1=0.5, beta2=0.8)),
    ),
    "scored": replace(
        default_run("vae", "dsprites"), scored=Scored(points=4, metrics="mig,kl", protocol="locatello2019")
    ),
    "pairs": replace(default_run("ada-gvae", "dsprites"), pairs=Pairs("resample", changed=1)),
    "labels": replace(default_run("s2-beta-vae", "dsprites"), labels=Labels(250)),
    "a path": replace(default_run("vae", "my images/set.npz"), held_out=10),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_command_trains_the_same_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Run] = []
    monkeypatch.setattr(train, "_fit", lambda run, *rest: asked.append(run))
    command = train_command(run_of_record(to_json(RUNS[name])), "runs/again")
    words = shlex.split(command)
    assert words[:2] == ["hackle", "train"]
    train.main(words[2:])
    assert record_hash(asked[0]) == record_hash(RUNS[name])


def test_a_record_that_no_command_says_has_none() -> None:
    run = default_run("vae", "dsprites")
    assert train_command(replace(run, architecture=MLP((3,))), "again") == ""
    assert train_command(replace(run, start_from="of another"), "again") == ""


def test_a_run_says_why_there_is_no_model_and_how_to_train_it(elsewhere: Page, tmp_path: Path, visit: Any) -> None:
    """One whose weights were not kept, and one that failed, without asking for a model that is not there."""
    bare, failed = (
        made_up_run(4, strength=8.0),
        made_up(1, status="failed", reason="kl was not finite at step 3", scores=[]),
    )
    with Store.create_or_open(tmp_path) as store:
        store.add(replace(made_up(0), run=bare))
        store.add(failed)
    client = visit(create_app(tmp_path))
    elsewhere.goto(f"{client.base_url}/#/run/{record_hash(bare)}/explore")
    note = elsewhere.locator(".note")
    for theme in screens(elsewhere):
        expect(note).to_contain_text("there is no model to open")
        expect(note.locator("code").first).to_contain_text("hackle train beta-vae --dataset dsprites --beta 8 --seed 4")
        expect(note).to_have_css("border-left-color", in_css(theme.warm))
    # What there is of a failed run comes with the reason, in every view.
    elsewhere.goto(f"{client.base_url}/#/run/{record_hash(failed.run)}")
    for _, view in zip(screens(elsewhere), ("Explore", "What it captured", "Record", "Training"), strict=True):
        elsewhere.get_by_role("tab", name=view).click()
        expect(note).to_have_text("this run failed: kl was not finite at step 3")
        if view == "What it captured":
            expect(elsewhere.locator(".scores")).to_contain_text("This run has no scores.")
    expect(elsewhere.locator(".chart")).to_have_count(2)
    elsewhere.goto(f"{client.base_url}/#/compare/{record_hash(bare)},{record_hash(failed.run)}")
    expect(note).to_have_count(2)
    inside = "notes => notes.every(note => note.scrollWidth <= note.clientWidth)"
    for _ in screens(elsewhere):
        assert note.evaluate_all(inside)


IN_ADDRESS = """() => {
  const z = new URLSearchParams(location.hash.split("?")[1]).get("z")?.split(",");
  return z && Math.abs(z[1] - document.getElementById("latent-1").value) < 1e-3;
}"""
"""Whether the address says where the second latent is."""


def test_a_link_to_a_model_keeps_its_image_its_latents_and_its_view(
    page: Page, browser: Browser, ids: dict[str, str]
) -> None:
    open_model(page, ids)
    page.evaluate("Math.random = () => 0.7")
    changed(page, ".original canvas", page.get_by_role("button", name="Random image").click)
    page.get_by_role("tab", name="Two latents").click()
    page.locator("#latent-1").press("End")
    page.wait_for_function(IN_ADDRESS)
    other = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    other.goto(page.url)
    other.wait_for_selector(".pad[data-drawn]")
    values = [
        one.locator(".latent input.value").evaluate_all("inputs => inputs.map((input) => input.value)")
        for one in (page, other)
    ]
    assert values[0] == values[1]
    pictures = [one.locator(".original canvas").evaluate(PIXELS) for one in (page, other)]
    assert pictures[0] == pictures[1]
    # Another view of the same run keeps them, and an address that makes no sense is none.
    other.get_by_role("tab", name="Training").click()
    assert "z=" in other.url
    other.goto(f"{page.url.split('?')[0]}?row=9,9,9&z=1e40,x")
    other.reload()
    other.wait_for_selector(".tool[data-drawn]")
    other.close()
