"""Studies: functions that return runs. The papers' own are in `STUDIES`; yours is a function in a file of yours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hackle.protocols import BINS_PROTOCOLS, SAMPLES_PROTOCOLS, SENSITIVITY_PROTOCOLS
from hackle.studies.do2020 import do2020
from hackle.studies.kim2018 import kim2018, kim2018_sensitivity
from hackle.studies.locatello2019 import locatello2019
from hackle.studies.split_encoder import split_encoder
from hackle.studies.stand_ins import STAND_INS, Available, available
from hackle.studies.sweep import StudyError
from hackle.studies.yang2020 import yang2020
from hackle.types import Run

__all__ = [
    "STAND_INS",
    "STUDIES",
    "Available",
    "Study",
    "StudyError",
    "available",
    "do2020",
    "kim2018",
    "kim2018_sensitivity",
    "locatello2019",
    "split_encoder",
    "yang2020",
]


@dataclass(frozen=True)
class Study:
    """A function that returns runs, and the protocols under which they are scored."""

    runs: Callable[..., list[Run]]
    protocols: tuple[str, ...] = ("locatello2019",)

    @property
    def about(self) -> str:
        """The first paragraph of the function's documentation."""
        return " ".join((self.runs.__doc__ or "").strip().split("\n\n")[0].split())


STUDIES: dict[str, Study] = {
    "do2020": Study(do2020, ("do2020", *BINS_PROTOCOLS, *SAMPLES_PROTOCOLS)),
    "kim2018": Study(kim2018, ("kim2018",)),
    "kim2018-sensitivity": Study(kim2018_sensitivity, SENSITIVITY_PROTOCOLS),
    "locatello2019": Study(locatello2019),
    "split-encoder": Study(split_encoder),
    "yang2020": Study(yang2020, ("yang2020",)),
}
