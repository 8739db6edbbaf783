"""Nothing is written through links that somebody has put where hackle will write."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hackle
from hackle.cli.main import main
from hackle.cli.words import writable
from hackle.core.errors import HackleError
from hackle.core.types import Run
from hackle.core.untrusted import UntrustedError
from hackle.engine.folder import StudyFolder
from hackle.nets import MLP
from hackle.objectives import BetaVAE
from hackle.store import Store

PRECIOUS = "what a stranger's folder must not replace"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    place = tmp_path_factory.mktemp("trained")
    images = np.random.default_rng(0).integers(0, 255, (40, 8, 8, 1), dtype=np.uint8)
    np.savez(place / "data.npz", images=images, factors=np.arange(40) % 5)
    run = Run(BetaVAE(2.0), MLP((4,)), str(place / "data.npz"), steps=2, batch_size=4, latents=2)
    hackle.fit(run, out=place / "run", progress=False, tensorboard=False)
    return place / "run", run


@pytest.fixture
def theirs(trained: tuple[Path, Run], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained[0], tmp_path / "theirs"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    path.write_text(PRECIOUS)
    return path


def lengthen(folder: Path, run: Run, **options: Any) -> None:
    hackle.fit(replace(run, steps=4), out=folder, resume=True, progress=False, tensorboard=False, **options)


@pytest.mark.parametrize(
    "name",
    [
        "run.json.partial",
        "curves.csv.partial",
        "checkpoint.safetensors.new",
        "checkpoint.safetensors.new.partial",
        "weights.safetensors.partial",
    ],
)
def test_a_file_that_is_about_to_be_written_is_no_link(
    theirs: Path, mine: Path, trained: tuple[Path, Run], name: str
) -> None:
    (theirs / name).symlink_to(mine)
    lengthen(theirs, trained[1])
    assert mine.read_text() == PRECIOUS
    assert not (theirs / name).is_symlink()


@pytest.mark.parametrize("name", ["run.json", "curves.csv"])
def test_what_a_shorter_run_came_to_is_not_copied_through_links(
    theirs: Path, mine: Path, trained: tuple[Path, Run], name: str
) -> None:
    (theirs / "steps-2").mkdir()
    (theirs / "steps-2" / name).symlink_to(mine)
    with pytest.raises(UntrustedError, match="nothing is written through it"):
        lengthen(theirs, trained[1])
    assert mine.read_text() == PRECIOUS


def test_what_a_shorter_run_came_to_is_not_moved_elsewhere(
    theirs: Path, trained: tuple[Path, Run], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (theirs / "steps-2").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HackleError, match="nothing is written through it"):
        lengthen(theirs, trained[1])
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("words", [["show"], ["score", "--metrics", "mig"]], ids=["show", "score"])
def test_pictures_and_scores_stay_in_the_folder(
    theirs: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (theirs / "pictures").symlink_to(tmp_path / "elsewhere")
    (theirs / "scores.json").symlink_to(tmp_path / "elsewhere" / "new.json")
    with pytest.raises(SystemExit):
        main([words[0], str(theirs), *words[1:]])
    assert "nothing is written through it" in capsys.readouterr().err
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("words", [["show"], ["score", "--metrics", "mig"]], ids=["show", "score"])
def test_nothing_is_written_to_a_pipe(theirs: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It would be waited for whoever reads from it."""
    for name in ("pictures", "scores.json"):
        os.mkfifo(theirs / name)
    with pytest.raises(SystemExit):
        main([words[0], str(theirs), *words[1:], "--overwrite"])
    assert "neither a file nor a folder" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--page", "--json", "--parquet"])
def test_a_file_that_is_named_in_the_folder_is_no_link_out_of_it(
    theirs: Path, mine: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, target in (("old", mine), ("new", mine.with_name("new"))):
        (theirs / name).symlink_to(target)
        with pytest.raises(SystemExit):
            main(["score", str(theirs), "--metrics", "mig", "--overwrite", option, str(theirs / name)])
        assert "nothing is written through it" in capsys.readouterr().err
    assert mine.read_text() == PRECIOUS
    assert not mine.with_name("new").exists()


def test_standard_output_is_a_link_that_may_be_written() -> None:
    assert writable(Path("/dev/stdout"), overwrite=True) == Path("/dev/stdout")


@pytest.mark.parametrize("name", ["runs", "fleets"])
def test_runs_of_a_study_stay_in_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "study.json").write_text("{}")
    (tmp_path / "theirs" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UntrustedError, match="nothing is written through it"):
        StudyFolder(tmp_path / "theirs").refuse_other_files()


def test_exported_tables_stay_in_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.create_or_open(tmp_path / "theirs").close()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "theirs" / "parquet").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SystemExit):
        main(["study", "export", str(tmp_path / "theirs")])
    assert "nothing is written through it" in capsys.readouterr().err
    assert not list((tmp_path / "elsewhere").iterdir())
