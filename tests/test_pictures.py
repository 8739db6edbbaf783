"""Pictures show what the model says: the right latents move, in the right order, in the right place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from hackle.model import Model
from hackle.objectives import VAE
from hackle.pictures import (
    SPAN,
    Look,
    PictureError,
    animation,
    histograms,
    mosaic,
    overview,
    pair_map,
    reconstructions,
    samples,
    show,
    traversals,
)
from test_fleet import small_run


@pytest.fixture(scope="module")
def look(squares: Any) -> Look:
    model = Model(small_run(VAE()), squares.shape)
    # Latent 1 is made the most used one and latent 2 collapses to the prior.
    with torch.no_grad():
        head = model.networks["encoder"][-1].linear  # type: ignore[index,union-attr]
        head.weight.copy_(head.weight * torch.tensor([0.1, 3.0, 0.0, 0.1, 1.0, 0.0])[:, None])
    return Look.of(model, squares, n=64)


def test_latents_are_ordered_by_kl(look: Look) -> None:
    assert look.order[0] == 1
    assert look.order[-1] == 2
    assert (np.diff(look.kl[look.order]) <= 0).all()
    assert look.kl[2] == pytest.approx(0, abs=1e-6)


def test_a_traversal_moves_one_latent_of_one_image(look: Look) -> None:
    found = traversals(look, image=3, columns=5)
    assert found.shape == (3, 5, 16, 16, 1)
    z = look.means[3].copy()
    z[1] = SPAN
    np.testing.assert_allclose(found[0, -1], look.model.decode(z[None])[0], atol=1e-6)
    z[1] = -SPAN
    np.testing.assert_allclose(found[0, 0], look.model.decode(z[None])[0], atol=1e-6)


def test_a_pair_map_moves_two_latents(look: Look) -> None:
    found = pair_map(look, 0, 2, side=3)
    z = look.means[0].copy()
    z[0], z[2] = SPAN, -SPAN
    np.testing.assert_allclose(found[2, 0], look.model.decode(z[None])[0], atol=1e-6)


def test_reconstructions_stand_under_their_originals(look: Look) -> None:
    found = reconstructions(look, columns=4)
    np.testing.assert_array_equal(found[0], look.images[:4] / np.float32(255))
    np.testing.assert_allclose(found[1, 2], look.model.decode(look.means[2:3])[0], atol=1e-6)


def test_mosaic_places_tiles() -> None:
    tiles = np.arange(6, dtype=np.uint8).reshape(2, 3, 1, 1, 1).repeat(2, axis=2).repeat(2, axis=3) * 10
    sheet = mosaic(tiles, gap=1)
    assert sheet.shape == (7, 10, 3)
    assert (sheet[0] == 255).all()
    assert (sheet[4:6, 7:9] == 50).all()


def test_animations_return_to_their_start_and_samples_differ(look: Look) -> None:
    frames = animation(look, images=2, frames=8)
    assert len(frames) == 8
    assert frames[0].shape == (2 * 18 + 2, 3 * 18 + 2, 3)
    assert (frames[0] == frames[4]).all()
    assert (frames[2] != frames[6]).any()
    drawn = samples(look, 2, 2)
    assert not np.array_equal(drawn[0, 0], drawn[1, 1])


def test_figures_name_every_latent(look: Look) -> None:
    labels = [label.get_text() for label in overview(look, columns=4).axes[0].get_yticklabels()]
    assert labels[:2] == ["original", "reconstruction"]
    assert labels[2].startswith("z1  KL")
    titles = [axes.get_title() for axes in histograms(look).axes if axes.get_visible()]
    assert [title.split()[0] for title in titles] == [f"z{latent}" for latent in look.order]


def test_show_writes_every_picture_and_overwrites_none(look: Look, squares: Any, tmp_path: Path) -> None:
    paths = show(look.model, squares, tmp_path)
    assert [path.suffix for path in paths] == [".png"] * 4 + [".gif"]
    with Image.open(paths[-1]) as animated:
        assert animated.n_frames == 24  # type: ignore[attr-defined]
    with pytest.raises(PictureError, match="--overwrite"):
        show(look.model, squares, tmp_path)
    show(look.model, squares, tmp_path, overwrite=True)
