"""The interfaces between packages: data sets, runs, objectives and what passes between them.

Axes: m models, b batch, n samples, h height, w width, c channels, l latents, f factors. Rows are samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from hackle.core.field_checks import RunError, check_fields
from hackle.core.method import Method, about, is_method
from hackle.core.randomness import check_seed
from hackle.core.records import float_fields, is_record
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.core.scored import Scored

if TYPE_CHECKING:
    from hackle.core.factors import FactorGrid
    from hackle.core.randomness import Stream


class Images(Protocol):
    """A data set's images on one device, in their smallest form."""

    def __call__(self, index: Tensor, stream: Stream) -> Tensor:
        """uint8 images (m, b, h, w, c) for flat indices (m, b); stochastic sets draw their noise from the stream."""
        ...


@runtime_checkable
class Dataset(Protocol):
    """Images with known factors."""

    @property
    def name(self) -> str: ...

    @property
    def factors(self) -> FactorGrid: ...

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        ...

    def render(self, rows: ArrayLike, *, seed: int = 0) -> NDArray[np.uint8]:
        """Images (n, h, w, c) in 0 … 255 for factor rows (n, f). The seed only matters for stochastic data sets."""
        ...

    def images_on(self, device: torch.device | str) -> Images: ...


LATER = {"later": True}
"""Of a field that is newer than some stored records: it is left out at its default, so that their hashes stay."""


def later(default: Any) -> Any:
    """A field with `LATER`."""
    return field(default=default, metadata=LATER)


@dataclass(frozen=True)
class Adam:
    """The optimiser's settings (Kingma & Ba 2015), its learning-rate schedule (`hackle.train.schedules`) and the
    clipping of the gradient."""

    learning_rate: float = 1e-4
    """Adam's step size for the networks that it trains."""
    beta1: float = 0.9
    """Decay rate of Adam's mean of gradients."""
    beta2: float = 0.999
    """Decay rate of Adam's mean of squared gradients."""
    epsilon: float = 1e-8
    """Added to the root of Adam's mean square."""
    warmup: float = later(0.0)
    """First steps over which the learning rate rises linearly to its full size."""
    decay: Literal["constant", "linear", "cosine", "step"] = later("constant")
    """The learning rate after that: constant, falling linearly or along half a cosine, or dropping in steps."""
    decay_to: float = later(0.0)
    """Fraction of the learning rate that is left at the end; with `step`, the factor of each drop."""
    decay_steps: float = later(0.0)
    """Step at which a linear or cosine decay ends, 0 for the run's last; with `step`, the steps between two drops."""
    clip_norm: float = later(0.0)
    """Largest norm of a model's gradient in one update, over all networks that it trains; 0 leaves gradients as they are."""
    clip_value: float = later(0.0)
    """Largest absolute value of each number of the gradient, after its norm is clipped; 0 leaves them as they are."""
    weight_decay: float = later(0.0)
    """Decay λ of the weights, decoupled from the gradient (AdamW): each step also subtracts learning rate · λ · weight.
    Biases, gains of normalisations and codebooks do not decay."""


@runtime_checkable
class Architecture(Protocol):
    """A frozen record that builds the networks between images and latents."""

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        """Images (b, h, w, c) in [0, 1] to means and logvars, each (b, l)."""
        ...

    def decoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        """Latents (b, l) to logits or means of the pixels (b, h, w, c)."""
        ...


@runtime_checkable
class AdversarialArchitecture(Protocol):
    """A frozen record that builds the four networks of an InfoGAN."""

    def adversaries(
        self, shape: tuple[int, int, int], inputs: int, outputs: int, *, normalised: bool
    ) -> dict[str, nn.Module]:
        """`generator` (b, inputs) to images in [0, 1]; `trunk` images to features, batch-normalised or not, and on them
        `discriminator` to (b,) and `recogniser` to (b, outputs)."""
        ...


class Nets(Protocol):
    """One model's networks by name, bound to that model's parameters: `nets("encoder", images)`."""

    def __call__(self, name: str, *inputs: Tensor) -> Any: ...


@dataclass(frozen=True)
class Draw:
    """A random tensor that a phase asks for: normal, uniform, categorical (`high` classes) or permutations."""

    kind: Literal["normal", "uniform", "integers", "permutations"]
    shape: tuple[int, ...]
    high: int = 0

    def sample(self, stream: Stream, name: str) -> Tensor:
        """(m, *shape) from the stream, under this name."""
        if self.kind == "permutations":
            return stream.permutations(name, *self.shape)
        if self.kind == "integers":
            return stream.integers(name, self.shape, self.high)
        return getattr(stream, self.kind)(name, self.shape)


@dataclass(frozen=True)
class Step:
    """What one model sees in one phase of one step. Images are uint8, as in the data set: `nets` and the likelihoods
    read them as numbers in [0, 1]."""

    images: Tensor
    noise: Mapping[str, Tensor]
    number: Tensor
    data_size: int
    carry: Mapping[str, Tensor] = field(default_factory=dict)
    kl_weight: Tensor | None = None
    """The weight of the KL term while it warms up; None where no run of the fleet has a warm-up."""
    partners: Tensor | None = None
    """The second image of each pair, like `images`; None where the run has no `pairs`."""
    changed: Tensor | None = None
    """Which factors were allowed to change in each pair, bool (b, f): the scored factors, in the grid's order."""
    labelled: Tensor | None = None
    """A batch of labelled images, like `images`; None where the run has no `labels`."""
    labels: Tensor | None = None
    """The class numbers of the labelled factors of `labelled`, int64 (b, f)."""
    label_sizes: tuple[int, ...] = ()
    """The number of classes of each labelled factor."""


@dataclass(frozen=True)
class Losses:
    """What a phase minimises, the named terms to log (scalars or one value per latent), what later phases need, and what
    later steps do."""

    total: Tensor
    terms: Mapping[str, Tensor]
    carry: Mapping[str, Tensor] = field(default_factory=dict)
    kept: Mapping[str, Tensor] = field(default_factory=dict)
    """New values of parameters that no gradient trains, by network and name: {"controller.integral": …}."""
    stopped: Tensor | None = None
    """Whether the model has stopped, a boolean: this phase then leaves its parameters as they are. None where it never does."""


@dataclass(frozen=True)
class Phase:
    """One update within a step: a fresh batch and noise, a loss, and the networks whose parameters it updates."""

    name: str
    trains: tuple[str, ...]
    loss: Callable[[Any, Step, Any], Losses]
    """Of the networks (`Nets`), the step and the run; with `shared`, of what it gave, the step and the run."""
    draws: Mapping[str, Draw]
    optimiser: Callable[[Any], Adam]
    needs_images: bool = True
    needs_supervision: bool = True
    """Whether it takes the partners and labels that the run has; a phase that does without saves drawing them."""
    shared: Callable[[Nets, Step, Any], Any] | None = None
    """A function from the top level of a module that does all of the work with networks and is the same in several
    methods, which so train in one fleet, each loss on its own rows: from networks, step and run to tensors, as a tuple,
    NamedTuple or mapping. It does not see the run's method."""
    loss_draws: Mapping[str, Draw] = field(default_factory=dict)
    """Random tensors for the loss alone; what is `shared` sees those of `draws`."""

    def losses(self, nets: Nets, step: Step, run: Any) -> Losses:
        """The loss of one model from its networks, whether a part is shared or not."""
        return self.loss(nets if self.shared is None else self.shared(nets, step, run), step, run)


@dataclass(frozen=True)
class Shown:
    """How a field of `Run` is shown: as an option of `hackle train` and as a column of every table and list.

    about: the option's help. word: its heading; the field's name if empty. compared: whether runs that differ in it are
    different experiments. usual: whether a claim or figure that does not mention it means runs with the default.
    """

    about: str
    word: str = ""
    compared: bool = True
    usual: bool = True


def shown(default: Any, about: str, *, later: bool = False, **how: Any) -> Any:
    """A field of `Run` that is shown; declaring it is enough.

    later: the field is newer than some stored runs. It is left out of records at its default, so that their hashes stay
    the same. The rest is as in `Shown`.
    """
    return field(default=default, metadata={"shown": Shown(about, **how), "later": later})


@dataclass(frozen=True)
class Run:
    """The record of one training: its result depends on these fields alone.

    Its values are checked when it is created. Fleets replace numbers with tensors by `with_fields`, unchecked.
    """

    method: Method
    architecture: Architecture | AdversarialArchitecture
    dataset: str = shown(
        "dsprites",
        "Name of a data set (`hackle data list`), or path of a folder of images or of an .npz or HDF5 file; of your own: "
        "path.py:name.",
        word="data set",
        usual=False,
    )
    seed: int = shown(0, "Everything random in the run follows from it.", compared=False)
    steps: int = shown(300_000, "Number of updates of the main networks.", compared=False)
    batch_size: int = shown(64, "Images in a batch.", compared=False)
    latents: int = shown(10, "Dimensions of the representation.", usual=False)
    likelihood: Literal["bernoulli", "gaussian"] = shown(
        "bernoulli",
        "What the decoder's output means: logits of pixels, or their means with unit variance.",
        usual=False,
    )
    correlation: float = shown(0.0, "Correlation σ of the posterior's noise, from 0 (factorised) to below 1.", word="σ")
    precision: Literal["float32", "bfloat16"] = shown(
        "float32", "dtype in which networks compute; weights are float32.", compared=False
    )
    kl_warmup: float = shown(
        0.0,
        "First steps over which the weight of the KL term rises linearly from 0 to 1.",
        word="KL warm-up",
        later=True,
    )
    held_out: int = shown(
        0,
        "Number of images kept from training, chosen by the seed; the ELBO of a sample of them joins the curves.",
        word="held-out images",
        later=True,
    )
    start_from: str = shown(
        "",
        "Another run whose weights it begins with: the run's hash and a hash of the weights.",
        word="start from",
        later=True,
    )
    drawing: Drawing = field(default=Drawing(), metadata=LATER)
    pairs: Pairs = field(default=Pairs(), metadata=LATER)
    labels: Labels = field(default=Labels(), metadata=LATER)
    scored: Scored = field(default=Scored(), metadata=LATER)
    optimiser: Adam = Adam()

    def __post_init__(self) -> None:
        check_seed(self.seed)
        for name, known in (
            ("method", "hackle.objectives.BetaVAE(4.0)"),
            ("architecture", "hackle.nets.Convolutional()"),
        ):
            if not is_record(value := getattr(self, name)):
                raise RunError(
                    f"{name} is {value!r}; expected a record such as {known}. hackle.studies.presets.default_run takes names"
                )
        for name, known in (
            ("drawing", 'Drawing(left_out="random")'),
            ("pairs", 'Pairs("resample", changed=1)'),
            ("labels", "Labels(100)"),
            ("scored", "Scored(points=10)"),
        ):
            if type(value := getattr(self, name)).__name__ != known.partition("(")[0]:
                room = "scored" if name == "scored" else "regimes"
                raise RunError(f"{name} is {value!r}; expected a record such as hackle.core.{room}.{known}")
        check_fields(self)
        for name in ("steps", "batch_size", "latents"):
            value = getattr(self, name)
            if value < 1:
                raise RunError(f"{name} is {value!r}; expected a whole number from 1")
        for name, value in float_fields(self).items():
            if name.endswith("learning_rate") and value < 0:
                raise RunError(f"{name} is {value}; expected a positive number, or 0 to leave the weights unchanged")
            if name.endswith(("optimiser.beta1", "optimiser.beta2")) and not 0 <= value < 1:
                raise RunError(f"{name} is {value}; expected 0 up to, not including, 1")
            if name.endswith("optimiser.epsilon") and value <= 0:
                raise RunError(f"{name} is {value}; expected a positive number, such as 1e-8")
            if name.endswith(_OF_TRAINING) and value < 0:
                raise RunError(f"{name} is {value}; expected a positive number, or 0 to do without")
        _check_drops(self)
        # Training computes in float32, where a number just below 1 is 1.
        if not 0 <= np.float32(self.correlation) < 1:
            raise RunError(f"correlation is {self.correlation}; expected 0 (factorised) up to, not including, 1")
        if self.held_out < 0:
            raise RunError(f"held_out is {self.held_out}; expected a number of images, or 0 to train on all")
        if self.held_out and is_method(type(self.method)) and not about(self.method).has_likelihood:
            raise RunError(
                f"held_out is {self.held_out}, but under {type(self.method).__name__} images have no likelihood, so that those "
                "kept from training would have no ELBO; leave it at 0"
            )
        if self.kl_warmup and is_method(type(self.method)) and not about(self.method).warms_up:
            raise RunError(
                f"kl_warmup is {self.kl_warmup:g}, but the loss of {type(self.method).__name__} has no KL term of posteriors "
                "whose weight could rise from 0 to 1, or has a schedule of its own for it; leave it at 0"
            )
        _check_supervision(self)


def _check_supervision(run: Run) -> None:
    """Refuse a method that needs pairs or labels in a run that has none."""
    needed = about(run.method).supervision if is_method(type(run.method)) else "none"
    if needed == "pairs" and run.pairs.rule == "none":
        raise RunError(
            f"{type(run.method).__name__} learns from pairs of images, and this run has none; set pairs, such as "
            'hackle.core.regimes.Pairs("resample", changed=1), or --pairs.rule resample --pairs.changed 1'
        )
    if needed == "labels" and not run.labels.images:
        raise RunError(
            f"{type(run.method).__name__} learns from labels, and this run has none; set labels, such as "
            "hackle.core.regimes.Labels(100), or --labels.images 100"
        )


_OF_TRAINING = (
    "kl_warmup",
    "optimiser.warmup",
    "optimiser.decay_to",
    "optimiser.decay_steps",
    "optimiser.clip_norm",
    "optimiser.clip_value",
    "optimiser.weight_decay",
)


def _check_drops(record: Any, path: str = "") -> None:
    """Refuse an optimiser, of the run or its method, whose learning rate drops in steps but without when or how far."""
    for each in fields(record):
        value, name = getattr(record, each.name), path + each.name
        if isinstance(value, Adam) and value.decay == "step" and not (value.decay_steps and value.decay_to):
            raise RunError(
                f"{name}.decay is 'step', with decay_steps={value.decay_steps:g} and decay_to={value.decay_to:g}; expected the "
                "steps between two drops and what each multiplies the learning rate by, such as 10000 and 0.1"
            )
        if is_record(value):
            _check_drops(value, f"{name}.")


def shown_fields() -> dict[str, Shown]:
    """The fields of `Run` that are shown, by name, in its order; methods and architectures are shown by their names."""
    return {each.name: each.metadata["shown"] for each in fields(Run) if "shown" in each.metadata}
