"""What the verbs of the command line share: parsing arguments, suggesting names, and printing."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.markup import escape
from rich.table import Table
from tyro.conf import Positional, arg

from hackle.core.errors import HackleError
from hackle.core.notes import CODE, note_codes
from hackle.core.parts import nearest
from hackle.core.terminal import Terminal
from hackle.core.untrusted import place_inside

if TYPE_CHECKING:
    from hackle.core.types import Dataset
    from hackle.train.model import Model

WIDTH = 200
"""Width in characters of a table that goes to a file or a pipe."""

_RUN = "The run's folder, or the name of a model that comes with hackle."
_RESULTS = "The study's folder, or the name of results that come with hackle, such as hackle-2026."
_TRUST = "Import the modules outside hackle that a run's record names, which runs their code."
RunDirectory = Annotated[Positional[Path], arg(help=_RUN)]
ResultsDirectory = Annotated[Positional[Path], arg(help=_RESULTS)]
Root = Annotated[Path | None, arg(help="The folder of data sets.")]
Device = Annotated[str | None, arg(help="cpu or cuda; the best one available if not given.")]
Trust = Annotated[bool, arg(help=_TRUST)]


def run_command(function: Callable[..., Any], name: str, words: Sequence[str]) -> Any:
    """Call a function with the options in the words; its docstring is the help text.

    Help names arguments by their meaning, not their type, and does not offer None, which is what leaving an option out
    means.
    """
    # Continuation lines are indented further than their option; they are joined, and wrapped to the terminal's width.
    function.__doc__ = re.sub(r"\n {8,}", " ", inspect.cleandoc(function.__doc__ or ""))
    plainly = (tyro.conf.PositionalMetavarFromFieldName, tyro.conf.DisallowNone)
    return tyro.cli(function, prog=f"hackle {name}", args=list(words), config=plainly)


def run_one_of(commands: Mapping[str, Callable[..., Any]], verb: str, usage: str, words: Sequence[str]) -> None:
    """Call the verb's command that the first word names with the rest of the words. Without one, print the usage, what
    each command does, and the further lines of the usage, which explain it."""
    if words[:1] in ([], ["-h"], ["--help"]):
        first, _, more = usage.partition("\n")
        print(f"usage: hackle {verb} {first}\n")
        for name, command in commands.items():
            said = re.split(r"[:.]\s", f"{inspect.getdoc(command)} ")[0]
            print(f"  {name:9} {said}")
        print("\n" + " ".join(filter(None, (more, "Each has its own --help."))))
        return
    if words[0] not in commands:
        raise HackleError(f"no `{verb} {words[0]}`; {nearest(words[0], commands)}")
    run_command(commands[words[0]], f"{verb} {words[0]}", words[1:])


def take_option(words: Sequence[str], option: str, default: str) -> tuple[str, list[str]]:
    """The value of an option that decides the others' defaults, and the words without it."""
    rest, value = [], default
    remaining = iter(words)
    for word in remaining:
        name, equals, given = word.partition("=")
        if name != option:
            rest.append(word)
        elif (value := given if equals else next(remaining, None)) is None:
            raise HackleError(f"{option} needs a value")
    return value, rest


def writable(path: Path, overwrite: bool) -> Path:
    """Check that a file can be written, before minutes of computing could be lost, and make its folder. A link there that
    leaves this folder is not written through: it may be somebody else's run folder. /dev/stdout is a link, too, and is."""
    if path.parent != Path("/dev"):
        place_inside(path.parent, path.name)
    if path.exists() and not overwrite:
        raise HackleError(f"{path} is there already; add --overwrite to replace it, or choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HackleError(f"no folder for {path}: {error.strerror}; choose another place") from error
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise HackleError(f"{path} cannot be written; choose another place")
    return path


def place_of_output(named: Path, folder: Path, name: str, ending: str = "") -> Path:
    """Where what is made of a run is kept: in the run's folder, or, if the run was named as one that comes with hackle, in
    the current folder under that name."""
    return place_inside(folder, name) if folder == named else Path("-".join(named.parts) + ending)


def not_negative(**numbers: int) -> None:
    """Refuse options that are below 0, by their names."""
    for name, number in numbers.items():
        if number < 0:
            raise HackleError(f"--{name} is {number}; expected a whole number, 0 or more")


def listed(words: str) -> list[str]:
    """What an option names, separated by commas."""
    return [word.strip() for word in words.split(",") if word.strip()]


def say(line: str, style: str = "") -> None:
    """Print a line as it is: no markup, no colours except the style's, not wrapped at the terminal's width."""
    Terminal().print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def say_error(error: object) -> None:
    """Print an error to stderr."""
    Terminal(stderr=True).print(f"[bold red]hackle:[/bold red] {escape(str(error))}", highlight=False, soft_wrap=True)


def table_console() -> Terminal:
    """The console for tables: as wide as the terminal, or `WIDTH` in a file or a pipe, where lines need not be cut."""
    console = Terminal(markup=False)
    return console if console.is_terminal else Terminal(markup=False, width=WIDTH)


def say_warning(warning: object) -> None:
    """Print a warning on one line, without its code, which is for programs."""
    line = CODE.sub("", " ".join(str(warning).split()))
    Terminal(stderr=True).print(f"[yellow]hackle:[/yellow] {escape(line)}", highlight=False, soft_wrap=True)


def plain_table(*columns: str, left: int = 1) -> Table:
    """A table without rules: the first `left` columns are text, aligned left, the others numbers, aligned right."""
    table = Table(box=None, header_style="bold")
    for position, column in enumerate(columns):
        numbers, last_words = position >= left, position == left - 1
        table.add_column(column, justify="right" if numbers else "left", no_wrap=not last_words)
    return table


def count(number: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "fleet"), count(12_600, "run")
    ('1 fleet', '12,600 runs')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(hours: float) -> str:
    """A time in the unit that suits it.

    >>> duration(0.0001), duration(0.01), duration(0.5), duration(3.21), duration(100)
    ('1 second', '36 seconds', '30 minutes', '3.2 hours', '100.0 hours (4.2 days)')
    """
    if hours < 1 / 40:
        return count(max(1, round(3600 * hours)), "second")
    if hours < 1.5:
        return count(round(60 * hours), "minute")
    return f"{hours:,.1f} hours" + (f" ({hours / 24:,.1f} days)" if hours >= 24 else "")


def print_scores(scores: Any, verb: str = "score") -> None:
    """Print the score table, and below it each note once. verb: the command whose options the remedies name."""
    from hackle.metrics.metric import row_of

    table = Table(box=None, header_style="bold")
    levels = ("chance", "reference") if scores["chance"].notna().any() else ("reference",)
    for column in ("metric", "codes", "score", *levels, "better"):
        table.add_column(column, justify="right" if column in ("score", *levels) else "left")
    for row in scores.to_dict("records"):
        interval = "" if row["low"] != row["low"] else f"  [{row['low']:.3f}, {row['high']:.3f}]"
        beside = ["" if row[level] != row[level] else f"{row[level]:.3f}" for level in levels]
        table.add_row(row["metric"], row["representation"], f"{row['score']:.3f}{interval}", *beside, row["better"])
    console = Terminal()
    console.print(table, markup=False)
    told = {
        note: name for name, notes in zip(scores["metric"], scores["note"], strict=True) for note in notes.splitlines()
    }
    for note, name in told.items():
        known = row_of(name) if "saturated" in note_codes(note) else None
        option = f" (here: hackle {verb} … {known[0].remedy})" if known is not None and known[0].remedy else ""
        console.print(f"[yellow]note:[/yellow] {escape(note)}{option}", highlight=False)


def data_of(model: Model, name: str | None, root: Path | None) -> Dataset:
    """The data set requested, else the one in the model's record. Its images are brought to the record's size."""
    from hackle.datasets import load, load_of_run, without_size

    if name is None:
        return load_of_run(model.run.dataset, root)
    how, told = without_size(model.run.dataset)[1], without_size(name)[1]
    return load(name, root) if told.changes_size else load(name, root, resize=how.resize, pad=how.pad)
