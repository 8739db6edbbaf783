"""The Triton kernels against PyTorch, byte for byte: run on a GPU, and elsewhere one program after another in NumPy."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from hackle.datasets import sprite_kernels
from hackle.datasets.bits import BitImages
from hackle.datasets.dsprites_variants import VariantImages
from hackle.randomness import Stream
from hackle.randomness import philox as reference_philox

KINDS = ("colour", "noise", "scream")
# Seeds and steps beyond 32 bits, up to the largest seed, so that every counter and key word matters.
SEEDS = [5, 2**40 + 3, 2**63 - 1]
STEP = 2**33 + 11
PAINTING = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (70, 81, 3), dtype=np.uint8))
WORDS = torch.from_numpy(np.random.default_rng(1).integers(-(2**63), 2**63, (9, 64), dtype=np.int64))


class Block(np.ndarray):
    """A Triton value: an array of one type that never mixes signed with unsigned."""

    def to(self, dtype, bitcast=False):
        assert not bitcast or np.dtype(dtype).itemsize == self.itemsize
        return self.astype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        kinds = {value.dtype.kind for value in inputs if isinstance(value, np.ndarray)} - {"b"}
        assert len(kinds) <= 1, f"{ufunc.__name__} of {[getattr(value, 'dtype', value) for value in inputs]}"
        plain = [value.view(np.ndarray) if isinstance(value, Block) else value for value in inputs]
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(Block)


class Pointer:
    def __init__(self, memory, offset=None):
        self.memory = memory
        self.offset = np.zeros(1, np.int32).view(Block) if offset is None else offset

    def __add__(self, other):
        return Pointer(self.memory, self.offset + other)

    def place(self):
        offset = self.offset.view(np.ndarray)
        assert offset.min() >= 0
        assert offset.max() < len(self.memory)
        return offset


class Language:
    """As much of triton.language as the kernels use. Scalars are arrays of one element, which wrap around silently."""

    int32, int64, uint32, uint64 = np.int32, np.int64, np.uint32, np.uint64
    static_range = range

    def __init__(self, program):
        self.program = program

    def program_id(self, axis):
        return np.array([self.program[axis]], np.int32).view(Block)

    def arange(self, start, end):
        assert (end - start) & (end - start - 1) == 0
        return np.arange(start, end, dtype=np.int32).view(Block)

    def load(self, pointer):
        return pointer.memory[pointer.place()].view(Block)

    def store(self, pointer, value):
        assert value.dtype == pointer.memory.dtype
        pointer.memory[pointer.place()] = value

    def where(self, condition, one, other):
        return np.where(condition, one, other).view(Block)

    def umulhi(self, one, other):
        assert one.dtype == np.uint32
        return ((one.astype(np.uint64) * np.uint64(other)) >> np.uint64(32)).astype(np.uint32)

    def interleave(self, one, other):
        return np.stack([one, other], axis=-1).reshape(-1).view(Block)


class Launcher:
    """Runs a kernel's Python source for every program of the grid."""

    def __init__(self, kernel, monkeypatch):
        self.kernel: Any = getattr(kernel, "fn", kernel)
        self.monkeypatch = monkeypatch

    def __getitem__(self, grid):
        def launch(*arguments, **constants) -> None:
            for program in itertools.product(*map(range, grid)):
                self.monkeypatch.setattr(sprite_kernels, "tl", Language(program))
                self.kernel(*map(self.convert, arguments), **constants)

        return launch

    @staticmethod
    def convert(argument):
        if isinstance(argument, torch.Tensor):
            return Pointer(argument.view(-1).numpy())
        if isinstance(argument, int):
            return np.array([argument], np.int32 if -(2**31) <= argument < 2**31 else np.int64).view(Block)
        return argument


@pytest.fixture
def emulated(monkeypatch):
    for name in ("philox", "sprite_words", "channel_words"):
        function = getattr(sprite_kernels, name)
        monkeypatch.setattr(sprite_kernels, name, getattr(function, "fn", function))
    for name in ("plain_kernel", "variant_kernel"):
        monkeypatch.setattr(sprite_kernels, name, Launcher(getattr(sprite_kernels, name), monkeypatch))
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


def test_philox_in_the_kernel_is_that_of_the_streams(emulated, monkeypatch):
    monkeypatch.setattr(sprite_kernels, "tl", Language(()))
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
