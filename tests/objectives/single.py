"""One model's loss without a fleet, in any precision: what the closed-form tests share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hackle.core.method import about
from hackle.core.randomness import Stream
from hackle.core.records import float_fields, with_fields
from hackle.core.types import Losses, Run, Step
from hackle.nets import Convolutional
from hackle.train.fleet import build_networks

SHAPE = (16, 16, 1)
SMALL = Convolutional(hidden=8, channels=(3, 4))
SMALL_DISCRIMINATOR: dict[str, Any] = {"discriminator_layers": 2, "discriminator_width": 8}


def small_run(method: Any, **fields: Any) -> Run:
    usual = about(method).run_fields
    return Run(method, **{**usual, "architecture": SMALL, "batch_size": 6, "latents": 3, **fields})


class Single:
    """A run's networks, and the loss of any of its phases on a fixed batch and noise."""

    def __init__(self, run: Run, dtype: torch.dtype = torch.float64, data_size: int = 100) -> None:
        self.run, self.dtype, self.data_size = run, dtype, data_size
        self.networks: dict[str, nn.Module] = {
            name: network.to(dtype) for name, network in build_networks(run, SHAPE).items()
        }
        generator = torch.Generator().manual_seed(5)
        self.images = torch.rand(run.batch_size, *SHAPE, generator=generator).to(dtype)
        self.given: dict[str, Any] = {}
        if about(run.method).supervision == "pairs":
            partners = torch.rand(run.batch_size, *SHAPE, generator=generator).to(dtype)
            changed = torch.rand(run.batch_size, 2, generator=generator) < 0.5
            self.given = {"partners": partners, "changed": changed}
        if about(run.method).supervision == "labels":
            labelled = torch.rand(run.batch_size, *SHAPE, generator=generator).to(dtype)
            labels = torch.randint(12, (run.batch_size, 2), generator=generator) % torch.tensor([3, 4])
            self.given = {"labelled": labelled, "labels": labels, "label_sizes": (3, 4)}

    def nets(self, name: str, *inputs: Tensor) -> Any:
        return self.networks[name](*inputs)

    def noise(self, phase: int = 0) -> dict[str, Tensor]:
        stream = Stream.of([3], purpose=str(phase))
        found = self.run.method.phases(self.run)[phase]
        draws = {**found.draws, **found.loss_draws}
        drawn = {name: draw.sample(stream, name)[0] for name, draw in draws.items()}
        return {name: value.to(self.dtype) if value.is_floating_point() else value for name, value in drawn.items()}

    def loss(
        self,
        phase: int = 0,
        number: int = 0,
        carry: dict[str, Tensor] | None = None,
        kl_weight: Tensor | None = None,
    ) -> Losses:
        """The phase's loss with every float field a tensor, as a fleet has them."""
        fields = {path: torch.tensor(value, dtype=self.dtype) for path, value in float_fields(self.run).items()}
        step = Step(
            self.images, self.noise(phase), torch.tensor(number), self.data_size, carry or {}, kl_weight, **self.given
        )
        return self.run.method.phases(self.run)[phase].losses(self.nets, step, with_fields(self.run, fields))

    def gradients(self, phase: int = 0, **more: Any) -> dict[str, Tensor]:
        """The gradient of each parameter that the phase trains."""
        trained = {
            f"{name}.{key}": value
            for name in self.run.method.phases(self.run)[phase].trains
            for key, value in self.networks[name].named_parameters()
        }
        found = torch.autograd.grad(self.loss(phase, **more).total, list(trained.values()), allow_unused=True)
        return {
            name: torch.zeros_like(value) if gradient is None else gradient
            for (name, value), gradient in zip(trained.items(), found, strict=True)
        }
