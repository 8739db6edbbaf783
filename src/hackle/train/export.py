"""A trained model for other programs: its encoder and decoder as plain modules, and as files that run without hackle.

Files are written by `torch.export` (.pt2) or as ONNX (.onnx), for batches of any size, and checked: the file is loaded
and run on made-up inputs, and its outputs are compared with the model's.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hackle.core.errors import HackleError
from hackle.core.files import replacing
from hackle.core.types import Run
from hackle.nets.plain import plain_network

if TYPE_CHECKING:
    from hackle.train.model import Model

Part = Literal["encoder", "decoder"]
Arrays = tuple[NDArray[np.float32], ...]
_CHECKED = 5
"""Rows of the batch with which a file is checked; a number other than that of the batch it was traced with, two."""
_TOLERANCE = 1e-3
"""How much a file's outputs may differ from the model's, relative to the largest, since sums run in another order."""


class ExportError(HackleError):
    """A model that cannot be written as a file for other programs."""


class _Part(nn.Module):
    """The networks that a method uses for one direction, by name, made of PyTorch's own layers."""

    def __init__(self, run: Run, networks: Mapping[str, nn.Module], pairs: frozenset[str]) -> None:
        super().__init__()
        self.run, self.pairs = run, pairs
        self.networks = nn.ModuleDict(networks)

    @property
    def layers(self) -> nn.Module:
        """The network, if there is only one; its output is what the method turns into codes or images."""
        if len(self.networks) > 1:
            raise HackleError(f"this has the networks {', '.join(self.networks)}; take one of `networks` by its name")
        return next(iter(self.networks.values()))

    def _nets(self, name: str, *inputs: Tensor) -> Any:
        output = self.networks[name](*inputs)
        return tuple(output.chunk(2, dim=-1)) if name in self.pairs and isinstance(output, Tensor) else output


class PlainEncoder(_Part):
    """Images (n, c, h, w), floats in [0, 1], to means and logvars of the codes, each (n, l)."""

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self.run.method.encode(self._nets, self.run, images)


class PlainDecoder(_Part):
    """Latents (n, l) to mean images (n, c, h, w) in [0, 1]."""

    def forward(self, latents: Tensor) -> Tensor:
        return self.run.method.decode(self._nets, self.run, latents)


def used_networks(model: Model, part: Part) -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
    """The networks with which a model encodes or decodes, each with the shape of what it takes, and which of them give pairs.
    They are found by running the method on one row."""
    used: dict[str, tuple[int, ...]] = {}
    pairs: set[str] = set()

    def nets(name: str, *inputs: Tensor) -> Any:
        used[name] = tuple(inputs[0].shape[1:]) if inputs else ()
        output = model.networks[name](*inputs)
        if not isinstance(output, Tensor):
            pairs.add(name)
        return output

    one = torch.from_numpy(_inputs(model, part, 1)).to(model.device)
    with torch.no_grad():
        if part == "encoder":
            model.run.method.encode(nets, model.run, one.permute(0, 2, 3, 1))
        else:
            model.run.method.decode(nets, model.run, one)
    return used, frozenset(pairs)


def plain_part(model: Model, part: Part) -> _Part:
    """A copy of a model's encoder or decoder."""
    used, pairs = used_networks(model, part)
    made = {name: plain_network(model.networks[name], shape) for name, shape in used.items()}
    kind = PlainEncoder if part == "encoder" else PlainDecoder
    return kind(model.run, made, pairs).eval().to(model.device)


def _inputs(model: Model, part: Part, count: int) -> NDArray[np.float32]:
    """Made-up images with the channels first, or draws of the codes' priors."""
    rng = np.random.default_rng(0)
    if part == "encoder":
        height, width, channels = model.shape
        return rng.random((count, channels, height, width), dtype=np.float32)
    draws = {
        "normal": lambda code: rng.standard_normal(count),
        "uniform": lambda code: rng.uniform(-1, 1, count),
        "categorical": lambda code: rng.integers(code.classes, size=count),
    }
    return np.stack([draws[code.prior](code) for code in model.codes], axis=1).astype(np.float32)


@dataclass(frozen=True)
class Exported:
    """What was written: the file, the part, its inputs and outputs, and how much its outputs differ from the
    model's."""

    path: Path
    part: Part
    takes: str
    gives: str
    difference: float

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.part}, from {self.takes} to {self.gives}; run again, it differs from the model by at most "
            f"{self.difference:.1e}"
        )


def export_model(model: Model, path: Path, part: Part, overwrite: bool) -> Exported:
    """Write one part of a model to a file, in the format of the file's ending, and check it."""
    if part not in get_args(Part):
        raise ExportError(f"part is {part!r}; expected {' or '.join(get_args(Part))}")
    if path.suffix not in _FORMATS:
        raise ExportError(f"{path} ends in {path.suffix or 'nothing'}; expected {' or '.join(_FORMATS)}")
    if path.exists() and not overwrite:
        raise ExportError(
            f"{path} is there already; replace it with overwrite=True (--overwrite on the command line), or choose another name"
        )
    write, read = _FORMATS[path.suffix]
    # An accelerator may compute in a dtype other than the file's float32.
    model = (
        model if model.device.type == "cpu" else type(model)(model.run, model.shape, model.weights(), model.left_out)
    )
    module = plain_part(model, part)
    names = ("images", ("means", "logvars")) if part == "encoder" else ("latents", ("images",))
    inputs = _inputs(model, part, _CHECKED)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        with _quiet():
            write(module, torch.from_numpy(inputs[:2]), names, partial)
            answers = read(partial, inputs)
        difference = _difference(model, part, inputs, answers)
        if not difference <= _TOLERANCE:
            raise ExportError(
                f"the outputs of the file for {path} differ from the model's by up to {difference:.1e}; expected at most "
                f"{_TOLERANCE:g}. It was not kept"
            )
    height, width, channels = model.shape
    images, codes = f"float32 images (n, {channels}, {height}, {width}) in [0, 1]", answers[0].shape[1]
    if part == "encoder":
        return Exported(path, part, images, f"means and logvars (n, {codes})", difference)
    return Exported(path, part, f"latents (n, {inputs.shape[1]})", images, difference)


def _difference(model: Model, part: Part, inputs: NDArray[np.float32], answers: Arrays) -> float:
    """The largest difference from the model's outputs, relative to the largest of these where it exceeds 1."""
    if part == "encoder":
        wanted = model.encode(inputs.transpose(0, 2, 3, 1))
    else:
        wanted = (model.decode(inputs).transpose(0, 3, 1, 2),)
    return max(
        float(np.abs(one - other).max() / max(1.0, np.abs(other).max()))
        for one, other in zip(answers, wanted, strict=True)
    )


Names = tuple[str, tuple[str, ...]]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences PyTorch's exporters, which log what they decompose, and warnings from inside the compilers."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _write_pt2(module: nn.Module, example: Tensor, names: Names, path: Path) -> None:
    rows = {0: torch.export.Dim("n", min=1)}
    program = torch.export.export(module, (example,), dynamic_shapes=(rows,))
    with path.open("wb") as file:
        torch.export.save(program, file)


def _read_pt2(path: Path, inputs: NDArray[np.float32]) -> Arrays:
    with path.open("rb") as file:
        program = torch.export.load(file)
    output = program.module()(torch.from_numpy(inputs))
    return tuple(part.detach().numpy() for part in (output if isinstance(output, tuple) else (output,)))


def _write_onnx(module: nn.Module, example: Tensor, names: Names, path: Path) -> None:
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ExportError(
            "ONNX files are written by onnx and onnxscript and checked by onnxruntime, one of which is not installed "
            f"({error}): "
            'install them with `pip install "hackle[export]"`, or write a .pt2 file, which needs nothing more'
        ) from error
    torch.onnx.export(
        module,
        (example,),
        str(path),
        dynamo=True,
        verbose=False,
        external_data=False,
        input_names=[names[0]],
        output_names=list(names[1]),
        dynamic_shapes=({0: torch.export.Dim("n", min=1)},),
    )


def _read_onnx(path: Path, inputs: NDArray[np.float32]) -> Arrays:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return tuple(np.asarray(part) for part in session.run(None, {session.get_inputs()[0].name: inputs}))


_FORMATS: dict[str, tuple[Callable[..., None], Callable[..., Arrays]]] = {
    ".pt2": (_write_pt2, _read_pt2),
    ".onnx": (_write_onnx, _read_onnx),
}
