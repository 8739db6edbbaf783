"""`hackle show`: pictures of a trained model."""

from __future__ import annotations

from pathlib import Path

from hackle.cli.words import Root, RunDirectory, Trust, data_of, not_negative, place_of_output, say
from hackle.core.errors import HackleError
from hackle.core.terminal import Terminal


def show_command(
    directory: RunDirectory,
    out: Path | None = None,
    seed: int = 0,
    image: int = 0,
    dataset: str | None = None,
    root: Root = None,
    overwrite: bool = False,
    trust: Trust = False,
) -> None:
    """Write pictures of a trained model: overview with traversals sorted by KL, samples, a map of two latents, histograms,
    an animation, and the curves of its training.

    Args:
        out: Where the pictures go; if not given, a folder `pictures` in the run's folder, or METHOD-DATASET in the current
            folder for a model that comes with hackle.
        seed: Seed of the images shown.
        image: Which of the images shown the traversals start from.
        dataset: Name or path of the data set, if it is not the one trained on, or has moved.
        overwrite: Replace existing pictures.
    """
    from hackle.pictures import show
    from hackle.pictures.encoding import png_bytes
    from hackle.report.run_page import curves_figure
    from hackle.shipped import place_of_run
    from hackle.train.model import Model

    not_negative(seed=seed)
    place = place_of_run(directory)
    model = Model.load(place, trust=trust)
    data = data_of(model, dataset, root)
    folder = out or place_of_output(directory, place, "pictures")
    curves = folder / "curves.png"
    if curves.exists() and not overwrite:
        raise HackleError(f"{folder} holds pictures already; replace them with --overwrite, or choose another --out")
    with Terminal(stderr=True).status("encoding images and drawing pictures, about ten seconds"):
        paths = show(model, data, folder, seed=seed, image=image, overwrite=overwrite)
        if (figure := curves_figure(place)) is not None:
            curves.write_bytes(png_bytes(figure))
            paths.append(curves)
    for path in paths:
        say(str(path))
