"""The base class of hackle's errors: something the user can fix."""

from __future__ import annotations


class HackleError(Exception):
    """Something the user can fix: the message says what was wrong, what was expected and what to do next."""

    exit_code = 1
    """The exit status of the command line."""
