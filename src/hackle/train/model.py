"""A trained model: its record, its networks with weights, and what users do with them: encode, decode, save, load."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from hackle.core.allocator import available_memory
from hackle.core.files import human_size
from hackle.core.method import Code, about
from hackle.core.types import Run
from hackle.core.untrusted import file_inside, is_text
from hackle.train.export import Exported, Part, PlainDecoder, PlainEncoder, export_model, plain_part, used_networks
from hackle.train.fleet import build_networks
from hackle.train.record_files import RECORD, ModelError, read_record, record_text, write_record
from hackle.train.weights import (
    difference,
    in_bytes,
    left_out_of,
    load_tensors,
    save_tensors,
    shapes_in,
    shapes_of,
)

WEIGHTS = "weights.safetensors"


def images_at_once(device: torch.device) -> int:
    """The number of images that an accelerator encodes or decodes at a time: one per 8 MiB of its memory, at most
    16,384, so that several processes can share a device."""
    if device.type != "cuda":
        return 4_096
    return min(16_384, max(512, torch.cuda.get_device_properties(device).total_memory >> 23))


_SLACK = 1e-4
"""How far floats may lie outside [0, 1], as pixels that were resized or computed do."""


def _check_weights(run: Run, shape: tuple[int, int, int], path: Path) -> None:
    """Refuse weights that do not fit into the free memory, in float32 as the file's and as the networks', or whose shapes are
    not those of the record's networks, before a network takes up memory.

    A user's networks may not be buildable without memory; they are read only if trusted.
    """
    there = shapes_in(path)
    numbers = sum(map(math.prod, there.values()))
    if run.latents > numbers:
        raise SafetensorError(f"it has fewer numbers than the record has latents, {run.latents:,}")
    wanted = shapes_of(run, shape)
    if wanted is not None:
        lacking = left_out_of(path)
        kept = {name: size for name, size in wanted.items() if name.partition(".")[0] not in lacking}
        if unequal := difference(there, kept):
            name, has, needs = unequal
            raise SafetensorError(f"of {name} it has {has}, the record's networks {needs}")
    # Networks that the file leaves out are built as well.
    size = 4 * (numbers + max(numbers, sum(map(math.prod, (wanted or {}).values()))))
    if size > (free := available_memory()):
        raise ModelError(f"{path}: its weights take {human_size(size)} of memory, and {human_size(free)} are free")


def load_weights(folder: Path, run: Run, shape: tuple[int, int, int], *, trust: bool = False) -> Model:
    """The model of a run whose weights are in a folder. trust: follow a link that leaves the folder."""
    try:
        path = file_inside(folder, WEIGHTS, follow=trust)
    except ValueError as error:
        raise ModelError(str(error)) from error
    if path is None:
        # It builds a model, too, of a checkpoint.
        from hackle.train.unfinished import diverged_in

        if (step := diverged_in(folder)) is not None:
            raise ModelError(
                f"{folder} holds a run that diverged at step {step:,} and has no weights: train it in another folder, with a "
                "smaller learning rate or weight"
            )
        raise ModelError(
            f"{folder} holds a run that has not finished: go on with "
            f"`hackle train --resume --out {shlex.quote(str(folder))}`, or hackle.fit(…, resume=True)"
        )
    if not is_text(str(path)):
        raise ModelError(f"{str(path)!a} is no path in UTF-8, as files of weights are opened by; rename the folder")
    try:
        _check_weights(run, shape, path)
        model = Model(run, shape, load_tensors(path)[0], left_out_of(path))
        if model.left_out:
            _check_networks(model)
        return model
    except (SafetensorError, RuntimeError, OSError) as error:
        raise ModelError(
            f"{path} is damaged or belongs to another run: {error}. Get it back from a copy, or delete it and train the "
            f"run again: `hackle train --resume --out {shlex.quote(str(folder))}`"
        ) from error


def _to_shape(given: tuple[int, ...], wanted: tuple[int, int, int]) -> str:
    """What brings images of another shape to the one that a model takes."""
    height, width, channels = wanted
    if given == wanted:
        return "a single image is images[None]"
    if channels == 1 and given == (height, width):
        return "a single grey image is images[None, ..., None]"
    if channels == 1 and given[1:] == (height, width):
        return "grey images get the axis of their channel by images[..., None]"
    if given[1:] == (channels, height, width):
        return "channels come last, numpy.moveaxis(images, 1, -1), or images.permute(0, 2, 3, 1) of a tensor"
    if given[1:3] == (height, width):
        return "give images with as many channels; the mean of colours, images.mean(-1, keepdims=True), is grey"
    return (
        f"hackle.load(…, resize={height}) and hackle.from_arrays(…, resize={height}) bring images to a size, and so does "
        f"+resize={height} after a data set's name on the command line"
    )


def _check_networks(model: Model) -> None:
    """Refuse a model that lacks a network with which it encodes or decodes."""
    for part in get_args(Part):
        try:
            used_networks(model, part)
        except KeyError as error:
            raise SafetensorError(f"it leaves out the network {error}, which the {part} needs") from error


class Model:
    """One trained model.

    Images are uint8 (n, h, w, c) in 0 … 255, or floats in [0, 1]; codes and latents are rows.
    """

    def __init__(
        self,
        run: Run,
        shape: tuple[int, int, int],
        weights: dict[str, Tensor] | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        """left_out: networks of the run that the model does not have, since they neither encode nor decode."""
        self.run, self.shape, self.left_out = run, shape, tuple(left_out)
        built = build_networks(run, shape)
        self.networks = {name: network for name, network in built.items() if name not in self.left_out}
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
        """A network's output in float32; on an accelerator it computes in the dtype that the run trained in."""
        if self.device.type != "cpu":
            inputs = tuple(value.to(getattr(torch, self.run.precision)) for value in inputs)
        return tree_map(lambda value: value.to(torch.float32), self.networks[name](*inputs))

    @property
    def _chunk(self) -> int:
        """The number of images at a time: what fits in a cache, or what fills a device."""
        return 512 if self.device.type == "cpu" else images_at_once(self.device)

    def _tensor(self, images: ArrayLike | Tensor) -> Tensor:
        tensor = (
            torch.as_tensor(images, device=self.device)
            if isinstance(images, Tensor)
            else torch.tensor(np.asarray(images))
        )
        if tensor.dim() != 4 or tuple(tensor.shape[1:]) != self.shape:
            raise ValueError(
                f"images have shape {tuple(tensor.shape)}; this model takes (n, {', '.join(map(str, self.shape))}): "
                f"{_to_shape(tuple(tensor.shape), self.shape)}"
            )
        tensor = tensor.to(self.device)
        if tensor.dtype == torch.uint8:
            return tensor.to(torch.float32) / 255
        if tensor.numel() and not (tensor.min() >= -_SLACK and tensor.max() <= 1 + _SLACK):
            remedy = "convert with .astype(np.uint8), or divide by 255"
            if not tensor.isfinite().all():
                remedy = "leave out images with values that are not finite, or fill these in"
            raise ValueError(
                f"images hold values from {tensor.min():g} to {tensor.max():g} as {str(tensor.dtype).removeprefix('torch.')}; "
                f"expected uint8 in 0 … 255 or floats in [0, 1]: {remedy}"
            )
        return tensor.to(torch.float32)

    @torch.no_grad()
    def encode(
        self, images: ArrayLike | Tensor, *, chunk: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The posterior's means and logvars of each image, each (n, l), `chunk` images at a time."""
        if not hasattr(images, "__len__"):
            raise ValueError(
                f"images are of type {type(images).__name__}; expected an array or a tensor: numpy.asarray(picture)[None] of a "
                "Pillow image, dataset.render(rows) of a data set"
            )
        chunk = chunk or self._chunk
        # Without images there is one empty chunk, which gives codes of the right width.
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
        width = len(self.codes)
        # A GAN's generator may take noise in addition to the codes.
        if rows.dim() != 2 or (self.has_likelihood and rows.shape[1] != width):
            single = ": one row is z[None]" if rows.dim() == 1 else ""
            raise ValueError(f"latents have shape {tuple(rows.shape)}; this model takes (n, {width}){single}")
        parts = [self.run.method.decode(self._nets, self.run, part) for part in rows.split(chunk or self._chunk)]
        return torch.cat(parts).cpu().numpy()

    @property
    def codes(self) -> tuple[Code, ...]:
        """What each code is, in order: its prior and, if it is a class number, the number of classes."""
        return about(self.run.method).codes(self.run.method, self.run)

    @property
    def likelihood(self) -> str:
        """bernoulli or gaussian: what the decoder's output parameterises."""
        return self.run.likelihood

    @property
    def has_likelihood(self) -> bool:
        """Whether images have a likelihood under the model: autoencoders do, GANs do not."""
        return about(self.run.method).has_likelihood

    @torch.no_grad()
    def posterior(self, images: ArrayLike | Tensor) -> tuple[Tensor, Tensor]:
        """Means and logvars as tensors on the model's device, for further computation."""
        return self.run.method.encode(self._nets, self.run, self._tensor(images))

    @torch.no_grad()
    def covariance_root(self, images: ArrayLike | Tensor) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Of a method whose latents depend on each other given the image: means (n, l) and the roots L (n, l, l) of the
        posteriors' covariances L Lᵀ."""
        if about(self.run.method).independent_given_images:
            raise ModelError(
                f"the latents of {type(self.run.method).__name__} are independent given the image; encode gives their logvars"
            )
        root_of: Any = self.run.method.covariance_root  # type: ignore[attr-defined]
        parts = [root_of(self._nets, self.run, part) for part in self._tensor(images).split(self._chunk)]
        means, roots = (torch.cat(side).cpu().numpy() for side in zip(*parts, strict=True))
        return means, roots

    @torch.no_grad()
    def output(self, z: Tensor) -> Tensor:
        """The decoder's output, logits or means of the pixels, for codes (b, c)."""
        if not self.has_likelihood:
            raise ModelError(f"{type(self.run.method).__name__} has no decoder: images have no likelihood under it")
        method, codes = self.run.method, z.to(self.device, torch.float32)
        return self._nets("decoder", about(method).decoder_input(method, self._nets, self.run, codes))

    def reconstruct(self, images: ArrayLike | Tensor) -> NDArray[np.float32]:
        """Decode each image's posterior mean."""
        return self.decode(self.encode(images)[0])

    @property
    def encoder(self) -> PlainEncoder:
        """A copy of the encoder as a plain module with ordinary Conv2d and Linear layers: images (n, c, h, w), floats in
        [0, 1], to means and logvars, each (n, l). Its networks are in `networks`; a single one is also in `layers`."""
        return plain_part(self, "encoder")  # type: ignore[return-value]

    @property
    def decoder(self) -> PlainDecoder:
        """A copy of the decoder, likewise: latents (n, l) to mean images (n, c, h, w) in [0, 1]; `layers` gives the logits."""
        return plain_part(self, "decoder")  # type: ignore[return-value]

    def export(self, path: str | Path, part: Part = "encoder", *, overwrite: bool = False) -> Exported:
        """Write the encoder or decoder to a file that runs without hackle, by torch.export (.pt2) or as ONNX (.onnx).

        It takes and gives what `encoder` and `decoder` do, in batches of any size. The file is loaded and run, and its
        outputs are compared with the model's; one that differs is not kept.
        """
        return export_model(self, Path(path), part, overwrite)

    def save(self, folder: str | Path, *, compact: bool = False) -> Path:
        """Write the record and the weights into a folder that holds no other run.

        compact: only the networks that encode and decode, in bytes, a quarter of the size: see docs/models.md. Such a folder
        loads like any other; its run cannot be continued.
        """
        folder = Path(folder)
        if (folder / RECORD).exists():
            raise ModelError(f"{folder} holds a run already; choose another folder")
        record_text(self.run, self.shape)  # refuses a run that could not be read again, before anything is written
        folder.mkdir(parents=True, exist_ok=True)
        weights, left_out = self.weights(), self.left_out
        if compact:
            used = {name for part in get_args(Part) for name in used_networks(self, part)[0]}
            left_out = tuple(sorted({*left_out, *(name for name in self.networks if name not in used)}))
            weights = in_bytes({name: value for name, value in weights.items() if name.partition(".")[0] in used})
        save_tensors(weights, folder / WEIGHTS, {"left_out": ",".join(left_out)} if left_out else None)
        write_record(folder, self.run, self.shape)
        return folder

    def weights(self) -> dict[str, Tensor]:
        """Every parameter by network and name."""
        return {
            name: value.detach().cpu().contiguous() for name, value in nn.ModuleDict(self.networks).state_dict().items()
        }

    @classmethod
    def load(cls, folder: str | Path, *, trust: bool = False) -> Model:
        """The model that a run folder holds.

        trust: import code that the record names and that is neither hackle's nor an installed plugin's, which runs it,
        and follow links that leave the folder. Only for folders whose author you trust; see docs/trust.md.
        """
        folder = Path(folder)
        return load_weights(folder, *read_record(folder, trust=trust), trust=trust)
