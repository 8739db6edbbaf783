"""The command line's `explore` verb."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

from hackle.cli.words import run_command, say


def main(words: list[str]) -> None:
    run_command(explore_command, "explore", words)


def explore_command(
    directory: Positional[Path | None] = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    root: Path | None = None,
    trust: bool = False,
) -> None:
    """Look inside trained models in the browser: move latents and watch the image, see what each latent captured,
    compare runs.

    Args:
        directory: A run's folder, a folder of runs, a study's folder, or the name of results or of a model that comes with
            hackle; if not given, all models that come with hackle.
        host: The address to listen on. Anything but loopback can be reached by others, who then need the token in the
            address that is printed.
        port: The port to listen on; 8421, or any free one, if not given.
        browser: Open the browser if there is one.
        root: The folder of data sets.
        trust: Import the modules outside hackle that the runs' records name, which runs their code.
    """
    from hackle.explorer import serve
    from hackle.shipped import TRAINED
    from hackle.shipped.models import cards

    def announce(address: str) -> None:
        line = f"exploring {directory or 'the models that come with hackle'} at {address}  (Ctrl-C ends it)"
        say(line)

    known = directory is None or (not directory.exists() and directory.as_posix() in cards())
    folder = TRAINED / (directory or "") if known else directory
    assert folder is not None
    serve(folder, host=host, port=port, browser=browser, root=root, trust=trust, announce=announce)
