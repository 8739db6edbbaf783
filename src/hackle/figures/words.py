"""Names on figures: methods, data sets and scores as readers know them, and the range within which a score can lie."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from hackle.core.design import CONFIGURATION, in_words
from hackle.core.method import about
from hackle.core.parts import parts_of, title_of
from hackle.metrics.metric import Row, known_rows, row_of


class _ByPart(Mapping[str, Any]):
    """An attribute of every part of a kind, by the part's name."""

    def __init__(self, kind: str, attribute: Callable[[Any], Any]) -> None:
        self._kind, self._attribute = kind, attribute

    def __getitem__(self, name: str) -> Any:
        return self._attribute(parts_of(self._kind)[name])

    def __iter__(self) -> Iterator[str]:
        return iter(parts_of(self._kind))

    def __len__(self) -> int:
        return len(parts_of(self._kind))


METHODS = _ByPart("method", title_of)
SYMBOLS = _ByPart("method", lambda method: about(method).symbol)
ARCHITECTURES = _ByPart("architecture", title_of)
DATASETS = _ByPart("data set", lambda source: source.title or source.name)
FACTORS = _ByPart("data set", lambda source: tuple(source.factor_sizes.items()))
"""Scored factors of data sets, with their numbers of values, in the order of the data set."""


COMPARED = (
    "mig",
    "dci_disentanglement",
    "factor_vae",
    "beta_vae",
    "sap",
    "modularity",
    "rmig",
    "wsepin",
    "reconstruction",
    "kl",
)
"""The scores that papers compare, which lists and tables show before all others, in this order."""


def measure(name: str) -> Row:
    """The labels and bounds of a score. A user-defined score has only its name and no bounds."""
    known = row_of(name)
    return Row(name, name.replace("_", " "), name, None, None) if known is None else known[1]


def place(name: str) -> int:
    """The position of a score in tables; user-defined scores come last."""
    rows = known_rows()
    return next((index for index, row in enumerate(rows) if fnmatchcase(name, row.name)), len(rows))


def method(name: str, strength: float = float("nan")) -> str:
    """A method with its weight.

    >>> method("factor-vae", 35.0)
    'FactorVAE γ = 35'
    """
    label = METHODS.get(name, name)
    return label if pd.isna(strength) else f"{label} {symbol(name)} = {strength:g}"


def symbol(name: str) -> str:
    """The symbol of a method's weight."""
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


def spelled(text: str) -> str:
    """A text with its data sets and methods as papers spell them, and with minus signs.

    >>> spelled("factor-vae on color-dsprites, below -0.5")
    'FactorVAE on Color-dSprites, below −0.5'
    """
    named = re.sub(r"[\w-]+", lambda word: METHODS.get(word[0]) or DATASETS.get(word[0]) or word[0], text)
    return re.sub(r"(?<![\w.])-(?=\d)", "−", named)


def value(column: str, what: Any) -> str:
    """A value of a column of the tables, as shown to readers.

    >>> value("correlation", 0.9), value("latents", 10), value("dataset", "cars3d")
    ('σ = 0.9', '10 latents', 'Cars3D')
    """
    named = {"method": method, "dataset": dataset, "architecture": architecture}
    if column in named:
        return named[column](what)
    if column in (*CONFIGURATION, "seed") and column != "strength":
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
"""Verdicts in the singular and the plural. A claim without any run is not the same as one tested and undecided."""


def fate(verdict: str, runs: int) -> str:
    """The key of `VERDICTS` for a claim, from its verdict and the number of its runs."""
    return verdict if runs else "no runs"


def tally(fates: Iterable[str]) -> str:
    """The number of claims with each verdict.

    >>> tally(["holds", "undecided", "holds", "no runs"])
    '2 hold, 1 undecided, 1 without runs'
    """
    counts = Counter(fates)
    return ", ".join(counted(counts[name], *both) for name, both in VERDICTS.items() if counts[name])
