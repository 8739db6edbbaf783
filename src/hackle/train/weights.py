"""Files of weights, whole or in bytes, and the shapes of weights: in a file, from its header, and in a run's networks.

In bytes, each row of numbers (of a convolution's kernel: all that lead to one output) is its largest magnitude, divided by 127,
times whole numbers from −127 to 127. Small tensors are float16. A model of Locatello et al.'s networks then takes 0.78 MB and
not 3.1, and reconstructs and scores alike: docs/models.md has the differences.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from hackle.core.allocator import available_memory
from hackle.core.errors import HackleError
from hackle.core.files import human_size
from hackle.core.parts import is_reference
from hackle.core.records import type_name
from hackle.core.types import Run

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of parameters, by network and name."""
_SCALE = "#scale"
"""Ends the name of the scales of a tensor that is stored in bytes."""
_WHOLE = 4_096
"""Tensors of fewer numbers are not stored in bytes."""
_NO_WEIGHTS = ("BOOL", "F64", "C64", "C128")
"""Types of numbers, as files of tensors name them, that weights do not have: training computes in float32."""
_MOST_HEADER = 16 * 2**20
"""The most bytes of the header of a file of weights."""


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """The `checksum` in the metadata of files of tensors: CRC-32 of names and contents."""
    value = 0
    for name in sorted(tensors):
        value = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, zlib.crc32(name.encode(), value))
    return f"{value:08x}"


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file that carries its checksum and that others may read, as far as the umask allows."""
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path, {**(metadata or {}), "checksum": checksum(tensors)})
    # safetensors makes its files readable by their owner alone.
    path.chmod(mode)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file; `SafetensorError` if its checksum does not match, or if it does not fit
    into the free memory: a file of zeros takes no place on the disk."""
    if (size := path.stat().st_size) > (free := available_memory()):
        raise SafetensorError(f"it has {human_size(size)}, and {human_size(free)} of memory are free")
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata() or {}
    if metadata.get("checksum") not in (None, checksum(tensors)):
        raise SafetensorError("its contents do not match their checksum")
    return _expanded(tensors), metadata


def in_bytes(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as whole numbers with scales, and the small ones in float16; `load_tensors` gives them back as floats."""
    smaller = {}
    for name, value in tensors.items():
        if value.dim() < 2 or value.numel() < _WHOLE:
            half = value.half()
            smaller[name] = half if half.isfinite().all() else value
            continue
        outputs = 0 if value.dim() == 2 else value.dim() - 1
        others = [axis for axis in range(value.dim()) if axis != outputs]
        scale = value.float().abs().amax(others, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny) / 127
        smaller[name] = (value / scale).round().to(torch.int8).contiguous()
        smaller[name + _SCALE] = scale
    return smaller


def _expanded(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    expanded = {}
    in_bytes = any(name.endswith(_SCALE) for name in tensors)
    for name, value in tensors.items():
        if name.endswith(_SCALE):
            continue
        if (scale := tensors.get(name + _SCALE)) is not None:
            sides = zip(scale.shape, value.shape, strict=False)
            if scale.dim() != value.dim() or any(side not in (1, whole) for side, whole in sides):
                raise SafetensorError(f"the scales of {name} have the shape {tuple(scale.shape)}")
            if not scale.is_floating_point() or not scale.isfinite().all():
                raise SafetensorError(f"the scales of {name} are no finite numbers")
            value = value.float() * scale.float()
        elif in_bytes and value.dtype == torch.int8:
            raise SafetensorError(f"{name} is stored in bytes and has no scales")
        expanded[name] = value
    return expanded


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor in a file of weights; only the header is read. Numbers that no network is saved as, such as
    complex ones, which would silently become others, are refused."""
    with path.open("rb") as file:
        if int.from_bytes(file.read(8), "little") > _MOST_HEADER:
            raise SafetensorError(f"its header has more than {_MOST_HEADER:,} bytes")
    with safe_open(path, framework="pt") as file:
        names = [name for name in file.keys() if not name.endswith(_SCALE)]  # noqa: SIM118
        parts = {name: file.get_slice(name) for name in names}
        for name, part in parts.items():
            if part.get_dtype() in _NO_WEIGHTS:
                raise SafetensorError(
                    f"{name} holds numbers of type {part.get_dtype()}; expected float32 or fewer bits"
                )
        return {name: tuple(part.get_shape()) for name, part in parts.items()}


def left_out_of(path: Path) -> tuple[str, ...]:
    """The networks that a file of weights says it leaves out: those that neither encode nor decode."""
    with safe_open(path, framework="pt") as file:
        said = (file.metadata() or {}).get("left_out", "")
    return tuple(sorted(filter(None, said.split(","))))


class _WithoutDraws(TorchFunctionMode):
    """Skips drawing initial weights: tensors on the meta device have none, and drawing loads much of PyTorch's
    compiler."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if getattr(func, "__name__", "") in ("normal_", "uniform_"):
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def shapes_of(run: Run, shape: tuple[int, int, int]) -> dict[str, tuple[int, ...]] | None:
    """The shape of every parameter of a run's networks, which are built without memory, on PyTorch's meta device.

    None if they are not hackle's own and cannot be built so, as networks that look at their weights. hackle's own all can,
    unless the record asks for what cannot be: a `SafetensorError`, since there are no weights of such networks.
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"), _WithoutDraws():
            networks = nn.ModuleDict(run.method.networks(run, shape))
    except HackleError:
        raise
    except Exception as error:
        parts = (type_name(type(part)) for part in (run.method, run.architecture))
        if getattr(run.architecture, "users_own", False) or any(map(is_reference, parts)):
            return None
        raise SafetensorError(f"the record's networks cannot be built ({error})") from error
    return {name: tuple(value.shape) for name, value in networks.state_dict().items()}


def difference(there: Shapes, wanted: Shapes) -> tuple[str, str, str] | None:
    """The first parameter whose shape is not the one wanted, and both shapes in words; None if all match.

    >>> difference({"encoder.bias": (3,)}, {"encoder.bias": (4,)})
    ('encoder.bias', 'the shape (3,)', 'the shape (4,)')
    """
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) != there.get(name):
            has, needs = (f"the shape {shapes[name]}" if name in shapes else "none" for shapes in (there, wanted))
            return name, has, needs
    return None
