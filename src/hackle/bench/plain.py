"""A straightforward PyTorch loop for comparison: NCHW float32, `torch.optim.Adam`, batches from host memory.

It has the networks, initial weights, batches and noise of one of hackle's runs, so that the losses of both agree.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.core.randomness import Stream
from hackle.core.types import Dataset, Run
from hackle.nets import Convolutional
from hackle.objectives import BetaVAE
from hackle.train.fleet import build_networks

BETA = 4.0


class PlainVAE(nn.Module):
    """The network of Locatello et al. 2019 in plain PyTorch: NCHW, nn.Conv2d, nn.Linear."""

    def __init__(self) -> None:
        super().__init__()
        down = [nn.Conv2d(i, o, 4, 2, 1) for i, o in ((1, 32), (32, 32), (32, 64), (64, 64))]
        up = [nn.ConvTranspose2d(i, o, 4, 2, 1) for i, o in ((64, 64), (64, 32), (32, 32), (32, 1))]
        self.down, self.up = nn.ModuleList(down), nn.ModuleList(up)
        self.inward = nn.ModuleList([nn.Linear(1024, 256), nn.Linear(256, 20)])
        self.outward = nn.ModuleList([nn.Linear(10, 256), nn.Linear(256, 1024)])

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        h = x
        for layer in self.down:
            h = F.relu(layer(h))
        means, logvars = self.inward[1](F.relu(self.inward[0](h.flatten(1)))).chunk(2, -1)
        h = means + noise * torch.exp(0.5 * logvars)
        for layer in self.outward:
            h = F.relu(layer(h))
        h = h.view(-1, 64, 4, 4)
        for number, layer in enumerate(self.up):
            h = layer(h) if number == 3 else F.relu(layer(h))
        reconstruction = F.binary_cross_entropy_with_logits(h, x, reduction="none").flatten(1).sum(1).mean()
        kl = 0.5 * (means.square() + logvars.exp() - logvars - 1).sum(1).mean()
        return reconstruction, kl

    def copy_from(self, networks: dict[str, nn.Module]) -> None:
        """Take hackle's initial weights, converted from (4, 4, in, out) and from channels-last features."""
        values = [value for name in ("encoder", "decoder") for value in networks[name].parameters()]
        kernels = [value.permute(3, 2, 0, 1) for value in values if value.dim() == 4]
        first, second, third, fourth = (value for value in values if value.dim() == 2)
        first = first.view(256, 4, 4, 64).permute(0, 3, 1, 2).reshape(256, 1024)
        fourth = fourth.view(4, 4, 64, 256).permute(2, 0, 1, 3).reshape(1024, 256)
        layers = (*self.down, *self.up, *self.inward, *self.outward)
        with torch.no_grad():
            for layer, weight in zip(layers, (*kernels, first, second, third, fourth), strict=True):
                layer.weight.copy_(weight)  # type: ignore[operator,union-attr]
                layer.bias.zero_()  # type: ignore[operator,union-attr]


def plain_run(steps: int, precision: str) -> Run:
    """The run that the plain loop repeats: a β-VAE with β = 4 on 64×64×1 images."""
    return Run(BetaVAE(BETA), Convolutional(), steps=steps, precision=precision)  # type: ignore[arg-type]


class PlainLoop:
    """The plain loop on a data set: `step(n)` takes step n and returns its loss."""

    def __init__(self, run: Run, dataset: Dataset, device: str) -> None:
        self.run, self.device, self.size = run, device, len(dataset.factors)
        self.images = dataset.images_on("cpu")
        self.network = PlainVAE()
        self.network.copy_from(build_networks(run, dataset.shape))
        self.network.to(device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=run.optimiser.learning_rate)

    def step(self, number: int) -> Tensor:
        stream = Stream.of([self.run.seed], step=number, purpose="0/autoencoder")
        index = stream.integers("index", (self.run.batch_size,), self.size)
        images = self.images(index, stream)[0].permute(0, 3, 1, 2).contiguous()
        noise = stream.normal("z", (self.run.batch_size, self.run.latents))[0]
        if self.device == "cuda":
            images, noise = images.pin_memory().to(self.device, non_blocking=True), noise.to(self.device)
        reconstruction, kl = self.network(images.float() / 255, noise)
        loss = reconstruction + BETA * kl
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return loss.detach()
