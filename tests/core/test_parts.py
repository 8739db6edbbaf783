"""Parts are found in hackle's modules, in installed packages and in files of one's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from hackle.core import parts as module
from hackle.core.parts import KINDS, PartError, Parts, import_file, import_reference


def spoons() -> Parts[Path]:
    """Paths serve as parts of a kind that hackle does not have."""
    made: Parts[Path] = Parts(
        "spoon",
        (),
        lambda thing: isinstance(thing, Path),
        adopt=lambda name, thing: Path(name) if callable(thing) else None,
    )
    del KINDS["spoon"]
    return made


@pytest.fixture
def drawer(tmp_path: Path) -> Iterator[Path]:
    """A file with two spoons, one of them in a tuple, a function and a number."""
    file = tmp_path / "a_drawer_of_spoons.py"
    file.write_text(
        "from pathlib import Path\nfirst = Path('tea')\nothers = (Path('soup'),)\ndef ladle(): ...\nnumber = 3\n"
    )
    yield file
    sys.modules.pop(file.stem, None)


def test_a_file_of_ones_own_is_named_by_its_path(drawer: Path) -> None:
    found = spoons()
    assert found.find(f"{drawer}:first") == Path("tea")
    assert found.find(f"{drawer}:ladle") == Path(f"{drawer}:ladle")
    assert [one.name for one in found.in_file(drawer)] == ["tea", "soup"]
    with pytest.raises(PartError, match="is of type int; expected a spoon"):
        found.find(f"{drawer}:number")
    with pytest.raises(PartError, match=r"has no 'frist'; did you mean first\?"):
        found.find(f"{drawer}:frist")
    with pytest.raises(PartError, match=r"no spoon 'tee'; there are none"):
        found.find("tee")
    with pytest.raises(PartError, match="there is no file"):
        found.find("nowhere.py:first")


def test_a_module_is_named_by_its_dotted_name() -> None:
    assert import_reference("json.decoder:JSONDecoder").__name__ == "JSONDecoder"
    with pytest.raises(PartError, match="the module no_such_module cannot be imported"):
        import_reference("no_such_module:thing")


def test_a_file_with_the_name_of_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    with pytest.raises(PartError, match="has the name of another module"):
        import_file(tmp_path / "json.py")


def test_an_installed_package_offers_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One part, or all of a module; what is of another kind is passed over."""
    monkeypatch.setattr(
        module,
        "entry_points",
        lambda group: EntryPoints([EntryPoint("one", "hackle.scoring.protocol:QUICK", group)]),
    )
    from hackle.scoring.protocol import Protocol

    found: Parts[Any] = Parts("fork", (), lambda thing: isinstance(thing, Protocol))
    del KINDS["fork"]
    assert list(found) == ["quick"]
    assert dict(spoons()) == {}


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "entry_points", lambda group: EntryPoints([EntryPoint("one", "no_such_package.parts", group)])
    )
    with pytest.raises(PartError, match=r"no_such_package\.parts, which cannot be imported"):
        len(spoons())


def test_two_parts_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = spoons()
    made.found["tea"] = module.Found("tea", Path("tea"), "hackle")
    monkeypatch.setattr(made, "in_file", lambda path: [module.Found("tea", Path("coffee"), str(path))])
    with pytest.raises(PartError, match="there is a spoon tea already"):
        made.include("file.py")


def test_every_paper_has_its_parts() -> None:
    """Each folder of `hackle.papers` is a paper with claims and figures and, unless these are of another paper's runs, with a
    preset and a study."""
    from hackle.claims import CLAIMS
    from hackle.core.papers import PAPERS
    from hackle.figures import FIGURES
    from hackle.studies import PRESETS, STUDIES

    for paper in PAPERS:
        claims = [claim for claim in CLAIMS.values() if claim.paper == paper]
        figures = [figure for figure in FIGURES.values() if figure.paper == paper]
        assert claims
        assert figures
        studies = {part.study or paper for part in (*claims, *figures)}
        assert studies <= set(STUDIES)
        assert (paper in studies) == (paper in PRESETS) == (paper in STUDIES) == (paper != "duan2020")
