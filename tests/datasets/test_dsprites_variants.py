"""The stochastic variants of dSprites: what they do on and beside the sprite, their distributions and their determinism."""

import numpy as np
import pytest
import torch
from PIL import Image

from hackle.core.randomness import Stream
from hackle.core.types import Dataset
from hackle.datasets import dsprites, dsprites_variants
from hackle.datasets.dsprites_variants import VariantImages, colour, noise, read_painting, scream
from hackle.datasets.source import DataError

LOAD = {source.name: source.load for source in dsprites_variants.SOURCES}
KINDS = {"color-dsprites": "colour", "noisy-dsprites": "noise", "scream-dsprites": "scream"}
ROWS = [[0, 5, 3, 10, 20], [2, 1, 17, 0, 31], [1, 3, 38, 31, 7]]
FULL = torch.full((1, 64), -1)
EMPTY = torch.zeros((1, 64), dtype=torch.int64)


@pytest.fixture
def painting():
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (70, 81, 3), dtype=np.uint8))


@pytest.fixture
def root(tmp_path):
    """A data folder with a painting of 600×500 random pixels."""
    (tmp_path / "scream-dsprites").mkdir()
    pixels = np.random.default_rng(1).integers(0, 256, (600, 500, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "scream-dsprites" / "scream.jpg")
    return tmp_path


def draw(words, kind, count, painting=None, seed=3, step=5):
    """`count` images of one sprite, (count, 64, 64, 3)."""
    index = torch.zeros((1, count), dtype=torch.int64)
    stream = Stream.of([seed], step=step, purpose="test")
    return VariantImages(words, kind, painting)(index, stream)[0]


@pytest.mark.parametrize("name", KINDS)
def test_data_set_follows_the_contract(name, root):
    data = LOAD[name](root)
    assert isinstance(data, Dataset)
    assert (data.name, data.shape, data.factors) == (name, (64, 64, 3), dsprites.FACTORS)
    images = data.render(ROWS, seed=1)
    assert images.shape == (3, 64, 64, 3)
    assert images.dtype == np.uint8


@pytest.mark.parametrize("name", KINDS)
def test_noise_depends_on_the_seed_and_the_place_in_the_draw_alone(name, root):
    data = LOAD[name](root)
    images = data.render([ROWS[0]] * 3, seed=1)
    assert np.array_equal(images, data.render([ROWS[0]] * 3, seed=1))
    assert not np.array_equal(images, data.render([ROWS[0]] * 3, seed=2))
    assert not np.array_equal(images[0], images[1])


@pytest.mark.parametrize("kind", KINDS.values())
def test_models_draw_what_they_would_draw_alone(kind, painting):
    words = torch.from_numpy(dsprites.rasterise(np.array(ROWS)))
    images = VariantImages(words, kind, painting if kind == "scream" else None)
    index = torch.tensor([[0, 1, 2], [2, 0, 0]])
    together = images(index, Stream.of([7, 8], step=4, purpose="batch"))
    for model, seed in enumerate((7, 8)):
        alone = images(index[model : model + 1], Stream.of([seed], step=4, purpose="batch"))
        assert torch.equal(together[model], alone[0])
    other_step = images(index, Stream.of([7, 8], step=5, purpose="batch"))
    other_purpose = images(index, Stream.of([7, 8], step=4, purpose="score"))
    assert not torch.equal(together, other_step)
    assert not torch.equal(together, other_purpose)


@pytest.mark.parametrize("kind", KINDS.values())
def test_stream_for_another_number_of_models_is_refused(kind, painting):
    images = VariantImages(FULL, kind, painting if kind == "scream" else None)
    with pytest.raises(ValueError, match="indices for 2 models but a stream for 1"):
        images(torch.zeros((2, 3), dtype=torch.int64), Stream.of([1]))


def test_colour_fills_the_sprite_and_leaves_the_rest_black(tmp_path):
    plain = dsprites.load(tmp_path).render(ROWS)
    images = LOAD["color-dsprites"](tmp_path).render(ROWS, seed=1)
    on = plain[..., 0] == 255
    assert not images[~on].any()
    for image, mask in zip(images, on, strict=True):
        assert len(np.unique(image[mask], axis=0)) == 1
    assert images[on].min() >= 128


def test_colour_is_uniform_between_half_and_full():
    colours = draw(FULL, "colour", 4000)[:, 0, 0].double().numpy() / 255
    assert colours.min() >= 0.5
    assert colours.max() == 1.0
    # 12,000 draws from U(0.5, 1): mean 3/4 with standard error 0.0013, variance 1/48 with standard error 0.00017.
    assert colours.mean() == pytest.approx(0.75, abs=0.0053)
    assert colours.var() == pytest.approx(1 / 48, abs=0.0007)
    correlations = np.corrcoef(colours.T) - np.eye(3)
    assert np.abs(correlations).max() < 4 / np.sqrt(4000)


def test_colour_is_the_uniform_number_of_the_stream_rounded():
    stream = Stream.of([3], step=5, purpose="test")
    exact = 255 * (1 + stream.uniform("colour", (50, 4))[0, :, :3].double()) / 2
    assert torch.equal(draw(FULL, "colour", 50)[:, 7, 9].double(), torch.floor(exact + 0.5))


def test_noise_surrounds_a_white_sprite(tmp_path):
    plain = dsprites.load(tmp_path).render(ROWS)
    images = LOAD["noisy-dsprites"](tmp_path).render(ROWS, seed=1)
    on = plain[..., 0] == 255
    assert (images[on] == 255).all()
    assert len(np.unique(images[~on])) == 256


def test_noise_is_uniform_and_independent_between_pixels_channels_and_images():
    values = draw(EMPTY, "noise", 40).double().numpy()
    # 491,520 bytes: mean 127.5 with standard error 0.105, variance (256² − 1)/12 with standard error 7.
    assert values.mean() == pytest.approx(127.5, abs=0.42)
    assert values.var() == pytest.approx((256**2 - 1) / 12, abs=28)
    for one, other in (
        (values[:, :-1], values[:, 1:]),
        (values[:, :, :-1], values[:, :, 1:]),
        (values[..., :-1], values[..., 1:]),
        (values[:-1], values[1:]),
    ):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 4 / np.sqrt(one.size)


def test_noise_bytes_are_those_of_the_words_lowest_first():
    words = Stream.of([3], step=5, purpose="test").words("noise", 2 * 3072)[0]
    expected = (words[:, None] >> torch.tensor([0, 8, 16, 24])) & 255
    assert torch.equal(draw(EMPTY, "noise", 2).flatten().long(), expected.flatten())


def test_scream_mixes_a_patch_with_a_shade_and_inverts_the_sprite(painting):
    count = 40
    words = Stream.of([3], step=5, purpose="test").words("scream", 4 * count)[0].view(count, 4).tolist()
    beside, on = draw(EMPTY, "scream", count, painting), draw(FULL, "scream", count, painting)
    assert torch.equal(on, 255 - beside)
    reached = set()
    for image, (place, *shade) in zip(beside.numpy(), words, strict=True):
        top, left = divmod(place * (7 * 18) >> 32, 18)
        reached.add((top, left))
        patch = painting.numpy()[top : top + 64, left : left + 64] / 255
        exact = (patch + np.array(shade) / 2**32) / 2
        # A byte of shade is at most 1/255 from the uniform number, which is halved, and rounding adds half a byte.
        assert np.abs(image / 255 - exact).max() <= 1 / 255
    assert len(reached) > 25


def test_scream_reaches_every_patch_and_stays_within_the_painting():
    painting = torch.zeros((65, 66, 3), dtype=torch.uint8)
    painting[64, 65] = 254
    images = draw(EMPTY, "scream", 200, painting)
    # Only the patch at the lower right corner, one in six, sees the one bright pixel, at its own lower right corner.
    shade = images[:, 0, 0].long()
    seen = (images[:, 63, 63].long() - shade).abs().max(dim=1).values > 100
    assert 0.08 < seen.double().mean() < 0.27
    assert (images[:, :63].long() - shade[:, None, None]).abs().max() == 0


def test_scream_shades_are_uniform():
    shades = 2 * draw(EMPTY, "scream", 4000, torch.zeros(64, 64, 3, dtype=torch.uint8))[:, 0, 0].double().numpy() / 255
    assert shades.mean() == pytest.approx(0.5, abs=0.013)
    assert shades.var() == pytest.approx(1 / 12, abs=0.003)


@pytest.mark.parametrize("paint", [colour, noise], ids=lambda paint: paint.__name__)
def test_painting_functions_agree_with_the_images(paint):
    sprites = torch.full((1, 2, 64, 64, 3), 255, dtype=torch.uint8)
    stream = Stream.of([3], step=5, purpose="test")
    assert torch.equal(paint(sprites, stream)[0], draw(FULL, paint.__name__, 2))


def test_scream_function_agrees_with_the_images(painting):
    sprites = torch.zeros((1, 2, 64, 64, 3), dtype=torch.uint8)
    images = scream(sprites, Stream.of([3], step=5, purpose="test"), painting)
    assert torch.equal(images[0], draw(EMPTY, "scream", 2, painting))


def test_painting_is_shrunk_to_fit_with_its_proportions_kept(root):
    assert read_painting(root).shape == (274, 228, 3)


def test_missing_painting_is_told_with_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"expected scream\.jpg in .*hackle data fetch scream-dsprites.*Munch"):
        LOAD["scream-dsprites"](tmp_path)


def test_truncated_painting_is_refused(root):
    path = root / "scream-dsprites" / "scream.jpg"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match="damaged, cut short or another kind of file"):
        LOAD["scream-dsprites"](root)


def test_file_that_is_no_picture_is_refused(root):
    (root / "scream-dsprites" / "scream.jpg").write_text("<html>not found</html>")
    with pytest.raises(DataError, match="cannot be read as a picture"):
        LOAD["scream-dsprites"](root)


def test_painting_that_is_too_small_is_refused(root):
    Image.new("RGB", (300, 60)).save(root / "scream-dsprites" / "scream.jpg")
    with pytest.raises(DataError, match="300×60 pixels; expected at least 64×64"):
        LOAD["scream-dsprites"](root)


def test_grey_painting_serves_as_well(root):
    Image.new("L", (300, 200), 100).save(root / "scream-dsprites" / "scream.jpg")
    assert read_painting(root).shape == (200, 300, 3)
