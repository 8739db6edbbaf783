"""The command that trains a run, from its record."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

from hackle.core.design import REGIMES
from hackle.core.errors import HackleError
from hackle.core.parts import name_of
from hackle.core.records import is_record, record_hash
from hackle.core.terminal import plain
from hackle.core.types import Run, shown_fields
from hackle.studies.presets import default_run


def train_command(run: Run, out: str) -> str:
    """The command line that trains this run into a folder; empty where none can say all of its record, as with networks of
    other sizes than usual.

    >>> from dataclasses import replace
    >>> train_command(replace(default_run("beta-vae", "dsprites"), seed=3), "runs/again")
    'hackle train beta-vae --dataset dsprites --seed 3 --precision float32 --out runs/again'
    """
    try:
        method = name_of(run.method)
        default = default_run(method, run.dataset)
    except HackleError:
        return ""
    architecture, usual = name_of(run.architecture), name_of(default.architecture)
    shown = [name for name in shown_fields() if name not in ("dataset", "precision", "start_from")]
    records = (*REGIMES, "scored")
    said = {"method", "architecture", "optimiser", "dataset", "precision", *records, *shown}
    if any(getattr(run, each.name) != getattr(default, each.name) for each in fields(run) if each.name not in said):
        return ""
    words = ["hackle", "train", method, "--dataset", run.dataset]
    words += _differing(run.method, default.method)
    words += [] if architecture == usual else ["--architecture", architecture]
    for name in shown:
        words += _option(name, getattr(run, name), getattr(default, name))
    words += _differing(run.optimiser, default.optimiser)
    for name in records:
        words += _differing(getattr(run, name), getattr(default, name), f"{name}.")
    made = _networks(run, default, architecture == usual)
    return plain(shlex.join([*words, "--precision", run.precision, "--out", out])) if made else ""


def _networks(run: Run, default: Run, usual: bool) -> bool:
    """Whether the command's networks are the record's."""
    from hackle.nets import ARCHITECTURES

    name = name_of(run.architecture)
    built = default.architecture if usual else ARCHITECTURES[name]() if name in ARCHITECTURES else None
    return built is not None and record_hash(built) == record_hash(run.architecture)


def _differing(record: Any, default: Any, prefix: str = "") -> list[str]:
    """The options of a record's fields, and of those of records in it, that have other values than the default's."""
    options: list[str] = []
    for each in fields(record):
        value, usual = getattr(record, each.name), getattr(default, each.name)
        name = prefix + each.name
        options += _differing(value, usual, f"{name}.") if is_record(value) else _option(name, value, usual)
    return options


def _option(name: str, value: Any, default: Any) -> list[str]:
    """The words that give an option another value than its default."""
    option = name.replace("_", "-")
    if value == default:
        return []
    if isinstance(value, bool):
        *heads, last = option.split(".")
        return [f"--{'.'.join([*heads, last if value else f'no-{last}'])}"]
    values = value if isinstance(value, list | tuple) else [value]
    return [
        f"--{option}",
        *(repr(each).removesuffix(".0") if isinstance(each, float) else str(each) for each in values),
    ]
