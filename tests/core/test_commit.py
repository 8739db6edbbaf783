"""The commit of the package is read from files, as pip and git leave them, and unknown where they say nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import hackle
from hackle.core import commit

KNOWN = "0c45b01" + "f" * 33


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    return subprocess.run(
        ["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_git_says_of_a_clone_a_worktree_packed_names_and_a_loose_head(tmp_path: Path) -> None:
    clone, worktree = tmp_path / "clone", tmp_path / "worktree"
    clone.mkdir()
    assert commit.commit_at(clone) == ""
    git(clone, "init", "-q")
    assert commit.commit_at(clone) == ""
    git(clone, "commit", "-q", "--allow-empty", "-m", "first")
    first = git(clone, "rev-parse", "HEAD")
    assert commit.commit_at(clone) == first
    git(clone, "worktree", "add", "-q", "-b", "other", str(worktree))
    git(worktree, "commit", "-q", "--allow-empty", "-m", "second")
    second = git(worktree, "rev-parse", "HEAD")
    assert (commit.commit_at(clone), commit.commit_at(worktree)) == (first, second)
    git(clone, "pack-refs", "--all")
    assert (commit.commit_at(clone), commit.commit_at(worktree)) == (first, second)
    git(clone, "checkout", "-q", "--detach", second)
    assert commit.commit_at(clone) == second


@pytest.mark.parametrize("head", ["ref: refs/heads/gone", "ref: ../../../etc/passwd", "no commit", "\0", ""])
def test_a_head_that_names_no_commit_is_unknown(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    assert commit.commit_at(tmp_path) == ""


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        (json.dumps({"url": "u", "vcs_info": {"vcs": "git", "commit_id": KNOWN}}), KNOWN),
        (json.dumps({"url": "u", "vcs_info": {"vcs": "git", "commit_id": "main"}}), ""),
        (json.dumps({"url": "file:///somewhere", "dir_info": {}}), ""),
        ("[]", ""),
        ("{", ""),
        (None, ""),
    ],
)
def test_an_installed_package_has_the_commit_that_pip_noted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, noted: str | None, expected: str
) -> None:
    installed = tmp_path / "lib" / "python3" / "site-packages" / "hackle" / "core" / "commit.py"
    # An environment within the repository of another project, whose commit is not hackle's.
    (tmp_path / "lib" / "python3" / ".git").mkdir(parents=True)
    (tmp_path / "lib" / "python3" / ".git" / "HEAD").write_text("a" * 40)
    monkeypatch.setattr(commit, "__file__", str(installed))
    monkeypatch.setattr(commit, "distribution", lambda name: SimpleNamespace(read_text=lambda file: noted))
    commit.package_commit.cache_clear()
    try:
        assert commit.package_commit() == expected
        assert commit.full_version() == hackle.__version__ + (f"+g{expected[:10]}" if expected else "")
    finally:
        commit.package_commit.cache_clear()


def test_a_version_in_words_says_where_the_commit_is_unknown() -> None:
    assert commit.in_words("0.3.0+g0c45b01fff") == "0.3.0 (commit 0c45b01fff)"
    assert commit.in_words("0.2.0") == "0.2.0 (commit unknown)"
