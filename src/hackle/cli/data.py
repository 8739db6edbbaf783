"""The command line's `data` verb."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from rich.table import Table
from tyro.conf import Positional

from hackle.cli.words import Root, run_one_of, say
from hackle.core.terminal import Terminal


def main(words: list[str]) -> None:
    """`hackle data`: list, fetch, check and show data sets."""
    from hackle.datasets import find, load
    from hackle.datasets.contact_sheet import write_contact_sheet
    from hackle.datasets.inventory import Entry, check, entries, fetch

    def list_command(root: Root = None) -> None:
        """Every data set with its size, factors, licence and whether it is here."""
        listed, console = entries(root), Terminal()
        columns = {each.name: [getattr(entry, each.name) for entry in listed] for each in fields(Entry)}
        # Lines break between words, never in them.
        longest = {
            field: max(len(word) for cell in (field, *cells) for word in cell.split())
            for field, cells in columns.items()
        }
        for field in ("licence", "factors", "images"):
            # A narrow terminal does not have room for every column.
            if sum(longest[column] + 1 for column in columns) - 1 > console.width:
                del columns[field]
        table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
        for field in columns:
            table.add_column(field, overflow="fold", no_wrap=field == "name", min_width=longest[field])
        for row in zip(*columns.values(), strict=True):
            table.add_row(*row)
        console.print(table)

    def fetch_command(name: Positional[str], root: Root = None, force: bool = False) -> None:
        """Download a data set: resumes a broken download, verifies it and puts it in place in one step.

        Args:
            name: The data set.
            force: Download again what is already here.
        """
        if find(name).optional:
            Terminal(stderr=True).print(
                f"hackle makes {name} itself: nothing needs to be downloaded. The published file is for comparing the two, "
                "and for work that needs its exact bits: once it is here, its images are used",
                highlight=False,
                soft_wrap=True,
            )
        paths = fetch(name, root, force=force)
        for path in paths:
            say(str(path))
        if not paths:
            print(f"{name} is made by hackle: there is nothing to fetch")

    def check_command(name: Positional[str | None] = None, root: Root = None) -> None:
        """Verify the files that are here against what was published. Exit code 1 if one is damaged.

        Args:
            name: One data set; all if not given.
        """
        verdicts = check(name, root)
        for verdict in verdicts:
            say(str(verdict))
        if any(verdict.state == "damaged" for verdict in verdicts):
            raise SystemExit(1)

    def show_data_command(
        name: Positional[str],
        out: Path | None = None,
        root: Root = None,
        seed: int = 0,
        force: bool = False,
        resize: int | None = None,
        pad: int | None = None,
    ) -> None:
        """Write a picture of how each factor varies.

        Args:
            name: The data set, or the path of your own.
            out: The PNG file; NAME.png here if not given.
            seed: Seed of the images shown.
            force: Replace an existing file.
            resize: Scale images to squares of this many pixels.
            pad: Centre images on black squares of this many pixels.
        """
        path = out or Path(f"{Path(name).stem}.png")
        say(str(write_contact_sheet(load(name, root, resize=resize, pad=pad), path, overwrite=force, seed=seed)))

    commands = {"list": list_command, "fetch": fetch_command, "check": check_command, "show": show_data_command}
    run_one_of(commands, "data", "{list, fetch NAME, check [NAME], show NAME} [options]", words)
