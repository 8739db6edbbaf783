"""Commands that are told to be copied do what they look like, however somebody has named their folders and data."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_folders import good_folder

from hackle.core.errors import HackleError
from hackle.explorer.commands import train_command
from hackle.report.html import render
from hackle.store.run_folders import read_scores
from hackle.store.schema import damage_advice
from hackle.studies.presets import default_run
from hackle.train.model import Model

KEYS = "\x03\x15\x1b[201~\x9b1m\u202e"
"""Interrupt, delete the line, end of what is pasted, styles, other direction: keys, where a terminal takes them for such."""
ODD = "theirs $(touch owned); `touch owned`"


def told(folder: Path) -> list[str]:
    """What is said of a run without weights, of one whose weights are damaged, and of scores and stores that are."""
    good_folder(folder)
    said = [damage_advice(folder / "results.sqlite"), damage_advice(folder / "scores.parquet")]
    (folder / "scores.json").write_text("[1]")
    with pytest.raises(HackleError) as error:
        read_scores(folder)
    said.append(str(error.value))
    for content in (b"no weights", None):
        (folder / "weights.safetensors").unlink()
        if content is not None:
            (folder / "weights.safetensors").write_bytes(content)
        with pytest.raises(HackleError) as error:
            Model.load(folder)
        said.append(str(error.value))
    return said


def test_names_of_folders_are_one_word_each(tmp_path: Path) -> None:
    folder = tmp_path / ODD
    for text in told(folder):
        (command,) = re.findall(r"`(hackle [^`]*(?:`touch owned`[^`]*)?)`", text)
        assert str(folder) in shlex.split(command)


def test_commands_hold_no_keys() -> None:
    run = replace(default_run("beta-vae", "dsprites"), dataset=f"./data{KEYS}.npz")
    command = train_command(run, "runs/again")
    assert command.startswith("hackle train beta-vae --dataset './data[201~1m.npz' ")


def test_pages_hold_no_keys() -> None:
    data = {"views": [], "order": [], "name": KEYS}
    page = render("traversals.html", title=f"one{KEYS}<b>two", data=data)
    assert "<h1>one[201~1m&lt;b&gt;two</h1>" in page
    assert not set(KEYS) - set("[201~1m") & set(page)
