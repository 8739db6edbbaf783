"""A study by name, or from a function in a file of one's own: `path.py:function`."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hackle.studies import STUDIES, Study
from hackle.studies.sweep import StudyError
from hackle.types import HackleError, Run


def find_study(name: str) -> Study:
    """The study of this name, or the function `path.py:function`; a path alone means a function called `study`."""
    if name in STUDIES:
        return STUDIES[name]
    path, _, function = name.partition(":")
    if not path.endswith(".py"):
        raise StudyError(
            f"no study {name!r}; {_nearest(name, STUDIES)}there are {', '.join(STUDIES)}. A study of your own is a function "
            "that returns runs, given as path.py:function"
        )
    return Study(_load(Path(path), function or "study"))


def _load(path: Path, function: str) -> Any:
    if not path.is_file():
        raise StudyError(f"there is no file {path}; expected path.py:function")
    # Found by its name from its own folder, so that workers, which are given the same folders, can import it again.
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:
        raise StudyError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    origin = getattr(module, "__file__", None)
    if origin is None or Path(origin).resolve() != path.resolve():
        raise StudyError(f"{path} has the name of another module, {origin or path.stem}; rename the file")
    found = getattr(module, function, None)
    if not callable(found):
        functions = [
            name
            for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        hint = _nearest(function, functions)
        raise StudyError(f"{path} has no function {function!r}; {hint}it has {', '.join(functions) or 'none'}")
    return found


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean {near[0]}? " if near else ""


def _called(name: str, study: Study, options: dict[str, Any]) -> Any:
    """What the study's function returns; an error in it is told with the last line of the study's file that led there."""
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
    """Call the study's function with the options that were given; one that it does not take is refused."""
    given = {key: value for key, value in options.items() if value is not None}
    parameters = inspect.signature(study.runs).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    # Which number format is best depends on the machine, so it is offered, not asked for.
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
            found = f"{run!r:.60}, of type {type(run).__name__}"
            raise StudyError(f"{name} returned a list whose element {place} is {found}; expected a list of Run")
    if not runs:
        raise StudyError(f"{name} has no runs with these options")
    return list(runs)
