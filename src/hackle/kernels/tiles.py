"""Two convolution layers at a time between images of 64×64 and maps of 16×16, in CUDA C++ (`tiles.cu`), for stacks of models.

The map of 32×32 between the two layers is the largest of a network. Kernels of one layer each read it four or sixteen times
through a cache that gives no more; here it stays in a multiprocessor's shared memory while both layers use it. The encoder's is
never stored, and neither are gradients in either map:

    down_two        y = leaky(down(leaky(down(x, w₁) + b₁), w₂) + b₂)
    down_two_back   from the gradient in what b₂ is added to: ∂w₁, ∂b₁, ∂w₂; the map is computed again
    up_two          z = leaky(up(y, w₁) + b₁), x = leaky(up(z, w₂) + b₂); z is stored
    up_two_back     from the gradient in what b₂ is added to: ∂w₂, ∂b₂, ∂w₁, ∂b₁, and back to y

Gradients of weights are sums over parts of `IMAGES` images each, which `hackle.kernels.triton_sums` adds: their order does not
depend on how many models are stacked. All of this is for bfloat16 and GPUs with 227 KiB of shared memory a block.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Sequence
from ctypes import c_float, c_int, c_longlong, c_void_p
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from hackle.core.triton_shim import on_triton
from hackle.kernels import cuda

IMAGES, FORWARD_WARPS = 4, 8
"""Images of one part of a weight's gradient; warps of one of a block's two groups in the forward kernels."""
SHARED_BYTES = 232_448
"""What a block may have of a multiprocessor's shared memory; one block at a time is on each."""
_SOURCE = Path(__file__).with_name("tiles.cu")
_WARPS = 4
"""The same in the backward kernels; each warp sums biases' gradients by itself."""


def wanted() -> bool:
    """Whether the environment does not forbid them by HACKLE_TILES=0; without them layers are computed one by one."""
    return os.environ.get("HACKLE_TILES") != "0"


@cache
def _runs_here(device: int, few: int) -> bool:
    """Whether a device has the room and its architecture is one that the NVRTC of this environment compiles for."""
    room = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    if room < SHARED_BYTES or cuda.find_nvrtc() is None:
        return False
    try:
        with torch.cuda.device(device):
            cuda.module(_SOURCE, _defines(few, relu=True))
    except cuda.CudaError as error:
        warnings.warn(f"training is slower than it could be, since a kernel is not used: {error}", stacklevel=2)
        return False
    return True


def _defines(few: int, relu: bool) -> dict[str, int]:
    """The macros for images of so many channels and a ReLU, or a leaky one, between the layers."""
    return {"FEW": few, "IMAGES": IMAGES, "FORWARD_WARPS": FORWARD_WARPS, "RELU": int(relu)}


def between(images: tuple[int, ...], fine: Tensor, wide: Tensor) -> bool:
    """Whether two layers with these weights, the one beside the images first, are of the shapes that the kernels know; images
    are (…, h, w, c)."""
    few = images[-1]
    weights = (4, 4, few, 32), (4, 4, 32, 32)
    return images[-3:-1] == (64, 64) and few in (1, 3) and (fine.shape[-4:], wide.shape[-4:]) == weights


def take(like: Tensor, images: tuple[int, ...], fine: Tensor, wide: Tensor) -> bool:
    """Whether the kernels do two layers with these weights: their shapes and dtype fit, the GPU has room, nobody forbids it."""
    return (
        wanted()
        and like.numel() > 0
        and on_triton(like, fine, wide, dtypes=(torch.bfloat16,))
        and between(images, fine, wide)
        and _runs_here(like.device.index, images[-1])
    )


class _Arguments(ctypes.Structure):
    """One kernel's arguments: of tensors their addresses, and of parameters how far models lie apart as well."""


def _structure(name: str, tensors: str, strides: str, numbers: Sequence[tuple[str, type]]) -> type[_Arguments]:
    fields = [
        *((field, c_void_p) for field in tensors.split()),
        *((f"{field}_stride", c_longlong) for field in strides.split()),
        *numbers,
    ]
    return type(name, (_Arguments,), {"_fields_": fields})


_BATCH, _PARTS = ("batch", c_int), ("parts", c_int)
_SLOPE, _LAST_SLOPE, _SMALL_SLOPE = ("slope", c_float), ("last_slope", c_float), ("small_slope", c_float)
KERNELS = {
    "down_two": _structure(
        "DownTwo",
        "images fine wide first_bias second_bias out",
        "fine wide first second",
        (_BATCH, _SLOPE, _LAST_SLOPE),
    ),
    "down_two_back": _structure(
        "DownTwoBack",
        "images fine wide grad first_bias of_fine of_wide of_bias",
        "fine wide first",
        (_BATCH, _PARTS, _SLOPE),
    ),
    "up_two": _structure(
        "UpTwo",
        "small wide fine first_bias second_bias big images",
        "wide fine first second",
        (_BATCH, _SLOPE, _LAST_SLOPE),
    ),
    "up_two_back": _structure(
        "UpTwoBack",
        "grad fine big wide small of_small of_fine of_wide of_last_bias of_first_bias of_small_bias",
        "fine wide",
        (_BATCH, _PARTS, _SLOPE, _SMALL_SLOPE),
    ),
}
"""Each kernel's arguments, as the structure of that name in `tiles.cu` has them."""


@cache
def blocks_per_model(models: int, units: int, processors: int) -> int:
    """Blocks among which a model's images, or parts, are divided: the number with which all are done first. A block's two
    groups work on one each; alone a group is faster, but not twice as fast. A block that begins loads weights, which takes
    about as long as a third of a pair. What is computed does not depend on it."""

    def time(blocks: int) -> float:
        rounds = -(-units // (2 * blocks)) if 2 * blocks <= units else 1 if blocks < units else 0.6
        return -(-models * blocks // processors) * (rounds + 0.3)

    return min(range(1, units + 1), key=time)


@cache
def _kernel(name: str, defines: tuple[tuple[str, int], ...], device: int) -> cuda.Kernel:
    """A kernel of the current device, which is that one."""
    return cuda.module(_SOURCE, dict(defines)).kernel(name, SHARED_BYTES)


def threads(name: str) -> int:
    """Threads of a kernel's blocks."""
    return 64 * (_WARPS if name.endswith("back") else FORWARD_WARPS)


def launch(
    name: str, defines: dict[str, int], units: int, models: int, like: Tensor, arguments: ctypes.Structure
) -> None:
    """Launch a kernel, compiled with these macros, on the device of `like`."""
    device = like.device
    with torch.cuda.device(device):
        kernel = _kernel(name, tuple(defines.items()), device.index)
        blocks = blocks_per_model(models, units, torch.cuda.get_device_properties(device).multi_processor_count)
        kernel((blocks, models, 1), threads(name), arguments)


def _start(
    name: str, few: int, units: int, tensors: Sequence[Tensor], parameters: Sequence[Tensor], *numbers: float
) -> None:
    """Launch a kernel for images of `few` channels on these tensors, in the order of its structure: models first, each
    contiguous."""
    strides = [parameter.stride(0) for parameter in parameters]
    arguments = KERNELS[name](*(tensor.data_ptr() for tensor in tensors), *strides, *numbers)
    launch(name, _defines(few, arguments.slope == 0), units, len(tensors[0]), tensors[0], arguments)


def _rows(stacked: Tensor) -> Tensor:
    """Parameters (m, …) whose models may lie apart, but contiguous each and where 16 bytes can be loaded at once."""
    eights = 16 // stacked.element_size()
    fits = stacked[0].is_contiguous() and stacked.stride(0) % eights == 0 and _at_16(stacked)
    return stacked if fits else stacked.clone(memory_format=torch.contiguous_format)


def _bias(stacked: Tensor) -> Tensor:
    """Biases as the kernels read them, which may be in the images' dtype."""
    return _rows(stacked.float())


def _whole(stacked: Tensor) -> Tensor:
    """Images or maps, all in a row from where 16 bytes can be loaded at once: a view of a buffer may begin elsewhere."""
    stacked = stacked.contiguous()
    return stacked if _at_16(stacked) else stacked.clone(memory_format=torch.contiguous_format)


def _at_16(value: Tensor) -> bool:
    return value.data_ptr() % 16 == 0


def _parts(batch: int) -> int:
    return -(-batch // IMAGES)


def down_two(
    images: Tensor, fine: Tensor, first_bias: Tensor, wide: Tensor, second_bias: Tensor, slope: float, last_slope: float
) -> Tensor:
    """Images (m, b, 64, 64, c) to (m, b, 16, 16, 32), each layer with its bias (m, 32) and leaky ReLU."""
    models, batch = images.shape[:2]
    images = _whole(images)
    parameters = _rows(fine), _rows(wide), _bias(first_bias), _bias(second_bias)
    out = images.new_empty(models, batch, 16, 16, 32)
    tensors = (images, *parameters, out)
    _start("down_two", images.shape[-1], batch, tensors, parameters, batch, slope, last_slope)
    return out


def down_two_back(
    images: Tensor, fine: Tensor, first_bias: Tensor, wide: Tensor, grad: Tensor, slope: float
) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradient (m, b, 16, 16, 32) in the second layer's sum, those in the first's weight and bias and in the second's
    weight, all in parts (m, n, …)."""
    models, batch, few = *images.shape[:2], images.shape[-1]
    images, grad = _whole(images), _whole(grad)
    fine, first_bias, wide = _rows(fine), _bias(first_bias), _rows(wide)
    parts, sums = _parts(batch), {"dtype": torch.float32, "device": images.device}
    of_fine = torch.empty(models, parts, 4, 4, few, 32, **sums)
    of_wide = torch.empty(models, parts, 4, 4, 32, 32, **sums)
    of_bias = torch.empty(models, parts * _WARPS, 32, **sums)
    tensors = (images, fine, wide, grad, first_bias, of_fine, of_wide, of_bias)
    _start("down_two_back", few, parts, tensors, (fine, wide, first_bias), batch, parts, slope)
    return of_fine, of_bias, of_wide


def up_two(
    small: Tensor, wide: Tensor, first_bias: Tensor, fine: Tensor, second_bias: Tensor, slope: float, last_slope: float
) -> tuple[Tensor, Tensor]:
    """Maps (m, b, 16, 16, 32) to the map (m, b, 32, 32, 32) and the images (m, b, 64, 64, c), by layers with bias and ReLU."""
    models, batch, few = *small.shape[:2], fine.shape[-2]
    small = _whole(small)
    parameters = _rows(wide), _rows(fine), _bias(first_bias), _bias(second_bias)
    big, images = small.new_empty(models, batch, 32, 32, 32), small.new_empty(models, batch, 64, 64, few)
    tensors = (small, *parameters, big, images)
    _start("up_two", few, batch, tensors, parameters, batch, slope, last_slope)
    return big, images


def up_two_back(
    grad: Tensor, fine: Tensor, big: Tensor, wide: Tensor, small: Tensor, slope: float, small_slope: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """From the gradient (m, b, 64, 64, c) in the images' sum: the one in what the leaky ReLU before `small`, of slope
    `small_slope`, was given; in parts those in the images' bias, their layer's weight, the other layer's bias and weight; and
    the first one's sums over positions."""
    models, batch, few = *small.shape[:2], fine.shape[-2]
    grad, big, small, fine, wide = _whole(grad), _whole(big), _whole(small), _rows(fine), _rows(wide)
    parts, sums = _parts(batch), {"dtype": torch.float32, "device": small.device}
    of_small = torch.empty_like(small)
    of_fine = torch.empty(models, parts, 4, 4, few, 32, **sums)
    of_wide = torch.empty(models, parts, 4, 4, 32, 32, **sums)
    of_last_bias = torch.empty(models, parts * _WARPS, few, **sums)
    of_first_bias, of_small_bias = (torch.empty(models, parts * _WARPS, 32, **sums) for _ in range(2))
    tensors = (grad, fine, big, wide, small, of_small, of_fine, of_wide, of_last_bias, of_first_bias, of_small_bias)
    _start("up_two_back", few, parts, tensors, (fine, wide), batch, parts, slope, small_slope)
    return of_small, of_last_bias, of_fine, of_first_bias, of_wide, of_small_bias
