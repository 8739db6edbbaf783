"""The command line: a few verbs, each a module of this package that is imported when its verb is used."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from hackle import __version__
from hackle.cli.words import run_command, say_error, say_warning
from hackle.core.errors import HackleError
from hackle.core.parts import nearest
from hackle.core.processes import import_matplotlib
from hackle.core.threads import wait_asleep_where_others_run

VERBS = {
    "train": ("train METHOD", "train one model; `hackle train --help` lists the methods"),
    "score": ("score DIR", "score a trained model with every metric that fits"),
    "score-codes": ("score-codes F", "score codes that another program has written to a file"),
    "show": ("show DIR", "write pictures of a trained model: traversals, reconstructions, samples"),
    "export": ("export DIR", "write a trained encoder or decoder as a file for other programs, .pt2 or ONNX"),
    "explore": ("explore [DIR …]", "look inside runs, studies and hackle's own models in the browser"),
    "models": ("models", "list the trained models that come with hackle"),
    "data": ("data", "list, fetch, check and show data sets"),
    "study": ("study", "train and score the hundreds or thousands of runs of a study"),
    "claims": ("claims DIR", "test the papers' claims on a study's results"),
    "report": ("report DIR", "write a study's claims, figures and scores as one page"),
    "parts": ("parts", "list methods, metrics, claims and all other parts, built in and found"),
    "bench": ("bench fleet", "how fast this machine trains, stacked, alone and by a plain loop"),
    "demo": ("demo", "train, score and draw a small FactorVAE on dSprites, with a page to open"),
}
"""How each verb is used and what it does. Its module of this package has a function `VERB_command`, whose arguments are the
verb's options, or, where the words decide which options there are, a function `main` of the words."""
SUMMARY = "\n".join(
    [
        "hackle — train, score, compare and look at disentangled representations",
        "",
        *(f"  hackle {usage:<14} {about}" for usage, about in VERBS.values()),
        "",
        "Each verb has its own --help. Data sets lie under --root, or $HACKLE_DATA, or the user's cache.",
        "hackle --debug VERB …, or HACKLE_DEBUG=1, shows where in the code an error came from.",
    ]
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb. Errors that the user can fix become a message and exit code 1, Ctrl-C exit code 130; with --debug
    before the verb, or HACKLE_DEBUG set, the error is raised as it is."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character prints a question mark.
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = words[:1] == ["--debug"]
    words = words[debug:]
    debug = debug or os.environ.get("HACKLE_DEBUG", "0") not in ("", "0")
    try:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                _run(words)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has closed it. Exit code 1 is what rich uses; what Python still flushes at exit is
        # discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (KeyboardInterrupt, Exception) as error:
        message = "" if debug else _message(error)
        if not message:
            raise
        say_error(message)
        raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else getattr(error, "exit_code", 1)) from error


_as_python_shows_it = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], filename: str, *place: Any, **more: Any) -> None:
    """Show hackle's own warnings on one line, like errors, and those of other packages as Python does."""
    ours = category.__module__.startswith("hackle.") or Path(filename).is_relative_to(Path(__file__).parents[1])
    if ours and issubclass(category, UserWarning):
        say_warning(message)
    else:
        _as_python_shows_it(message, category, filename, *place, **more)


def _message(error: BaseException) -> str:
    """An error that the user can fix, on one line; "" for a bug."""
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, HackleError | ValueError):
        return str(error)
    if isinstance(error, RuntimeError | MemoryError):
        # Imported here, since PyTorch takes a second that other errors and `--help` need not wait for.
        from hackle.train.errors import is_out_of_memory

        what = str(error).partition("\n")[0] or "none is left"
        advice = "take fewer latents, smaller batches or smaller fleets"
        return f"not enough memory ({what}); {advice}" if is_out_of_memory(error) else ""
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return f"{what}; see that the path is right, that you may read and write there, and that there is space left"
    return ""


def _run(words: list[str]) -> None:
    if not words or words[0] in ("-h", "--help", "help"):
        print(SUMMARY)
    elif words[0] == "--version":
        print(f"hackle {__version__}")
    elif words[0] in VERBS:
        wait_asleep_where_others_run()
        import_matplotlib()
        name = words[0].replace("-", "_")
        module = import_module(f"hackle.cli.{name}")
        if hasattr(module, "main"):
            module.main(words[1:])
        else:
            run_command(getattr(module, f"{name}_command"), words[0], words[1:])
    else:
        raise HackleError(f"no verb {words[0]!r}; {nearest(words[0], VERBS)}")
