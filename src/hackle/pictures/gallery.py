"""Every view of a model at once: as figures in a notebook, or as files in a folder."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, overload

from hackle.core.factors import scored_factors
from hackle.core.tiles import mosaic
from hackle.core.types import Dataset
from hackle.datasets import AnyData, dataset_of, load_of_run, warn_of_other
from hackle.pictures.captured import Captured, importance, response
from hackle.pictures.encoding import data_address, gif_bytes, png_bytes
from hackle.pictures.look import Look, PictureError
from hackle.pictures.plots import captured_figure, histograms, overview, responses_figure, top_latents_figure
from hackle.pictures.views import animation, interpolation, pair_map, samples
from hackle.train.model import Model

_FACTOR_VIEWS = ("captured", "top_latents", "responses")
_VIEWS = ("overview", "samples", "pair", "interpolation", "histograms", *_FACTOR_VIEWS)


class Gallery(dict[str, Any]):
    """The views of one model by name: matplotlib figures, or pictures as uint8 arrays. A notebook shows them all."""

    def __repr__(self) -> str:
        return f"Gallery({', '.join(self)})"

    def save(self, name: str, path: str | Path) -> None:
        """Write one view as PNG."""
        Path(path).write_bytes(png_bytes(self[name]))

    def _repr_html_(self) -> str:
        return "".join(
            f"<figure><figcaption>{escape(name.replace('_', ' '))}</figcaption>"
            f'<img alt="{escape(name)}" style="max-width: 100%" src="{data_address(png_bytes(view))}"></figure>'
            for name, view in self.items()
        )


def views_of(look: Look, dataset: Dataset, *, seed: int = 0, image: int = 0) -> Gallery:
    """Every view of a look. Those that compare codes with factors are left out if no factor is known."""
    first, second = look.order[0], look.order[min(1, len(look.order) - 1)]
    other = image + 1 if image + 1 < len(look.images) else 0
    columns = scored_factors(dataset.factors)
    captured = Captured.of(look, dataset.factors) if columns else None
    views = Gallery(
        overview=overview(look, image, captured=captured),
        samples=mosaic(samples(look, seed=seed)),
        pair=mosaic(pair_map(look, int(first), int(second), image)),
        interpolation=mosaic(interpolation(look, image, other)[None]),
        histograms=histograms(look, seed),
    )
    if captured is not None:
        views["captured"] = captured_figure(look, captured, importance(look, dataset.factors))
        views["top_latents"] = top_latents_figure(look, captured, image=image)
        responses = [response(look.model, dataset, look.rows[image], column) for column in columns]
        views["responses"] = responses_figure(look, responses)
    return views


@overload
def show(
    model: Model | str | Path, dataset: AnyData | None = None, folder: None = None, *, seed: int = 0, image: int = 0
) -> Gallery: ...
@overload
def show(
    model: Model | str | Path,
    dataset: AnyData | None,
    folder: str | Path,
    *,
    seed: int = 0,
    image: int = 0,
    overwrite: bool = False,
    trust: bool = False,
) -> list[Path]: ...
def show(
    model: Model | str | Path,
    dataset: AnyData | None = None,
    folder: str | Path | None = None,
    *,
    seed: int = 0,
    image: int = 0,
    overwrite: bool = False,
    trust: bool = False,
) -> Gallery | list[Path]:
    """Every view of a model: traversals, reconstructions, samples, a map of two latents, an interpolation, histograms and,
    if factors are known, what the codes say about them.

    model: may also be a run's folder; `trust` imports what its record names, as in `Model.load`. dataset: a data set or
    its name, as in `hackle.load`; by default the one that the model was trained on. folder: where to write the views as
    PNG and an animation as GIF; their paths are returned. Without it, a `Gallery` is returned, which a notebook
    displays. seed: which images are shown. image: which of them the traversals start from.
    """
    if isinstance(model, str | Path):
        model = Model.load(model, trust=trust)
    if not isinstance(model, Model):
        raise PictureError(f"the model is of type {type(model).__name__}; expected a hackle.Model or a run's folder")
    dataset = load_of_run(model.run.dataset) if dataset is None else dataset_of(dataset)
    warn_of_other(dataset, model.run.dataset)
    if folder is None:
        return views_of(Look.of(model, dataset, seed=seed), dataset, seed=seed, image=image)
    folder = Path(folder)
    known = _VIEWS if scored_factors(dataset.factors) else tuple(name for name in _VIEWS if name not in _FACTOR_VIEWS)
    paths = [*(folder / f"{name}.png" for name in known), folder / "traversals.gif"]
    present = [path.name for path in paths if path.exists()]
    if present and not overwrite:
        raise PictureError(
            f"{folder} holds {', '.join(present)} already; replace them with overwrite=True (--overwrite on the "
            "command line), or choose another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    look = Look.of(model, dataset, seed=seed)
    gallery = views_of(look, dataset, seed=seed, image=image)
    for name, path in zip(known, paths, strict=False):
        gallery.save(name, path)
    paths[-1].write_bytes(gif_bytes(animation(look)))
    return paths
