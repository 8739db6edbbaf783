"""The Triton kernels against PyTorch, byte for byte: run on a GPU, and elsewhere one program after another in NumPy."""

import numpy as np
import pytest
import torch
from triton_in_numpy import Block, emulate

from hackle.core import randomness_kernel
from hackle.core.randomness import Stream
from hackle.core.randomness import philox as reference_philox
from hackle.datasets import sprite_kernels
from hackle.datasets.bits import BitImages
from hackle.datasets.dsprites_variants import VariantImages

KINDS = ("colour", "noise", "scream")
# Seeds and steps beyond 32 bits, up to the largest seed, so that every counter and key word matters.
SEEDS = [5, 2**40 + 3, 2**63 - 1]
STEP = 2**33 + 11
PAINTING = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (70, 81, 3), dtype=np.uint8))
WORDS = torch.from_numpy(np.random.default_rng(1).integers(-(2**63), 2**63, (9, 64), dtype=np.int64))


@pytest.fixture
def emulated(monkeypatch):
    emulate(monkeypatch, randomness_kernel, sprite_kernels)
    return sprite_kernels


def batches(models, batch):
    index = torch.from_numpy(np.random.default_rng(2).integers(len(WORDS), size=(models, batch)))
    return index, Stream.of(SEEDS[:models], step=STEP, purpose="batch")


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (2, 0)], ids=str)
def test_plain_kernel_writes_the_bytes_of_pytorch(emulated, shape):
    index, stream = batches(*shape)
    assert torch.equal(emulated.plain(WORDS, index), BitImages(WORDS)(index, stream))


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (2, 0)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_variant_kernel_writes_the_bytes_of_pytorch(emulated, kind, shape):
    index, stream = batches(*shape)
    painting = PAINTING if kind == "scream" else None
    slides = None if painting is None else emulated.sliding_words(painting)
    images = emulated.variant(WORDS, index, stream, kind, slides, tuple(PAINTING.shape[:2]))
    assert torch.equal(images, VariantImages(WORDS, kind, painting)(index, stream))


@pytest.mark.parametrize("size", [(64, 64), (64, 67), (65, 65), (66, 64)], ids=str)
def test_scream_kernel_stays_within_small_paintings(emulated, size):
    index, stream = batches(1, 3)
    painting = torch.from_numpy(np.random.default_rng(3).integers(0, 256, (*size, 3), dtype=np.uint8))
    images = emulated.variant(WORDS, index, stream, "scream", emulated.sliding_words(painting), size)
    assert torch.equal(images, VariantImages(WORDS, "scream", painting)(index, stream))


def test_philox_in_the_kernel_is_that_of_the_streams(emulated):
    words = np.random.default_rng(4).integers(0, 2**32, (6, 100), dtype=np.uint32)
    found = emulated.philox(*words.view(Block))
    expected = reference_philox(
        tuple(torch.from_numpy(word.astype(np.int64)) for word in words[:4]),  # type: ignore[arg-type]
        tuple(torch.from_numpy(word.astype(np.int64)) for word in words[4:]),  # type: ignore[arg-type]
    )
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.astype(np.int64), other.numpy())


def test_sliding_words_start_at_every_byte():
    slides = sprite_kernels.sliding_words(PAINTING)
    octets = PAINTING.flatten()
    for start in (0, 1, 2, 3, 6, 4093):
        assert torch.equal(slides[start % 4, start // 4 :][:1].view(torch.uint8), octets[start : start + 4])


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(1, 1), (1, 64), (3, 50)], ids=str)
@pytest.mark.parametrize("kind", ["plain", *KINDS])
def test_images_on_the_gpu_are_those_on_the_cpu(kind, shape):
    index, stream = batches(*shape)
    on_gpu = Stream(stream.seeds.cuda(), stream.step.cuda(), stream.purpose)

    def images(words):
        return (
            BitImages(words) if kind == "plain" else VariantImages(words, kind, PAINTING if kind == "scream" else None)
        )

    found = images(WORDS.cuda())(index.cuda(), on_gpu)
    assert found.is_cuda
    assert torch.equal(found.cpu(), images(WORDS)(index, stream))


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["plain", *KINDS])
def test_images_captured_in_a_graph_follow_the_step(kind):
    index, stream = batches(2, 8)
    on_gpu = Stream(stream.seeds.cuda(), stream.step.cuda(), stream.purpose)
    words, where = WORDS.cuda(), index.cuda()
    images = BitImages(words) if kind == "plain" else VariantImages(words, kind, PAINTING if kind == "scream" else None)
    images(where, on_gpu)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = images(where, on_gpu)
    for step in (0, 2**35 + 1):
        on_gpu.step.fill_(step)
        graph.replay()
        assert torch.equal(out, images(where, on_gpu))
