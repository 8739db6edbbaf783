from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest
from published_formats import write_mnist, write_shapes3d

from hackle.datasets import DATASETS, inventory
from hackle.datasets.source import DataError, RemoteFile


def offer(monkeypatch: pytest.MonkeyPatch, name: str, files: tuple[RemoteFile, ...]) -> None:
    """The data set of this name with other files."""
    published = DATASETS.found[name]
    changed = dataclasses.replace(published, part=dataclasses.replace(published.part, files=files))
    monkeypatch.setitem(DATASETS.found, name, changed)


@pytest.fixture
def small_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """mnist whose published files are small ones, offered by file: addresses."""
    offered = write_mnist(tmp_path / "offered").folder
    files = tuple(
        RemoteFile(path.name, path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size)
        for path in sorted(offered.iterdir())
    )
    offer(monkeypatch, "mnist", files)
    return tmp_path / "root"


def here(root: Path) -> dict[str, str]:
    return {entry.name: entry.here for entry in inventory.entries(root)}


def test_entries_say_what_is_here(tmp_path: Path) -> None:
    write_shapes3d(tmp_path)
    mnist = write_mnist(tmp_path).folder
    (mnist / "train-images-idx3-ubyte.gz").unlink()
    found = here(tmp_path)
    assert list(found) == list(DATASETS)
    assert {found[name] for name in ("dsprites", "color-dsprites", "rooms3d")} == {"made by hackle"}
    assert (found["shapes3d"], found["mnist"], found["celeba"]) == ("yes", "in part", "no")


def test_entries_give_the_size_of_the_files() -> None:
    sizes = {entry.name: entry.download for entry in inventory.entries()}
    assert (sizes["shapes3d"], sizes["celeba"], sizes["cars3d"]) == ("268 MB", "1.5 GB", "size unknown")
    assert sizes["rooms3d"] == sizes["dsprites"] == "–"
    assert sizes["faces3d"] == "by hand"


def test_fetch_check_damage_and_fetch_again(small_mnist: Path) -> None:
    assert inventory.check("mnist", small_mnist)[0].state == "missing"
    paths = inventory.fetch("mnist", small_mnist)
    assert here(small_mnist)["mnist"] == "yes"
    assert [str(verdict) for verdict in inventory.check("mnist", small_mnist)] == ["mnist: verified by SHA-256"]
    content = paths[0].read_bytes()
    paths[0].write_bytes(b"\0" + content[1:])
    (verdict,) = inventory.check("mnist", small_mnist)
    assert verdict.state == "damaged"
    assert f"{paths[0]}: damaged: SHA-256" in str(verdict)
    assert f"{paths[1]}: verified by SHA-256" in str(verdict)
    assert hashlib.sha256(content).hexdigest() in str(verdict)
    with pytest.raises(DataError, match="--force"):
        inventory.fetch("mnist", small_mnist)
    inventory.fetch("mnist", small_mnist, force=True)
    assert inventory.check("mnist", small_mnist)[0].state == "verified"


def test_a_set_is_as_bad_as_its_worst_file(small_mnist: Path) -> None:
    paths = inventory.fetch("mnist", small_mnist)
    paths[1].unlink()
    assert inventory.check("mnist", small_mnist)[0].state == "missing"
    paths[2].write_bytes(b"x")
    assert inventory.check("mnist", small_mnist)[0].state == "damaged"


def test_check_goes_through_all(tmp_path: Path) -> None:
    verdicts = {verdict.name: verdict for verdict in inventory.check(root=tmp_path)}
    assert list(verdicts) == list(DATASETS)
    assert str(verdicts["rooms3d"]) == "rooms3d: made by hackle, no files to check"
    assert str(verdicts["dsprites"]) == "dsprites: made by hackle, no files to check"
    assert verdicts["shapes3d"].state == "missing"
    assert str(verdicts["mnist"]) == "mnist: missing"


def test_an_optional_file_counts_where_it_is_there(tmp_path: Path) -> None:
    (file,) = DATASETS["dsprites"].files
    (tmp_path / "dsprites").mkdir()
    (tmp_path / "dsprites" / file.name).write_bytes(b"not the archive")
    assert here(tmp_path)["dsprites"] == "yes"
    (verdict,) = inventory.check("dsprites", tmp_path)
    assert verdict.state == "damaged"
    assert f"{file.md5} expected" in str(verdict)


def test_a_set_that_hackle_makes_needs_no_fetching(tmp_path: Path) -> None:
    assert inventory.fetch("rooms3d", tmp_path) == []


def test_a_set_without_a_public_address_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no public address.*https://faces\.dmi\.unibas\.ch.*faces3d"):
        inventory.fetch("faces3d", tmp_path)


def test_a_failed_fetch_of_a_set_with_terms_tells_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = (RemoteFile("img_align_celeba.zip", (tmp_path / "gone").as_uri(), None, None),)
    offer(monkeypatch, "celeba", gone)
    monkeypatch.setattr(inventory, "fetch_file", lambda *a, **k: _raise(DataError("answers 404")))
    with pytest.raises(DataError, match=r"answers 404\. By hand: read the terms at .*list_attr_celeba\.txt"):
        inventory.fetch("celeba", tmp_path)


def _raise(error: Exception) -> None:
    raise error


def test_an_unknown_name_is_told(tmp_path: Path) -> None:
    for call in (inventory.fetch, inventory.check):
        with pytest.raises(DataError, match="did you mean mnist"):
            call("mnits", tmp_path)
