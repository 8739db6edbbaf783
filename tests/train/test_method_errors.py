"""Errors of methods of one's own name the method, say what was expected and show the line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hackle.core.parts import import_reference
from hackle.core.types import Losses, Phase, Run
from hackle.nets import Own
from hackle.objectives import VAE
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.train import fit
from hackle.train.errors import MethodError
from train.test_fleet import small_run, trained

HEAD = """
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from hackle.core.types import Losses
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence


def loss(nets, step, run):
    found = evidence(nets, step, run)
    total = found.reconstruction + found.kl
    {line}
    return Losses(total, found.terms)


@dataclass(frozen=True)
class Mine(Autoencoder):
    def phases(self, run):
        return (autoencoder_phase(loss, run),)
"""
VALUE = (
    r"asks for the value of a tensor, as `if`, `while`, `float\(\)` and `.item\(\)` do; expected operations on tensors"
)
WRONG = [
    ("if total > 0: total = 2 * total", VALUE),
    ("total = total * 2 if found.kl else total", VALUE),
    ("total = total + found.kl.item()", VALUE),
    ("total = total + float(found.kl)", VALUE),
    ("total = total + found.kl.tolist()", VALUE),
    ("total = total + torch.rand(())", "draw random numbers of their own, as dropout does; expected none"),
    ("total = total + F.dropout(found.z).sum()", "draw random numbers of their own, as dropout does; expected none"),
    ("total = total + (found.z * torch.randn_like(found.z)).sum()", "draw random numbers of their own"),
    ("found.means.exp_(); total = total + found.means.exp().mul_(2).sum()", "changes a tensor in place; expected new"),
    ("if step.number < 10: total = total + found.kl", VALUE),
    ("return total", r"returned a tensor of shape \(\); expected hackle.core.types.Losses\(total, terms\)"),
    ("return None", r"returned nothing; expected hackle.core.types.Losses"),
    ("return Losses(found.z.sum(1), found.terms)", r"as total a tensor of shape \(7,\); expected .* one number"),
    ("return Losses(3.0, found.terms)", "as total a value of type float; expected a tensor with one number"),
    ("return Losses(total.detach(), found.terms)", "depends on no parameter of encoder, decoder; .* detach"),
    ('return Losses(total, {"z": found.z})', r"among its terms 'z', a tensor of shape \(7, 3\); expected .* 3 latents"),
    (
        'return Losses(total, {"z": found.z.sum(1)})',
        r"'z', a tensor of shape \(7,\); expected a tensor with one number",
    ),
    ('return Losses(total, {"kl": 3.0})', "among its terms 'kl', a value of type float; expected a tensor"),
    ("return Losses(total, [total])", "as terms a value of type list; expected tensors by name"),
    ("return Losses(total, {}, {'z': 3})", "among its carry 'z', a value of type int; expected a tensor$|tensor \\("),
    ('total = total + step.noise["u"].sum()', "raised KeyError: 'u'"),
    ("total = total + found.z @ found.z", "raised RuntimeError: .*[Ss]ize"),
]


@pytest.mark.parametrize(("line", "words"), WRONG, ids=[line for line, _ in WRONG])
def test_a_loss_that_cannot_be_trained_is_named_with_its_line(
    line: str, words: str, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module's name is its own only once in a process.
    path = tmp_path / f"mine_{WRONG.index((line, words))}.py"
    path.write_text(HEAD.format(line=line))
    monkeypatch.syspath_prepend(tmp_path)
    run = small_run(import_reference(f"{path}:Mine")())
    with pytest.raises(MethodError) as raised:
        fit(run, dataset=squares, device="cpu", progress=False)
    message = str(raised.value)
    assert "Mine" in message
    assert re.search(words, message), message
    assert f"{path.name}, line 14: `{line}`" in message
    assert "\n" not in message


class Choosing(nn.Module):
    """An encoder that branches, in a network of one's own under a method of hackle's."""

    def __init__(self, shape: tuple[int, int, int], latents: int) -> None:
        super().__init__()
        self.layer = nn.Linear(shape[0] * shape[1] * shape[2], 2 * latents)

    def forward(self, images: Tensor) -> Tensor:
        found = self.layer(images.flatten(1))
        if found.sum() > 0:
            found = -found
        return found


class Decoding(nn.Module):
    def __init__(self, shape: tuple[int, int, int], latents: int) -> None:
        super().__init__()
        self.shape, self.layer = shape, nn.Linear(latents, shape[0] * shape[1] * shape[2])

    def forward(self, z: Tensor) -> Tensor:
        return self.layer(z).reshape(-1, self.shape[2], *self.shape[:2])


def test_a_network_that_branches_is_shown_with_its_line(squares: Any) -> None:
    run = replace(small_run(VAE()), architecture=Own(Choosing, Decoding))
    words = r"the loss of VAE .* value of a tensor.* \(.*test_method_errors\.py, line \d+: `if found\.sum\(\) > 0:`\)"
    with pytest.raises(MethodError, match=words):
        trained([run], squares)


def _changing(nets: Any, step: Any, run: Any) -> Losses:
    found = evidence(nets, step, run)
    spread = found.means.exp()
    total = found.reconstruction + found.kl + (spread * spread).sum()
    spread += 1
    return Losses(total, found.terms)


@dataclass(frozen=True)
class Changing(Autoencoder):
    """Its gradient needs a tensor that it has changed, which shows only when the gradient is taken."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_changing, run),)


def test_a_tensor_changed_in_place_that_the_gradient_needs(squares: Any) -> None:
    words = r"the loss of Changing .* changes a tensor in place.*test_method_errors\.py, line \d+: `spread \+= 1`\)"
    with pytest.raises(MethodError, match=words):
        trained([small_run(Changing())], squares)


@dataclass(frozen=True)
class OnePhase(Autoencoder):
    def phases(self, run: Run) -> Any:
        return autoencoder_phase(_changing, run)


def test_phases_that_are_none(squares: Any) -> None:
    with pytest.raises(MethodError, match="phases of OnePhase returned a value of type Phase; expected a tuple"):
        trained([small_run(OnePhase())], squares)


def test_errors_that_are_not_the_methods_stay_as_they_are(squares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (torch.OutOfMemoryError("CUDA out of memory"), MemoryError()):

        def loss(*_: Any, error: BaseException = error) -> Any:
            raise error

        method = VAE()
        monkeypatch.setattr(VAE, "phases", lambda self, run, loss=loss: (autoencoder_phase(loss, run),))
        with pytest.raises(type(error)):
            trained([small_run(method)], squares)


def test_random_numbers_are_still_refused_by_pytorch() -> None:
    """The way to tell that they are what is missing: an error in one mode and none in the other."""
    with pytest.raises(RuntimeError):
        torch.func.vmap(lambda x: x + torch.rand(()), randomness="error")(torch.zeros(2))
    assert torch.func.vmap(lambda x: x + torch.rand(()), randomness="different")(torch.zeros(2)).shape == (2,)
