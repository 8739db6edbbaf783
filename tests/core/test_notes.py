"""Notes end in codes by which programs decide."""

from __future__ import annotations

from hackle.core.notes import note_codes, warning_code, with_code
from hackle.information import OutOfRangeWarning, SaturatedEstimateWarning


def test_a_note_is_one_line_that_ends_in_its_code() -> None:
    note = with_code("two\n  lines of a warning", "saturated")
    assert note == "two lines of a warning [saturated]"
    assert note_codes(f"{note}\n{note}\nno code [1, 2]\nanother [own]") == ("saturated", "own")
    assert note_codes("") == ()


def test_warnings_have_codes() -> None:
    assert warning_code(SaturatedEstimateWarning) == "saturated"
    assert warning_code(OutOfRangeWarning) == "out-of-range"

    class ConvergenceWarning(UserWarning):
        """As another library's."""

    assert warning_code(ConvergenceWarning) == "convergence"
