"""A study by name, or from a function in a file of your own: `path.py:function`."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import Any

from hackle.core.errors import HackleError
from hackle.core.types import Run
from hackle.studies.study import STUDIES, Study, StudyError


def find_study(name: str) -> Study:
    """The study of this name, or the function `path.py:function`; a path alone means a function called `study`."""
    return STUDIES.find(f"{name}:study" if name.endswith(".py") else name)


def _called(name: str, study: Study, options: dict[str, Any]) -> Any:
    """What the study's function returns; an error in it is reported with the last line of the study's file that led to
    it."""
    try:
        return study.runs(**options)
    except HackleError:
        raise
    except Exception as error:
        file = Path(name.partition(":")[0]).resolve()
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file]
        where = f" at line {lines[-1]}" if lines else ""
        raise StudyError(f"{name} failed{where}: {type(error).__name__}: {error}") from error


def runs_of(name: str, study: Study, options: dict[str, Any]) -> list[Run]:
    """Call the study's function with the given options; one that it does not take is refused."""
    given = {key: value for key, value in options.items() if value is not None}
    parameters = inspect.signature(study.runs).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    # The best dtype depends on the machine, so it is passed only to studies that take it.
    if "precision" not in parameters and not takes_all:
        given.pop("precision", None)
    for key in given:
        if key not in parameters and not takes_all:
            raise StudyError(f"{name} takes no {key}; it takes {', '.join(parameters) or 'nothing'}")
    runs = _called(name, study, given)
    if not isinstance(runs, list | tuple):
        raise StudyError(f"{name} returned {type(runs).__name__}; expected a list of Run")
    for place, run in enumerate(runs):
        if not isinstance(run, Run):
            what = f"{run!r:.60}, of type {type(run).__name__}"
            raise StudyError(f"{name} returned a list whose element {place} is {what}; expected a list of Run")
    if not runs:
        raise StudyError(f"{name} has no runs with these options")
    return list(runs)
