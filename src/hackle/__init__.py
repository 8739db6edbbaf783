"""Train, score, compare and look at disentangled representations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from hackle import metrics
    from hackle.core.types import Run
    from hackle.datasets import load
    from hackle.datasets.memory import from_arrays
    from hackle.pictures import show
    from hackle.scoring.codes import score_codes
    from hackle.scoring.models import score
    from hackle.shipped.models import load_model, models
    from hackle.store import results
    from hackle.train import fit
    from hackle.train.model import Model

__all__ = [
    "Model",
    "Run",
    "__version__",
    "fit",
    "from_arrays",
    "load",
    "load_model",
    "metrics",
    "models",
    "results",
    "score",
    "score_codes",
    "show",
]

# Imported when first used: PyTorch and scikit-learn take seconds that `hackle --help` should not.
_HOMES = {
    "Model": "hackle.train.model",
    "Run": "hackle.core.types",
    "fit": "hackle.train",
    "from_arrays": "hackle.datasets.memory",
    "load": "hackle.datasets",
    "load_model": "hackle.shipped.models",
    "models": "hackle.shipped.models",
    "results": "hackle.store",
    "score": "hackle.scoring.models",
    "score_codes": "hackle.scoring.codes",
    "show": "hackle.pictures",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "metrics":
        return import_module("hackle.metrics")
    raise AttributeError(f"module 'hackle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
