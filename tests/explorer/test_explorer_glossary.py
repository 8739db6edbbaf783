"""Words that the explorer explains are the glossary's, and each has an entry there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from browser_pages import open_model
from playwright.sync_api import Page, expect

import hackle
from hackle.core.design import DESIGN
from hackle.metrics.metric import known_rows

DOCS = Path(__file__).parents[2] / "docs"
KEPT = Path(hackle.__file__).parent / "explorer" / "static" / "glossary.json"
TERMS = "nodes => nodes.map(node => node.dataset.term)"


def glossary() -> dict[str, str]:
    """The table of docs/glossary.md: each word with its meaning, two words of one line with the same."""
    lines = re.findall(r"^\| (.+?) \| (.+) \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    cells = [(words, meaning.replace("\\|", "|").replace("`", "")) for words, meaning in lines if words != "word"]
    return {word: meaning for words, meaning in cells for word in words.split(", ")}


def test_the_page_has_the_glossary_of_the_documentation() -> None:
    """To write it again: KEPT.write_text(json.dumps(glossary(), ensure_ascii=False, indent=1) + "\\n")."""
    assert json.loads(KEPT.read_text()) == glossary()


def test_every_setting_and_every_metric_has_an_entry(page: Page) -> None:
    """A star stands for a number, or for a factor's name."""
    names = [*DESIGN, *(row.name.replace("*", "3") for row in known_rows()), "kl_per_latent", "total_correlation"]
    page.goto("/")
    entries = page.evaluate(
        "async (names) => { const { entryOf } = await import('./js/dom.js'); return names.map((one) => entryOf(one)); }",
        names,
    )
    found = dict(zip(names, entries, strict=True))
    assert {name for name, entry in found.items() if entry not in glossary()} == set()
    # The longer of two names is not taken for the shorter.
    said = {
        "dcimig": "DCIMIG",
        "jemmig": "JEMMIG",
        "misjed_top": "MISJED",
        "sepin@3": "SEPIN",
        "whole_wsepin": "WSEPIN",
    }
    assert {name: found[name] for name in said} == said


def test_each_word_of_a_note_is_explained_once_and_no_part_of_a_name(page: Page) -> None:
    page.goto("/")
    found = page.evaluate(
        "async (text) => (await import('./js/dom.js')).noted(text).map((one) => one.dataset?.term ?? one.textContent ?? one)",
        "Weights of the data set runs/prior.npz: this run (latents-3, weights.safetensors) has weights. `hackle score runs`",
    )
    assert [part for part in found if part] == [
        *(
            "weights",
            " of the ",
            "data set",
            " runs/prior.npz: this ",
            "run",
            " (latents-3, weights.safetensors) has weights. ",
        ),
        "hackle score runs",
    ]


@pytest.mark.parametrize("width", [1280, 390])
def test_terms_are_explained_where_they_stand(page: Page, ids: dict[str, str], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    known, met = glossary(), set()
    for place, wait, there in (
        ("", ".runs tbody tr[data-id]", {"method", "strength", "MIG", "KL"}),
        (
            f"#/compare/{ids['beta']},{ids['plain']}",
            ".latents-matched[data-drawn] .colour-scale",
            {"latents", "nats", "metric", "reference", "MIG", "factor of variation"},
        ),
    ):
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        found = set(page.locator("[data-term]").evaluate_all(TERMS))
        assert there <= found <= known.keys(), place
    for place, wait in {
        f"#/run/{ids['beta']}/explore": ".tool[data-drawn]",
        f"#/run/{ids['beta']}/captured": ".tops canvas",
        f"#/run/{ids['beta']}/training": ".chart",
    }.items():
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        met |= set(page.locator("[data-term]").evaluate_all(TERMS))
    assert met <= known.keys()
    assert met >= {"strength", "latents", "KL", "prior", "collapsed", "traversal", "RMIG", "MIG", "DCI", "MISJED"}
    assert met >= {"metric", "representation", "reference", "factor of variation", "mutual information", "codes"}
    open_model(page, ids)
    tip = page.locator("#tip")
    strength = page.locator("[data-term=strength]")
    strength.hover()
    expect(tip).to_have_text(f"strength {known['strength']}")
    expect(strength).to_have_attribute("aria-describedby", "tip")
    box = tip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    subject = strength.bounding_box()
    assert subject is not None
    assert box["y"] + box["height"] <= subject["y"] or box["y"] >= subject["y"] + subject["height"]
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    # By keys alone.
    page.locator(".legend [data-term=prior]").focus()
    expect(tip).to_have_text(f"prior {known['prior']}")
    page.keyboard.press("Tab")
    expect(tip).not_to_contain_text(known["prior"])
