"""Pictures show what the model says: the right latents move, in the right order, in the right place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle
from PIL import Image

from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorError, FactorGrid
from hackle.core.gaussian import NOISELESS
from hackle.core.method import Code
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.labels import labelled_grid
from hackle.nets import Adversarial
from hackle.objectives import VAE, InfoGAN
from hackle.pictures import (
    SPAN,
    Axis,
    Captured,
    Look,
    PictureError,
    animation,
    captured_figure,
    code_ends,
    code_rows,
    histograms,
    importance,
    interpolation,
    mosaic,
    nearest_row,
    noise_reconstructions,
    overview,
    overview_rows,
    pair_map,
    pair_maps,
    reconstructions,
    response,
    responses_figure,
    samples,
    show,
    top_latents,
    traversals,
)
from hackle.train.model import Model
from train.test_fleet import small_run


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


def test_rows_of_codes_are_traversals_in_the_order_of_the_codes(look: Look) -> None:
    np.testing.assert_allclose(code_rows(look, 3, 5)[look.order], traversals(look, 3, 5), atol=1e-6)
    np.testing.assert_allclose(code_ends(look), [(code, look.kl[code], -SPAN, SPAN) for code in range(3)])


def test_maps_of_every_pair_span_two_to_either_side(look: Look) -> None:
    wide = replace(look, axes=tuple(replace(axis, visited=(-9.0, 9.0)) for axis in look.axes))
    maps = pair_maps(wide, side=3)
    assert maps.shape == (3, 3, 3, 16, 16, 1)
    z = look.means[0].copy()
    # The last of the pairs (0, 1), (0, 2), (1, 2): code 1 moves along the columns, code 2 down the rows.
    z[1], z[2] = SPAN, -SPAN
    np.testing.assert_allclose(maps[2, 0, 2], look.model.decode(z[None])[0], atol=1e-6)


def test_one_code_has_no_pairs(look: Look) -> None:
    classes = (replace(axis, prior="categorical", classes=2) for axis in look.axes[1:])
    alone = replace(look, axes=(look.axes[0], *classes))
    assert pair_maps(alone, side=3).shape == (0, 3, 3, 16, 16, 1)


def look_at_classes(squares: Any, classes: int) -> Look:
    run = small_run(
        InfoGAN(categories=(classes,), noise=4), architecture=Adversarial(channels=(8, 8), hidden=16, side=4)
    )
    return Look.of(Model(run, squares.shape), squares, n=8)


def test_a_class_has_one_tile(squares: Any) -> None:
    look = look_at_classes(squares, 7)
    rows, ends = code_rows(look, columns=5), code_ends(look, columns=5)
    assert len(rows) == look.means.shape[1] - 1 + 2
    np.testing.assert_array_equal(ends[-2:, [0, 2, 3]], [[3, 0, 4], [3, 5, 6]])
    z = look.means[0].copy()
    z[-1] = 6
    np.testing.assert_allclose(rows[-1, 1], look.model.decode(z[None])[0], atol=1e-6)
    assert (rows[-1, 2:] == 1).all()


def test_noise_alone_changes_reconstructions_of_an_image(squares: Any, look: Look) -> None:
    generated = look_at_classes(squares, 3)
    tiles = noise_reconstructions(generated, rows=2, columns=4)
    assert tiles.shape == (2, 4, 16, 16, 1)
    np.testing.assert_allclose(tiles[1, 0] * 255, generated.images[1], atol=1e-3)
    noise = np.random.default_rng(0).standard_normal((2, 3, 4), dtype=np.float32)
    z = np.concatenate([generated.means[1], noise[1, 2]])
    np.testing.assert_allclose(tiles[1, 3], generated.model.decode(z[None])[0], atol=1e-6)
    with pytest.raises(PictureError, match="no noise to vary"):
        noise_reconstructions(look)


def test_a_pair_map_moves_two_latents(look: Look) -> None:
    found = pair_map(look, 0, 2, side=3)
    z = look.means[0].copy()
    z[0], z[2] = SPAN, -SPAN
    np.testing.assert_allclose(found[2, 0], look.model.decode(z[None])[0], atol=1e-6)


def test_reconstructions_stand_under_their_originals(look: Look) -> None:
    found = reconstructions(look, columns=4)
    np.testing.assert_array_equal(found[0], look.images[:4] / np.float32(255))
    np.testing.assert_allclose(found[1, 2], look.model.decode(look.means[2:3])[0], atol=1e-6)


def test_transparent_images_lie_over_the_background() -> None:
    colour = np.array([[[[[200, 100, 0, 255], [200, 100, 0, 0], [200, 100, 0, 51]]]]], np.uint8)
    assert mosaic(colour, gap=0)[0].tolist() == [[200, 100, 0], [255, 255, 255], [244, 224, 204]]
    grey = np.array([[[[[200, 255], [200, 0]]]]], np.uint8)
    assert mosaic(grey, gap=0)[0].tolist() == [[200, 200, 200], [255, 255, 255]]


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
    used = replace(look, kl=np.array([0.5, 2.0, 0.001]))
    axes = overview(used, columns=4).axes[0]
    labels = axes.get_yticklabels()
    names = ["original", "reconstruction", "z1  KL 2.00", "z0  KL 0.50", "z2  collapsed"]
    assert [label.get_text() for label in labels] == names
    assert labels[-1].get_color() != labels[-2].get_color()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["−2", "2"]
    titles = [axes.get_title() for axes in histograms(look).axes if axes.get_visible()]
    assert [title.split()[0] for title in titles] == [f"z{latent}" for latent in look.order]


@pytest.mark.parametrize("letter", ["i", "W"])
def test_images_are_as_large_beside_narrow_and_wide_letters(look: Look, letter: str) -> None:
    """The paper is as wide as the labels' letters are, not as their number."""

    class Told:
        def main_factor(self, latent: int) -> str:
            return 40 * letter

    captured: Any = Told()
    figure = overview(look, columns=5, captured=captured)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    left, below, right, top = axes.get_tightbbox().extents / figure.dpi  # type: ignore[union-attr]
    assert axes.get_window_extent().width / figure.dpi == pytest.approx(5 * 0.62, rel=0.02)
    width, height = figure.get_size_inches()
    assert 0 <= left < 0.1
    assert 0 <= below < 0.15
    assert (right, top) <= (width, height)


def test_show_writes_every_picture_and_overwrites_none(look: Look, squares: Any, tmp_path: Path) -> None:
    paths = show(look.model, squares, tmp_path)
    names = ["overview", "samples", "pair", "interpolation", "histograms", "captured", "top_latents", "responses"]
    assert [path.name for path in paths] == [*(f"{name}.png" for name in names), "traversals.gif"]
    assert all(path.is_file() for path in paths)
    with Image.open(paths[-1]) as animated:
        assert animated.n_frames == 24  # type: ignore[attr-defined]
    with pytest.raises(PictureError, match=r"overwrite=True \(--overwrite"):
        show(look.model, squares, tmp_path)
    show(look.model, squares, tmp_path, overwrite=True)


def test_show_takes_names_and_folders_as_score_does(look: Look, squares: Any, tmp_path: Path, monkeypatch: Any) -> None:
    rows = squares.factors.rows(np.arange(32))
    np.savez(tmp_path / "squares.npz", images=squares.render(rows), factors=rows)
    look.model.save(tmp_path / "run")
    gallery = show(tmp_path / "run", tmp_path / "squares.npz")
    assert {"overview", "captured"} <= set(gallery)
    monkeypatch.setattr("hackle.pictures.gallery.Look.of", None)
    with pytest.raises(HackleError, match="no file or folder nothing"):
        show(look.model, "nothing.npz")
    with pytest.raises(HackleError, match="the data set is of type ndarray"):
        show(look.model, rows)  # type: ignore[arg-type]
    with pytest.raises(PictureError, match="the model is of type int; expected"):
        show(3)  # type: ignore[arg-type]


def test_an_overview_of_few_images_has_white_places(look: Look) -> None:
    few = replace(look, images=look.images[:3], means=look.means[:3])
    rows = overview_rows(few, columns=5)
    np.testing.assert_array_equal(rows[0, :3], few.images / np.float32(255))
    assert (rows[:2, 3:] == 1).all()
    np.testing.assert_array_equal(rows[2:], traversals(few, columns=5))


def test_an_interpolation_is_straight_and_ends_at_both_images(look: Look) -> None:
    found = interpolation(look, 2, 5, columns=5)
    ends = look.model.decode(np.stack([look.means[2], look.means[5], (look.means[2] + look.means[5]) / 2]))
    np.testing.assert_allclose(found[[0, 4, 2]], ends, atol=1e-6)


def told(look: Look, rows: np.ndarray) -> Look:
    """The look with codes that name factors: z0 the first one exactly, z1 the second, z2 nothing."""
    means = np.stack([rows[:, 0] - 1.5, rows[:, 1] - 1.5, np.zeros(len(rows))], axis=1).astype(np.float32)
    logvars = np.stack([np.full(len(rows), value) for value in (-12.0, -12.0, 0.0)], axis=1).astype(np.float32)
    return Look(look.model, look.images, rows, means, logvars, look.axes, look.kl, look.order)


def test_captured_says_which_code_names_which_factor(look: Look, squares: Any) -> None:
    every = squares.factors.rows(np.arange(len(squares.factors)))
    known = told(look, np.concatenate([every] * 2))
    found = Captured.of(known, squares.factors)
    assert found.factors == ("x", "y", "side")
    expected = np.zeros((3, 3))
    expected[0, 0] = expected[1, 1] = np.log(4)
    np.testing.assert_allclose(found.information, expected, atol=1e-9)
    np.testing.assert_allclose(found.posterior_information, expected, atol=1e-6)
    np.testing.assert_allclose(found.entropies, np.log([4, 4, 2]))
    np.testing.assert_allclose(found.informativeness, [np.log(4), np.log(4), 0], atol=1e-6)
    # H(z0) + H(z1) − H(z̄0, z̄1) = 0 for two independent noiseless codes; a code of noise pays its own entropy.
    assert found.misjed[0, 1] == pytest.approx(0, abs=1e-9)
    assert found.misjed[0, 2] > 0.3
    assert found.ranking[0, :2].tolist() == [0, 1]
    matrix = importance(known, squares.factors, "random-forest")
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    assert matrix[0, 0] > 0.9
    assert matrix[1, 1] > 0.9
    assert (matrix[2] == 0).all()
    assert [found.main_factor(code) for code in range(3)] == ["x 100%", "y 100%", ""]
    seen = overview(known, columns=4, captured=found).axes[0].get_yticklabels()
    facts = ("z0  x 100%", "z1  y 100%", "z2")
    assert all(label.get_text().startswith(facts[code]) for label, code in zip(seen[2:], known.order, strict=True))
    best = top_latents(known, found, top=1, image=4, columns=3)
    np.testing.assert_allclose(best[0, 0], traversals(known, 4, 3)[list(known.order).index(0)], atol=1e-6)


def test_a_response_moves_one_factor_alone(look: Look, squares: Any) -> None:
    found = response(look.model, squares, np.array([2, 3, 1]), 0)
    rows = np.array([[x, 3, 1] for x in range(4)])
    np.testing.assert_array_equal(found.images, squares.render(rows))
    np.testing.assert_allclose(found.means, look.model.encode(squares.render(rows))[0], atol=1e-6)
    few = response(look.model, squares, np.array([2, 3, 1]), 1, most=2)
    assert few.values.tolist() == [0, 3]


def test_responses_in_an_incomplete_grid_show_what_exists(look: Look, squares: Any) -> None:
    present = np.array([[0, 0], [2, 0], [3, 0], [1, 1]])
    grid = FactorGrid([Factor("x", 4), Factor("y", 2)], present)
    some = ArrayDataset("some", squares.render(np.c_[present, np.zeros(4, int)]), grid)
    assert response(look.model, some, np.array([2, 0]), 0).values.tolist() == [0, 2, 3]


def dots(rows: int = 300) -> ArrayDataset:
    """A soft dot at real-valued places that no two images share."""
    rng = np.random.default_rng(0)
    x, y = rng.random((2, rows))
    places = np.linspace(0, 1, 8)
    bumps = [np.exp(-20 * (places - at[:, None]) ** 2) for at in (y, x)]
    images = (255 * bumps[0][:, :, None] * bumps[1][:, None, :]).astype(np.uint8)[..., None]
    return ArrayDataset("dots", images, labelled_grid("dots", ["x", "y"], ["", "continuous"], [x, y]))


class FollowsX:
    """A model whose code is the factor x, up to a bend, and whose other code is constant."""

    codes = (Code(), Code())

    def encode(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights = images.astype(np.float32)[..., 0].sum(axis=1)
        centre = (weights * np.arange(8)).sum(axis=1) / weights.sum(axis=1)
        means = np.stack([centre, np.zeros_like(centre)], axis=1)
        return means, np.full_like(means, 2 * np.log(0.1))


def test_responses_to_a_continuous_factor_are_curves_over_its_numbers() -> None:
    """No two images differ in one factor alone, so each bin's images are taken together."""
    data, model = dots(), cast(Any, FollowsX())
    found = response(model, data, data.factors.rows([0])[0], 0)
    assert not found.held
    assert len(found.values) == len(found.images) == 20
    assert (np.diff(found.values) > 0).all()
    assert 0 <= found.values[0] < 0.05 < 0.95 < found.values[-1] <= 1
    assert (np.diff(found.means[:, 0]) > 0).all()
    np.testing.assert_allclose(found.deviations[:, 1], 0.1, rtol=1e-5)
    other = response(model, data, data.factors.rows([0])[0], 1)
    assert other.means[:, 0].std() < 0.5 * found.means[:, 0].std()
    look = cast(Any, SimpleNamespace(order=[0, 1], collapsed=[False, True]))
    figure = responses_figure(look, [found, other])
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_xdata(), found.values)
    assert figure.axes[0].get_title() == "x\n(all images)"


def test_what_is_captured_of_continuous_factors_is_counted_in_bins() -> None:
    data = dots()
    means, logvars = FollowsX().encode(data.images)
    look = cast(
        Any, SimpleNamespace(rows=data.factors.rows(np.arange(300)), means=means, logvars=logvars, continuous=[0, 1])
    )
    look.axes = [SimpleNamespace(prior="normal")] * 2
    found = Captured.of(look, data.factors)
    assert found.entropies.max() <= np.log(20)
    assert found.information[0, 0] > 3 * found.information[0, 1]
    # 300 images in 20 × 20 bins: noise has some (20 − 1)² / (2 · 300) nats, and the picture says so.
    noise = SimpleNamespace(**{**vars(look), "means": np.random.default_rng(1).random((300, 2)), "order": [0, 1]})
    nothing = Captured.of(cast(Any, noise), data.factors)
    np.testing.assert_allclose(nothing.information, np.broadcast_to(nothing.chance, (2, 2)), atol=0.15)
    assert nothing.chance.min() > 0.3
    (label, _) = captured_figure(cast(Any, noise), nothing, np.zeros((2, 2))).axes[0].get_xticklabels()
    assert label.get_text() == f"x\nby chance {nothing.chance[0]:.2f}"
    matrix = importance(look, data.factors)
    assert matrix[0].tolist() == pytest.approx([1.0, 1.0])


def test_the_nearest_existing_row_stands_for_one_that_does_not_exist() -> None:
    grid = FactorGrid(
        [Factor("x", 3, "continuous", values=(0.0, 0.4, 1.0)), Factor("shape", 2, "categorical")],
        present=[[0, 0], [1, 1], [2, 0]],
    )
    assert nearest_row(grid, [1, 1]).tolist() == [1, 1]
    assert nearest_row(grid, [1, 0]).tolist() == [0, 0]
    classes = FactorGrid([Factor("x", 3), Factor("y", 2)], present=[[0, 0], [2, 1]])
    with pytest.raises(FactorError, match="no image has"):
        nearest_row(classes, [1, 1])


@pytest.fixture(scope="module")
def gan_look(squares: Any) -> Look:
    architecture = Adversarial(channels=(4, 4), hidden=8, recogniser_hidden=8)
    method = InfoGAN(categories=(3,), noise=5)
    model = Model(small_run(method, latents=2, architecture=architecture), squares.shape)
    model.run.method.calibrate(model.networks, model.run, squares.images_on("cpu"), len(squares.factors))
    return Look.of(model, squares, n=64)


def test_traversals_pass_through_what_the_data_visit(look: Look) -> None:
    """A latent whose means lie at 5 ± 1 is seen there, one within its prior moves as before, and labels tell the ends."""
    means = np.random.default_rng(0).normal(size=(10_000, 1)).astype(np.float32)
    drifted = Axis("normal").visiting(means[:, 0] + 5)
    low, high = drifted.ends
    assert low == -2
    assert high == np.ceil(10 * np.quantile(means + 5, 0.99)) / 10
    np.testing.assert_allclose(drifted.values(3), [low, (low + high) / 2, high], rtol=1e-6)
    assert drifted.sweep(400).min() == pytest.approx(low, abs=1e-3)
    assert drifted.sweep(400).max() == pytest.approx(high, abs=1e-3)
    assert Axis("normal").visiting(0.5 * means[:, 0]).ends == (-2, 2)
    assert Axis("uniform").visiting(9 * means[:, 0]).ends == (-1, 1)
    assert Axis("categorical", 4).visiting(means[:, 0]).ends == (0, 3)
    least, most = drifted.reach(means[:, 0] + 5)
    assert least == -3
    assert most >= np.quantile(means + 5, 0.995)
    assert Axis("normal").visiting(np.full(3, np.nan, np.float32)).ends == (-2, 2)
    moved = replace(look, axes=(drifted, *look.axes[1:]))
    row = list(look.order).index(0)
    z = look.means[0].copy()
    z[0] = high
    np.testing.assert_allclose(traversals(moved, columns=3)[row, -1], look.model.decode(z[None])[0], atol=1e-6)
    labels = [label.get_text() for label in overview(moved, columns=3).axes[0].get_yticklabels()]
    assert sum(label.endswith(f"−2 … {high:g}") for label in labels) == 1
    assert sum(label.endswith("−2 … 2") for label in labels) == 2


def test_a_histogram_holds_the_values_of_its_latent(look: Look) -> None:
    far = replace(
        look, means=look.means + np.float32(7), axes=tuple(Axis("normal", visited=(-2, 9)) for _ in look.axes)
    )
    for panel in histograms(far).axes:
        assert panel.get_xlim()[1] > 7
        widths = [bar.get_width() * bar.get_height() for bar in panel.patches if isinstance(bar, Rectangle)]
        assert sum(widths) == pytest.approx(1, abs=0.02)
        assert sum(height > 0 for height in widths) > 0


def test_codes_of_a_gan_move_within_their_priors(gan_look: Look, squares: Any) -> None:
    assert gan_look.axes == (Axis("uniform"), Axis("uniform"), Axis("categorical", 3))
    assert Axis("categorical", 3).values(3).tolist() == [0, 1, 2]
    assert Axis("uniform").values(3).tolist() == [-1, 0, 1]
    assert set(Axis("categorical", 3).sweep(24)) == {0, 1, 2}
    assert gan_look.kl[2] == pytest.approx(np.log(3))
    row = list(gan_look.order).index(2)
    z = gan_look.means[0].copy()
    z[2] = 2
    np.testing.assert_allclose(traversals(gan_look, columns=3)[row, -1], gan_look.model.decode(z[None])[0], atol=1e-6)
    assert samples(gan_look, 2, 2).shape == (2, 2, 16, 16, 1)
    assert (gan_look.logvars[:, 2] == NOISELESS).all()
    found = Captured.of(gan_look, squares.factors)
    assert np.isnan(found.misjed[2]).all()
    assert len(histograms(gan_look).axes) == 3
    # Codes that move between different ends say so in their rows.
    labels = {label.get_text() for label in overview(gan_look, columns=3).axes[0].get_yticklabels()}
    assert any(label.startswith("z2") and label.endswith("0 … 2") for label in labels)
    assert sum(label.endswith("−1 … 1") for label in labels) == 2


def test_a_notebook_gets_every_view(look: Look, squares: Any) -> None:
    gallery = show(look.model, squares)
    assert len(gallery) == 8
    text = gallery._repr_html_()
    assert text.count("<img") == 8
    assert "http" not in text
    unlabelled = ArrayDataset("plain", look.images, FactorGrid([Factor("image", len(look.images), observed=False)]))
    assert "captured" not in show(look.model, unlabelled)
