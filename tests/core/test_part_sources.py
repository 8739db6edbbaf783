"""Where a part is defined: its file, the hash of that file, and a name that means the same in every folder."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

from hackle.core.parts import absolute_reference, import_reference, source_hash


def test_the_hash_is_that_of_the_file_that_defines_it(tmp_path: Path) -> None:
    path = tmp_path / "source_of_a_part.py"
    path.write_text("def double(x):\n    return 2 * x\n\n\nclass Half:\n    pass\n")
    expected = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    double, half = (import_reference(f"{path}:{name}") for name in ("double", "Half"))
    assert source_hash(double) == source_hash(partial(double, 1)) == source_hash(half) == expected
    path.write_text(path.read_text() + "# changed\n")
    assert source_hash(double) != expected
    assert source_hash(print) == ""


def test_paths_become_absolute_and_modules_stay(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert absolute_reference("my.py:strongest") == f"{tmp_path.resolve()}/my.py:strongest"
    assert absolute_reference("package.module:strongest") == "package.module:strongest"
    assert absolute_reference("mig") == "mig"
