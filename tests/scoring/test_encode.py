"""Encoding: each image once, whatever the chunks; anyone's codes accepted or refused with a reason; posteriors sampled."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from hackle.core.factors import Factor, FactorGrid
from hackle.core.randomness import Stream
from hackle.core.types import Images
from hackle.objectives import VAE
from hackle.scoring.encode import Codebook, EncodingError, PosteriorNoise, encode_images
from hackle.train.model import Model
from train.test_fleet import small_run


class Numbers:
    """Image i is the number i in two bytes; a third byte, if asked for, is noise."""

    name = "numbers"
    shape = (1, 3, 1)
    factors = FactorGrid([Factor("number", 5_000)])

    def __init__(self, noisy: bool = False) -> None:
        self.noisy = noisy

    def images_on(self, device: torch.device | str) -> Images:
        def images(index: torch.Tensor, stream: Stream) -> torch.Tensor:
            noise = stream.integers("noise", (index.shape[1],), 256) if self.noisy else torch.zeros_like(index)
            return torch.stack([index // 256, index % 256, noise], dim=-1).to(torch.uint8)[:, :, None, :, None]

        return images

    def render(self, rows: object, *, seed: int = 0) -> np.ndarray:
        raise NotImplementedError


def number(images: np.ndarray) -> np.ndarray:
    assert images.dtype == np.uint8
    assert images.shape[1:] == (1, 3, 1)
    return images[:, 0, 0].astype(np.float64) * 256 + images[:, 0, 1]


def codes(images: np.ndarray) -> np.ndarray:
    return np.hstack([number(images), -number(images)])


def posterior(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return codes(images), np.full((len(images), 2), -3.0)


INDEX = np.array([7, 300, 301, 4_999])


def test_each_image_is_encoded_once_however_often_it_is_named() -> None:
    seen: Counter[float] = Counter()

    def counting(images: np.ndarray) -> np.ndarray:
        seen.update(number(images).ravel().tolist())
        return codes(images)

    index = np.random.default_rng(0).integers(5_000, size=(300, 4))
    book = encode_images(counting, Numbers(), index, chunk=64)
    assert set(seen.values()) == {1}
    assert sorted(seen) == np.unique(index).tolist() == book.index.tolist()


def test_codes_come_back_for_indices_of_any_shape_and_order() -> None:
    book = encode_images(posterior, Numbers(), INDEX)
    asked = np.array([[301, 7], [301, 4_999], [300, 300]])
    assert np.array_equal(book.means(asked)[..., 0], asked)
    assert np.array_equal(book.means(asked)[..., 1], -asked)
    assert book.logvars(asked).shape == (3, 2, 2)
    assert (book.means(asked).dtype, book.logvars(asked).dtype) == (np.float32, np.float32)
    assert (book.width, book.has_posterior) == (2, True)
    assert book.means(np.empty(0, dtype=np.int64)).shape == (0, 2)


@pytest.mark.parametrize("absent", [0, 8, 302, 5_000])
def test_images_that_were_not_encoded_are_not_mistaken_for_others(absent: int) -> None:
    book = encode_images(posterior, Numbers(), INDEX)
    for lookup in (book.means, book.logvars):
        with pytest.raises(EncodingError, match=f"image {absent} has not been encoded"):
            lookup(np.array([[7], [absent]]))


@pytest.mark.parametrize("last", [60, 10**12])
def test_few_images_are_found_among_many_others(last: int) -> None:
    book = Codebook(np.array([3, 50, last]), np.arange(6, dtype=np.float32).reshape(3, 2), None)
    np.testing.assert_array_equal(book.means(np.array([[last, 3]])), [[[4, 5], [0, 1]]])
    for absent in (-1, 4, last + 1):
        with pytest.raises(EncodingError, match=f"image {absent} has not been encoded"):
            book.means(np.array([3, absent]))


@pytest.mark.parametrize("chunk", [1, 7, 100, 10_000])
def test_chunks_do_not_change_the_codes_of_stochastic_images(chunk: int) -> None:
    def pixels(images: np.ndarray) -> np.ndarray:
        return images.reshape(len(images), -1)

    index = np.arange(50, 150)
    whole = encode_images(pixels, Numbers(noisy=True), index, seed=3).means(index)
    parts = encode_images(pixels, Numbers(noisy=True), index, seed=3, chunk=chunk).means(index)
    assert np.array_equal(whole, parts)
    fewer = encode_images(pixels, Numbers(noisy=True), index[::3], seed=3).means(index[::3])
    assert np.array_equal(whole[::3], fewer)
    other = encode_images(pixels, Numbers(noisy=True), index, seed=4).means(index)
    assert np.mean(whole[:, 2] == other[:, 2]) < 0.1
    assert len(np.unique(whole[:, 2])) > 60


@pytest.mark.parametrize(
    "answer",
    [
        codes,
        lambda images: (codes(images), None),
        lambda images: codes(images).astype(np.float16).astype(np.int64),
        lambda images: codes(images).tolist(),
        lambda images: torch.from_numpy(codes(images)).requires_grad_(),
        lambda images: torch.from_numpy(codes(images)).to(torch.bfloat16),
    ],
    ids=["array", "no logvars", "integers", "lists", "tensor with gradient", "bfloat16"],
)
def test_codes_may_be_any_array_of_numbers(answer: Any) -> None:
    index = np.arange(0, 128)
    book = encode_images(answer, Numbers(), index, chunk=50)
    assert np.array_equal(book.means(index), np.stack([index, -index], axis=1))
    assert not book.has_posterior
    with pytest.raises(EncodingError, match=r"return \(means, logvars\) to score posteriors"):
        book.logvars(index)
    with pytest.raises(EncodingError, match=r"return \(means, logvars\) to sample"):
        book.sampled(0.0, seed=0)


def test_posteriors_may_be_tensors() -> None:
    book = encode_images(lambda images: tuple(map(torch.from_numpy, posterior(images))), Numbers(), INDEX, chunk=3)
    assert np.array_equal(book.means(INDEX)[:, 0], INDEX)
    assert (book.logvars(INDEX) == -3).all()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda images: None, "returned nothing; expected codes"),
        (lambda images: {"codes": codes(images)}, "no array of numbers"),
        (lambda images: "codes", "no array of numbers"),
        (lambda images: [[1.0], [1.0, 2.0]], "no array of numbers"),
        (lambda images: (None, codes(images)), "returned nothing"),
        (lambda images: (codes(images),) * 3, "returned 3 arrays; expected codes, or a pair"),
        (lambda images: (), "returned 0 arrays"),
        (lambda images: codes(images)[:, 0], r"codes of shape \(4,\) for 4 images; expected \(4, codes\)"),
        (lambda images: codes(images)[1:], r"codes of shape \(3, 2\) for 4 images"),
        (lambda images: codes(images).T, r"codes of shape \(2, 4\) for 4 images"),
        (lambda images: (codes(images), np.zeros((4, 3))), r"logvars of shape \(4, 3\) for means"),
        (lambda images: codes(images) / (number(images) != 301), "codes that are not finite, first for image 301"),
        (
            lambda images: (codes(images), np.log(number(images) - 7)),
            r"logvars of shape \(4, 1\) for means of shape \(4, 2\)",
        ),
        (lambda images: (codes(images), np.log(codes(images) ** 2 - 49)), "logvars that are not finite.*image 7"),
    ],
)
def test_wrong_answers_are_explained(answer: Any, message: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(EncodingError, match=message):
        encode_images(answer, Numbers(), INDEX)


def test_answers_that_change_between_chunks_are_explained() -> None:
    with pytest.raises(EncodingError, match="for some images and plain codes for others"):
        encode_images(lambda x: posterior(x) if number(x)[0] > 7 else codes(x), Numbers(), INDEX, chunk=1)
    with pytest.raises(EncodingError, match="1 codes for some images and 2 for others"):
        encode_images(lambda x: codes(x)[:, : 1 + (number(x)[0, 0] > 7)], Numbers(), INDEX, chunk=1)


def test_an_empty_index_is_explained() -> None:
    with pytest.raises(EncodingError, match="no images to encode"):
        encode_images(codes, Numbers(), np.empty(0, dtype=np.int64))


def test_an_encoders_own_error_is_left_as_it_is() -> None:
    def broken(images: np.ndarray) -> np.ndarray:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        encode_images(broken, Numbers(), INDEX)


def test_a_model_gives_its_posteriors(squares: Any) -> None:
    model = Model(small_run(VAE()), squares.shape)
    index = np.arange(5, 25)
    book = encode_images(model, squares, index, chunk=6)
    means, logvars = model.encode(squares.render(squares.factors.rows(index)))
    np.testing.assert_allclose(book.means(index), means, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(book.logvars(index), logvars, rtol=1e-5, atol=1e-6)


def book_of(images: int, seed: int = 0) -> Codebook:
    rng = np.random.default_rng(seed)
    index = np.sort(rng.choice(10 * images, size=images, replace=False))
    means, logvars = rng.normal(size=(images, 4)), rng.normal(size=(images, 4))
    return Codebook(index, means.astype(np.float32), logvars.astype(np.float32))


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_samples_follow_the_posterior(correlation: float) -> None:
    book = book_of(20_000)
    sampled = book.sampled(correlation, seed=0)
    assert not sampled.has_posterior
    standard = (sampled.means(book.index) - book.means(book.index)) / np.exp(0.5 * book.logvars(book.index))
    for column in standard.T:
        assert kstest(column, "norm").pvalue > 1e-3
    expected = (1 - correlation) * np.eye(4) + correlation
    # The standard error of a covariance is at most √(2/n) = 0.01.
    np.testing.assert_allclose(np.cov(standard.T), expected, atol=0.04)
    assert abs(np.corrcoef(standard[:-1, 0], standard[1:, 0])[0, 1]) < 0.03


def test_an_images_sample_depends_on_it_and_the_seed_alone() -> None:
    book = book_of(100)
    part = Codebook(book.index[::3], book.means(book.index[::3]), book.logvars(book.index[::3]))
    whole = book.sampled(0.3, seed=9)
    assert np.array_equal(part.sampled(0.3, seed=9).means(part.index), whole.means(part.index))
    assert not np.array_equal(whole.means(part.index), book.sampled(0.3, seed=10).means(part.index))
    with pytest.raises(ValueError, match="seed is -1"):
        book.sampled(0.0, seed=-1)


def test_noise_that_is_kept_is_that_of_the_images_codes_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    noise, draws = PosteriorNoise(), []
    normal = Stream.normal
    monkeypatch.setattr(Stream, "normal", lambda *given: draws.append(given) or normal(*given))
    index = np.arange(0, 60, 2)

    def fresh(index: np.ndarray, codes: int, seed: int) -> torch.Tensor:
        return PosteriorNoise().of(index, codes, seed)

    first = noise.of(index, 4, 0)
    assert noise.of(index.copy(), 4, 0) is first
    assert len(draws) == 1
    for other in ((index[1:], 4, 0), (index + 1, 4, 0), (index, 3, 0), (index, 4, 1), (index, 4, 0)):
        assert torch.equal(noise.of(*other), fresh(*other))
    index[0] = 1
    assert torch.equal(noise.of(index, 4, 0), fresh(index, 4, 0))
    assert not torch.equal(noise.of(index, 4, 0), first)


def test_progress_is_shown_when_asked_for_and_never_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    encode_images(codes, Numbers(), INDEX)
    assert capsys.readouterr() == ("", "")
    encode_images(codes, Numbers(), INDEX, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "4/4 images" in shown.err
