"""The git commit of the package that runs, read from files: neither git nor anything else is started."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from hackle import __version__

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT = 10
"""Digits of a commit in a version; git itself starts with seven."""
_MOST_BYTES = 2**22
"""The most that is read of a file of git's: names of branches and tags, a line each."""


@cache
def package_commit() -> str:
    """The commit that the package was installed from, or, where it runs from a clone, that which is checked out there;
    empty if it is not known. What is changed in a clone and not committed cannot be seen in it."""
    root = Path(__file__).resolve().parents[3]
    # Only hackle's own clone: an environment in a folder of another project's repository says nothing of hackle.
    if (root / "src" / "hackle" / "__init__.py").is_file():
        return commit_at(root)
    return _installed_commit()


def full_version() -> str:
    """The version, with the commit after a plus sign where it is known, as Python's versions spell it."""
    commit = package_commit()[:_SHORT]
    return f"{__version__}+g{commit}" if commit else __version__


def in_words(version: str) -> str:
    """A version as `full_version` spells it with its commit in words: "0.3.0 (commit unknown)"."""
    number, _, commit = version.partition("+g")
    return f"{number} (commit {commit or 'unknown'})"


def _installed_commit() -> str:
    """What pip noted when it installed the package from a repository."""
    try:
        noted = json.loads(distribution("hackle").read_text("direct_url.json") or "{}")
        commit = str(noted["vcs_info"]["commit_id"])
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError):
        return ""
    return commit if _COMMIT.fullmatch(commit) else ""


def commit_at(root: Path) -> str:
    """The commit that is checked out in a clone or in a worktree of one; empty if this is neither."""
    try:
        folder = root / ".git"
        if folder.is_file():
            folder = root / _text(folder).removeprefix("gitdir: ")
        shared = folder / _text(folder / "commondir") if (folder / "commondir").is_file() else folder
        head = _text(folder / "HEAD")
        name = head.removeprefix("ref: ")
        if name != head:
            head = next((_text(place / name) for place in (folder, shared) if (place / name).is_file()), "")
            head = head or _packed(shared / "packed-refs", name)
    except (OSError, ValueError):
        return ""
    return head if _COMMIT.fullmatch(head) else ""


def _text(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(_MOST_BYTES).strip()


def _packed(path: Path, name: str) -> str:
    lines = (line.split(" ") for line in _text(path).splitlines()) if path.is_file() else ()
    return next((line[0] for line in lines if line[1:] == [name]), "")
