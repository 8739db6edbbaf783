"""The test of the wheel says on which Pythons it was made."""

from __future__ import annotations

import runpy
from pathlib import Path

in_words = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "wheel_test.py"))["in_words"]


def test_pythons_that_were_not_found_are_not_taken_for_tested() -> None:
    found = {"3.11": "/usr/bin/python3.11", "3.12": None, "3.13": "/usr/bin/python3.13"}
    assert in_words(found, ["3.13"]) == (
        "2 of 3 Pythons tested. tested, runs: Python 3.11; tested, FAILED: Python 3.13; "
        "NOT TESTED, since not found here: Python 3.12"
    )
    every = dict.fromkeys(found, "/usr/bin/python3")
    assert in_words(every, []) == "3 of 3 Pythons tested. tested, runs: Python 3.11, 3.12, 3.13"
    assert in_words(dict.fromkeys(found), []) == (
        "0 of 3 Pythons tested. NOT TESTED, since not found here: Python 3.11, 3.12, 3.13"
    )
