"""Names on figures: methods, data sets and scores as readers know them, and the range within which a score can lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from hackle.core.design import CONFIGURATION, in_words
from hackle.core.method import about
from hackle.core.parts import parts_of, title_of


class _Said(Mapping[str, Any]):
    """What every part of a kind says of itself, by its name."""

    def __init__(self, kind: str, says: Callable[[Any], Any]) -> None:
        self._kind, self._says = kind, says

    def __getitem__(self, name: str) -> Any:
        return self._says(parts_of(self._kind)[name])

    def __iter__(self) -> Iterator[str]:
        return iter(parts_of(self._kind))

    def __len__(self) -> int:
        return len(parts_of(self._kind))


METHODS = _Said("method", title_of)
SYMBOLS = _Said("method", lambda method: about(method).symbol)
ARCHITECTURES = _Said("architecture", title_of)
DATASETS = _Said("data set", lambda source: source.title or source.name)
FACTORS = _Said("data set", lambda source: tuple(source.factor_sizes.items()))
"""Scored factors of data sets, with their numbers of values, in the order of the data set."""


class Measure(NamedTuple):
    """A score's name, its least and greatest value (None: no bound), and a name short enough for a heat map."""

    label: str
    low: float | None = 0.0
    high: float | None = 1.0
    short: str = ""


MEASURES = {
    "beta_vae": Measure("BetaVAE score", short="BetaVAE"),
    "factor_vae": Measure("FactorVAE score", short="FactorVAE"),
    "mig": Measure("MIG", short="MIG"),
    "sap": Measure("SAP", short="SAP"),
    "dci_disentanglement": Measure("DCI disentanglement", short="DCI"),
    "dci_completeness": Measure("DCI completeness", short="DCI compl."),
    "dci_informativeness": Measure("DCI informativeness", None, 1.0, short="DCI inform."),
    "modularity": Measure("modularity", short="Modularity"),
    "explicitness": Measure("explicitness", short="Explicitness"),
    "gaussian_tc": Measure("total correlation (nats)", 0.0, None, "TC"),
    "monte_carlo_tc": Measure("TC from batches of 64 (nats)", None, None, "TC"),
    "true_tc": Measure("total correlation (nats)", None, None, "true TC"),
    "batch_tc": Measure("batch estimate of TC (nats)", None, None, "batch TC"),
    "informativeness_mean": Measure("mean I(z_i, x) (nats)", 0.0, None, "I(z_i, x)"),
    "total_information": Measure("I(z, x) (nats)", 0.0, None, "I(z, x)"),
    "sepin@3": Measure("SEPIN@3 (nats)", None, None, "SEPIN@3"),
    "wsepin": Measure("WSEPIN (nats)", None, None, "WSEPIN"),
    "indin@3": Measure("INDIN@3 (nats)", None, None, "INDIN@3"),
    "windin": Measure("WINDIN (nats)", None, None, "WINDIN"),
    "whole_total_information": Measure("I(z, x) over all images (nats)", 0.0, None, "I(z, x)"),
    "whole_overlap": Measure("weighted mean of I(z_i, z_≠i) (nats)", None, None, "I(z_i, z_≠i)"),
    "whole_sepin@3": Measure("SEPIN@3 over all images (nats)", None, None, "SEPIN@3"),
    "whole_wsepin": Measure("WSEPIN over all images (nats)", None, None, "WSEPIN"),
    "whole_indin@3": Measure("INDIN@3 over all images (nats)", None, None, "INDIN@3"),
    "whole_windin": Measure("WINDIN over all images (nats)", None, None, "WINDIN"),
    "rmig": Measure("RMIG", short="RMIG"),
    "jemmig": Measure("JEMMIG (lower is better)", short="JEMMIG"),
    "sampled_rmig": Measure("RMIG by sampling", short="RMIG, sampled"),
    "sampled_mig": Measure("MIG with q(z|x), by sampling", short="MIG, sampled"),
    "sampled_jemmig": Measure("JEMMIG by sampling", None, None, "JEMMIG, sampled"),
    "sampled_informativeness_mean": Measure("mean I(z_i, x) by sampling (nats)", 0.0, None, "I(z_i, x), sampled"),
    "posterior_mig": Measure("MIG with q(z|x)", short="MIG, q(z|x)"),
    "posterior_modularity": Measure("modularity with q(z|x)", short="Modularity, q(z|x)"),
    "misjed": Measure("MISJED", 0.0, None, "MISJED"),
    "whole_misjed_top": Measure("MISJED of the most informative (nats)", None, None, "MISJED"),
    "kl": Measure("KL to the prior (nats)", 0.0, None, "KL"),
    "active_units": Measure("active latents", 0.0, None, "active"),
    "reconstruction": Measure("reconstruction error (nats)", None, None, "Reconstruction"),
    "elbo": Measure("ELBO (nats)", None, None, "ELBO"),
    "iwae": Measure("log-likelihood bound (nats)", None, None, "IWAE"),
    "efficiency_logistic_cv": Measure("efficiency, logistic", 0.0, None, "Eff. LR"),
    "efficiency_gbt": Measure("efficiency, trees", 0.0, None, "Eff. GBT"),
}
for _kind, _name in (("logistic_cv", "LR"), ("gbt", "GBT")):
    for _size in (10, 100, 1000, 10000):
        MEASURES[f"downstream_{_kind}_{_size}"] = Measure(f"accuracy {_name}, {_size:,}", 0.0, 1.0, f"{_name} {_size}")


def measure(name: str) -> Measure:
    """What is known of a score; a score of one's own has its name and no bounds."""
    return MEASURES.get(name, Measure(name.replace("_", " "), None, None, name))


def method(name: str, strength: float = float("nan")) -> str:
    """A method with its weight.

    >>> method("factor-vae", 35.0)
    'FactorVAE γ = 35'
    """
    label = METHODS.get(name, name)
    return label if pd.isna(strength) else f"{label} {symbol(name)} = {strength:g}"


def symbol(name: str) -> str:
    """What a method's weight is called."""
    return SYMBOLS.get(name, "weight")


def dataset(name: str) -> str:
    """A data set as papers spell it."""
    return DATASETS.get(name, name)


def architecture(name: str) -> str:
    """The encoder of an architecture, by the name that it has in records and on the command line.

    >>> architecture("convolutional")
    'convolutional encoder'
    """
    return ARCHITECTURES.get(name, f"{name} encoder")


def value(column: str, what: Any) -> str:
    """A value of a column of the tables where people read it.

    >>> value("correlation", 0.9), value("latents", 10), value("dataset", "cars3d")
    ('σ = 0.9', '10 latents', 'Cars3D')
    """
    named = {"method": method, "dataset": dataset, "architecture": architecture}
    if column in named:
        return named[column](what)
    if column in CONFIGURATION and column != "strength":
        return in_words(column, what)
    return what if isinstance(what, str) else f"{what:g}"


def factors(dataset: str, count: int) -> tuple[str, ...]:
    """The names of a data set's scored factors, or their numbers where they are not known here."""
    known = tuple(name for name, _ in FACTORS.get(dataset, ()))
    return known if len(known) == count else tuple(f"factor {index + 1}" for index in range(count))


def listing(names: Iterable[str]) -> str:
    """Names as one phrase.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    *head, last = list(names)
    return f"{', '.join(head)} and {last}" if head else last


def counted(number: int, noun: str, nouns: str = "") -> str:
    """A number with its noun; `nouns` is the plural where it is not the noun with an s.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


VERDICTS = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("undecided", "undecided"),
    "no runs": ("without runs", "without runs"),
}
"""How one claim and how several fare. A claim of which there is no run at all is not the same as one tested and undecided."""


def fate(verdict: str, runs: int) -> str:
    """How a claim fares, a key of `VERDICTS`, from its verdict and the number of its runs."""
    return verdict if runs else "no runs"


def tally(fates: Iterable[str]) -> str:
    """How many claims fare how.

    >>> tally(["holds", "undecided", "holds", "no runs"])
    '2 hold, 1 undecided, 1 without runs'
    """
    counts = Counter(fates)
    return ", ".join(counted(counts[name], *both) for name, both in VERDICTS.items() if counts[name])
