"""Beginning with the weights of another run instead of random ones.

The weights of networks of the same name are taken over, and these networks must be the same; those that the other run
does not have, such as FactorVAE's discriminator where the other is a VAE, begin with random weights as usual. The
other's folder is read as data: its record imports nothing, and the shapes in its weights' header are compared with this
run's networks before the weights are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.core.untrusted import UntrustedError, file_inside, is_text
from hackle.train.errors import TrainingError
from hackle.train.fleet import build_networks
from hackle.train.model import WEIGHTS, Model
from hackle.train.record_files import peek_record
from hackle.train.weights import Shapes, difference, load_tensors, shapes_in, shapes_of

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Start:
    """Weights to begin with, by network and name. identity: how a record refers to them, by the hash of their run
    and a hash of their contents. shape: of that run's images."""

    identity: str
    weights: Mapping[str, Tensor]
    shape: Shape


def find_start(source: Model | str | Path, run: Run) -> Start:
    """The weights of a model, or of a run's folder, which must have the names and shapes of this run's networks."""
    if isinstance(source, Model):
        other, shape, weights = source.run, source.shape, source.weights()
        _check(str(source), run, shape, {name: tuple(value.shape) for name, value in weights.items()})
    else:
        folder = Path(source)
        other, shape = peek_record(folder)
        try:
            path = file_inside(folder, WEIGHTS)
            if path is None or not is_text(str(path)):
                raise TrainingError(
                    f"{folder} holds no weights to begin with: its run has not finished. Go on with it by `hackle train "
                    f"--resume --out {folder}`"
                )
            _check(str(folder), run, shape, shapes_in(path))
            weights, _ = load_tensors(path)
        except (SafetensorError, UntrustedError, OSError, RuntimeError) as error:
            raise TrainingError(f"the weights in {folder} cannot be read: {error}") from error
    return Start(f"{record_hash(other)}-{_digest(weights)}", weights, shape)


def _digest(weights: Mapping[str, Tensor]) -> str:
    """A hash, sixteen hexadecimal digits, of the names, shapes and contents of tensors."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        value = weights[name].detach().cpu().contiguous()
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def _check(source: str, run: Run, shape: Shape, there: Shapes) -> None:
    """Refuse weights that share no network with this run, or a network that differs from this run's."""
    wanted = _wanted(run, shape)
    networks = set(map(_network, wanted)) & set(map(_network, there))
    if not networks:
        raise TrainingError(
            f"{source} has the networks {_networks(there)}, and this run {_networks(wanted)}; expected one that both "
            "have"
        )
    both = ({name: size for name, size in shapes.items() if _network(name) in networks} for shapes in (there, wanted))
    if unequal := difference(*both):
        name, has, needs = unequal
        raise TrainingError(
            f"the networks of {source} are not this run's: of {name} it has {has}, this run's "
            f"{type(run.architecture).__name__} {needs}. Expected the same architecture, latents and images"
        )


def _wanted(run: Run, shape: Shape) -> Shapes:
    shapes = shapes_of(run, shape)
    if shapes is None:
        built = nn.ModuleDict(build_networks(run, shape)).state_dict()
        return {name: tuple(value.shape) for name, value in built.items()}
    return shapes


def _network(parameter: str) -> str:
    return parameter.partition(".")[0]


def _networks(names: Shapes) -> str:
    return ", ".join(dict.fromkeys(map(_network, names)))


def check_images(start: Start, shape: Shape) -> None:
    """Refuse images whose shape is not that of the images the weights were trained on."""
    if start.shape != shape:
        raise TrainingError(
            f"the weights to begin with are of images of shape {start.shape}, and the data set's have {shape}; expected "
            "the same"
        )
