"""The kernels of `tiles.cu`, run on the CPU by an emulator of warps and of shared memory, against float64."""

from __future__ import annotations

import ctypes
import re
import sys
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from hackle.bench import Case
from hackle.datasets import load
from hackle.kernels import convolution, cuda, tiles
from hackle.train.fleet import Fleet
from hackle.train.gradients import Gradients
from kernels.emulated import build
from kernels.test_tower import Kernels

_RUN = """
#define RUN(name, Arguments) \\
  extern "C" void run_##name(Arguments a, int blocks, int models, int threads, int bytes, int seed) { \\
    emulator::seed = seed; emulator::launch(name, a, blocks, models, threads, bytes); }
RUN(down_two, DownTwo)
RUN(down_two_back, DownTwoBack)
RUN(up_two, UpTwo)
RUN(up_two_back, UpTwoBack)
extern "C" const char* report() { return emulator::report(); }
"""


class Emulator:
    """Launches kernels with so many blocks for each model, warps in an order by chance."""

    def __init__(self) -> None:
        self.blocks, self.seed = 1, 0
        self.conflicts: dict[str, int] = {}

    def launch(
        self, name: str, defines: dict[str, int], units: int, models: int, like: Tensor, arguments: ctypes.Structure
    ) -> None:
        library = build.library(tiles._SOURCE, _RUN, dict(defines))
        run = getattr(library, f"run_{name}")
        run.argtypes = [type(arguments), *[ctypes.c_int] * 5]
        run(arguments, self.blocks, models, tiles.threads(name), tiles.SHARED_BYTES, self.seed)
        library.report.restype = ctypes.c_char_p
        self.conflicts[name] = sum(int(row.split()[3]) for row in library.report().decode().splitlines())


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Emulator:
    if not build.available():
        pytest.skip(build.NO_COMPILER)
    emulator = Emulator()
    monkeypatch.setattr(tiles, "launch", emulator.launch)
    return emulator


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """Where kernels run: on the CPU by the emulator, or on a GPU."""
    if request.param == "cuda":
        return "cuda"
    request.getfixturevalue("emulator")
    return "cpu"


def _drawn(*shape: int, seed: int, scale: float = 1.0, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator)).to(dtype)


def _stack(function: Any, *stacked: Tensor) -> Tensor:
    """An operator of one model on each of a stack, in float64."""
    return torch.stack([function(*(value.cpu().double() for value in given)) for given in zip(*stacked, strict=True)])


def _bias(bias: Tensor) -> Tensor:
    return bias.cpu().double()[:, None, None, None]


def _leaky(values: Tensor, slope: float) -> Tensor:
    return torch.where(values > 0, values, values * slope)


def _gated(values: Tensor, gate: Tensor, slope: float) -> Tensor:
    return torch.where(gate.cpu() > 0, values, values * slope)


def _close(found: Tensor, expected: Tensor, tolerance: float) -> None:
    found, expected = found.cpu(), expected.cpu()
    assert found.shape == expected.shape
    assert torch.isfinite(found.double()).all()
    error = (found.double() - expected).norm() / expected.norm()
    assert error < tolerance, f"relative error {float(error):.2e}"


class Layers:
    """Two layers of two models, their images and maps."""

    def __init__(self, few: int, batch: int, models: int = 2, device: str = "cpu") -> None:
        self.images = _drawn(models, batch, 64, 64, few, seed=1)
        self.fine = _drawn(models, 4, 4, few, 32, seed=2, scale=0.2)
        self.wide = _drawn(models, 4, 4, 32, 32, seed=3, scale=0.05)
        self.first = _drawn(models, 32, seed=4, scale=0.1, dtype=torch.float32)
        self.second = _drawn(models, 32, seed=5, scale=0.1, dtype=torch.float32)
        self.last = _drawn(models, few, seed=6, scale=0.1, dtype=torch.float32)
        self.small = torch.relu(_drawn(models, batch, 16, 16, 32, seed=7))
        self.grad = _drawn(models, batch, 16, 16, 32, seed=8)
        self.big = torch.relu(_drawn(models, batch, 32, 32, 32, seed=9))
        self.image_grad = _drawn(models, batch, 64, 64, few, seed=10)
        for name, value in vars(self).items():
            setattr(self, name, value.to(device))

    def model(self, which: int) -> Layers:
        """One of them alone."""
        alone = copy(self)
        for name, value in vars(self).items():
            setattr(alone, name, value[which : which + 1])
        return alone

    def all(self, slope: float) -> list[Tensor]:
        """Everything that the kernels compute of them."""
        return [
            tiles.down_two(self.images, self.fine, self.first, self.wide, self.second, slope, 0.1),
            *tiles.down_two_back(self.images, self.fine, self.first, self.wide, self.grad, slope),
            *tiles.up_two(self.small, self.wide, self.first, self.fine, self.last, slope, 1.0),
            *tiles.up_two_back(self.image_grad, self.fine, self.big, self.wide, self.small, slope, 0.1),
        ]

    def map_of_images(self, slope: float) -> Tensor:
        """The map between the two layers, rounded as it is kept."""
        sums = _stack(convolution._down_one, self.images, self.fine) + _bias(self.first)
        return _leaky(sums, slope).to(torch.bfloat16)


CASES = [(1, 0.0), (3, 0.2)]


@pytest.mark.parametrize(("few", "slope"), CASES)
def test_down_two(device: str, few: int, slope: float) -> None:
    given = Layers(few, batch=3, device=device)
    found = tiles.down_two(given.images, given.fine, given.first, given.wide, given.second, slope, 0.1)
    sums = _stack(convolution._down_one, given.map_of_images(slope), given.wide) + _bias(given.second)
    _close(found, _leaky(sums, 0.1), 4e-3)


@pytest.mark.parametrize(("few", "slope"), CASES)
def test_down_two_back(device: str, few: int, slope: float) -> None:
    given = Layers(few, batch=6, device=device)
    of_fine, of_bias, of_wide = tiles.down_two_back(
        given.images, given.fine, given.first, given.wide, given.grad, slope
    )
    between = given.map_of_images(slope)
    back = _gated(_stack(convolution._up_one, given.grad, given.wide), between, slope)
    _close(of_wide.sum(1), _stack(convolution._taps_one, between, given.grad), 1e-3)
    _close(of_bias.sum(1), back.sum((1, 2, 3)), 1e-3)
    _close(of_fine.sum(1), _stack(convolution._taps_one, given.images, back), 2e-3)


@pytest.mark.parametrize(("few", "slope"), CASES)
def test_up_two(device: str, few: int, slope: float) -> None:
    given = Layers(few, batch=3, device=device)
    big, images = tiles.up_two(given.small, given.wide, given.first, given.fine, given.last, slope, 1.0)
    _close(big, _leaky(_stack(convolution._up_one, given.small, given.wide) + _bias(given.first), slope), 4e-3)
    _close(images, _stack(convolution._up_one, big, given.fine) + _bias(given.last), 4e-3)


@pytest.mark.parametrize(("few", "slope"), CASES)
def test_up_two_back(device: str, few: int, slope: float) -> None:
    given = Layers(few, batch=6, device=device)
    of_small, of_last, of_fine, of_first, of_wide, of_small_bias = tiles.up_two_back(
        given.image_grad, given.fine, given.big, given.wide, given.small, slope, 0.1
    )
    back = _gated(_stack(convolution._down_one, given.image_grad, given.fine), given.big, slope)
    further = _gated(_stack(convolution._down_one, back, given.wide), given.small, 0.1)
    _close(of_last.sum(1), given.image_grad.cpu().double().sum((1, 2, 3)), 1e-5)
    _close(of_fine.sum(1), _stack(convolution._taps_one, given.image_grad, given.big), 1e-5)
    _close(of_first.sum(1), back.sum((1, 2, 3)), 1e-5)
    _close(of_wide.sum(1), _stack(convolution._taps_one, back, given.small), 2e-3)
    _close(of_small, further, 4e-3)
    _close(of_small_bias.sum(1), further.sum((1, 2, 3)), 2e-3)


@pytest.mark.parametrize(("few", "slope"), CASES)
def test_a_model_has_the_same_bits_alone_and_in_a_stack(device: str, few: int, slope: float) -> None:
    given = Layers(few, batch=6, device=device)
    together = given.all(slope)
    for which in range(2):
        alone = given.model(which).all(slope)
        assert all(torch.equal(a[0], b[which]) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("warps", [4, 8])
def test_neither_the_order_of_warps_nor_the_number_of_blocks_changes_a_bit(
    warps: int, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warps that did not wait for each other where they must would show here: each takes its turns by chance. Nor
    does the number of warps that go forward."""
    given = Layers(1, batch=9, models=1)
    expected = given.all(0.0)
    monkeypatch.setattr(tiles, "FORWARD_WARPS", warps)
    for emulator.blocks, emulator.seed in [(1, 1), (2, 2), (3, 3), (9, 4)]:
        assert all(torch.equal(a, b) for a, b in zip(given.all(0.0), expected, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize(("few", "slope"), CASES)
def test_the_number_of_blocks_changes_no_bit_on_a_gpu(few: int, slope: float, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Layers(few, batch=9, device="cuda")
    expected = given.all(slope)
    for blocks in (1, 2, 3, 9):
        monkeypatch.setattr(tiles, "blocks_per_model", lambda *given, blocks=blocks: blocks)
        assert all(torch.equal(a, b) for a, b in zip(given.all(slope), expected, strict=True))


def test_matrices_are_read_without_bank_conflicts(emulator: Emulator) -> None:
    Layers(1, batch=4, models=1).all(0.0)
    assert emulator.conflicts == dict.fromkeys(tiles.KERNELS, 0)


def test_a_number_that_is_not_finite_reaches_what_it_meets(device: str) -> None:
    """A model that diverges is found by its loss."""
    given = Layers(1, batch=2, models=1, device=device)
    given.small[0, 1, 5, 5, 7] = torch.nan
    big, images = tiles.up_two(given.small, given.wide, given.first, given.fine, given.last, 0.0, 1.0)
    assert big[0, 1].isnan().any()
    assert images[0, 1].isnan().any()
    assert images[0, 0].isfinite().all()


def test_biases_may_be_rounded_and_maps_begin_anywhere(device: str) -> None:
    given = Layers(1, batch=2, models=1, device=device)
    rounded = [bias.to(torch.bfloat16) for bias in (given.first, given.second)]
    apart = torch.cat([given.images.new_zeros(1), given.images.flatten()])[1:].view_as(given.images)
    found = tiles.down_two(apart, given.fine, rounded[0], given.wide, rounded[1], 0.0, 0.1)
    first, second = (bias.float() for bias in rounded)
    assert torch.equal(found, tiles.down_two(given.images, given.fine, first, given.wide, second, 0.0, 0.1))


@pytest.mark.parametrize(
    ("images", "few", "features", "known"),
    [
        ((64, 64, 1), 1, 32, True),
        ((64, 64, 3), 3, 32, True),
        ((64, 64, 2), 2, 32, False),
        ((32, 32, 1), 1, 32, False),
        ((64, 64, 1), 1, 64, False),
    ],
)
def test_shapes(images: tuple[int, ...], few: int, features: int, known: bool) -> None:
    fine, wide = torch.zeros(4, 4, few, features), torch.zeros(4, 4, features, 32)
    assert tiles.between((5, *images), fine, wide) is known


@pytest.mark.skipif(cuda.find_nvrtc() is None, reason="NVRTC is not here: pip install nvidia-cuda-nvrtc")
@pytest.mark.parametrize(("few", "warps", "relu"), [(1, 8, 1), (3, 8, 0), (3, 4, 1)])
def test_they_are_compiled_for_hopper(few: int, warps: int, relu: int) -> None:
    """As a GPU has them; no thread keeps more than a few of its numbers in memory."""
    defines = {"FEW": few, "IMAGES": tiles.IMAGES, "FORWARD_WARPS": warps, "RELU": relu}
    text = cuda.resources(tiles._SOURCE.read_text(), defines, "sm_90")
    assert set(re.findall(r"entry function '(\w+)'", text)) == set(tiles.KERNELS)
    assert max(int(spilled) for spilled in re.findall(r"(\d+) bytes spill stores", text)) < 512


def test_the_environment_may_forbid_them(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = torch.zeros(1, 64, 64, 1), (64, 64, 1), torch.zeros(4, 4, 1, 32), torch.zeros(4, 4, 32, 32)
    monkeypatch.delenv("HACKLE_TILES", raising=False)
    # The CPU has no such kernels.
    assert not tiles.take(*layers)
    monkeypatch.setattr(tiles, "on_triton", lambda *tensors, dtypes: True)
    monkeypatch.setattr(tiles, "_runs_here", lambda *given: True)
    assert tiles.take(*layers)
    monkeypatch.setenv("HACKLE_TILES", "0")
    assert not tiles.take(*layers)


def test_where_they_cannot_be_compiled_layers_are_computed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An NVRTC may be older than the GPU: training goes on, and says that it is slower."""
    properties = SimpleNamespace(shared_memory_per_block_optin=tiles.SHARED_BYTES)

    def refuses(*given: object) -> None:
        raise cuda.CudaError("NVRTC does not know sm_130")

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(cuda, "find_nvrtc", lambda: True)
    monkeypatch.setattr(cuda, "module", refuses)
    with pytest.warns(UserWarning, match="slower than it could be.*does not know sm_130"):
        assert not tiles._runs_here.__wrapped__(0, 1)
    properties.shared_memory_per_block_optin = 100_000
    assert not tiles._runs_here.__wrapped__(0, 1)


@pytest.mark.parametrize(("models", "units", "expected"), [(64, 64, 2), (1, 64, 64), (8, 16, 16), (24, 16, 4)])
def test_blocks_are_as_many_as_end_first(models: int, units: int, expected: int) -> None:
    """64 models of 64 images on 132 multiprocessors: two blocks each are one round of 16 pairs. With few models every unit
    has a block."""
    assert tiles.blocks_per_model(models, units, 132) == expected


@pytest.mark.parametrize(("method", "dataset", "models"), [("factor-vae", "dsprites", 1), ("mixed", "rooms3d", 5)])
def test_fleets_train_as_layer_by_layer(
    method: str, dataset: str, models: int, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole step, as on CUDA but for where they run: parameters as rows keep them, rounded copies, `vmap`, Adam."""
    monkeypatch.setattr(Gradients, "of", Gradients._together)
    tower = sys.modules["hackle.kernels.tower"]
    one_by_one = Kernels()
    monkeypatch.setattr(one_by_one, "takes_taps_along", lambda images, features: images.shape[-1] < 16)
    monkeypatch.setattr(tower, "triton_convolution", one_by_one)
    monkeypatch.setattr(tower, "add_all", lambda several: [parts.float().sum(1) for parts in several])
    for module in (tower, tiles):
        monkeypatch.setattr(module, "on_triton", lambda *tensors, dtypes=None: True)
    monkeypatch.setattr(tiles, "_runs_here", lambda *given: True)
    launched: list[str] = []
    monkeypatch.setattr(tiles, "launch", lambda name, *rest: (launched.append(name), emulator.launch(name, *rest)))
    data = load(dataset)
    runs = [replace(run, batch_size=3) for run in Case(method, dataset).runs(models, "bfloat16")]
    moments = []
    for wanted in ("0", "1"):
        monkeypatch.setenv("HACKLE_TILES", wanted)
        fleet = Fleet(runs, data.images_on("cpu"), data.factors, data.shape)
        # Adam's first step hardly depends on how large a gradient is, so that the second begins elsewhere by last digits.
        fleet.step()
        moments.append([value for name, value in fleet.state.items() if name.startswith("first/")])
        assert bool(launched) == (wanted == "1")
    assert set(launched) == set(tiles.KERNELS)
    for found, expected in zip(*moments, strict=True):
        _close(found, expected.double(), 2e-3)
