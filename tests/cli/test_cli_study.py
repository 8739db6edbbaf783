"""The command line's `study` verb as a user types it."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sqlite3
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hackle.cli.main import main
from hackle.cli.study import Selection
from hackle.core.errors import HackleError
from hackle.core.method import strength_of
from hackle.core.parts import name_of
from hackle.core.records import record_hash
from hackle.engine import Summary
from hackle.engine.limit import TimeLimit
from hackle.papers.hackle_2026.study import hackle_2026
from hackle.store import FILE, Store, read
from hackle.store.tables import Outcome
from hackle.studies.own import find_study, runs_of
from hackle.train.fleet import Fleet

STUDY = """
from train.test_fleet import small_run
from hackle.objectives import VAE, BetaVAE

def study(seeds=2, steps=3, methods=None):
    kinds = {"beta-vae": BetaVAE(4.0), "vae": VAE()}
    chosen = [kinds[name] for name in methods or kinds]
    return [small_run(method, seed, dataset=DATA, steps=steps) for method in chosen for seed in range(seeds)]
"""


@pytest.fixture
def own_study(tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study on a data set in a file, in a module whose name no other test uses."""
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    np.savez(tmp_path / "squares.npz", images=squares.render(rows), factors=rows)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / f"study_{record_hash(str(tmp_path))}.py"
    path.write_text(f"DATA = {str(tmp_path / 'squares.npz')!r}\n{STUDY}")
    return f"{path}:study"


def words_of(capsys: Any) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_run_status_export_and_run_again(own_study: str, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    common = f"--out {out} --metrics mig,kl --fraction 0.05 --device cpu --workers 0 --keep none"
    main(f"study run {own_study} --seeds 1 {common}".split())
    assert words_of(capsys).endswith(f"next: hackle study status {out}")
    assert set(read(out).scores["metric"]) == {"mig", "kl", "active_units"}
    assert set(read(out).scores["protocol"]) == {"locatello2019 × 0.05"}
    assert set(read(out).runs["study"]) == {own_study}
    words_of(capsys)
    main(f"study run {own_study} {common}".split())
    assert len(read(out).runs) == 4
    main(f"study status {out}".split())
    assert "4 done, 0 failed, 0 waiting" in words_of(capsys)
    main(f"study export {out} --parquet".split())
    assert len(pd.read_parquet(out / "parquet" / "scores.parquet")) == len(read(out).scores)
    with pytest.raises(SystemExit):
        main(f"study export {out}".split())
    assert "is there already; add --overwrite" in " ".join(capsys.readouterr().err.split())
    main(f"study export {out} --overwrite".split())
    main(f"study export {out} --csv".split())
    assert len(pd.read_csv(out / "csv" / "scores.csv")) == len(read(out).scores)
    main(f"study export {out} --csv --parquet --out {tmp_path / 'both'}".split())
    assert len(list((tmp_path / "both").iterdir())) == 9


def test_the_next_command_can_be_pasted_where_the_folder_has_a_space(
    own_study: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    summary = Summary(tmp_path / "my study", total=4, done=4, failed=0, trained=4, scored=4, seconds=1.0)
    monkeypatch.setattr("hackle.engine.run_study", lambda *_, **__: summary)
    main(["study", "run", own_study, "--out", str(tmp_path / "my study"), "--device", "cpu"])
    assert words_of(capsys).endswith(f"next: hackle study status '{tmp_path / 'my study'}'")


def test_runs_that_their_data_cannot_serve_leave_no_folder(own_study: str, tmp_path: Path, capsys: Any) -> None:
    path = Path(own_study.rpartition(":")[0])
    path.write_text(
        f"{path.read_text()}\nfrom dataclasses import replace\nfrom hackle.core.regimes import Pairs\n\n"
        "def wrong():\n    return [replace(run, pairs=Pairs('resample', 9)) for run in study(1)]\n"
    )
    with pytest.raises(SystemExit):
        main(f"study run {path}:wrong --out {tmp_path / 'out'} --device cpu --workers 0".split())
    assert "pairs.changed is 9, but this data set has 3 factors" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_own_data_that_has_changed_is_noticed(own_study: str, tmp_path: Path, capsys: Any) -> None:
    data, out = tmp_path / "squares.npz", tmp_path / "out"
    words = (
        f"study run {own_study} --methods vae --out {out} --metrics kl --fraction 0.05 --device cpu --workers 0".split()
    )
    with np.load(data) as arrays:
        before = dict(arrays)
    after = before | {"images": 255 - before["images"]}
    told = f"{data} has changed since this study began"

    def run(contents: dict[str, Any], seeds: int, *more: str) -> str:
        np.savez_compressed(data, **contents)
        main([*words, "--seeds", str(seeds), *more])
        return words_of(capsys)

    assert told not in run(before, 1, "--keep", "none")
    # Saved anew it is what it was; changed it stays changed until the old contents are back.
    assert told not in run(before, 2)
    assert told in run(after, 3)
    assert told in run(after, 3)
    assert told not in run(before, 3)
    # With another study's folder nothing was trained on anything yet; so too where nothing has been stored.
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "study.json").write_text((out / "study.json").read_text())
    words[words.index(str(out))] = str(tmp_path / "new")
    assert told not in run(after, 1)
    assert told in run(before, 1)


def stored(folder: Path, *outcomes: Outcome) -> Path:
    with Store.create_or_open(folder) as store:
        for outcome in outcomes:
            store.add(outcome)
    return folder


def scored(run: Any) -> Outcome:
    score = dict.fromkeys(("score", "reference", "low", "high", "seconds"), 0.5)
    words = {"metric": "mig", "representation": "mean", "protocol": "kim2018", "better": "higher", "note": ""}
    return Outcome(run, "done", scores=[{**score, **words, "seed": 0}])


def test_runs_that_other_results_hold_are_not_trained_again(own_study: str, tmp_path: Path, capsys: Any) -> None:
    """Those that are trained and scored there; one that failed, one that has no score and one of other steps are not."""
    runs = runs_of(own_study, find_study(own_study), {"seeds": 3})
    longer = dataclasses.replace(runs[3], steps=4)
    held = stored(tmp_path / "a", scored(runs[0]), Outcome(runs[1], "failed", "diverged"), Outcome(runs[2], "done"))
    more = stored(tmp_path / "b", scored(runs[5]), scored(longer))
    words = f"{own_study} --seeds 3 --skip {held},{more} --device cpu"
    main(f"study plan {words} --seconds 0.1".split())
    said = words_of(capsys)
    assert f"{held} holds 1 of 6 runs, trained and scored: they are left out" in said
    assert f"{more} holds 1 of 6 runs, trained and scored: they are left out 4 runs remain" in said
    assert "4 runs in 1 group" in said
    main(f"study run {words} --out {tmp_path / 'out'} --metrics kl --fraction 0.05 --workers 0".split())
    assert set(read(tmp_path / "out").runs["run"]) == {record_hash(run) for run in runs[1:5]}
    main(f"study status {tmp_path / 'out'}".split())
    assert "4 done, 0 failed, 0 waiting" in words_of(capsys)
    assert json.loads((tmp_path / "out" / "study.json").read_text())["options"]["skip"] == f"{held},{more}"
    # Nothing is left of it: that is no mistake, and nothing is written.
    stored(tmp_path / "c", *map(scored, runs))
    main(f"study run {own_study} --skip {tmp_path / 'c'} --out {tmp_path / 'none'} --device cpu".split())
    main(f"study plan {own_study} --skip {tmp_path / 'c'} --device cpu".split())
    assert words_of(capsys).count("holds 4 of 4 runs, trained and scored: they are left out no run remains") == 2
    assert not (tmp_path / "none").exists()
    # What another place holds already is not said to be missing from the next.
    main(f"study plan {own_study} --seeds 3 --skip {tmp_path / 'c'},{held} --device cpu --seconds 0.1".split())
    assert f"{held} holds 1 of 6 runs, trained and scored" in words_of(capsys)


def test_results_that_come_with_hackle_are_skipped_by_their_name(capsys: Any) -> None:
    chosen = {"datasets": "color-dsprites", "methods": "factor-vae", "steps": 100_000, "skip": "hackle-2026"}
    choice = Selection(**chosen, seeds="1-4", precision="bfloat16")
    runs = choice.of("hackle-2026")[1]
    mine = {record_hash(run) for run in hackle_2026(precision="bfloat16") if run.seed in range(1, 5)}
    stored: Any = read("hackle-2026").runs
    stored = stored[stored["dataset"].eq("color-dsprites") & stored["method"].eq("factor-vae")]
    held = mine & set(stored["run"])
    assert 0 < len(held) < 24
    assert f"hackle-2026 holds {len(held)} of 24 runs, trained and scored: they are left out" in words_of(capsys)
    assert len(runs) == 24 - len(held)
    assert {record_hash(run) for run in runs} <= mine - held
    assert len(Selection(**chosen, device="cpu").of("hackle-2026")[1]) == 30
    assert "holds none of 30 runs, trained and scored: its runs are in bfloat16 (--precision)" in words_of(capsys)


def test_seeds_are_counted_or_named(own_study: str, tmp_path: Path, capsys: Any) -> None:
    def seeds(words: str) -> list[int]:
        return sorted({run.seed for run in Selection(seeds=words, device="cpu").of(own_study)[1]})

    assert seeds("3") == seeds("0-2") == [0, 1, 2]
    assert seeds("2-4") == [2, 3, 4]
    assert seeds("4-4") == [4]
    for words in ("4-2", "2:4", "-1", "many", "2-", ""):
        with pytest.raises(HackleError, match=f"--seeds is {words}; expected how many, such as 5, or first and last"):
            seeds(words)
    options = f"--methods vae --metrics kl --fraction 0.05 --device cpu --workers 0 --out {tmp_path / 'out'}"
    main(f"study run {own_study} --seeds 2-3 {options}".split())
    assert sorted(read(tmp_path / "out").runs["seed"]) == [2, 3]
    main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "report.html")])
    assert (
        f"hackle study run {own_study} --out {tmp_path / 'out'} --seeds 2-3 " in (tmp_path / "report.html").read_text()
    )


def test_strengths_are_chosen_and_methods_without_one_stay(own_study: str, tmp_path: Path, capsys: Any) -> None:
    def chosen(words: str, name: str = "yang2020", **options: Any) -> set[tuple[str, str]]:
        runs = Selection(strengths=words, seeds="1", datasets="dsprites", device="cpu", **options).of(name)[1]
        return {(name_of(run.method), f"{strength_of(run.method):g}") for run in runs}

    two = {"name": "locatello2019", "methods": "beta-vae,factor-vae"}
    assert chosen("4", **two) == {("beta-vae", "4")}
    assert chosen("4, 1.0, 20", **two) == {("beta-vae", "1"), ("beta-vae", "4"), ("factor-vae", "20")}
    assert chosen("35", methods="vae,factor-vae") == {("vae", "nan"), ("factor-vae", "35")}
    assert not capsys.readouterr().out
    assert chosen("4,7", **two) == {("beta-vae", "4")}
    lacks = "locatello2019 has no runs with the strengths 7; it has 1, 2, 4, 6, 8, 10, 16, 20, 30, 40, 50, 100"
    assert words_of(capsys) == lacks
    with pytest.raises(HackleError, match=lacks):
        chosen("7", **two)
    for words in ("four", "1-4", "4;2"):
        with pytest.raises(HackleError, match=f"--strengths is {words}; expected numbers, such as 4 or 1,2,4"):
            chosen(words)
    folder = tmp_path / "out"
    options = "--datasets dsprites --methods beta-vae --strengths 4 --seeds 1 --steps 3 --precision float32"
    main(
        f"study run locatello2019 {options} --metrics kl --fraction 0.05 --device cpu --workers 0 --out {folder}".split()
    )
    assert list(read(folder).runs["strength"]) == [4.0]
    main(["report", str(folder), "--out", str(tmp_path / "report.html")])
    assert " --strengths 4 " in (tmp_path / "report.html").read_text()


def test_a_study_ends_after_so_many_minutes_and_says_how_to_go_on(
    own_study: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """Each step takes a second: after the first fleet of two runs and three steps there is no time for another."""
    seconds, step = [0.0], Fleet.step

    def slow(self: Fleet) -> None:
        step(self)
        seconds[0] += len(self)

    monkeypatch.setattr(Fleet, "step", slow)
    monkeypatch.setattr("hackle.engine.TimeLimit", partial(TimeLimit, clock=lambda: seconds[0]))
    words = ["study", "run", own_study, "--out", str(tmp_path / "my out"), "--metrics", "kl", "--fraction", "0.05"]
    words += ["--device", "cpu", "--workers", "0", "--fleet-size", "2", "--minutes", "0.15"]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 75
    told = capsys.readouterr()
    assert "2 of 4 runs done, 0 failed" in told.out
    assert "the time is over, and 2 runs are left" in told.out
    command = shlex.join(["hackle", *words])
    assert told.err.splitlines()[-1] == f"hackle: 2 of 4 runs are left; go on with: {command}"
    main(shlex.split(command)[1:])
    assert len(read(tmp_path / "my out").runs) == 4
    with pytest.raises(SystemExit):
        main([*words, "--minutes", "0"])
    assert "minutes is 0" in capsys.readouterr().err


def test_a_folder_with_other_files_is_refused_before_anything_is_written(
    own_study: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("words")
    with pytest.raises(SystemExit):
        main(f"study run {own_study} --out {tmp_path / 'docs'} --device cpu --workers 0".split())
    assert "choose an empty or new folder" in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["index.md"]


def test_status_tells_what_waits_and_why_runs_failed(own_study: str, tmp_path: Path, capsys: Any) -> None:
    from hackle.studies.folder import write_wanted

    runs = runs_of(own_study, find_study(own_study), {"seeds": 3})
    write_wanted(tmp_path / "out", own_study, {}, runs)
    with Store.create_or_open(tmp_path / "out") as store:
        store.add(Outcome(runs[0], "done"))
        store.add(Outcome(runs[1], "failed", "diverged at step 2: kl not finite"))
        store.add(Outcome(runs[3], "failed", "out of memory"))
    main(f"study status {tmp_path / 'out'} --failures 1".split())
    text = words_of(capsys)
    assert "1 done, 2 failed, 3 waiting" in text
    assert "beta-vae on" in text
    assert "diverged at step 2: kl not finite" in text
    assert "and 1 more; --failures 2 names all" in text
    with Store.create_or_open(tmp_path / "loose") as store:
        store.add(Outcome(runs[0], "done"))
    main(f"study status {tmp_path / 'loose'}".split())
    assert "what is waiting is not known" in words_of(capsys)


def test_status_shows_the_settings_that_differ_and_reads_labels_of_older_folders(
    own_study: str, tmp_path: Path, capsys: Any
) -> None:
    from hackle.studies.folder import write_wanted

    first = runs_of(own_study, find_study(own_study), {"seeds": 1})[0]
    runs = [first, dataclasses.replace(first, likelihood="gaussian", correlation=0.25)]
    write_wanted(tmp_path, own_study, {}, runs)
    with Store.create_or_open(tmp_path) as store:
        store.add(Outcome(runs[1], "done"))
    main(["study", "status", str(tmp_path)])
    text = words_of(capsys)
    assert "likelihood" in text
    assert "gaussian" in text
    assert "0.25" in text
    assert "batch size" not in text
    content = json.loads((tmp_path / "study.json").read_text())
    for group in content["groups"]:
        label = group["label"]
        group["label"] = [
            label[name] for name in ("dataset", "method", "architecture", "latents", "steps", "correlation")
        ]
    (tmp_path / "study.json").write_text(json.dumps(content))
    main(["study", "status", str(tmp_path)])
    text = words_of(capsys)
    assert "1 done, 0 failed, 1 waiting" in text
    assert " -1 " not in text


def test_plan_measures_and_keeps_nothing(own_study: str, tmp_path: Path, capsys: Any) -> None:
    before = sorted(tmp_path.iterdir())
    main(f"study plan {own_study} --steps 1000 --seconds 0.5 --device cpu --fleet-size 1".split())
    text = words_of(capsys)
    assert "4 runs in 1 group and 4 fleets: about" in text
    assert "hours" in text
    assert "0.0" not in text.split("fleets: about")[1].split("memory")[0]
    assert "memory:" in text
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "__pycache__"] == before


def test_a_small_plan_is_told_in_seconds_and_in_the_singular(own_study: str, capsys: Any) -> None:
    main(f"study plan {own_study} --seeds 1 --methods vae --seconds 0.1 --device cpu".split())
    text = words_of(capsys)
    assert "1 run in 1 group and 1 fleet: about 1 second of training on one CPU device" in text
    assert "< 0.1" in text
    with pytest.raises(SystemExit):
        main(f"study plan {own_study} --fleet-size 0 --device cpu".split())
    assert "fleet_size is 0; expected 1 or more" in " ".join(capsys.readouterr().err.split())


def test_what_a_function_returned_that_is_no_run_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / f"numbers_{record_hash(str(tmp_path))}.py"
    path.write_text("def study(): return [1, 2]\ndef one(): return 3\n")
    for function, words in (
        ("study", "a list whose element 0 is 1, of type int; expected a list of Run"),
        ("one", "returned int; expected a list of Run"),
    ):
        name = f"{path}:{function}"
        with pytest.raises(HackleError, match=words):
            runs_of(name, find_study(name), {})


def test_a_cluster_s_device_need_not_be_here() -> None:
    assert Selection(device="cuda").options["precision"] == "bfloat16"
    assert Selection(device="cpu").options["precision"] == "float32"


def test_merge_and_repair(own_study: str, tmp_path: Path, capsys: Any) -> None:
    runs = runs_of(own_study, find_study(own_study), {"seeds": 2})
    for name, members in (("a", runs[:2]), ("b", runs[1:])):
        with Store.create_or_open(tmp_path / name) as store:
            for run in members:
                store.add(Outcome(run, "done"))
    main(f"study merge {tmp_path / 'a'} {tmp_path / 'b'}".split())
    assert words_of(capsys).strip().endswith("2 runs added, 1 were there already")
    stored(tmp_path / "scored", scored(runs[0]), Outcome(runs[1], "done"))
    main(f"study merge {tmp_path / 'a'} {tmp_path / 'scored'}".split())
    assert "0 runs added, 2 were there already, and 1 of these got scores" in words_of(capsys)
    stored(tmp_path / "failed", Outcome(runs[0], "failed", "diverged"))
    main(f"study merge {tmp_path / 'failed'} {tmp_path / 'scored'} --replace-failed".split())
    assert "1 runs added, 1 were there already, and 1 of these got scores" in words_of(capsys)
    before = (tmp_path / "a" / FILE).read_bytes()
    main(f"study repair {tmp_path / 'a'}".split())
    assert "nothing to repair" in words_of(capsys)
    assert (tmp_path / "a" / FILE).read_bytes() == before
    assert not list((tmp_path / "a").glob(f"{FILE}.*"))
    with closing(sqlite3.connect(tmp_path / "a" / FILE, isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET record = '{}' WHERE id = 1")
    main(f"study repair {tmp_path / 'a'}".split())
    assert "3 runs kept, 1 not whole" in words_of(capsys)
    assert (tmp_path / "a" / f"{FILE}.damaged-1").is_file()
    with pytest.raises(SystemExit):
        main(f"study merge {tmp_path / 'nowhere'} {tmp_path / 'b'}".split())
    assert "holds no results" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "nowhere").exists()


def test_what_a_driver_holds_is_not_changed_under_its_hands(own_study: str, tmp_path: Path, capsys: Any) -> None:
    from hackle.core.files import locked_folder
    from hackle.engine import EngineError

    (run, *_) = runs_of(own_study, find_study(own_study), {})
    for name in ("a", "b"):
        with Store.create_or_open(tmp_path / name) as store:
            store.add(Outcome(run, "done"))
    with locked_folder(tmp_path / "a", EngineError):
        for words in (f"study repair {tmp_path / 'a'}", f"study merge {tmp_path / 'a'} {tmp_path / 'b'}"):
            with pytest.raises(SystemExit):
                main(words.split())
            assert "is in use by process" in " ".join(capsys.readouterr().err.split())


def test_the_list_names_every_study(capsys: Any) -> None:
    main(["study", "list"])
    text = words_of(capsys)
    for name in ("locatello2019", "12,600", "14", "kim2018", "do2020", "yang2020", "split-encoder"):
        assert name in text
    main(["study"])
    assert "usage: hackle study" in words_of(capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("study rnu", "no `study rnu`; did you mean run?"),
        (
            "study run locatelo2019 --out x",
            "no study 'locatelo2019'; did you mean locatello2019 or locatello2020? there are do2020,",
        ),
        ("study plan yang2021", "no study 'yang2021'; did you mean yang2020?"),
        ("study plan locatello2019 --methods gan", "locatello2019 has no method 'gan'"),
        ("study run yang2020 --out x --methods infogan --root x", "none of the data sets of yang2020 is here"),
        ("study run locatello2019 --out x --datasets dsprites --metrics mgi", "no metric 'mgi'; did you mean mig?"),
        ("study run locatello2019 --out x --datasets dsprites --protocols kim", "no protocol 'kim'"),
        ("study run locatello2019 --out x --datasets dsprits", "there is no data set 'dsprits': did you mean dsprites"),
        ("study run locatello2019 --out x --datasets dsprites --device gpu", "no device 'gpu' here"),
        ("study plan locatello2019 --datasets dsprites --device gpu", "no device 'gpu' here"),
        ("study plan hackle-2026 --datasets cars3d", "hackle-2026 has no data set 'cars3d'; it has dsprites, color-"),
        ("study run locatello2019 --out x --datasets dsprites --skip hackle-2025", "hackle-2025 holds no results"),
        ("study status x", "x holds no results"),
        ("study repair x", "x holds no results"),
    ],
)
def test_mistakes_are_explained_and_nothing_is_written(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 1
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_help_says_whose_weights_are_kept(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["study", "run", "--help"])
    words = words_of(capsys).replace("│ ", "")
    assert "the best by MIG among runs that differ only in strength and seed" in words
    assert "setting" not in words.split("--keep")[1].split("--retry")[0]


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("plan", "[-h] [OPTIONS] NAME"),
        ("run", "[-h] [OPTIONS] NAME"),
        ("status", "[-h] DIRECTORY"),
        ("export", "[-h] [OPTIONS] DIRECTORY [OTHERS]"),
        ("merge", "[-h] DIRECTORY OTHER"),
        ("repair", "[-h] DIRECTORY"),
        ("list", "[-h]"),
    ],
)
def test_each_has_its_own_help(verb: str, words: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["study", verb, "--help"])
    assert stopped.value.code == 0
    text = words_of(capsys)
    assert f"usage: hackle study {verb} {words}" in text
    assert "{None}" not in text
