"""Claims of one's own from a file: judged beside the papers', found by name, refused with a reason."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest

import forked
from cli.test_cli_results import store

CLAIM = """
from hackle.claims import Claim, Region, Stratum
from hackle.claims.measures import difference

parts = [{"method": "vae", "dataset": "dsprites", "correlation": sigma} for sigma in (0.0, 0.9)]
noise_hurts = Claim(
    "noise-lowers-mig", "lab-notes", "Monday", "Correlated noise lowers the MIG of a VAE.", "fall of MIG",
    Region(low=0.02), difference("mig", sign=-1), (Stratum("dSprites", tuple(parts)),), study="yang2020",
)
"""


def claims(*words: str) -> CompletedProcess[str]:
    """In a process of its own: a claim that was included stays for the life of a process."""
    return forked.hackle("claims", *words)


def test_a_claim_from_a_file_is_judged_with_all_others(tmp_path: Path) -> None:
    folder, file = store(tmp_path / "study", 0.1, 6), tmp_path / "my_claims.py"
    file.write_text(CLAIM)
    everything = claims(str(folder), "--claims", str(file))
    assert everything.returncode == 0, everything.stderr
    assert "noise-lowers-mig" in everything.stdout
    assert "mig-vae-10-dsprites" in everything.stdout
    mine = claims(str(folder), "--claims", f"{file}:noise_hurts", "--paper", "lab-notes", "--reasons")
    assert "Correlated noise lowers the MIG of a VAE." in mine.stdout
    assert "mig-vae-10-dsprites" not in mine.stdout


def test_what_a_verdict_is_does_not_depend_on_which_are_shown(tmp_path: Path) -> None:
    folder = store(tmp_path / "study", 0.1, 4)
    line = next(line for line in claims(str(folder)).stdout.splitlines() if "mig-vae-10-dsprites" in line)
    assert line.split() == next(
        shown.split()
        for shown in claims(str(folder), "--paper", "yang2020").stdout.splitlines()
        if "mig-vae-10-dsprites" in shown
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x = 1\n", "defines no claim"),
        ("import nothing_such\n", "cannot be loaded: ModuleNotFoundError"),
        (CLAIM.replace('"lab-notes"', '"yang2020"').replace("noise-lowers-mig", "mig-vae-10-dsprites"), "already"),
    ],
)
def test_files_without_new_claims_are_refused(tmp_path: Path, content: str, words: str) -> None:
    folder, file = store(tmp_path / "study", 0.1, 2), tmp_path / "my_claims.py"
    file.write_text(content)
    refused = claims(str(folder), "--claims", str(file))
    assert refused.returncode == 1
    assert words in refused.stderr
