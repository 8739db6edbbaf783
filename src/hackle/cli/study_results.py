"""The verbs of `hackle study` that keep a study's results: export, merge and repair."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from hackle.cli.progress import told
from hackle.cli.words import say
from hackle.core.errors import HackleError
from hackle.core.files import human_size
from hackle.core.untrusted import place_inside


def export_command(
    directory: Positional[Path],
    others: Positional[tuple[Path, ...]] = (),
    out: Path | None = None,
    parquet: bool = False,
    csv: bool = False,
    thin: bool = False,
    overwrite: bool = False,
    replace_failed: bool = False,
) -> None:
    """Write a study's scores, runs, curves and arrays as Parquet, a folder that reads like a study's own, or as CSV, or both.

    Args:
        directory: The study's folder.
        others: Further studies' folders, whose runs are put together with the first's as by `study merge`.
        out: The folder for the files; `parquet` or `csv` in the study's folder if not given.
        parquet: As Parquet, which is also what is written if no format is named.
        csv: As CSV, without arrays.
        thin: At most 50 points of each curve, and the codes of the first 512 images in float16: about 11 kB for a run.
        overwrite: Replace files that are there already.
        replace_failed: As for `study merge`.
    """
    from hackle.store import export

    formats: tuple[tuple[Literal["parquet", "csv"], bool], ...] = (("parquet", parquet or not csv), ("csv", csv))
    with told("reading runs") as tell:
        paths = [
            path
            for name, wanted in formats
            if wanted
            for path in export(
                (directory, *others),
                out or place_inside(directory, name),
                file_format=name,
                thin=thin,
                overwrite=overwrite,
                replace_failed=replace_failed,
                tell=tell,
            )
        ]
    for path in paths:
        say(f"{path}  {human_size(path.stat().st_size)}")


def merge_command(directory: Positional[Path], other: Positional[Path], replace_failed: bool = False) -> None:
    """Add the results in another folder to those in a folder. Runs that both hold must agree; the other is only read.
    Weights stay where they are.

    Args:
        directory: The folder of the study to add to.
        other: The folder to add from.
        replace_failed: Take a run that failed in one of them, and is done in the other, as done.
    """
    from hackle.core.files import locked_folder
    from hackle.engine.errors import EngineError
    from hackle.store import Store, merge

    Store.open(directory).close()
    with locked_folder(directory, EngineError):
        added, shared, scored = merge(directory, other, replace_failed=replace_failed)
    more = f", and {scored:,} of these got scores" if scored else ""
    say(f"{directory}: {added:,} runs added, {shared:,} were there already{more}")


def repair_command(directory: Positional[Path]) -> None:
    """Set a damaged results.sqlite aside and put one with every run that is whole in its place. A file that is whole is
    left alone.

    Args:
        directory: The study's folder.
    """
    from hackle.core.files import locked_folder
    from hackle.engine.errors import EngineError
    from hackle.store import FILE
    from hackle.store.merging import is_whole, repair

    if not (directory / FILE).is_file():
        raise HackleError(f"{directory} holds no results: there is no {FILE} in it")
    with locked_folder(directory, EngineError):
        if is_whole(directory):
            say(f"nothing to repair: {directory / FILE} is whole")
            return
        kept, lost, aside = repair(directory)
    say(f"{kept:,} runs kept, {lost:,} not whole; the damaged file is {aside}. Start the study again to train the rest")
