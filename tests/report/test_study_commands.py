"""The commands at the end of a report, typed again: they ask for the runs and scores that the report is about."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hackle.engine
import hackle.studies
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.engine import Summary
from hackle.papers.split_encoder.study import split_encoder
from hackle.papers.yang2020.study import yang2020
from hackle.report.study_commands import command_lines
from hackle.report.study_page import write_study_page
from hackle.scoring.protocol import Protocol
from hackle.scoring.registry import METRICS
from hackle.store import Store, read
from hackle.store.merging import merge
from hackle.store.tables import Outcome

MINE = """
from dataclasses import replace
from hackle.studies.presets import default_run

def warm_ups(seeds=2, steps=7):
    return [replace(default_run("vae", "dsprites"), seed=seed, steps=steps) for seed in range(seeds)]
"""


def stored(folder: Path, study: str, runs: list[Run], protocols: tuple[str, ...], metrics: tuple[str, ...]) -> Path:
    row = {"representation": "mean", "better": "higher", "reference": 0.9, "score": 0.5, "low": np.nan, "high": np.nan}
    row |= {"seed": 0, "seconds": 0.1, "note": ""}
    scores = [{**row, "metric": metric, "protocol": protocol} for protocol in protocols for metric in metrics]
    with Store.create_or_open(folder, study=study) as store:
        for run in runs:
            store.add(Outcome(run, "done", scores=scores))
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Run], list[str], Any]]:
    """What `hackle study run` was asked for since, in place of training it."""
    found: list[tuple[str, list[Run], list[str], Any]] = []

    def note(runs: list[Run], out: Path, *, study: str, protocols: list[Protocol], metrics: Any, **_: Any) -> Summary:
        found.append((study, runs, [one.name for one in protocols], metrics))
        return Summary(out, len(runs), done=len(runs), failed=0, trained=0, scored=0, seconds=0.0)

    monkeypatch.setattr(hackle.engine, "run_study", note)
    monkeypatch.setattr(hackle.studies, "available", lambda runs, *_, **__: hackle.studies.Available(list(runs), []))
    return found


def typed(lines: list[str]) -> list[str]:
    """Type the lines that train; the others are returned."""
    for line in lines:
        if line.startswith("hackle study run "):
            main(shlex.split(line)[1:])
    return [line for line in lines if not line.startswith("hackle study run ")]


def test_two_studies_of_one_table_are_asked_for_as_they_are(tmp_path: Path, asked: list[Any]) -> None:
    first = yang2020(seeds=2, steps=50, datasets=["dsprites"], methods=["vae"], precision="bfloat16")
    second = split_encoder(seeds=3, steps=60, datasets=["dsprites"])
    folder = stored(tmp_path / "study", "yang2020", first, ("locatello2019",), ("mig", "dci_disentanglement"))
    merge(folder, stored(tmp_path / "other", "split-encoder", second, ("kim2018 × 0.1",), ("mig", "true_tc")))
    rest = typed(command_lines(read(folder), str(folder)))
    other = f"{folder}-yang2020"
    assert rest == [f"hackle study merge {folder} {other}", f"hackle claims {folder}", f"hackle report {folder}"]
    tables = read(folder).runs
    for study, runs, protocols, metrics in asked:
        mine = tables.loc[tables["study"] == study, "run"]
        assert {record_hash(run) for run in runs} == set(mine)
        assert protocols == (["locatello2019"] if study == "yang2020" else ["kim2018 × 0.1"])
        assert metrics == ("dci,mig" if study == "yang2020" else "mig,true_tc")
    assert [study for study, *_ in asked] == ["split-encoder", "yang2020"]


def test_a_study_of_ones_own_is_asked_for_by_what_its_folder_says(
    tmp_path: Path, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_warm_ups.py").write_text(MINE)
    words = ["--seeds", "3", "--protocols", "kim2018", "--metrics", "mig", "--fraction", "0.5"]
    main(["study", "run", "my_warm_ups.py:warm_ups", "--out", "study", *words])
    (name, runs, protocols, _) = asked.pop()
    stored(Path("study"), name, runs, tuple(protocols), ("mig",))
    typed(command_lines(read("study"), "study"))
    assert asked == [(name, runs, ["kim2018 × 0.5"], "mig")]
    # A damaged file is refused before anything is drawn.
    Path("study/study.json").write_text("{}")
    drawn: list[int] = []
    with pytest.raises(HackleError, match=r"study\.json cannot be read"):
        write_study_page(read("study"), "page.html", folder="study", tell=lambda done, total: drawn.append(done))
    assert not drawn
    # Where the folder does not say it, only what any study takes.
    Path("study/study.json").unlink()
    (line, *_) = command_lines(read("study"), "study")
    assert line == (
        "hackle study run my_warm_ups.py:warm_ups --out study --protocols kim2018 --metrics mig --fraction 0.5"
    )


@pytest.mark.parametrize(
    ("asked_for", "others", "expected"),
    [
        ("--seeds 2", (), "--seeds 2"),
        ("--seeds 1", (1, 2), "--seeds 3"),
        ("--seeds 3-4", (5,), "--seeds 3-5"),
        ("", (), ""),
        ("", (10, 11), "--seeds 12"),
    ],
)
def test_merged_seeds_are_asked_for_too(
    tmp_path: Path, asked: list[Any], asked_for: str, others: tuple[int, ...], expected: str
) -> None:
    folder = tmp_path / "study"
    main(f"study run yang2020 --datasets dsprites --methods vae --out {folder} {asked_for}".split())
    ((_, runs, *_),) = asked
    stored(folder, "yang2020", [*runs, *(replace(runs[0], seed=seed) for seed in others)], ("yang2020",), ("mig",))
    (line, *_) = command_lines(read(folder), str(folder))
    words = [] if "--seeds" not in line else shlex.split(line)[(at := shlex.split(line).index("--seeds")) : at + 2]
    assert " ".join(words) == expected


def test_data_sets_with_other_numbers_of_seeds_are_asked_for_apart(tmp_path: Path) -> None:
    runs = [*yang2020(seeds=2, steps=50, datasets=["cars3d"]), *yang2020(seeds=3, steps=50, datasets=["dsprites"])]
    stored(tmp_path / "study", "yang2020", runs, ("yang2020",), ("mig",))
    most, fewer, *rest = command_lines(read(tmp_path / "study"), "study")
    assert most.startswith("hackle study run yang2020 --out study --seeds 3 --steps 50 --datasets dsprites ")
    assert fewer.startswith("hackle study run yang2020 --out study-2-seeds --seeds 2 --steps 50 --datasets cars3d ")
    assert rest == ["hackle study merge study study-2-seeds", "hackle claims study", "hackle report study"]


def test_parts_of_ones_own_are_in_the_commands(tmp_path: Path) -> None:
    runs = yang2020(seeds=1, steps=50, datasets=["dsprites"])
    folder = stored(tmp_path / "study", "yang2020", runs, ("yang2020",), ("mig",))
    row = {
        "representation": "mean",
        "better": "higher",
        "score": 0.5,
        "protocol": "yang2020",
        "seed": 0,
        "seconds": 0.1,
    }
    row |= {"low": np.nan, "high": np.nan, "reference": np.nan, "metric": "spread"}
    with Store.create_or_open(folder) as store:
        for run in runs:
            note = f"few points [few]\nspread is a metric of {Path.cwd()}/my files/mine.py, source 00ff00ff [own]"
            store.extend(Outcome(run, "done", scores=[{**row, "note": note}]))
    (line, *rest) = command_lines(
        read(folder), "study", "mine.py", "hackle report study --claims mine.py --figures mine.py"
    )
    assert shlex.split(line)[-1] == "mig,my files/mine.py:spread"
    assert rest == ["hackle claims study --claims mine.py", "hackle report study --claims mine.py --figures mine.py"]
    (_, *rest) = command_lines(read(folder), "study", "mine.py")
    assert rest == ["hackle claims study --claims mine.py", "hackle report study --claims mine.py"]


def test_what_goes_without_saying_is_not_said(tmp_path: Path) -> None:
    fast = tuple(
        metric.rows[0].name
        for metric in METRICS.values()
        if not metric.slow and not {"a continuous factor", "left-out combinations"} & set(metric.needs)
    )
    runs = yang2020(seeds=1, steps=50, datasets=["dsprites"])
    for folder, more in (("plain", ()), ("more", ("true_tc",))):
        stored(tmp_path / folder, "yang2020", runs, ("yang2020",), (*fast, *more))
        (line, *_) = command_lines(read(tmp_path / folder), "study")
        assert line.endswith(" --protocols yang2020" + (" --metrics all,true_tc" if more else ""))
    assert json.dumps(command_lines(read(tmp_path / "plain"), "a b")).count("'a b'") == 3
