"""A trained model: its record, its networks with weights, and what users do with them — encode, decode, save, load."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from hackle import __version__
from hackle.core.records import from_json, record_hash, to_json
from hackle.core.types import Adam, HackleError, Run
from hackle.nets import ARCHITECTURES
from hackle.objectives import OBJECTIVES
from hackle.train.fleet import build_networks

RECORD, WEIGHTS = "run.json", "weights.safetensors"
_CLASSES: dict[str, type] = {
    cls.__name__: cls for cls in (Run, Adam, *OBJECTIVES.values(), *ARCHITECTURES.values()) if isinstance(cls, type)
}


def images_at_once(device: torch.device) -> int:
    """How many images an accelerator encodes or decodes at a time: one for each 8 MiB of its memory, at most 16,384, so that
    several processes can do so on one device."""
    if device.type != "cuda":
        return 4_096
    return min(16_384, max(512, torch.cuda.get_device_properties(device).total_memory >> 23))


_SLACK = 1e-4
"""By how much floats may leave [0, 1], as pixels do that were resized or computed."""


class ModelError(HackleError):
    """A run folder that cannot be read."""


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """What files of tensors carry as `checksum` in their metadata: CRC-32 of names and contents."""
    value = 0
    for name in sorted(tensors):
        value = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, zlib.crc32(name.encode(), value))
    return f"{value:08x}"


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file that carries its checksum and that others may read, as far as the umask lets them."""
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path, {**(metadata or {}), "checksum": checksum(tensors)})
    # safetensors makes its files readable by their owner alone.
    path.chmod(mode)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file; `SafetensorError` where it has a checksum that does not hold."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata() or {}
    if metadata.get("checksum") not in (None, checksum(tensors)):
        raise SafetensorError("its contents do not match their checksum")
    return tensors, metadata


def _record_text(run: Run, shape: tuple[int, int, int]) -> str:
    """What run.json holds. A record that could not be read again, of a class defined inside a function say, is refused."""
    text = {"hackle": __version__, "hash": record_hash(run), "shape": list(shape), "record": to_json(run)}
    try:
        from_json(text["record"], _CLASSES)
    except ValueError as error:
        raise ModelError(f"this run could be saved but not read again: {error}") from error
    return json.dumps(text, indent=2) + "\n"


def write_record(folder: Path, run: Run, shape: tuple[int, int, int]) -> None:
    """Write run.json: the record, its hash, the image shape and the version that wrote it."""
    (folder / RECORD).write_text(_record_text(run, shape))


def read_record(folder: Path) -> tuple[Run, tuple[int, int, int]]:
    """The run and the image shape that a run folder holds."""
    path = folder / RECORD
    if not path.is_file():
        raise ModelError(
            f"{folder} holds no run: there is no {RECORD} in it. Train one with `hackle train … --out {folder}`"
        )
    try:
        content = json.loads(path.read_text())
        height, width, channels = content["shape"]
        return from_json(content["record"], _CLASSES), (height, width, channels)
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a run record this version can read: {error}") from error


class Model:
    """One trained model.

    Images are uint8 (n, h, w, c) in 0 … 255, or floats in [0, 1]; codes and latents are rows.
    """

    def __init__(self, run: Run, shape: tuple[int, int, int], weights: dict[str, Tensor] | None = None) -> None:
        self.run, self.shape = run, shape
        self.networks = build_networks(run, shape)
        self.device = torch.device("cpu")
        if weights is not None:
            nn.ModuleDict(self.networks).load_state_dict(weights)
        for network in self.networks.values():
            network.eval().requires_grad_(False)

    def __repr__(self) -> str:
        return f"Model({self.run.method}, {self.run.dataset}, seed {self.run.seed}, {self.run.latents} latents)"

    def to(self, device: torch.device | str) -> Model:
        """Move the networks, and so the work, to a device."""
        self.device = torch.device(device)
        for network in self.networks.values():
            network.to(self.device)
        return self

    def _nets(self, name: str, *inputs: Tensor) -> Any:
        """A network's answer in float32; on an accelerator it computes in the dtype that the run trained in."""
        if self.device.type != "cpu":
            inputs = tuple(value.to(getattr(torch, self.run.precision)) for value in inputs)
        return tree_map(lambda value: value.to(torch.float32), self.networks[name](*inputs))

    @property
    def _chunk(self) -> int:
        """Images at a time: what fits a cache, or what fills a device."""
        return 512 if self.device.type == "cpu" else images_at_once(self.device)

    def _tensor(self, images: ArrayLike | Tensor) -> Tensor:
        tensor = (
            torch.as_tensor(images, device=self.device)
            if isinstance(images, Tensor)
            else torch.tensor(np.asarray(images))
        )
        if tensor.dim() != 4 or tuple(tensor.shape[1:]) != self.shape:
            raise ValueError(
                f"images have shape {tuple(tensor.shape)}; this model takes (n, {', '.join(map(str, self.shape))})"
            )
        tensor = tensor.to(self.device)
        if tensor.dtype == torch.uint8:
            return tensor.to(torch.float32) / 255
        if tensor.numel() and not (tensor.min() >= -_SLACK and tensor.max() <= 1 + _SLACK):
            raise ValueError(
                f"images hold values from {tensor.min():g} to {tensor.max():g} as {str(tensor.dtype).removeprefix('torch.')}; "
                "expected uint8 in 0 … 255 or floats in [0, 1]: convert with .astype(np.uint8), or divide by 255"
            )
        return tensor.to(torch.float32)

    @torch.no_grad()
    def encode(
        self, images: ArrayLike | Tensor, *, chunk: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The posterior's means and logvars of each image, each (n, l), `chunk` images at a time."""
        chunk = chunk or self._chunk
        # No images at all are one empty chunk, which gives codes of the right width.
        parts = [
            self.run.method.encode(self._nets, self.run, self._tensor(images[start : start + chunk]))  # type: ignore[index]
            for start in range(0, max(1, len(images)), chunk)  # type: ignore[arg-type]
        ]
        means, logvars = (torch.cat(side).cpu().numpy() for side in zip(*parts, strict=True))
        return means, logvars

    @torch.no_grad()
    def decode(self, z: ArrayLike, *, chunk: int | None = None) -> NDArray[np.float32]:
        """The mean image in [0, 1] of each latent row, (n, h, w, c), `chunk` at a time."""
        rows = torch.tensor(np.asarray(z, dtype=np.float32), device=self.device)
        width = len(self.run.method.discrete(self.run))
        # What a GAN's generator takes beside the codes its method knows.
        if rows.dim() != 2 or (self.has_likelihood and rows.shape[1] != width):
            raise ValueError(f"latents have shape {tuple(rows.shape)}; this model takes (n, {width})")
        parts = [self.run.method.decode(self._nets, self.run, part) for part in rows.split(chunk or self._chunk)]
        return torch.cat(parts).cpu().numpy()

    @property
    def likelihood(self) -> str:
        """bernoulli or gaussian: what the decoder's output parameterises."""
        return self.run.likelihood

    @property
    def has_likelihood(self) -> bool:
        """Whether images have a likelihood under the model: autoencoders do, GANs do not."""
        return "decoder" in self.networks

    @torch.no_grad()
    def posterior(self, images: ArrayLike | Tensor) -> tuple[Tensor, Tensor]:
        """Means and logvars as tensors on the model's device, for those who compute on."""
        return self.run.method.encode(self._nets, self.run, self._tensor(images))

    @torch.no_grad()
    def output(self, z: Tensor) -> Tensor:
        """The decoder's output, logits or means of the pixels, for latents (b, l)."""
        if not self.has_likelihood:
            raise ModelError(f"{type(self.run.method).__name__} has no decoder: images have no likelihood under it")
        return self._nets("decoder", z.to(self.device, torch.float32))

    def reconstruct(self, images: ArrayLike | Tensor) -> NDArray[np.float32]:
        """Decode each image's posterior mean."""
        return self.decode(self.encode(images)[0])

    def save(self, folder: str | Path) -> Path:
        """Write the record and the weights into a folder that holds no other run."""
        folder = Path(folder)
        if (folder / RECORD).exists():
            raise ModelError(f"{folder} holds a run already; choose another folder")
        record = _record_text(self.run, self.shape)
        folder.mkdir(parents=True, exist_ok=True)
        save_tensors(self.weights(), folder / WEIGHTS)
        (folder / RECORD).write_text(record)
        return folder

    def weights(self) -> dict[str, Tensor]:
        """Every parameter by network and name."""
        return {
            name: value.detach().cpu().contiguous() for name, value in nn.ModuleDict(self.networks).state_dict().items()
        }

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        """The model that a run folder holds."""
        folder = Path(folder)
        run, shape = read_record(folder)
        path = folder / WEIGHTS
        if not path.is_file():
            raise ModelError(
                f"{folder} holds a run that has not finished: go on with `hackle train --resume --out {folder}`, or "
                "hackle.fit(…, resume=True)"
            )
        try:
            return cls(run, shape, load_tensors(path)[0])
        except (SafetensorError, RuntimeError) as error:
            raise ModelError(
                f"{path} is damaged or belongs to another run: {error}. Get it back from a copy, or delete it and train the "
                f"run again: `hackle train --resume --out {folder}`"
            ) from error
