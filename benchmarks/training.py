"""One model's training step against the plain PyTorch loop that peers run, side by side in one process.

The plain loop has the same networks, initial weights, batches and noise: NCHW float32 convolutions, `torch.optim.Adam`, and
batches that come from host memory. Losses of both are compared step by step. On CUDA also the reference training that a VAE
must pass: 50,000 steps on dSprites end below 40 nats per image with positions captured by latents.

Run: python benchmarks/training.py [--steps 50000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor
from torch import Tensor, nn

from hackle.datasets import load
from hackle.fleet import Fleet, build_networks
from hackle.information.discrete import bin_codes, discrete_mutual_information
from hackle.nets import Convolutional
from hackle.objectives import VAE, BetaVAE
from hackle.randomness import Stream
from hackle.train import fit
from hackle.types import Dataset, Run

BETA = 4.0


class PlainVAE(nn.Module):
    """The network of Locatello et al. 2019 as one writes it first: NCHW, nn.Conv2d, nn.Linear."""

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
        """Take hackle's initial weights, turned from (4, 4, in, out) and from channels-last features."""
        encoder, decoder = (dict(networks[name].named_parameters()) for name in ("encoder", "decoder"))
        kernels = [value for name, value in encoder.items() if value.dim() == 4]
        with torch.no_grad():
            for layer, kernel in zip(self.down, kernels, strict=True):
                layer.weight.copy_(kernel.permute(3, 2, 0, 1))  # type: ignore[operator,union-attr]
                layer.bias.zero_()  # type: ignore[operator,union-attr]
            first, second = [value for value in encoder.values() if value.dim() == 2]
            self.inward[0].weight.copy_(first.view(256, 4, 4, 64).permute(0, 3, 1, 2).reshape(256, 1024))  # type: ignore
            self.inward[1].weight.copy_(second)  # type: ignore
            third, fourth = [value for value in decoder.values() if value.dim() == 2]
            self.outward[0].weight.copy_(third)  # type: ignore
            self.outward[1].weight.copy_(fourth.view(4, 4, 64, 256).permute(2, 0, 1, 3).reshape(1024, 256))  # type: ignore
            kernels = [value for value in decoder.values() if value.dim() == 4]
            for layer, kernel in zip(self.up, kernels, strict=True):
                layer.weight.copy_(kernel.permute(3, 2, 0, 1))  # type: ignore[operator,union-attr]
                layer.bias.zero_()  # type: ignore[operator,union-attr]
            for layer in (*self.inward, *self.outward):
                layer.bias.zero_()  # type: ignore[operator,union-attr]


def compare(dataset: Dataset, device: str, steps: int) -> dict[str, float]:
    """Steps per second of both, their ratio, and the largest relative difference of their losses."""
    # What `hackle train` chooses: bfloat16 on CUDA, float32 elsewhere.
    precision = "bfloat16" if device == "cuda" else "float32"
    run = Run(BetaVAE(BETA), Convolutional(), steps=steps, precision=precision)
    fleet = Fleet([run], dataset.images_on(device), len(dataset.factors), dataset.shape, device)
    host = dataset.images_on("cpu")
    plain = PlainVAE()
    plain.copy_from(build_networks(run, dataset.shape))
    plain.to(device)
    optimiser = torch.optim.Adam(plain.parameters(), lr=1e-4)

    def plain_step(number: int) -> Tensor:
        stream = Stream.of([run.seed], step=number, purpose="0/autoencoder")
        index = stream.integers("index", (64,), len(dataset.factors))
        images = host(index, stream)[0].permute(0, 3, 1, 2).contiguous()
        noise = stream.normal("z", (64, 10))[0]
        if device == "cuda":
            images, noise = images.pin_memory().to(device, non_blocking=True), noise.to(device)
        reconstruction, kl = plain(images.float() / 255, noise)
        loss = reconstruction + BETA * kl
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        return loss.detach()

    differences = []
    for number in range(5):
        fleet.step()
        terms = fleet.averages()[0]
        ours = float(str(terms["reconstruction"])) + BETA * float(str(terms["kl"]))
        theirs = float(plain_step(number))
        differences.append(abs(ours - theirs) / abs(theirs))

    def rate(take: Any) -> float:
        synchronise = torch.cuda.synchronize if device == "cuda" else lambda: None
        seconds = []
        for _ in range(3):
            synchronise()
            started = time.perf_counter()
            for number in range(steps):
                take(number)
            synchronise()
            seconds.append(time.perf_counter() - started)
        return steps / statistics.median(seconds)

    ours, theirs = rate(lambda _: fleet.step()), rate(plain_step)
    return {"hackle": ours, "plain": theirs, "ratio": ours / theirs, "largest loss difference": max(differences)}


def reference_training(dataset: Dataset, steps: int) -> dict[str, float]:
    """A plain VAE: its last reconstruction error, and how well its latents tell each factor.

    A plain VAE may turn positions into any mixture of latents, so beside the best single latent's share of a factor's
    entropy stands the R² of predicting the factor from the five nearest of 20,000 other codes.
    """
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        model = fit(
            Run(VAE(), Convolutional(), steps=steps), out=folder, dataset=dataset, log_every=1000, progress=False
        )
        seconds = time.perf_counter() - started
        header, *_, last = (Path(folder) / "curves.csv").read_text().splitlines()
    curves = dict(zip(header.split(","), map(float, last.split(",")), strict=True))
    rows = dataset.factors.draw(25_000, np.random.default_rng(0))
    means, _ = model.encode(dataset.render(rows))
    information = discrete_mutual_information(bin_codes(means, 20), rows).max(axis=0)
    shares = information / np.log(np.array(dataset.factors.sizes))
    neighbours = KNeighborsRegressor(5).fit(means[:20_000], rows[:20_000])
    told = np.asarray(r2_score(rows[20_000:], neighbours.predict(means[20_000:]), multioutput="raw_values"))
    return {
        "steps": steps,
        "steps per second": steps / seconds,
        "reconstruction": curves["reconstruction"],
        "kl": curves["kl"],
        **dict(zip((f"best latent's share of {name}" for name in dataset.factors.names), shares.tolist(), strict=True)),
        **dict(zip((f"R² of {name} from latents" for name in dataset.factors.names), told.tolist(), strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50_000, help="of the reference training, on CUDA alone")
    parser.add_argument("--root", default=None, help="where data sets lie")
    options = parser.parse_args()
    dataset = load("dsprites", options.root)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found: dict[str, Any] = {"device": device, "step": compare(dataset, device, 500 if device == "cuda" else 10)}
    if device == "cuda":
        found["reference"] = reference_training(dataset, options.steps)
    for part, values in found.items():
        if isinstance(values, dict):
            print(part)
            for name, value in values.items():
                print(f"  {name:32s} {value:12.5g}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
