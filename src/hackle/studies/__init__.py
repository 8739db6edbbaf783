"""Studies: functions that return runs. Those of the papers are in `STUDIES`; yours is a function in a file of your
own."""

from __future__ import annotations

from hackle.studies.presets import PRESETS, Preset, default_run, preset
from hackle.studies.stand_ins import Available, available
from hackle.studies.study import STUDIES, Study, StudyError

__all__ = [
    "PRESETS",
    "STUDIES",
    "Available",
    "Preset",
    "Study",
    "StudyError",
    "available",
    "default_run",
    "preset",
]
