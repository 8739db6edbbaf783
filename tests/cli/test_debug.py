"""Errors as one line for users, and as they are for whoever looks for their cause."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from hackle.cli.main import SUMMARY, main
from hackle.core.errors import HackleError
from hackle.core.sources import SourceChanged


def test_an_error_is_one_line_unless_asked_otherwise(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HACKLE_DEBUG", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["scores"])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("hackle: no verb 'scores'")
    with pytest.raises(HackleError, match="no verb 'scores'"):
        main(["--debug", "scores"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_environment_asks_for_tracebacks_too(value: str, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKLE_DEBUG", value)
    with pytest.raises(HackleError if shown else SystemExit):
        main(["scores"])


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ValueError("a value"), OSError(28, "full", "file"), MemoryError()]
)
def test_every_kind_of_error_is_raised_as_it_is(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: list[str]) -> None:
        raise error

    monkeypatch.setattr("hackle.cli.main._run", fail)
    monkeypatch.delenv("HACKLE_DEBUG", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["parts"])
    assert ended.value.code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    with pytest.raises(type(error)) as raised:
        main(["--debug", "parts"])
    assert raised.value is error


def test_the_option_goes_before_any_verb_and_the_summary_names_it(capsys: Any) -> None:
    main(["--debug", "--version"])
    assert capsys.readouterr().out.startswith("hackle ")
    assert "hackle --debug VERB" in SUMMARY


def test_warnings_of_hackle_are_one_line_and_those_of_others_stay_as_they_are(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(words: list[str]) -> None:
        warnings.warn("the source of\nmine has changed [source-changed]", SourceChanged, stacklevel=1)
        warnings.warn("a word of another package [one]", UserWarning, stacklevel=1)

    monkeypatch.setattr("hackle.cli.main._run", warn)
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        main(["parts"])
        warnings.warn("afterwards", SourceChanged, stacklevel=1)
    assert capsys.readouterr().err == "hackle: the source of mine has changed\n"
    assert [str(one.message) for one in others] == ["a word of another package [one]", "afterwards"]
