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
    """A function that returns runs, what it is in a line, and the protocols and metrics by which its runs are scored."""

    runs: Callable[..., list[Run]]
    about: str = ""
    protocols: tuple[str, ...] = ("locatello2019",)
    metrics: str = "all"


STUDIES: dict[str, Study] = {
    "do2020": Study(
        do2020,
        "Do & Tran 2020: FactorVAE, β-VAE and AAE under the informativeness metrics, and their ablations",
        ("do2020", *BINS_PROTOCOLS, *SAMPLES_PROTOCOLS),
        "all,whole_separability,whole_misjed,sampled_interpretability,sampled_jemmig",
    ),
    "kim2018": Study(
        kim2018,
        "Kim & Mnih 2018: FactorVAE beside β-VAE, AAE, its Eq. 12 and InfoWGAN-GP",
        ("kim2018",),
        "all,iwae,true_tc,batch_tc",
    ),
    "kim2018-sensitivity": Study(
        kim2018_sensitivity,
        "Kim & Mnih 2018, Figures 16 and 17: how two metrics depend on their settings",
        SENSITIVITY_PROTOCOLS,
    ),
    "locatello2019": Study(
        locatello2019, "Locatello et al. 2019: six methods × six strengths × 50 seeds × seven data sets"
    ),
    "split-encoder": Study(split_encoder, "Split and sharing encoders and correlated noise"),
    "yang2020": Study(yang2020, "Yang et al. 2020: correlated posteriors in VAEs and InfoGAN", ("yang2020",)),
}
