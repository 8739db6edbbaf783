"""A run that ended goes on, and another begins with its weights: as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from hackle.cli.main import main
from hackle.train.model import Model

TRAIN = "train beta-vae --dataset squares.npz --architecture mlp --latents 3 --batch-size 4 --device cpu"


@pytest.fixture
def folder(tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = squares.factors.rows(np.arange(len(squares.factors)))
    np.savez(tmp_path / "squares.npz", images=squares.render(rows), factors=rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same(first: str, second: str) -> None:
    left, right = (load_file(f"{name}/weights.safetensors") for name in (first, second))
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_more_steps_lengthen_a_run(folder: Path, capsys: Any) -> None:
    main([*TRAIN.split(), "--steps", "9", "--out", "whole"])
    for name, words in (("first", TRAIN), ("second", "train --resume")):
        main([*TRAIN.split(), "--steps", "4", "--out", name])
        capsys.readouterr()
        main([*words.split(), *(["--device", "cpu"] if words != TRAIN else []), "--steps", "9", "--out", name])
        told = capsys.readouterr()
        assert f"{name} holds this run with 4 steps: going on from step 4" in told.err
        assert told.out == f"trained: {name}\nnext: hackle score {name}\n"
        assert_same("whole", name)
        assert json.loads((folder / name / "run.json").read_text())["continues"][0]["steps"] == 4
        assert Model.load(f"{name}/steps-4").run.steps == 4
    main(f"{TRAIN} --steps 4 --out bare --no-keep-state".split())
    assert not list((folder / "bare").glob("checkpoint*"))
    with pytest.raises(SystemExit):
        main(f"{TRAIN} --steps 9 --out bare".split())
    assert "the state of its optimisers was not kept" in capsys.readouterr().err


def test_a_run_begins_with_the_weights_of_another(folder: Path, capsys: Any) -> None:
    main(f"{TRAIN} --steps 2 --out other".split())
    main(f"{TRAIN} --steps 2 --learning-rate 0 --beta 9 --from other --out new".split())
    assert_same("other", "new")
    content, other = (json.loads((folder / name / "run.json").read_text()) for name in ("new", "other"))
    assert content["record"]["start_from"].startswith(other["hash"] + "-")
    assert "start_from" not in other["record"]
    # Going on needs the other no more, and the same command again means the same run.
    main(f"{TRAIN} --steps 3 --learning-rate 0 --beta 9 --from other --out new".split())
    main(["train", "--resume", "--out", "new", "--device", "cpu"])
    assert_same("other", "new")
    # Where the first checkpoint was never written the other is needed once more.
    for name in ("weights", "checkpoint"):
        (folder / "new" / f"{name}.safetensors").unlink()
    with pytest.raises(SystemExit):
        main(["train", "--resume", "--out", "new", "--device", "cpu"])
    assert "give that run's folder: --from DIR" in capsys.readouterr().err
    main(["train", "--resume", "--from", "other", "--out", "new", "--device", "cpu"])
    assert_same("other", "new")
    with pytest.raises(SystemExit):
        main(f"{TRAIN} --latents 4 --steps 2 --from other --out third".split())
    assert "the networks of other are not this run's" in capsys.readouterr().err
    assert not (folder / "third").exists()


def test_the_help_says_both(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["train", "beta-vae", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "--from PATH" in words
    assert "--keep-state, --no-keep-state" in words
    assert "start-from" not in words
