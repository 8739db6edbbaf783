"""The command line as a user types it: from training to pictures, and what it says when something is wrong."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import forked
from hackle.cli.main import main
from hackle.cli.words import print_scores
from hackle.core.errors import HackleError
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.pictures import show
from hackle.scoring.registry import METRICS
from hackle.train import fit
from hackle.train.display import shown
from hackle.train.fleet import Fleet
from hackle.train.record_files import read_record


@pytest.fixture
def own_data(tmp_path: Path, squares: Any) -> Path:
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    path = tmp_path / "squares.npz"
    np.savez(path, images=squares.render(rows), factors=rows, factor_names=np.array(squares.factors.names))
    return path


def test_schedules_clipping_and_held_out_images_are_options_of_train(own_data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = "--warmup 2 --decay cosine --decay-to 0.1 --clip-norm 10 --kl-warmup 3 --held-out 4 --held-out-every 2"
    own = "--discriminator-optimiser.clip-norm 1 --discriminator-width 8 --discriminator-layers 1"
    words = f"train factor-vae --dataset {own_data} --steps 4 --log-every 2 --device cpu --out {run} {options} {own}"
    main(words.split())
    record = json.loads((run / "run.json").read_text())["record"]
    assert (record["kl_warmup"], record["held_out"]) == (3.0, 4)
    wanted = {"warmup": 2.0, "decay": "cosine", "decay_to": 0.1, "clip_norm": 10.0}
    assert wanted.items() <= record["optimiser"].items()
    assert record["method"]["discriminator_optimiser"]["clip_norm"] == 1.0
    with (run / "curves.csv").open() as file:
        assert [bool(row["held_out_elbo"]) for row in csv.DictReader(file)] == [True, True]
    with pytest.raises(SystemExit):
        main(f"train infogan --dataset {own_data} --steps 2 --held-out 4 --device cpu".split())


def test_data_regimes_are_options_of_train(own_data: Path, tmp_path: Path, capsys: Any) -> None:
    run = tmp_path / "run"
    words = f"train beta-vae --dataset {own_data} --steps 2 --latents 3 --batch-size 4 --device cpu --out {run}"
    regimes = "--drawing.correlated x~y --drawing.sigma 0.4 --pairs.rule differ --pairs.changed 2 --labels.images 8"
    main([*words.split(), *regimes.split(), "--drawing.left-out", "side=1 & x>2"])
    record = read_record(run)[0]
    assert record.drawing == Drawing("x~y", 0.4, "side=1 & x>2")
    assert (record.pairs, record.labels) == (Pairs("differ", 2), Labels(8))
    with pytest.raises(SystemExit):
        main([*f"train beta-vae --dataset {own_data} --device cpu --drawing.correlated x~z".split()])
    assert "drawing.correlated is 'x~z': no factor 'z'; this grid has x, y, side" in capsys.readouterr().err


def test_train_score_show(own_data: Path, tmp_path: Path, capsys: Any) -> None:
    run = tmp_path / "run"
    words = f"train beta-vae --dataset {own_data} --steps 3 --beta 2 --latents 3 --seed 5 --out {run} --device cpu"
    main(words.split())
    record = json.loads((run / "run.json").read_text())["record"]
    assert record["method"] == {"type": "BetaVAE", "beta": 2.0}
    assert (record["seed"], record["latents"], record["steps"]) == (5, 3, 3)
    table = tmp_path / "scores.parquet"
    page = tmp_path / "page.html"
    main(f"score {run} --metrics mig,kl --fraction 0.05 --parquet {table} --page {page} --device cpu".split())
    assert set(pd.read_parquet(table)["metric"]) == {"mig", "kl", "active_units"}
    assert json.loads((run / "scores.json").read_text())[0]["protocol"] == "locatello2019 × 0.05"
    text = page.read_text()
    assert "BetaVAE" in text
    assert "http" not in text.replace("http-equiv", "")
    main(f"show {run}".split())
    assert (run / "pictures" / "overview.png").is_file()
    assert (run / "pictures" / "curves.png").is_file()
    out = capsys.readouterr().out
    assert "mig" in out
    assert "overview.png" in out
    assert f"kept in {run / 'scores.json'}\nopen {page} in a browser\n" in out
    main(f"train --resume --out {run} --device cpu".split())
    shown = capsys.readouterr()
    assert shown.out == f"trained already, all 3 steps: {run}\nnext: hackle score {run}\n"
    (read,) = shown.err.splitlines()
    assert read.startswith("squares: factors x (ordinal, 4 values, guessed), y ")


def test_after_training_without_factors_pictures_come_next(tmp_path: Path, squares: Any, capsys: Any) -> None:
    images = squares.render(squares.factors.rows(np.arange(len(squares.factors))))
    np.savez(tmp_path / "bare.npz", images=images)
    run = tmp_path / "run"
    main(f"train vae --dataset {tmp_path / 'bare.npz'} --steps 1 --latents 3 --out {run} --device cpu".split())
    assert capsys.readouterr().out == f"trained: {run}\nnext: hackle show {run}\n"


def test_scores_while_training(own_data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = (
        f"train vae --dataset {own_data} --steps 4 --latents 3 --out {run} --device cpu --log-every 1 --score-every 2"
    )
    main(words.split())
    curves = pd.read_csv(run / "curves.csv", index_col="step")
    assert curves["score_mig"].dropna().index.tolist() == [2, 4]
    assert curves.drop(columns=[name for name in curves if name.startswith("score_")]).notna().all().all()
    page = tmp_path / "page.html"
    main(f"score {run} --protocol quick --no-references --page {page} --device cpu".split())
    kept = [row for row in json.loads((run / "scores.json").read_text()) if row["representation"] != "sampled"]
    assert {f"score_{row['metric']}" for row in kept} == {name for name in curves if name.startswith("score_")}
    for row in kept:
        assert curves.to_dict()[f"score_{row['metric']}"][4] == pytest.approx(row["score"], rel=1e-5, abs=1e-7)
    assert "Training" in page.read_text()


def test_training_that_keeps_nothing_says_so_before_it_starts(own_data: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("hackle.train.fit", lambda *_, **__: print("training", file=sys.stderr))
    main(f"train vae --dataset {own_data} --architecture mlp --steps 2 --device cpu".split())
    read, warned, begun = capsys.readouterr().err.splitlines()
    assert read.startswith("squares: factors ")
    assert warned == "no --out is given: after 2 steps nothing will be kept; add --out DIR"
    assert begun == "training"


def test_method_options_and_presets(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["train", "factor-vae", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--gamma" in text
    assert "--discriminator-optimiser.learning-rate" in text
    assert "hackle's own" in text
    with pytest.raises(SystemExit):
        main(["train", "factor-vae", "--preset", "kim2018", "--help"])
    assert "those of the preset kim2018" in " ".join(capsys.readouterr().out.split())
    main(["train", "--help"])
    text = capsys.readouterr().out
    assert "infowgan-gp" in text
    (listed,) = [line for line in text.splitlines() if line.startswith("architectures:")]
    assert "convolutional" in listed
    assert " own," not in listed
    assert not listed.endswith(" own")
    assert "kim2018" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("trian", "did you mean train"),
        ("train beta-va", "did you mean beta-vae"),
        ("train vae --preset kim2019", "did you mean kim2018"),
        ("train vae --dataset dsprite --device cpu", "dsprites"),
        ("train vae --dataset", "--dataset needs a value"),
        ("train vae --dataset rooms3d --device gpu --out run", "no device 'gpu' here"),
        ("train beta-vae --dataset rooms3d --device cpu --out run --beta nan", "beta is nan; expected a finite number"),
        (
            "train beta-vae --dataset rooms3d --device cpu --out run --beta -4",
            "beta of BetaVAE is -4.0; expected a weight",
        ),
        ("train vae --dataset rooms3d --device cpu --out run --steps -5", "steps is -5"),
        ("train vae --dataset rooms3d --device cpu --out run --log-every 0", "log_every is 0"),
        ("train --out nowhere", "--resume"),
        ("train --dataset rooms3d", "name a method first, as in `hackle train beta-vae …`"),
        ("score nowhere", "no run.json"),
        ("export beta-vea/dsprites --out x.pt2", "`hackle models` lists those that come with hackle"),
        ("score [/x]", "[/x] holds no run"),
        ("score nowhere --fraction 2", "fraction is 2.0; expected a number above 0, up to 1"),
        ("data fetch mnits", "mnist"),
        ("data frobnicate", "there are list"),
    ],
)
def test_mistakes_get_an_answer(words: str, message: str, capsys: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HACKLE_DATA", str(tmp_path))
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_a_folder_of_runs_is_not_a_run_and_its_runs_are_named(tmp_path: Path, capsys: Any) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(SystemExit):
        main(["score", str(tmp_path)])
    assert "There are runs below; name one of them: a, b" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("kept", "told"), [(True, "Ctrl-C leaves a checkpoint"), (False, "nothing of them will be kept")]
)
def test_what_a_long_run_leaves_when_it_is_stopped_is_told_as_it_is(kept: bool, told: str, capsys: Any) -> None:
    with shown(True, torch.device("cpu"), kept=kept) as watch:
        watch.early(300_000, 400_000.0)
    assert told in " ".join(capsys.readouterr().err.split())


def test_data_list_check_and_show(own_data: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    main(["data", "list", "--root", str(tmp_path)])
    text = capsys.readouterr().out
    assert "dsprites" in text
    assert "made by hackle" in text
    main(["data", "check", "--root", str(tmp_path)])
    assert "shapes3d: missing" in capsys.readouterr().out
    picture = tmp_path / "sheet.png"
    main(["data", "show", str(own_data), "--out", str(picture)])
    assert picture.is_file()
    with pytest.raises(SystemExit):
        main(["data", "show", str(own_data), "--out", str(picture)])


def test_nothing_is_overwritten_unasked(own_data: Path, tmp_path: Path, capsys: Any) -> None:
    run = tmp_path / "run"
    main(f"train vae --dataset {own_data} --steps 1 --latents 2 --out {run} --device cpu".split())
    main(f"score {run} --metrics kl --fraction 0.01 --device cpu".split())
    with pytest.raises(SystemExit):
        main(f"score {run} --metrics kl --fraction 0.01 --device cpu".split())
    assert "--overwrite" in " ".join(capsys.readouterr().err.split())
    main(f"score {run} --metrics kl --fraction 0.01 --device cpu --overwrite".split())
    kept = (run / "scores.json").read_text()
    with pytest.raises(SystemExit):
        main(f"score {run} --metrics kl --protocol quick --device cpu --overwrite".split())
    assert "quick does not give kl" in " ".join(capsys.readouterr().err.split())
    assert (run / "scores.json").read_text() == kept


def test_data_of_a_relative_path_are_sought_where_the_run_was_trained(
    own_data: Path, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(own_data.parent)
    main(f"train vae --dataset {own_data.name} --steps 1 --latents 2 --out {run} --device cpu".split())
    monkeypatch.chdir(elsewhere)
    for words in (f"score {run} --metrics kl --device cpu", f"show {run}"):
        with pytest.raises(SystemExit):
            main(words.split())
        said = " ".join(capsys.readouterr().err.split())
        assert "relative to the folder where hackle was started to train it" in said
        assert str(elsewhere) in said
    with pytest.raises(HackleError, match="relative to the folder"):
        show(run)
    with pytest.raises(HackleError, match="relative to the folder"):
        fit(read_record(run)[0], out=run, resume=True, device="cpu", progress=False)
    with pytest.raises(HackleError) as plain:
        fit(read_record(run)[0], out=tmp_path / "new", device="cpu", progress=False)
    assert "relative" not in str(plain.value)
    monkeypatch.chdir(own_data.parent)
    main(f"score {run} --metrics kl --fraction 0.01 --device cpu".split())


def test_ctrl_c_ends_with_130_and_the_command_that_goes_on(
    own_data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "my run"
    words = f"train vae --dataset {own_data} --steps 3 --latents 2 --device cpu --log-every 2 --out".split()
    step = Fleet.step

    def step_and_stop(self: Any) -> None:
        step(self)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Fleet, "step", step_and_stop)
        with pytest.raises(SystemExit) as stopped:
            main([*words, str(run)])
    assert stopped.value.code == 130
    command = capsys.readouterr().err.strip().splitlines()[-1].partition("Go on with: hackle ")[2]
    assert shlex.split(command) == ["train", "--resume", "--out", str(run), *["--device", "cpu", "--log-every", "2"]]
    main(shlex.split(command))
    assert capsys.readouterr().out == f"trained: {run}\nnext: hackle score '{run}'\n"


def test_a_keyboard_interrupt_outside_of_training_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hackle.cli.main.run_command", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["demo"])
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "hackle: stopped\n"


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([sys.executable, "-m", "hackle"], stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_each_note_stands_once_under_the_scores(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    row = {
        "metric": "wsepin",
        "representation": "mean",
        "score": 0.5,
        "chance": 0.1,
        "reference": 1.0,
        "low": 0.4,
        "high": 0.6,
    }
    notes = ["a [/b] c", "Pass more as mixture; and so on [saturated]\na [/b] c", ""]
    others = {"monte_carlo_tc": "Of batches [saturated]", "kl_split_tc": "Of all there are [saturated]"}
    last = [{**row, "metric": name, "better": "lower", "note": note} for name, note in others.items()]
    print_scores(pd.DataFrame([*({**row, "better": "higher", "note": note} for note in notes), *last]))
    told = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.startswith("note:")]
    assert told == [
        "note: a [/b] c",
        "note: Pass more as mixture; and so on [saturated] (here: hackle score … --whole-mixture)",
        "note: Of batches [saturated] (here: hackle score … --metrics true_tc)",
        "note: Of all there are [saturated]",
    ]


def test_the_help_of_score_names_every_metric(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        main(["score", "--help"])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    fast, slow = (", ".join(name for name, metric in METRICS.items() if metric.slow == slow) for slow in (False, True))
    assert f"takes seconds: {fast}." in text
    assert f"take minutes are {slow}." in text
    assert "smaller than 200 points" in text


def test_help_and_version(capsys: Any) -> None:
    main([])
    assert "hackle train METHOD" in capsys.readouterr().out
    main(["--version"])
    assert capsys.readouterr().out.startswith("hackle ")


def test_a_terminal_without_unicode_gets_question_marks(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    command = [sys.executable, "-m", "hackle"]
    started = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    for done in (
        started,
        forked.hackle("train", "vae", "--help", PYTHONIOENCODING="ascii", LC_ALL="C"),
        forked.hackle("data", "list", PYTHONIOENCODING="ascii", LC_ALL="C"),
        forked.hackle("train", "vae", "--seed", "-1", PYTHONIOENCODING="ascii", LC_ALL="C"),
    ):
        assert "codec" not in done.stderr
        assert "?" in done.stdout + done.stderr


def test_scores_that_could_not_be_kept_are_not_computed(
    own_data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    main(f"train vae --dataset {own_data} --steps 1 --latents 2 --out {run} --device cpu".split())
    short = f"score {run} --metrics kl --fraction 0.02 --device cpu"
    main(f"{short} --json {tmp_path}/a/new/folder/scores.json --page {tmp_path}/b/page.html".split())
    assert (tmp_path / "a/new/folder/scores.json").is_file()
    assert (tmp_path / "b/page.html").is_file()
    monkeypatch.setattr("hackle.scoring.models.score", lambda *_, **__: pytest.fail("scored in vain"))
    refused(f"{short} --json {own_data}/scores.json", "no folder for", capsys)
    refused(f"{short} --json {tmp_path} --overwrite", "cannot be written", capsys)
    monkeypatch.setattr("os.access", lambda *_: False)
    refused(short, f"{run}/scores.json cannot be written", capsys)
    refused(f"{short} --seed -1", "--seed is -1", capsys)
    refused(f"{short} --bootstrap -3", "--bootstrap is -3", capsys)
    refused(f"show {run} --seed -1", "--seed is -1", capsys)


def test_what_the_system_refuses_is_one_line(
    own_data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device", "somewhere/curves.csv")

    monkeypatch.setattr("hackle.train.fit", full)
    words = f"train vae --dataset {own_data} --steps 1 --out {tmp_path / 'run'} --device cpu"
    refused(words, "hackle: somewhere/curves.csv: No space left on device; see that", capsys)


def test_too_little_memory_is_one_line(own_data: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = f"train vae --dataset {own_data} --latents {10**13} --steps 1 --device cpu"
    refused(words, "GB are free; take smaller networks or fewer latents", capsys)

    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("hackle.train.fit", fail)
    refused(words, "not enough memory (none is left); take fewer", capsys)


def test_a_data_set_that_moved_is_named(
    own_data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    main(f"train vae --dataset {own_data.name} --steps 1 --latents 2 --out {run} --device cpu".split())
    monkeypatch.chdir(elsewhere)
    short = f"score {run} --metrics kl --fraction 0.02 --device cpu"
    refused(short, "relative to the folder", capsys)
    main(f"{short} --dataset {own_data}".split())
    main(f"show {run} --dataset ../{own_data.name}".split())
    assert (run / "pictures" / "overview.png").is_file()


@pytest.mark.parametrize("name", ["./nowhere", "nowhere.npz", "dsprits"])
def test_a_new_run_s_data_set_has_no_record(name: str, capsys: Any) -> None:
    said = refused(f"train vae --dataset {name} --steps 1 --device cpu", "there is no", capsys)
    assert "record" not in said
    assert ("did you mean dsprites" in said) == (name == "dsprits")
    assert ("there are dsprites" in said) == (name == "dsprits")


def refused(words: str, why: str, capsys: Any) -> str:
    """What a command says that ends with exit code 1, for this reason."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(words.split())
    assert end.value.code == 1
    said = " ".join(capsys.readouterr().err.split())
    assert why in said
    return said
