"""What a method must do, and what it declares about itself.

No other module keeps a list of methods or looks at a method's class: the method itself answers what its weight is
called, which networks it usually trains, whether images have a likelihood under it, what its codes are and what their
priors are.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

    from hackle.core.types import Images, Nets, Phase, Run


@dataclass(frozen=True)
class Code:
    """One code of a representation: its prior, N(0, 1), U[−1, 1] or uniform over a number of classes."""

    prior: Literal["normal", "uniform", "categorical"] = "normal"
    classes: int = 0


def real_codes(codes: Sequence[Code]) -> tuple[list[int], float]:
    """The positions of the codes that are real numbers, and the KL of the others to their priors: ln k for each that is,
    without noise, one of k classes.

    >>> real_codes([Code(), Code("categorical", 1), Code()])
    ([0, 2], 0.0)
    """
    real = [position for position, code in enumerate(codes) if code.prior != "categorical"]
    return real, sum(math.log(code.classes) for code in codes if code.prior == "categorical")


class Method:
    """A frozen record of one method's hyperparameters that says what it trains and how.

    A class may also state its `name`, for the command line and tables, and its `title`, for people; both default to the
    class's own name, and neither is inherited.
    """

    symbol: ClassVar[str] = "weight"
    """The symbol of the weight that studies sweep."""
    swept: ClassVar[Mapping[str, float]] = {}
    """The fields that follow the weight that studies sweep, each with its ratio to it; if empty, the first float field."""
    case_of: ClassVar[tuple[str, float] | None] = None
    """The method that it is a case of, and the weight with which the two are the same, if there is one; not inherited."""
    architecture: ClassVar[str] = "convolutional"
    """The name of its default architecture."""
    run_fields: ClassVar[Mapping[str, Any]] = {}
    """Defaults of its runs that differ from those of `Run`, by field."""
    has_likelihood: ClassVar[bool] = False
    """Whether images have a likelihood under its models: there is a network `decoder` whose output is the likelihood's."""
    warms_up: ClassVar[bool] = False
    """Whether its loss has a KL term of each image's posterior whose weight may rise from 0 to 1 (`Run.kl_warmup`)."""
    supervision: ClassVar[Literal["none", "pairs", "labels"]] = "none"
    """What its loss needs beside images: the second images of `Run.pairs`, the labels of `Run.labels`, or neither."""
    independent_given_images: ClassVar[bool] = True
    """Whether means and logvars say all of a posterior, but for the run's correlation: its latents are otherwise independent
    given the image. If not, `covariance_root(nets, run, images)` gives means (b, l) and roots L (b, l, l) of the covariances
    L Lᵀ."""
    takes_bfloat16: ClassVar[bool] = True
    """Whether its networks may compute in bfloat16. Adversarial methods train in float32."""

    @abstractmethod
    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]: ...

    @abstractmethod
    def phases(self, run: Run) -> tuple[Phase, ...]:
        """The updates of a step, in order."""
        raise NotImplementedError(f"{type(self).__name__} has no phases; expected the updates that a step consists of")

    @abstractmethod
    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        """Means and logvars of the codes, each (b, c), for images in [0, 1]."""

    @abstractmethod
    def decode(self, nets: Nets, run: Run, z: Tensor) -> Tensor:
        """Mean images in [0, 1], (b, h, w, c), for latents (b, c)."""

    def decoder_input(self, nets: Nets, run: Run, codes: Tensor) -> Tensor:
        """What the network `decoder` is given for codes (b, c): the codes, unless some are class numbers."""
        return codes

    def codes(self, run: Run) -> tuple[Code, ...]:
        """The codes that `encode` gives and `decode` takes, in order."""
        return (Code(),) * run.latents

    def discrete(self, run: Run) -> tuple[bool, ...]:
        """Which of the codes are class numbers rather than real numbers."""
        return tuple(code.prior == "categorical" for code in about(self).codes(self, run))

    def noise_inputs(self) -> int:
        """The number of draws of N(0, 1) that `decode` may be given after the codes."""
        return 0

    def calibrate(self, networks: Mapping[str, nn.Module], run: Run, images: Images, data_size: int) -> None:
        """Fix in place, after training, what the networks need to process each image independently; often nothing."""

    def check_factors(self, run: Run, count: int) -> None:
        """Refuse, before training, so many factors if its loss cannot use them: the labelled ones, or those that vary
        between the images of pairs, by its `supervision`."""

    def at_steps(self, steps: int, before: int) -> Any:
        """The method adapted to training for `steps` instead of the `before` steps that it was meant for."""
        return self

    @classmethod
    def at_strength(cls, strength: float) -> dict[str, float]:
        """The fields that are set by the weight that studies sweep; empty where there is none."""
        first = next((field.name for field in dataclasses.fields(cls) if field.type in ("float", float)), None)  # type: ignore[arg-type]
        swept = cls.swept or ({} if first is None else {first: 1.0})
        return {name: float(strength) * ratio for name, ratio in swept.items()}


@lru_cache(maxsize=1024)
def _answering(cls: type) -> type[Method]:
    return cls if issubclass(cls, Method) else type(cls.__name__, (cls, Method), {})


def about(method: Any) -> type[Method]:
    """The class that describes a method or its class: its own, with `Method`'s defaults for what it does not define."""
    return _answering(method if isinstance(method, type) else type(method))


def is_method(thing: Any) -> bool:
    """Whether it is the class of a method, one that inherits `Method` or one that has its members."""
    members = [getattr(thing, name, None) for name in ("networks", "phases", "encode", "decode")]
    whole = all(callable(member) and not getattr(member, "__isabstractmethod__", False) for member in members)
    return whole and isinstance(thing, type) and dataclasses.is_dataclass(thing)


def strength_of(method: Any) -> float:
    """The weight of a method that studies sweep, NaN where it has none."""
    first = next(iter(about(method).at_strength(1.0)), None)
    return math.nan if first is None else float(getattr(method, first))
