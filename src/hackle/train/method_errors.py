"""What a user's method or network did wrong, in one sentence that shows the line of its file.

A loss is mapped over the models of a fleet, in which PyTorch can neither branch on the value of a tensor nor draw random
numbers, and says so in its own words, without a class of error for each. So nothing here reads these words. A loss that
fails is computed once more: with random numbers allowed, to see whether they were the cause, and while watching which
operation fails.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from hackle.core.errors import HackleError
from hackle.core.lines import as_line, line_above, line_of
from hackle.core.method import about
from hackle.core.types import Losses, Phase, Run
from hackle.train.errors import MethodError, is_out_of_memory

_VALUES = {"__bool__", "item", "tolist", "numpy", "__float__", "__int__", "__index__", "__array__"}
"""Functions that convert a tensor to Python numbers."""
_BY_VALUE = (
    "asks for the value of a tensor, as `if`, `while`, `float()` and `.item()` do; expected operations on tensors alone, since "
    "one computation serves many models: choose by torch.where, bound by clamp, and log a term as the tensor that it is"
)
_RANDOM = (
    "the networks or the loss of {method} with {architecture} draw random numbers of their own, as dropout does; expected "
    "none: noise is asked for in a phase's draws"
)
_IN_PLACE = "changes a tensor in place; expected new tensors, such as z + 1 instead of z += 1"


class WrongLosses(MethodError):
    """A loss that returns something other than it should."""


def check_phases(run: Run) -> tuple[Phase, ...]:
    """The phases of a run's method, if it returns valid ones."""
    phases: Any = run.method.phases(run)
    if not isinstance(phases, tuple | list) or not phases or not all(isinstance(each, Phase) for each in phases):
        raise MethodError(
            f"phases of {type(run.method).__name__} returned {_described(phases)}; expected a tuple of one or more "
            "hackle.core.types.Phase, such as (autoencoder_phase(loss, run),)"
        )
    return tuple(phases)


def check_losses(losses: Any, run: Run) -> Losses:
    """What a loss returned for one model, if it can be trained and logged."""
    if not isinstance(losses, Losses):
        raise WrongLosses(
            f"returned {_described(losses)}; expected hackle.core.types.Losses(total, terms): what is minimised, and what is "
            "logged by name"
        )
    if not isinstance(losses.total, Tensor) or losses.total.dim():
        raise WrongLosses(
            f"returned as total {_described(losses.total)}; expected a tensor with one number for the batch, such as the mean "
            "over its images"
        )
    if losses.stopped is not None and not (isinstance(losses.stopped, Tensor) and losses.stopped.dtype == torch.bool):
        raise WrongLosses(
            f"returned as stopped {_described(losses.stopped)}; expected a tensor with one boolean, or None"
        )
    per_latent = {run.latents, len(about(run.method).codes(run.method, run))}
    for what, values in (("terms", losses.terms), ("carry", losses.carry), ("kept", losses.kept)):
        if not isinstance(values, Mapping):
            raise WrongLosses(f"returned as {what} {_described(values)}; expected tensors by name")
        for name, value in values.items():
            fits = isinstance(value, Tensor) and (
                what != "terms" or value.dim() == 0 or (value.dim() == 1 and len(value) in per_latent)
            )
            if not fits:
                shape = "" if what != "terms" else f" with one number, or with one for each of {run.latents} latents"
                raise WrongLosses(f"returned among its {what} {name!r}, {_described(value)}; expected a tensor{shape}")
    return losses


def check_shared(returned: Any, shared: Callable[..., Any]) -> Any:
    """What the part that methods share returned for one model, if it can be handed to their losses."""
    wrong = [value for value in tree_leaves(returned) if not isinstance(value, Tensor)]
    if wrong:
        raise MethodError(
            f"{shared.__module__}.{shared.__qualname__}, which a phase names as shared, returned {_described(wrong[0])}; "
            "expected tensors alone, as a tuple, a NamedTuple or a mapping"
        )
    return returned


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def explained(error: Exception, run: Run, phase: Phase, compute: Callable[[str], Any]) -> Exception:
    """An error of a phase as a `MethodError` that names the method and the line, or unchanged where no code of the
    user's was involved, memory ran out, or it is a sentence already. compute: runs the phase once more, given `vmap`'s
    `randomness`: whether random numbers are an error or different for each model."""
    if is_out_of_memory(error) or (isinstance(error, HackleError) and not isinstance(error, WrongLosses)):
        return error
    whose = f"the loss of {type(run.method).__name__} in its phase {phase.name}"
    if isinstance(error, WrongLosses):
        return MethodError(f"{whose} {error} ({_line_of_return(phase.loss, compute)})")
    line = line_of(error)
    if line and _is_about_randomness(line, compute):
        words = _RANDOM.format(method=type(run.method).__name__, architecture=type(run.architecture).__name__)
        return MethodError(f"{words} ({line})")
    calls = _Calls()
    # This is the error being explained.
    with suppress(Exception), calls:
        compute("error")
    if calls.last in _VALUES and line:
        return MethodError(f"{whose} {_BY_VALUE} ({line})")
    if calls.in_place and (not line or _is_in_place(calls.last, calls.arguments)):
        return MethodError(f"{whose} {_IN_PLACE} ({calls.in_place})")
    what = str(error).strip().partition("\n")[0]
    # An error in a network, such as of matrices that do not fit, also surfaces in the loss: the line says which it is.
    return MethodError(f"{whose} raised {type(error).__name__}: {what} ({line})") if line else error


def without_gradient(run: Run, phase: Phase, compute: Callable[[str], Any]) -> MethodError:
    """The error for a total that depends on no parameter that the phase trains."""
    return MethodError(
        f"the loss of {type(run.method).__name__} in its phase {phase.name} returned a total that depends on no parameter of "
        f"{', '.join(phase.trains)}; expected one that is computed from them: look for detach(), .data and torch.no_grad() "
        f"({_line_of_return(phase.loss, compute)})"
    )


def unkept(run: Run, phase: Phase, path: str) -> MethodError:
    """The error for a value to be kept where no parameter is, one of another size, or one that the phase trains."""
    return MethodError(
        f"the loss of {type(run.method).__name__} in its phase {phase.name} returned in kept {path!r}; expected a value for a "
        "parameter of its networks that the phase does not train, of the same size, by network and name, such as "
        "'controller.integral'"
    )


def _is_about_randomness(line: str, compute: Callable[[str], Any]) -> bool:
    """Whether the error disappears, or another comes later, if random numbers may be drawn."""
    try:
        with torch.random.fork_rng():
            compute("different")
    except Exception as later:
        return line_of(later) != line
    return True


class _Calls(TorchFunctionMode):
    """Notes the last operation, and the line of the user's code that last changed a tensor in place."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.in_place = "", ""
        self.arguments: Mapping[str, Any] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.last, self.arguments = getattr(func, "__name__", ""), kwargs or {}
        if _is_in_place(self.last, self.arguments) and (line := line_above(sys._getframe(1))):
            self.in_place = line
        return func(*args, **self.arguments)


def _is_in_place(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an operation of this name, such as add_, __iadd__ or relu(inplace=True), changes its tensor."""
    # __iadd__ is __add__ in place, while __int__ and __invert__ are operators of their own.
    in_place = name.startswith("__i") and hasattr(operator, f"__{name[3:]}")
    return (
        (name.endswith("_") and not name.endswith("__"))
        or in_place
        or name == "__setitem__"
        or bool(arguments.get("inplace"))
    )


def _line_of_return(loss: Callable[..., Any], compute: Callable[[str], Any]) -> str:
    """The line at which a loss returned, or its first line where that is unknown."""
    function = inspect.unwrap(getattr(loss, "func", loss))
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return repr(loss)
    lines = [code.co_firstlineno]

    def note(frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and frame.f_code is code:
            lines.append(frame.f_lineno)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with suppress(Exception):
            compute("error")
    finally:
        sys.setprofile(before)
    source = inspect.getsourcelines(code)[0] if inspect.getsourcefile(code) else []
    place = lines[-1] - code.co_firstlineno
    return as_line(code.co_filename, lines[-1], source[place] if place < len(source) else "")
