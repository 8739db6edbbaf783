"""What a model captured in words, of informations that were made up: each case has one reading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hackle.pictures import Axis, Captured, Look, in_a_sentence
from hackle.pictures.sentence import FOLLOWED, LEAST

FACTORS = ("object_hue", "scale", "shape")
ENTROPIES = (2.0, 2.0, 1.0)


def said(*rows: tuple[float, ...], **known: Any) -> str:
    """The sentence of codes that have these fractions of the three factors."""
    return in_a_sentence(FACTORS, np.array(rows) * ENTROPIES, ENTROPIES, **known)


@pytest.mark.parametrize(
    ("fractions", "known", "sentence"),
    [
        pytest.param(
            [(0, 0.9, 0), (0.9, 0, 0), (0, 0, 0.9)],
            {},
            "z1 follows object hue, z0 scale and z2 shape.",
            id="each followed by one",
        ),
        pytest.param(
            [(0.8, 0.02, 0), (0, 0.05, 0.3)],
            {},
            "z0 follows object hue; z1 partly follows shape; scale is lost.",
            id="followed, in part, lost",
        ),
        pytest.param(
            [(0.4, 0.6, 0), (0.6, 0, 0.7), (0.31, 0, 0)],
            {},
            "z0 follows scale and z1 shape; z1, z0 and z2 share object hue.",
            id="shared, the first first",
        ),
        pytest.param([(0.7, 0.6, 0), (0.2, 0.1, 0.1)], {}, "z0 follows object hue and scale at once; z1 partly follows shape.",
                     id="mixed"),
        pytest.param([(0.05, 0, 0)] * 5, {}, "Object hue, scale and shape are lost.",
                     id="nothing is followed"),
        pytest.param(
            [(0.8, 0.07, 0), *[(0, 0.04, 0.09)] * 6, (0, 0, 0.005)],
            {},
            "z0 follows object hue; scale and shape are spread over 7 latents, less than a tenth in each; "
            "z7 is used for none of them.",
            id="a little in each of many",
        ),
        pytest.param(
            [(0.8, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0.8, 0.2)],
            {"used": [True, False, False, True]},
            "z0 follows object hue and z3 scale; z3 partly follows shape; z1 and z2 are unused.",
            id="unused are named where they are few",
        ),
        pytest.param(
            [(0.8, 0.7, 0.2), *[(0.3, 0.2, 0.15)] * 4],
            {"used": [True, *[False] * 4]},
            "z0 follows object hue and scale at once; z0 partly follows shape; 4 of 5 latents are unused.",
            id="what a collapsed latent says does not count",
        ),
        pytest.param([(0.5, 0, 0)], {"used": [False]}, "No latent is used: every factor is lost.", id="collapsed"),
    ],
)  # fmt: skip
def test_what_is_said(fractions: Any, known: Any, sentence: str) -> None:
    assert said(*fractions, **known) == sentence


def test_the_bounds_are_those_that_are_documented() -> None:
    assert said((FOLLOWED, LEAST, LEAST - 1e-6)) == "z0 follows object hue; z0 partly follows scale; shape is lost."
    assert said((FOLLOWED - 1e-6, 0, 0)).startswith("z0 partly follows")


def test_few_images_leave_it_open() -> None:
    """By chance the codes seem to have a third of scale and shape: that is no knowledge, and less does not mean lost."""
    chance = np.array([0.0, 0.3, 0.3]) * ENTROPIES
    sentence = said((0.9, 0.55, 0.2), (0, 0, 0.1), chance=chance, images=32)
    assert sentence == "z0 follows object hue; of scale and shape nothing certain can be said from 32 images."
    clear = said((0.9, 0.85, 0.2), (0, 0, 0.1), chance=chance, images=1)
    assert clear == "z0 follows object hue and scale at once; of shape nothing certain can be said from 1 image."
    # What a second code has by chance alone is not shared.
    assert "share" not in said((0.9, 0.85, 0.2), (0, 0.5, 0.1), chance=chance)
    # Where chance is little, it is subtracted: 14% less 5% is no tenth.
    assert said((0.9, 0.14, 0.16), chance=np.array([0.0, 0.05, 0.05]) * ENTROPIES) == (
        "z0 follows object hue; z0 partly follows shape; scale is lost."
    )


def test_a_look_at_codes_that_are_the_factors_is_said_so(squares: Any) -> None:
    """2,048 rows drawn from the grid, each code of a model known: z1 is x with little noise, z0 y, z2 nothing."""
    rng = np.random.default_rng(0)
    rows = squares.factors.draw(2048, rng)
    noise = rng.normal(size=len(rows))
    means = np.stack([rows[:, 1] - 1.5, rows[:, 0] - 1.5, noise], axis=1).astype(np.float32)
    logvars = np.full_like(means, -5.0)
    look = Look(None, None, rows, means, logvars, (Axis(),) * 3, np.array([2.0, 2.0, 2.0]), np.arange(3))  # type: ignore[arg-type]
    found = Captured.of(look, squares.factors)
    assert (found.posterior_chance < 0.1).all()
    side = "z2 is used for none of them."
    assert found.sentence(np.ones(3, bool), len(rows)) == f"z1 follows x and z0 y; side is lost; {side}"
