"""One bad folder is shown with its reason, and the rest works."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hostile_folders import SCORES, Visitor, changed, content, good_folder, small
from safetensors.torch import load_file, save_file

import hackle
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.objectives import Tripod
from hackle.pictures import axes_of
from hackle.train.curves import read_curves
from hackle.train.model import Model
from hackle.train.record_files import ModelError

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from hackle.explorer import create_app
from hackle.explorer.catalogue import Catalogue


def of_type(kind: torch.dtype) -> Callable[[Path], object]:
    """Weights as other numbers than networks are saved as."""

    def damage(folder: Path) -> None:
        path = folder / "weights.safetensors"
        save_file({name: value.to(kind) for name, value in load_file(path).items()}, path)

    return damage


def put(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def set_field(path: str, value: Any) -> Callable[[Path], object]:
    """Writes a value into run.json at a dotted path."""

    def change(folder: Path) -> None:
        text = content(folder)
        *steps, last = path.split(".")
        place = text
        for step in steps:
            place = place[step]
        place[last] = value
        (folder / "run.json").write_text(json.dumps(text))

    return change


def nested(depth: int) -> Any:
    value: Any = {"type": "Adam"}
    for _ in range(depth):
        value = {"type": "Adam", "learning_rate": value}
    return value


RECORDS = {
    "nested lists": put("run.json", "[" * 100_000 + "]" * 100_000),
    "nested objects": put("run.json", '{"record":' * 100_000 + "1" + "}" * 100_000),
    "nested records": set_field("record.optimiser", nested(40)),
    "no object": put("run.json", "[1, 2]"),
    "no JSON": put("run.json", "{"),
    "no UTF-8": lambda folder: (folder / "run.json").write_bytes(b'{"record": "\xff"}'),
    "nothing": put("run.json", ""),
    "no record": put("run.json", '{"shape": [16, 16, 1]}'),
    "a huge number": put("run.json", '{"shape": [16, 16, 1], "record": ' + "9" * 5000 + "}"),
    "another type": set_field("record.type", "Adam"),
    "a type that is no text": set_field("record.type", ["Run"]),
    "text for a number": set_field("record.seed", "0"),
    "a truth value for a number": set_field("record.latents", True),
    "a float for a whole number": set_field("record.steps", 1.5),
    "a whole number of 80 bits": set_field("record.steps", 2**80),
    "a float beyond floats": set_field("record.correlation", 10**400),
    "NaN": set_field("record.optimiser.learning_rate", math.nan),
    "a list for text": set_field("record.dataset", ["a"]),
    "half a character": set_field("record.dataset", "\ud800"),
    "NUL": set_field("record.dataset", "a\0b"),
    "another likelihood": set_field("record.likelihood", "poisson"),
    "an unknown field": set_field("record.colour", 1),
    "a record for a number": set_field("record.seed", {"type": "Adam"}),
    "a number for a record": set_field("record.optimiser", 1),
    "an optimiser for a method": set_field("record.method", {"type": "Adam"}),
    "a method for networks": set_field("record.architecture", {"type": "VAE"}),
    "texts for widths": set_field("record.architecture.widths", ["8"]),
    "a million layers": set_field("record.architecture.widths", [8] * 1_000_000),
    "two sizes": set_field("shape", [16, 16]),
    "a condition of 10⁵ letters": set_field("record.drawing", {"type": "Drawing", "left_out": "x>0|" * 25_000}),
    "a correlation without width": set_field(
        "record.drawing", {"type": "Drawing", "correlated": "a~b", "sigma": 1e-200}
    ),
    "a correlation without end": set_field(
        "record.drawing", {"type": "Drawing", "correlated": "a~b", "sigma": 10**300}
    ),
    "a rule of pairs that is a list": set_field("record.pairs", {"type": "Pairs", "rule": ["resample"]}),
    "labels of less than no image": set_field("record.labels", {"type": "Labels", "images": -1}),
    "a negative size": set_field("shape", [-16, 16, 1]),
    "sizes that are texts": set_field("shape", ["touch", "a", "b"]),
    "an image of 10¹² pixels": set_field("shape", [10**6, 10**6, 1]),
}
WEIGHTS = {
    "10⁶ × 10⁶": set_field("record.architecture.widths", [10**6, 10**6]),
    "beyond 2⁶³": set_field("record.architecture.widths", [2**24, 2**24, 2**24]),
    "10⁹ latents": set_field("record.latents", 10**9),
    "another shape": set_field("shape", [16, 16, 3]),
    "no tensors": put("weights.safetensors", "hello"),
    "a header of 2⁶³ bytes": lambda folder: (folder / "weights.safetensors").write_bytes(b"\xff" * 8 + b"{}"),
    "truth values": of_type(torch.bool),
    "complex numbers": of_type(torch.complex64),
    "64 bits": of_type(torch.float64),
}
BAD_SCORES = {
    "an object": {"metric": "mig"},
    "numbers": [1, 2],
    "a score that is text": [{**SCORES[0], "score": "high"}],
    "a score that is a list": [{**SCORES[0], "score": [1]}],
    "a metric that is an object": [{**SCORES[0], "metric": {"a": 1}}],
    "a metric that is no text": [{**SCORES[0], "metric": "\ud800"}],
    "a protocol that is nothing": [{**SCORES[0], "protocol": None}],
    "a score beyond floats": [{**SCORES[0], "score": 10**400}],
    "a seed beyond 2⁶³": [{**SCORES[0], "seed": 2**70}],
    "one score twice": [SCORES[0], {**SCORES[0], "score": 0.9}],
    "a factor's score that is text": [{**SCORES[0], "per_factor": {"hue": "high"}}],
    "factors that are a list": [{**SCORES[0], "per_factor": ["hue"]}],
}


ODD = "\\xff\\xfe"
"""How a name of two bytes that are no UTF-8 is shown."""


def explored(root: Path) -> tuple[Visitor, dict[str, str]]:
    """The explorer and the runs' identifiers by name."""
    visitor = Visitor(create_app(root))
    names = {visitor.get(f"/api/runs/{one}").json()["name"]: one for one in visitor.identifiers()}
    return visitor, names


def works(visitor: Visitor, identifier: str) -> None:
    answer = visitor("POST", f"/api/runs/{identifier}/decode", json={"z": [[0, 0]]})
    assert answer.status_code == 200
    assert visitor.get(f"/api/runs/{identifier}").json()["scores"][0]["score"] == 0.5


@pytest.mark.parametrize("damage", RECORDS.values(), ids=RECORDS)
def test_a_bad_record_is_named(damage: Callable[[Path], object], tmp_path: Path) -> None:
    damage(good_folder(tmp_path / "runs" / "bad"))
    good_folder(tmp_path / "runs" / "good", seed=1)
    with pytest.raises(ModelError, match=r"run\.json"):
        Model.load(tmp_path / "runs" / "bad")
    visitor, names = explored(tmp_path / "runs")
    bad = visitor.get(f"/api/runs/{names['bad']}").json()
    assert bad["status"] == "unreadable"
    assert bad["problem"]
    assert visitor.get(f"/api/runs/{names['bad']}/thumbnail.png").status_code == 409
    works(visitor, names["good"])
    with pytest.warns(UserWarning, match=r"left out: .*run\.json"):
        assert hackle.results(tmp_path / "runs")["seed"].unique().tolist() == [1]


@pytest.mark.parametrize("damage", WEIGHTS.values(), ids=WEIGHTS)
def test_weights_that_do_not_fit_are_refused_before_networks_are_built(
    damage: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(good_folder(tmp_path / "bad"))

    def build(*_: Any) -> None:
        raise AssertionError("a network was built")

    monkeypatch.setattr("hackle.train.model.build_networks", build)
    with pytest.raises(ModelError, match="belongs to another run"):
        Model.load(tmp_path / "bad")


@pytest.mark.parametrize("rows", BAD_SCORES.values(), ids=BAD_SCORES)
def test_bad_scores_leave_the_run(rows: Any, tmp_path: Path) -> None:
    (good_folder(tmp_path / "runs" / "bad") / "scores.json").write_text(json.dumps(rows))
    good_folder(tmp_path / "runs" / "good", seed=1)
    visitor, names = explored(tmp_path / "runs")
    bad = visitor.get(f"/api/runs/{names['bad']}").json()
    assert (bad["status"], bad["scores"], bad["problem"]) == ("done", [], "")
    assert "is no table of scores" in bad["scores_problem"]
    assert visitor("POST", f"/api/runs/{names['bad']}/decode", json={"z": [[0, 0]]}).status_code == 200
    works(visitor, names["good"])
    with pytest.warns(UserWarning, match="left out: .*is no table of scores"):
        assert hackle.results(tmp_path / "runs")["seed"].unique().tolist() == [1]


@pytest.mark.parametrize(
    "text",
    [
        "step,kl\ninf,1\n",
        "step,kl\n1e400,1\n",
        "step,kl\n99999999999999999999,1\n",
        "step,kl\n1,abc\n",
        "step,kl\n1,2,3\n",
        "step,step\n1,2\n",
    ],
)
def test_bad_curves_are_named(text: str, tmp_path: Path) -> None:
    (good_folder(tmp_path / "run") / "curves.csv").write_text(text)
    visitor, names = explored(tmp_path)
    answer = visitor.get(f"/api/runs/{names['run']}/curves")
    assert answer.status_code == 422
    assert "is no table of curves" in answer.json()["detail"]
    works(visitor, names["run"])


def test_curves_may_be_infinite_unfinished_and_oddly_named(tmp_path: Path) -> None:
    text = "step,kl,constructor,__proto__\n1,inf,1,2\n2,nan,,-1e300\n3,0.1"
    (good_folder(tmp_path / "run") / "curves.csv").write_text(text)
    visitor, names = explored(tmp_path)
    assert visitor.get(f"/api/runs/{names['run']}/curves").json()["curves"] == {
        "step": [1, 2],
        "kl": [None, None],
        "constructor": [1.0, None],
        "__proto__": [2.0, None],
    }
    (tmp_path / "run" / "curves.csv").write_text("")
    assert read_curves(tmp_path / "run") == {}


def test_odd_names_loops_and_links_are_shown_or_left_out(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    good_folder(root / "good")
    good_folder(Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe")), seed=1)
    good_folder(tmp_path / "elsewhere", seed=2)
    (root / "loop").symlink_to("loop")
    (root / "round").symlink_to(".")
    (root / "again").symlink_to("good")
    (root / "outside").symlink_to(tmp_path / "elsewhere")
    visitor, names = explored(root)
    assert set(names) == {"good", ODD, "loop"}
    works(visitor, names["good"])
    odd = visitor.get(f"/api/runs/{names[ODD]}/thumbnail.png")
    assert odd.status_code == 409
    assert "rename the folder" in odd.json()["detail"]
    assert "symbolic links" in visitor.get(f"/api/runs/{names['loop']}").json()["problem"]


def test_a_folder_that_may_not_be_looked_into_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user without the right to read it would see it: the tests may run as one who may read everything."""
    good_folder(tmp_path / "good")
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def closed(path: Any) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    visitor, names = explored(tmp_path)
    assert visitor.get(f"/api/runs/{names['closed']}").json()["problem"].endswith("Permission denied")
    works(visitor, names["good"])


@pytest.mark.parametrize("name", ["run.json", "weights.safetensors", "scores.json", "curves.csv"])
def test_links_that_leave_the_folder_are_not_followed(name: str, tmp_path: Path) -> None:
    folder, outside = good_folder(tmp_path / "runs" / "run"), tmp_path / "outside"
    (folder / "curves.csv").write_text("step,kl\n1,2\n")
    (folder / name).rename(outside)
    (folder / name).symlink_to(outside)
    readers = {
        "run.json": lambda: Model.load(folder),
        "weights.safetensors": lambda: Model.load(folder),
        "scores.json": lambda: hackle.results(folder),
        "curves.csv": lambda: read_curves(folder),
    }
    with pytest.raises(HackleError, match="a link that leaves its folder"):
        readers[name]()
    visitor, names = explored(tmp_path / "runs")
    answers = [visitor.get(f"/api/runs/{names['run']}{place}") for place in ("", "/thumbnail.png", "/curves")]
    assert any("a link that leaves its folder" in answer.text for answer in answers)
    if name in ("run.json", "weights.safetensors"):
        assert record_hash(Model.load(folder, trust=True).run) == record_hash(small())
    # Within the folder links may go anywhere.
    (folder / name).unlink()
    outside.rename(folder / "kept")
    (folder / name).symlink_to("kept")
    readers[name]()


def test_unscored_runs_do_not_show_the_scores_of_the_folder_above(tmp_path: Path) -> None:
    for number, name in enumerate(("first", "second", "run")):
        (good_folder(tmp_path / name, seed=number) / "scores.json").unlink()
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    catalogue = Catalogue(tmp_path)
    found = {folder.name: catalogue.scores(identifier) for identifier, folder in catalogue.contents.folders.items()}
    assert (found["first"], found["second"]) == ([], [])
    # Where earlier demos kept theirs.
    assert [row["metric"] for row in found["run"]] == ["mig"]


def test_a_study_with_a_bad_folder_is_served(tmp_path: Path) -> None:
    from hackle.store import Store
    from made_up_outcomes import made_up

    with Store.create_or_open(tmp_path, "trial") as store:
        store.add(made_up(0))
    changed(tmp_path / "runs" / "0123456789abcdef", lambda text: text.update(record=[]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        visitor, names = explored(tmp_path)
    assert visitor.get(f"/api/runs/{names['0123456789abcdef']}").json()["status"] == "unreadable"


def test_codes_of_many_classes_are_not_drawn_one_by_one(tmp_path: Path) -> None:
    """The weights of a record's networks do not tell how many levels it has."""
    folder = good_folder(tmp_path / "run", method=Tripod(levels=2**24))
    with pytest.raises(HackleError, match="a code takes one of 16,777,216 values"):
        axes_of(Model.load(folder))
    visitor, names = explored(tmp_path)
    answer = visitor.get(f"/api/runs/{names['run']}/model")
    assert answer.status_code == 422
    assert "a code takes one of 16,777,216 values" in answer.text


def results_in(folder: Path, kind: str) -> Path:
    """A study's results; the file that is read first."""
    from hackle.store import Store
    from hackle.store.merging import export
    from made_up_outcomes import made_up

    with Store.create_or_open(folder / "study", "trial") as store:
        store.add(made_up(0))
    if kind == "sqlite":
        return folder / "study" / "results.sqlite"
    export(folder / "study", folder / "tables")
    return folder / "tables" / "runs.parquet"


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_damaged_results_hide_no_other_folder(kind: str, tmp_path: Path) -> None:
    path = results_in(tmp_path / "theirs", kind)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(len(whole) - 100))
    good_folder(tmp_path / "good")
    visitor = Visitor(create_app(path.parent, tmp_path / "good"))
    rows = [visitor.get(f"/api/runs/{one}").json() for one in visitor.identifiers()]
    assert [(row["name"], row["status"]) for row in rows] == [(path.parent.name, "unreadable"), ("good", "done")]
    assert path.name in rows[0]["problem"]
    assert str(tmp_path) not in rows[0]["problem"]
    for question in ("thumbnail.png", "model", "curves"):
        assert visitor.get(f"/api/runs/{rows[0]['id']}/{question}").status_code in (200, 409)
    works(visitor, rows[1]["id"])
    with pytest.raises(HackleError, match=path.name):
        create_app(path.parent)


def test_results_that_come_and_go_hide_no_other_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hackle.explorer.catalogue.PATIENCE", -1)
    path = results_in(tmp_path / "theirs", "sqlite")
    good_folder(tmp_path / "good")
    visitor, whole = Visitor(create_app(path.parent, tmp_path / "good")), path.read_bytes()

    def states() -> list[str]:
        return [visitor.get(f"/api/runs/{one}").json()["status"] for one in visitor.identifiers()]

    assert states() == ["scores only", "done"]
    path.write_bytes(b"no store" * 100)
    assert states() == ["unreadable", "done"]
    path.write_bytes(whole)
    assert states() == ["scores only", "done"]
    path.parent.rename(tmp_path / "elsewhere")
    assert states() == ["unreadable", "done"]
