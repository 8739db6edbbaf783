"""The command line's `explore` verb."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

from hackle.cli.words import Root, Trust, say


def explore_command(
    directories: Positional[tuple[Path, ...]] = (),
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    root: Root = None,
    trust: Trust = False,
) -> None:
    """Look inside trained models in the browser: move latents and watch the image, see what each latent captured,
    compare runs.

    Args:
        directories: Folders of runs, of single ones or of studies, or names of results or of models that come with
            hackle, together in one list; if none is given, all models that come with hackle.
        host: The address to listen on. Anything but loopback can be reached by others, who then need the token in the
            address that is printed.
        port: The port to listen on; 8421, or any free one, if not given.
        browser: Open the browser if there is one.
    """
    from hackle.explorer import serve
    from hackle.shipped import TRAINED, place_of_run

    def announce(address: str) -> None:
        what = ", ".join(map(str, directories)) or "the models that come with hackle"
        say(f"exploring {what} at {address}  (Ctrl-C ends it)")

    folders = [*map(place_of_run, directories)] or [TRAINED]
    serve(*folders, host=host, port=port, browser=browser, root=root, trust=trust, announce=announce)
