"""The error that all others are: something the user can mend."""

from __future__ import annotations


class HackleError(Exception):
    """Something the user can mend: the message says what was wrong, what was expected and what to do next."""

    exit_code = 1
    """With which the command line ends."""
