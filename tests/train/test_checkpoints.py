"""Checkpoints: the newest that is whole is found, damage is told from health, and a full disk leaves the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from hackle.train.checkpoints import Checkpoints, Snapshot, as_bytes, read_whole, write_atomically
from hackle.train.errors import DamagedCheckpoint, TrainingError


def snapshot(runs: str, step: int, shift: float = 0.0) -> Snapshot:
    rows = torch.arange(len(runs), dtype=torch.float32) + 10 * step + shift
    state = {"weights/encoder": rows[:, None].expand(-1, 3).contiguous(), "step": torch.tensor(step)}
    points = {"curves/step": torch.arange(step), "curves/kl": rows[:, None].expand(-1, step).contiguous()}
    return Snapshot(tuple(runs), {**state, **points}, seconds=0.5)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Any:
    checkpoints = Checkpoints(tmp_path / "fleets")
    yield checkpoints
    checkpoints.close()


def save(checkpoints: Checkpoints, *snapshots: Snapshot) -> None:
    for entry in snapshots:
        checkpoints.save(entry)
    checkpoints.wait()


def firsts(found: Snapshot) -> list[float]:
    return found.state["weights/encoder"][:, 0].tolist()


def test_runs_are_found_by_name_in_any_order(checkpoints: Checkpoints) -> None:
    save(checkpoints, snapshot("abc", 4))
    (found,) = checkpoints.latest(["c", "a"])
    assert (found.runs, found.step, firsts(found), found.seconds) == (("c", "a"), 4, [42.0, 40.0], 0.5)
    assert found.curves.row(0)["kl"].tolist() == [42.0] * 4
    assert checkpoints.latest(["z"]) == []


def test_the_furthest_step_wins_and_parts_join(checkpoints: Checkpoints) -> None:
    save(checkpoints, snapshot("abcd", 4), snapshot("ab", 6), snapshot("cd", 6, shift=0.5))
    (found,) = checkpoints.latest(["d", "c", "b", "a"])
    assert (found.runs, found.step) == (("d", "c", "b", "a"), 6)
    assert firsts(found) == [61.5, 60.5, 61.0, 60.0]
    save(checkpoints, snapshot("ab", 7))
    assert {part.runs: part.step for part in checkpoints.latest(["a", "b", "c"])} == {("a", "b"): 7, ("c",): 6}


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "cut":
        del data[-8:]
    elif how == "emptied":
        data.clear()
    else:
        data[-3] ^= 0x40
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["cut", "flipped", "emptied"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(how: str, checkpoints: Checkpoints) -> None:
    save(checkpoints, snapshot("ab", 2), snapshot("ab", 4), snapshot("ab", 6))
    newest = checkpoints.path("ab")
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == sorted(
        (newest.name, newest.name.replace(".safetensors", ".previous.safetensors"))
    )
    damage(newest, how)
    said: list[str] = []
    (found,) = checkpoints.latest(["a", "b"], said.append)
    assert found.step == 4
    (line,) = said
    assert newest.name in line
    assert "older" in line
    damage(next(path for path in checkpoints.folder.iterdir() if "previous" in path.name), how)
    with pytest.raises(DamagedCheckpoint, match="delete it to start its runs anew"):
        checkpoints.latest(["a", "b"])
    checkpoints.discard((), damaged=True)
    assert checkpoints.latest(["a", "b"]) == []


def test_another_fleets_damage_does_not_matter(checkpoints: Checkpoints) -> None:
    save(checkpoints, snapshot("ab", 2), snapshot("cd", 2))
    damage(checkpoints.path("cd"), "emptied")
    (found,) = checkpoints.latest(["a", "b"])
    assert found.step == 2
    assert checkpoints.latest(["e"]) == []


def test_checkpoints_of_finished_runs_go(checkpoints: Checkpoints) -> None:
    save(checkpoints, snapshot("ab", 2), snapshot("ab", 3), snapshot("cd", 2))
    checkpoints.discard("abc")
    assert [path.name for path in checkpoints.folder.iterdir()] == [checkpoints.path("cd").name]
    checkpoints.tidy()
    assert checkpoints.folder.exists()
    checkpoints.discard("dc")
    checkpoints.tidy()
    assert not checkpoints.folder.exists()


def test_a_state_is_written_as_it_was_when_it_was_saved(checkpoints: Checkpoints) -> None:
    entry = snapshot("ab", 2)
    checkpoints.save(entry)
    entry.state["weights/encoder"].fill_(-1.0)
    checkpoints.wait()
    assert firsts(checkpoints.latest(["a", "b"])[0]) == [20.0, 21.0]


def full(tensors: Any, target: Path, metadata: Any) -> None:
    target.write_bytes(b"half")
    raise OSError(28, "No space left on device")


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.safetensors"
    write_atomically({"a": torch.ones(3)}, path)
    monkeypatch.setattr("hackle.train.weights.save_file", full)
    with pytest.raises(TrainingError, match="No space left"):
        write_atomically({"a": torch.zeros(3)}, path)
    assert torch.equal(load_file(path)["a"], torch.ones(3))
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.safetensors"]


def test_what_went_wrong_in_the_background_is_raised(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    save(checkpoints, snapshot("ab", 2))
    monkeypatch.setattr("hackle.train.weights.save_file", full)
    checkpoints.save(snapshot("ab", 4))
    with pytest.raises(TrainingError, match="No space left"):
        checkpoints.wait()
    assert checkpoints.latest(["a", "b"])[0].step == 2


def test_bytes_are_the_file(tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 4), "flags": torch.tensor([True, False]), "half": torch.ones(3).bfloat16()}
    (tmp_path / "file").write_bytes(as_bytes(tensors, {"seconds": "2.5"}))
    found, known = read_whole(tmp_path / "file")
    assert all(torch.equal(value, found[name]) for name, value in tensors.items())
    assert known["seconds"] == "2.5"
