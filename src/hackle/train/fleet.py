"""Many runs trained as one: the only file in which models are stacked.

Objectives are written for one model. A fleet stacks the parameters of m runs, one row per run, draws each run's batch and
noise from its own seed, maps the objective over the rows and updates every row by its own gradient with its own
hyperparameters. Runs stack if they differ only in float fields and seeds; a single run is a fleet of one.

A run whose loss is no longer finite is frozen at its last finite update, with the step and the offending terms noted;
the other rows are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from hackle.core.allocator import keep_freed_memory
from hackle.core.factors import FactorGrid
from hackle.core.randomness import Stream
from hackle.core.records import float_fields, record_hash, with_fields
from hackle.core.types import Images, Phase, Run, Step
from hackle.kernels import Rows, adam_step, clip_factors, unit_interval
from hackle.train.held_out import Remaining
from hackle.train.layout import Layout
from hackle.train.method_errors import check_losses, check_phases, explained, unkept, without_gradient
from hackle.train.sampling import Sampler
from hackle.train.schedules import is_scheduled, kl_weight, learning_rate

State = dict[str, Tensor]
_WARM_UP = 3


def stacking_key(run: Run) -> str:
    """Runs with equal keys train together: the record with its seed and float fields blanked."""
    blank = {**dict.fromkeys(float_fields(run), 0.0), "seed": 0}
    return record_hash(with_fields(run, blank))


def group(runs: Iterable[Run]) -> list[list[Run]]:
    """Groups of runs that stack, in the order of each group's first run."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(stacking_key(run), []).append(run)
    return list(groups.values())


def build_networks(run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
    """The run's networks with initial weights that depend on its seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        return run.method.networks(run, shape)


class _BoundNets:
    """One model's networks as functions of their inputs. They compute in the run's dtype and return codes in
    float32, and images as they are: sums over pixels are taken in float32 later."""

    def __init__(
        self, modules: Mapping[str, nn.Module], parameters: Mapping[str, dict[str, Tensor]], dtype: torch.dtype
    ) -> None:
        self._modules, self._parameters, self._dtype = modules, parameters, dtype

    def __call__(self, name: str, *inputs: Tensor) -> Any:
        given = tuple(unit_interval(value, self._dtype) for value in inputs)
        answer = functional_call(self._modules[name], self._parameters[name], given)
        return tree_map(lambda value: value if value.dim() == 4 else value.to(torch.float32), answer)


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
        if len({stacking_key(run) for run in runs}) != 1:
            raise ValueError(
                "these runs do not stack: they differ in more than seeds and float fields; use group(runs)"
            )
        keep_freed_memory()
        self.runs, self.shape, self.device = list(runs), shape, torch.device(device)
        self.sampler = Sampler(runs, images, factors, self.device)
        self.images, self.data_size = self.sampler.images, self.sampler.data_size
        self._template, self._steps = runs[0], runs[0].steps
        self.phases = check_phases(self._template)
        # What no run uses costs no time.
        optimisers = [[phase.optimiser(run) for run in runs] for phase in self.phases]
        self._scheduled = [any(map(is_scheduled, each)) for each in optimisers]
        self._clipped = [any(settings.clip_norm > 0 for settings in each) for each in optimisers]
        self._limited = [any(settings.clip_value > 0 for settings in each) for each in optimisers]
        self._decays = [any(settings.weight_decay > 0 for settings in each) for each in optimisers]
        self._warms_up = any(run.kl_warmup > 0 for run in runs)
        self._modules: dict[str, nn.Module] = {}
        rows: dict[str, list[Tensor]] = {}
        for run in runs:
            self._modules = build_networks(run, shape)
            for name, module in self._modules.items():
                rows.setdefault(name, []).append(Layout.of(module).flatten(module))
        self.layouts = {name: Layout.of(module) for name, module in self._modules.items()}
        self._fields = {
            path: torch.tensor([float_fields(run)[path] for run in runs], dtype=torch.float32, device=self.device)
            for path in float_fields(self._template)
        }
        self.seeds = torch.tensor([run.seed for run in runs], dtype=torch.int64, device=self.device)
        self._modules = {name: module.to(self.device) for name, module in self._modules.items()}
        self.state: State = {}
        for name, values in rows.items():
            parameters = torch.stack(values).to(self.device)
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
        self._terms: dict[int, dict[str, torch.Size]] = {}

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
        self.state["step"] += 1
        self.state["averaged"] += 1

    def _take(self, position: int, phase: Phase, carry: dict[str, Tensor]) -> dict[str, Tensor]:
        stream = Stream(self.seeds, self.state["step"], f"{position}/{phase.name}")
        seen = self.sampler.batch(stream, phase)
        noise = {name: draw.sample(stream, name) for name, draw in phase.draws.items()}
        parameters = self._parameters()
        for name in phase.trains:
            parameters[name] = {key: value.detach().requires_grad_() for key, value in parameters[name].items()}
        leaves = [value for name in phase.trains for value in parameters[name].values()]

        def compute(randomness: str) -> dict[str, Any]:
            mapped = vmap(self._one_model(phase), randomness=randomness)
            # A copy for each model, so that a loss that branches on it fails on every device alike.
            return mapped(self.state["step"].repeat(len(self)), parameters, seen, noise, carry, self._fields)

        try:
            losses = compute("error")
            if not losses["total"].requires_grad:
                raise without_gradient(self._template, phase, compute)
            gradients = torch.autograd.grad(losses["total"].sum(), leaves, materialize_grads=True)
        except Exception as error:
            if (told := explained(error, self._template, phase, compute)) is error:
                raise
            raise told from error
        with torch.no_grad():
            alive = self._note(position, losses["total"], losses["terms"])
            if "stopped" in losses:
                alive = alive & ~losses["stopped"].reshape(len(self), 1)
            for path, value in losses["kept"].items():
                self._keep(phase, path, value.detach().reshape(len(self), -1), alive)
            settings = phase.optimiser(self._template_with_paths())
            if self._scheduled[position]:
                rate = learning_rate(settings, self.state["step"], self._steps)
                settings = replace(settings, learning_rate=rate)  # type: ignore[arg-type]
            factors = clip_factors(gradients, settings.clip_norm) if self._clipped[position] else None  # type: ignore[arg-type]
            left = iter(gradients)
            for name in phase.trains:
                starts = self.layouts[name].starts
                decayed = self.layouts[name].decayed if self._decays[position] else ()
                options = {"limited": self._limited[position], "decayed": {starts[key] for key in decayed}}
                given = [(start, next(left)) for start in starts.values()]
                self._adam(name, given, settings, alive, factors, **options)
        return losses["carry"]

    def _parameters(self) -> dict[str, dict[str, Tensor]]:
        """Every network's parameters by name, each (m, *shape)."""
        return {
            name: layout.unflatten(self.state[f"weights/{name}"], self._rounded.get(name))
            for name, layout in self.layouts.items()
        }

    def each(self, function: Callable[..., Tensor], *stacked: Tensor) -> Tensor:
        """Map a function of one model's networks, its record and its part of stacked tensors over the models."""

        def one(parameters: Any, fields: Any, *given: Tensor) -> Tensor:
            nets = _BoundNets(self._modules, parameters, self._dtype)
            return function(nets, with_fields(self._template, fields), *given)

        return vmap(one, randomness="error")(self._parameters(), self._fields, *stacked)

    def images_of(self, row: int) -> Images:
        """What one run trains on, as if it trained alone."""
        return self.images.of(row) if isinstance(self.images, Remaining) else self.images

    @property
    def _dtype(self) -> torch.dtype:
        return getattr(torch, self._template.precision)

    def _one_model(self, phase: Phase) -> Callable[..., dict[str, Any]]:
        def loss(
            number: Tensor, parameters: Any, seen: dict[str, Tensor], noise: Any, carry: Any, fields: Any
        ) -> dict[str, Any]:
            nets = _BoundNets(self._modules, parameters, self._dtype)
            run = with_fields(self._template, fields)
            weight = kl_weight(fields["kl_warmup"], number) if self._warms_up else None
            step = Step(
                noise=noise,
                number=number,
                data_size=self.data_size,
                carry=carry,
                kl_weight=weight,
                label_sizes=self.sampler.label_sizes,
                **seen,
            )
            losses = check_losses(phase.loss(nets, step, run), self._template)
            return {
                "total": losses.total,
                "terms": dict(losses.terms),
                "carry": dict(losses.carry),
                "kept": dict(losses.kept),
                **({} if losses.stopped is None else {"stopped": losses.stopped}),
            }

        return loss

    def _template_with_paths(self) -> Run:
        """The record with every float field replaced by its stacked values (m, 1)."""
        return with_fields(self._template, {path: values[:, None] for path, values in self._fields.items()})

    def _note(self, position: int, total: Tensor, terms: Mapping[str, Tensor]) -> Tensor:
        """Add the terms to their running sums and freeze the runs whose loss is not finite. Returns which go on, (m,
        1)."""
        self._terms[position] = {name: value.shape[1:] for name, value in terms.items()}
        values = torch.cat([value.detach().reshape(len(self), -1) for value in (*terms.values(), total)], dim=1)
        failed_at = self.state["failed_at"]
        # Zero times a number that is not finite is NaN, which is unequal to zero.
        bad = (values * 0 != 0) & (failed_at < 0)[:, None]
        sums, broken = f"sum/{position}", f"broken/{position}"
        if sums not in self.state:
            self.state[sums] = torch.zeros_like(values)
            self.state[broken] = torch.zeros_like(bad)
        self.state[sums] += values
        self.state[broken] |= bad
        torch.where(bad.any(1), self.state["step"], failed_at, out=failed_at)
        return (failed_at < 0)[:, None]

    def _adam(
        self,
        name: str,
        gradients: list[tuple[int, Tensor]],
        settings: Any,
        alive: Tensor,
        factors: Tensor | None,
        **options: Any,
    ) -> None:
        weights, first, second, updates = (
            self.state[f"{kind}/{name}"] for kind in ("weights", "first", "second", "updates")
        )
        updates += 1
        rows = Rows(weights, first, second, self._rounded.get(name))
        adam_step(rows, gradients, updates, settings, alive, factors, **options)

    def _keep(self, phase: Phase, path: str, values: Tensor, alive: Tensor) -> None:
        """Put values (m, p) in place of a parameter, by network and name, of the models that have not failed."""
        network, _, name = path.partition(".")
        layout = self.layouts.get(network)
        sizes = dict(zip(layout.names, layout.shapes, strict=True)) if layout and network not in phase.trains else {}
        if layout is None or name not in sizes or sizes[name].numel() != values.shape[1]:
            raise unkept(self._template, phase, path)
        rows = self.state[f"weights/{network}"].narrow(1, layout.starts[name], values.shape[1])
        rows.copy_(torch.where(alive, values, rows))

    def begin_with(self, weights: Mapping[str, Tensor]) -> None:
        """Put these weights, by network and name, into every run; networks without any here stay as they are."""
        for network, layout in self.layouts.items():
            for name, start in layout.starts.items():
                if (value := weights.get(f"{network}.{name}")) is not None:
                    rows = self.state[f"weights/{network}"]
                    rows[:, start : start + value.numel()] = value.reshape(-1).to(rows)

    def _named(self, kind: str) -> Iterator[tuple[str, Tensor]]:
        """Each term's name with its columns of the running sums or of the flags for broken terms, shaped like the
        term."""
        for position, shapes in self._terms.items():
            *pieces, _ = self.state[f"{kind}/{position}"].split([*(s.numel() for s in shapes.values()), 1], dim=1)
            for (name, shape), piece in zip(shapes.items(), pieces, strict=True):
                yield name, piece.reshape(len(self), *shape)

    def averages(self) -> list[dict[str, list[float] | float]]:
        """Each run's mean terms since the last call; resets the sums."""
        count = max(1, int(self.state["averaged"]))
        means = {name: (value / count).tolist() for name, value in self._named("sum")}
        for position in self._terms:
            self.state[f"sum/{position}"].zero_()
        self.state["averaged"].zero_()
        return [{name: values[row] for name, values in means.items()} for row in range(len(self))]

    def broken_terms(self, row: int) -> list[str]:
        """The terms that were not finite when a run failed."""
        return [name for name, marks in self._named("broken") if bool(marks[row].any())]

    def weights(self, row: int) -> dict[str, Tensor]:
        """One run's parameters by network and name, on the CPU."""
        return {
            f"{network}.{name}": value.detach().cpu().clone()
            for network, layout in self.layouts.items()
            for name, value in layout.unflatten(self.state[f"weights/{network}"][row]).items()
        }
