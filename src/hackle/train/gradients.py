"""The losses of a fleet's models and their gradients: of all models together on CUDA, of one after the other elsewhere.

On CUDA a phase is mapped over the stacked models by `vmap`. A CPU gains nothing from stacks: one model's maps fill its
cache, and `vmap` takes a millisecond for each operator of ours. There every model goes forward and back by itself, the
next one in the same memory, so that its bits do not depend on the models beside it. But a loss must be one that can be
mapped, so that the same ones are refused on every device: when a phase is first computed, it is also mapped over a stack of
one model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from hackle.core.records import with_fields
from hackle.core.types import Phase, Run, Step
from hackle.kernels import unit_interval
from hackle.train.blocks import Block, UnseenMethod, parted, stacked_fields
from hackle.train.errors import is_out_of_memory
from hackle.train.method_errors import check_losses, check_shared, explained, without_gradient
from hackle.train.sampling import Sampler
from hackle.train.schedules import kl_weight

Parameters = Mapping[str, dict[str, Tensor]]


class BoundNets:
    """One model's networks as functions of their inputs. They compute in the run's dtype and return codes in
    float32, and images as they are: sums over pixels are taken in float32 later."""

    def __init__(
        self, modules: Mapping[str, nn.Module], parameters: Parameters, dtype: torch.dtype, tied: Collection[str]
    ) -> None:
        """tied: the networks in which one parameter has several names."""
        self._modules, self._parameters, self._dtype, self._tied = modules, parameters, dtype, tied

    def __call__(self, name: str, *inputs: Tensor) -> Any:
        given = tuple(unit_interval(value, self._dtype) for value in inputs)
        answer = functional_call(self._modules[name], self._parameters[name], given, tie_weights=name in self._tied)
        return tree_map(lambda value: value if value.dim() == 4 else value.to(torch.float32), answer)


class Given(NamedTuple):
    """What the models of a fleet see in a phase: the step and tensors by name with a row for each, and each block's noise."""

    number: Tensor
    seen: dict[str, Tensor]
    noise: dict[str, Tensor]
    own: list[dict[str, Tensor]]


class Found(NamedTuple):
    """The losses of each block, with a row for each of its models, and the gradient in each parameter that a phase trains:
    a stack of those of all models, or one for each model."""

    losses: list[dict[str, Any]]
    gradients: Sequence[Tensor | Sequence[Tensor]]


def _row(stacks: Mapping[str, Tensor], row: int) -> dict[str, Tensor]:
    return {name: value[row] for name, value in stacks.items()}


class Gradients:
    """Computes the losses of a fleet's blocks and their gradients, phase by phase."""

    def __init__(
        self, blocks: Sequence[Block], modules: Mapping[str, nn.Module], sampler: Sampler, device: torch.device
    ) -> None:
        self.blocks, self._modules, self._sampler, self._device = blocks, modules, sampler, device
        runs = [run for block in blocks for run in block.runs]
        self._warms_up = any(run.kl_warmup > 0 for run in runs)
        self._fields = stacked_fields([with_fields(run, {"method": None}) for run in runs], device)
        self._ones = torch.ones(len(runs), device=device)
        self._dtype: torch.dtype = getattr(torch, runs[0].precision)
        self._tied = {
            name
            for name, module in modules.items()
            if len(list(module.named_parameters(remove_duplicate=False))) > len(list(module.parameters()))
        }
        self._names = {network: [key for key, _ in module.named_parameters()] for network, module in modules.items()}
        self._mappable: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], tuple[Run, Run]] = {}

    def nets(self, parameters: Parameters) -> BoundNets:
        return BoundNets(self._modules, parameters, self._dtype, self._tied)

    def _trained(self, parameters: Parameters, phase: Phase) -> tuple[Parameters, list[Tensor]]:
        """The parameters with those that a phase trains as leaves, and these."""
        given = dict(parameters)
        leaves = []
        for network in phase.trains:
            own = {key: parameters[network][key].detach().requires_grad_() for key in self._names[network]}
            given[network] = {**parameters[network], **own}
            leaves += own.values()
        return given, leaves

    def of(self, position: int, parameters: Parameters, given: Given, carry: Mapping[str, Tensor]) -> Found:
        """The losses and gradients of a phase."""
        compute = self._together if self._device.type == "cuda" else self._in_turn
        return compute(position, parameters, given, carry)

    def _together(self, position: int, parameters: Parameters, given: Given, carry: Mapping[str, Tensor]) -> Found:
        parameters, leaves = self._trained(parameters, self.blocks[0].phases[position])

        def compute(randomness: str, blocks: Sequence[Block] = self.blocks) -> list[dict[str, Any]]:
            return self._mapped(position, parameters, given, carry, randomness, blocks)

        def differentiated(blocks: Sequence[Block]) -> Found:
            losses = compute("error", blocks)
            for block, of_block in zip(blocks, losses, strict=True):
                if not of_block["total"].requires_grad:
                    raise without_gradient(block.template, block.phases[position], partial(compute, blocks=[block]))
            totals = [of_block["total"] for of_block in losses]
            ones = [self._ones[block.rows].to(total.dtype) for block, total in zip(blocks, totals, strict=True)]
            return Found(losses, torch.autograd.grad(totals, leaves, ones, materialize_grads=True))

        try:
            return differentiated(self.blocks)
        except Exception as error:
            at_fault, cause = self.blocks[0], error
            if len(self.blocks) > 1 and not is_out_of_memory(error):
                # The block whose loss raises an error alone; the first where none does.
                for block in self.blocks:
                    try:
                        differentiated([block])
                    except Exception as own_error:
                        at_fault, cause = block, own_error
                        break
            told = explained(cause, at_fault.template, at_fault.phases[position], partial(compute, blocks=[at_fault]))
            if told is error:
                raise
            raise told from (error if told is cause else cause)

    def _mapped(
        self, position: int, parameters: Parameters, given: Given, carry: Any, randomness: str, blocks: Sequence[Block]
    ) -> list[dict[str, Any]]:
        """What the losses of these blocks return, for all their models."""
        phase, sources = self.blocks[0].phases[position], [parameters]
        number, seen, noise, own = given
        if phase.shared is not None:
            unseen = self._unseen(phase)

            def part(fields: Any, *rest: Any) -> Any:
                return self._shared(phase, with_fields(unseen, fields), *rest)

            mapped = vmap(part, randomness=randomness)
            sources = parted(mapped(self._fields, parameters, number, seen, noise, carry), self.blocks)
        losses = []
        for block, source, drawn in zip(self.blocks, sources, own, strict=True):
            if block in blocks:

                def loss(fields: Any, source: Any, *rest: Any, block: Block = block) -> Any:
                    return self._loss(block.phases[position], with_fields(block.template, fields), source, *rest)

                rows = tree_map(lambda value, rows=block.rows: value[rows], (number, seen, noise))
                losses.append(vmap(loss, randomness=randomness)(block.fields, source, *rows, drawn, carry))
        return losses

    def _in_turn(self, position: int, parameters: Parameters, given: Given, carry: Mapping[str, Tensor]) -> Found:
        losses, gradients = [], []
        for block, drawn in zip(self.blocks, given.own, strict=True):
            of_block = []
            for place, row in enumerate(range(block.rows.start, block.rows.stop)):
                mine = {name: _row(each, row) for name, each in parameters.items()}
                rest = (
                    given.number[row],
                    _row(given.seen, row),
                    _row(given.noise, row),
                    _row(drawn, place),
                    _row(carry, row),
                )
                of_model, gradient = self._alone(block, position, row, mine, *rest)
                of_block.append(of_model)
                gradients.append(gradient)
            losses.append(tree_map(lambda *values: torch.stack(values), *of_block))
        return Found(losses, list(zip(*gradients, strict=True)))

    def _alone(
        self, block: Block, position: int, row: int, parameters: Parameters, *rest: Any
    ) -> tuple[dict[str, Any], tuple[Tensor, ...]]:
        """One model's losses, without their graph, and gradients."""
        phase, place = block.phases[position], row - block.rows.start
        parameters, leaves = self._trained(parameters, phase)

        def compute(randomness: str) -> dict[str, Any]:
            """The same, mapped over a stack of one."""

            def one(fields: Any, *given: Any) -> Any:
                return self._whole(phase, *self._records(block, phase, *fields), *given)

            fields = _row(self._fields, row), _row(block.fields, place)
            stack = tree_map(lambda value: value[None], (fields, parameters, *rest))
            return vmap(one, randomness=randomness)(*stack)

        try:
            if (position, block.rows.start) not in self._mappable:
                compute("error")
                self._mappable.add((position, block.rows.start))
            if (position, row) not in self._known:
                fields = _row(self._fields, row), _row(block.fields, place)
                self._known[position, row] = self._records(block, phase, *fields)
            losses = self._whole(phase, *self._known[position, row], parameters, *rest)
            if not losses["total"].requires_grad:
                raise without_gradient(block.template, phase, compute)
            gradients = torch.autograd.grad(losses["total"], leaves, materialize_grads=True)
        except Exception as error:
            if (told := explained(error, block.template, phase, compute)) is error:
                raise
            raise told from error
        return tree_map(torch.detach, losses), gradients

    def _records(self, block: Block, phase: Phase, fields: Any, own: Any) -> tuple[Run, Run]:
        """A model's record as what is shared sees it and as its loss does, from the tensors of its float fields."""
        return with_fields(self._unseen(phase), fields), with_fields(block.template, own)

    def _unseen(self, phase: Phase) -> Run:
        """The record that all runs share, without a method."""
        return with_fields(self.blocks[0].template, {"method": UnseenMethod(phase)})

    def _whole(
        self,
        phase: Phase,
        unseen: Run,
        run: Run,
        parameters: Any,
        number: Tensor,
        seen: Any,
        noise: Any,
        drawn: Any,
        carry: Any,
    ) -> dict[str, Any]:
        """One model's losses from its parameters."""
        source = (
            parameters if phase.shared is None else self._shared(phase, unseen, parameters, number, seen, noise, carry)
        )
        return self._loss(phase, run, source, number, seen, noise, drawn, carry)

    def _shared(
        self, phase: Phase, run: Run, parameters: Any, number: Tensor, seen: Any, noise: Any, carry: Any
    ) -> Any:
        """One model's part of the work that all methods of the fleet share."""
        assert phase.shared is not None
        step = self._step(run, number, seen, noise, carry)
        return check_shared(phase.shared(self.nets(parameters), step, run), phase.shared)

    def _loss(
        self, phase: Phase, run: Run, source: Any, number: Tensor, seen: Any, noise: Any, drawn: Any, carry: Any
    ) -> dict[str, Any]:
        """One model's losses from its parameters, or from what the shared part gave."""
        step = self._step(run, number, seen, {**noise, **drawn}, carry)
        given = self.nets(source) if phase.shared is None else source
        losses = check_losses(phase.loss(given, step, run), run)
        return {
            "total": losses.total,
            "terms": dict(losses.terms),
            "carry": dict(losses.carry),
            "kept": dict(losses.kept),
            **({} if losses.stopped is None else {"stopped": losses.stopped}),
        }

    def _step(self, run: Run, number: Tensor, seen: Any, noise: Any, carry: Any) -> Step:
        """What one model sees."""
        return Step(
            noise=noise,
            number=number,
            data_size=self._sampler.data_size,
            carry=carry,
            kl_weight=kl_weight(run.kl_warmup, number) if self._warms_up else None,  # type: ignore[arg-type]
            label_sizes=self._sampler.label_sizes,
            **seen,
        )
