"""Initial weights: Glorot's by default, as before; those of PyTorch's own layers where asked for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from hackle.cli.main import main
from hackle.core.design import design_of
from hackle.core.records import record_hash, to_json
from hackle.core.types import Run, RunError
from hackle.nets import MLP, Adversarial, Convolutional, ResNet, Sharing, Split
from hackle.nets.layers import Blocks, Down, Linear, Same, Three, Up, initialised
from hackle.objectives import VAE
from hackle.train.model import Model
from hackle.train.record_files import read_record

ARCHITECTURES = [Convolutional(), Split(hidden=16), Sharing(), ResNet(), MLP((30,))]
LAYERS: list[tuple[Any, Any]] = [
    (lambda: Linear(40, 900), lambda: nn.Linear(40, 900)),
    (lambda: Down(5, 64), lambda: nn.Conv2d(5, 64, 4, stride=2)),
    (lambda: Up(64, 5), lambda: nn.ConvTranspose2d(64, 5, 4, stride=2)),
    (lambda: Up(5, 64), lambda: nn.ConvTranspose2d(5, 64, 4, stride=2)),
    (lambda: Same(5, 64), lambda: nn.Conv2d(5, 64, 4)),
    (lambda: Three(5, 64), lambda: nn.Conv2d(5, 64, 3)),
    (lambda: Blocks(8, 40, 100), lambda: nn.Linear(40, 800)),
]


@pytest.mark.parametrize(("ours", "theirs"), LAYERS)
def test_a_layer_starts_like_pytorchs(ours: Any, theirs: Any) -> None:
    torch.manual_seed(0)
    found, expected = initialised(ours(), "torch"), theirs()
    for name in ("weight", "bias"):
        first, second = getattr(found, name).detach(), getattr(expected, name).detach()
        assert first.numel() == second.numel()
        few = 12 / math.sqrt(first.numel())
        # The largest number shows the bound of a uniform distribution, the standard deviation that it is uniform.
        assert first.abs().max().item() == pytest.approx(second.abs().max().item(), rel=few)
        assert first.std().item() == pytest.approx(second.std().item(), rel=few)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: type(one).__name__)
def test_every_layer_of_an_architecture_has_them(architecture: Any) -> None:
    networks = [getattr(replace(architecture, initialisation="torch"), part) for part in ("encoder", "decoder")]
    for build in networks:
        biases = [value for name, value in build((16, 16, 1), 4).named_parameters() if name.endswith("bias")]
        assert biases
        assert all(bool((bias != 0).any()) for bias in biases)
    for part in ("encoder", "decoder"):
        torch.manual_seed(1)
        plain = getattr(architecture, part)((16, 16, 1), 4)
        assert all(not value.any() for name, value in plain.named_parameters() if name.endswith("bias"))


def test_networks_of_gans_have_them_too() -> None:
    made = Adversarial(channels=(4, 4), hidden=8, initialisation="torch").adversaries(
        (16, 16, 1), 5, 4, normalised=True
    )
    assert all(
        bool(layer.bias.any()) for net in made.values() for layer in net.modules() if isinstance(layer, Down | Up)
    )


def test_it_is_part_of_the_record_and_of_tables() -> None:
    plain = Run(VAE(), Convolutional())
    other = replace(plain, architecture=Convolutional(initialisation="torch"))
    assert "initialisation" not in to_json(plain)["architecture"]
    assert record_hash(plain) != record_hash(other)
    assert design_of(plain)["architecture"] == "convolutional"
    assert design_of(other)["architecture"] == "convolutional (torch)"
    assert ResNet(64, (8,), 2).blocks == 2
    with pytest.raises(RunError, match="initialisation"):
        replace(plain, architecture=Convolutional(initialisation="he"))  # type: ignore[arg-type]


def test_the_command_line_sets_it(tmp_path: Any, capsys: Any) -> None:
    words = "--dataset rooms3d --steps 1 --batch-size 2 --latents 2 --device cpu --initialisation torch"
    main(["train", "vae", *words.split(), "--out", str(tmp_path / "run")])
    assert read_record(tmp_path / "run")[0].architecture == Convolutional(initialisation="torch")
    assert Model.load(tmp_path / "run").run.latents == 2
