"""Many runs trained as one: the only file in which models are stacked.

Objectives are written for one model. A fleet stacks the parameters of m runs, one row per run, draws each run's batch and
noise from its own seed, maps the objective over the rows and updates every row by its own gradient with its own
hyperparameters. Runs stack if they differ only in float fields and seeds, or have methods that differ in the loss alone
(`hackle.train.grouping`): then each loss is mapped over the rows of its own runs, and the rest over all. A single run
is a fleet of one.

A run whose loss is no longer finite is frozen at its last finite update, with the step and the offending terms noted;
the other rows are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.utils._pytree import tree_map

from hackle.core.allocator import keep_freed_memory
from hackle.core.factors import FactorGrid
from hackle.core.randomness import Stream
from hackle.core.records import with_fields
from hackle.core.types import Images, Phase, Run
from hackle.kernels import Rows, adam_step, clip_factors
from hackle.kernels.branch import Branch
from hackle.train.blocks import Block, blocks_of, stacked
from hackle.train.gradients import Given, Gradients
from hackle.train.held_out import Remaining
from hackle.train.layout import Layout
from hackle.train.method_errors import unkept
from hackle.train.sampling import Sampler
from hackle.train.schedules import is_scheduled, learning_rate
from hackle.train.terms import Terms

State = dict[str, Tensor]
_WARM_UP = 3


def build_networks(run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
    """The run's networks with initial weights that depend on its seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        return run.method.networks(run, shape)


class Fleet:
    """Runs that stack, their parameters and optimiser states, and the step that trains them all."""

    def __init__(
        self,
        runs: Sequence[Run],
        images: Images,
        factors: FactorGrid | int,
        shape: tuple[int, int, int],
        device: torch.device | str = "cpu",
    ) -> None:
        """factors: the grid that the images belong to, or their number where the runs have neither pairs nor labels and
        draw all images alike."""
        keep_freed_memory()
        self.runs, self.shape, self.device = list(runs), shape, torch.device(device)
        self.blocks = blocks_of(self.runs, self.device)
        self.sampler = Sampler(runs, images, factors, self.device)
        self.images, self.data_size = self.sampler.images, self.sampler.data_size
        self._steps, self._dtype = runs[0].steps, getattr(torch, runs[0].precision)
        self.phases = self.blocks[0].phases
        optimisers = [
            [block.phases[position].optimiser(run) for block in self.blocks for run in block.runs]
            for position in range(len(self.phases))
        ]
        self._optimisers = [stacked(each, self.device) for each in optimisers]
        # What no run uses costs no time.
        self._scheduled = [any(map(is_scheduled, each)) for each in optimisers]
        self._clipped = [any(settings.clip_norm > 0 for settings in each) for each in optimisers]
        self._limited = [any(settings.clip_value > 0 for settings in each) for each in optimisers]
        self._decays = [any(settings.weight_decay > 0 for settings in each) for each in optimisers]
        modules: dict[str, nn.Module] = {}
        self.layouts: dict[str, Layout] = {}
        rows: dict[str, Tensor] = {}
        for row, run in enumerate(runs):
            # One model at a time is on the host: to put a fleet's parameters together there took longer than to draw them.
            modules = build_networks(run, shape)
            for name, module in modules.items():
                if row == 0:
                    self.layouts[name] = Layout.of(module)
                    rows[name] = torch.zeros(len(runs), self.layouts[name].width, device=self.device)
                self.layouts[name].write(module, rows[name][row])
        self.seeds = torch.tensor([run.seed for run in runs], dtype=torch.int64, device=self.device)
        modules = {name: module.to(self.device) for name, module in modules.items()}
        self._gradients = Gradients(self.blocks, modules, self.sampler, self.device)
        self.state: State = {}
        for name, parameters in rows.items():
            self.state[f"weights/{name}"] = parameters
            self.state[f"first/{name}"] = torch.zeros_like(parameters)
            self.state[f"second/{name}"] = torch.zeros_like(parameters)
            self.state[f"updates/{name}"] = torch.zeros((), dtype=torch.int64, device=self.device)
        self.state["step"] = torch.zeros((), dtype=torch.int64, device=self.device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._steps_as_written = 0
        self.state["failed_at"] = torch.full((len(runs),), -1, dtype=torch.int64, device=self.device)
        self.state["averaged"] = torch.zeros((), dtype=torch.int64, device=self.device)
        self._rounded: dict[str, Tensor] = {}
        self._terms = Terms(self.state, self.blocks)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def step_number(self) -> int:
        """The number of steps taken."""
        return int(self.state["step"])

    def step(self) -> None:
        """One step: every phase in order, each on fresh batches, for every run that has not failed.

        On CUDA the first steps run eagerly as a warm-up; then the step is captured once as a graph, which runs without
        the CPU. Data sets whose batches are assembled on the host cannot be captured.
        """
        if self._graph is not None:
            self._graph.replay()
            return
        if not self._steps_as_written and self._dtype != torch.float32:
            self._rounded = {name: self.state[f"weights/{name}"].to(self._dtype) for name in self.layouts}
        self._take_step()
        self._steps_as_written += 1
        on_host = getattr(self.images, "on_host", False)
        if self.device.type == "cuda" and self._steps_as_written == _WARM_UP and not on_host:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._take_step()
            self._graph = graph

    def _take_step(self) -> None:
        carry: dict[str, Tensor] = {}
        for position, phase in enumerate(self.phases):
            carry |= self._take(position, phase, carry)
        counts = [self.state["step"], self.state["averaged"]]
        torch._foreach_add_(counts, 1)  # pyright: ignore[reportPrivateImportUsage]

    def _take(self, position: int, phase: Phase, carry: dict[str, Tensor]) -> dict[str, Tensor]:
        losses, gradients = self._gradients.of(position, self._parameters(), self._drawn(position, phase), carry)
        with torch.no_grad():
            alive = self._terms.note(position, losses)
            for block, of_block in zip(self.blocks, losses, strict=True):
                rows = alive[block.rows]
                if "stopped" in of_block:
                    rows &= ~of_block["stopped"].reshape(len(block), 1)
                for path, value in of_block["kept"].items():
                    self._keep(position, block, path, value.detach().reshape(len(block), -1), rows)
            settings = self._optimisers[position]
            if self._scheduled[position]:
                rate = learning_rate(settings, self.state["step"], self._steps)
                settings = replace(settings, learning_rate=rate)
            factors = clip_factors(gradients, settings.clip_norm) if self._clipped[position] else None
            left = iter(gradients)
            with Branch(alive) as beside:
                for name in phase.trains:
                    starts = self.layouts[name].starts
                    decayed = self.layouts[name].decayed if self._decays[position] else ()
                    options = {"limited": self._limited[position], "decayed": {starts[key] for key in decayed}}
                    given = [(start, next(left)) for start in starts.values()]
                    adam = partial(self._adam, **options)
                    arguments = (name, given, settings, alive, factors)
                    # What is done beside begins after all that was launched before, so the last network is not.
                    adam(*arguments) if name == phase.trains[-1] else beside(adam, *arguments)
        # Only methods of one phase share a fleet.
        return losses[0]["carry"] if len(losses) == 1 else {}

    def _drawn(self, position: int, phase: Phase) -> Given:
        """What all rows see in a phase, and the noise that each block's loss has for itself."""
        stream = Stream(self.seeds, self.state["step"], f"{position}/{phase.name}")
        own = []
        with Branch(self.seeds) as beside:
            noise = {name: beside(draw.sample, stream, name) for name, draw in phase.draws.items()}
            for block in self.blocks:
                draws, mine = block.phases[position].loss_draws, replace(stream, seeds=self.seeds[block.rows])
                own.append({name: beside(draw.sample, mine, name) for name, draw in draws.items()})
            seen = self.sampler.batch(stream, phase)
        # The step of each model, so that a loss that branches on it fails on every device alike.
        return Given(self.state["step"].expand(len(self)), seen, noise, own)

    def _parameters(self) -> dict[str, dict[str, Tensor]]:
        """Every network's parameters by name, each (m, *shape)."""
        return {
            name: layout.unflatten(self.state[f"weights/{name}"], self._rounded.get(name))
            for name, layout in self.layouts.items()
        }

    def each(self, function: Callable[..., Tensor], *stacked: Tensor) -> Tensor:
        """Map a function of one model's networks, its record and its part of stacked tensors over the models."""
        results = []
        for block in self.blocks:

            def one(parameters: Any, fields: Any, *given: Tensor, run: Run = block.template) -> Tensor:
                return function(self._gradients.nets(parameters), with_fields(run, fields), *given)

            parameters, given = tree_map(lambda value, rows=block.rows: value[rows], (self._parameters(), stacked))
            results.append(vmap(one, randomness="error")(parameters, block.fields, *given))
        return torch.cat(results)

    def images_of(self, row: int) -> Images:
        """What one run trains on, as if it trained alone."""
        return self.images.of(row) if isinstance(self.images, Remaining) else self.images

    def _adam(
        self,
        name: str,
        gradients: list[tuple[int, Tensor | Sequence[Tensor]]],
        settings: Any,
        alive: Tensor,
        factors: Tensor | None,
        **options: Any,
    ) -> None:
        weights, first, second, updates = (
            self.state[f"{kind}/{name}"] for kind in ("weights", "first", "second", "updates")
        )
        rows = Rows(weights, first, second, self._rounded.get(name))
        adam_step(rows, gradients, updates, settings, alive, factors, **options)

    def _keep(self, position: int, block: Block, path: str, values: Tensor, alive: Tensor) -> None:
        """Put values (k, p) in place of a parameter, by network and name, of a block's models that have not failed."""
        network, _, name = path.partition(".")
        layout, phase = self.layouts.get(network), block.phases[position]
        sizes = dict(zip(layout.names, layout.shapes, strict=True)) if layout and network not in phase.trains else {}
        if layout is None or name not in sizes or sizes[name].numel() != values.shape[1]:
            raise unkept(block.template, phase, path)
        rows = self.state[f"weights/{network}"][block.rows].narrow(1, layout.starts[name], values.shape[1])
        rows.copy_(torch.where(alive, values, rows))
        if network in self._rounded:
            rounded = self._rounded[network][block.rows].narrow(1, layout.starts[name], values.shape[1])
            rounded.copy_(rows)

    def begin_with(self, weights: Mapping[str, Tensor]) -> None:
        """Put these weights, by network and name, into every run; networks without any here stay as they are."""
        for network, layout in self.layouts.items():
            for name, start in layout.starts.items():
                if (value := weights.get(f"{network}.{name}")) is not None:
                    rows = self.state[f"weights/{network}"]
                    rows[:, start : start + value.numel()] = value.reshape(-1).to(rows)

    def averages(self) -> list[dict[str, list[float] | float]]:
        """Each run's mean terms since the last call; resets the sums."""
        return self._terms.averages()

    def broken_terms(self, row: int) -> list[str]:
        """The terms that were not finite when a run failed."""
        return self._terms.broken(row)

    def weights(self, row: int) -> dict[str, Tensor]:
        """One run's parameters by network and name, on the CPU."""
        return {
            f"{network}.{name}": value.detach().cpu().clone()
            for network, layout in self.layouts.items()
            for name, value in layout.unflatten(self.state[f"weights/{network}"][row]).items()
        }
