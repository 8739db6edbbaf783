"""Pictures of the documentation's pages, made by the code that they show: `python -m website.pictures`.

They are kept in docs/pictures, so that pages show them wherever they are read, and are small. A page that does not show its
picture yet gets it above its first code or table; docs/gallery.md is written whole. A test makes the quick ones again and
compares.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

from PIL import Image

from hackle.figures import FIGURES
from hackle.shipped import TRAINED
from hackle.shipped.models import cards
from website import gallery
from website.factor_charts import PAGES, factor_chart
from website.metric_charts import CAPTION, CAPTIONS, CHARTS, chart
from website.sheets import drawn_data_sets, sheet, small_traversal, traversal, webp
from website.small_models import shown_small, small_run
from website.tutorial_charts import TUTORIAL_CHARTS

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
MOST, MOST_OF_FIGURE, MOST_IN_ALL = 40_000, 100_000, 6_000_000
"""The most bytes of a picture, of a figure of many panels that does not fit into that, and of all of them."""
SMALL = "The latents of a small model"
GALLERY = FOLDER.parent / "gallery.md"


def pictures() -> dict[str, Callable[[], bytes | None]]:
    """Every picture by its path under docs/pictures, with the function that makes its file, or None if it has nothing to
    show yet."""
    data_sets = {f"datasets/{name}.webp": partial(_small, partial(sheet, name)) for name in drawn_data_sets()}
    models = {gallery.picture_of_model(name): partial(_small, partial(traversal, TRAINED / name)) for name in cards()}
    small = {f"methods/{name}.webp": partial(_small, partial(small_traversal, name)) for name in shown_small()}
    unseen = {f"datasets/{page}.svg": partial(_encoded, partial(factor_chart, page)) for page in PAGES}
    metrics = {f"metrics/{page}.svg": partial(_chart, page) for page in CHARTS}
    tutorials = {f"tutorials/{page}.svg": partial(_encoded, make) for page, make in TUTORIAL_CHARTS.items()}
    figures = {f"figures/{name}.webp": partial(_figure, name) for name in FIGURES}
    return {**data_sets, **unseen, **models, **small, **metrics, **tutorials, **figures}


def _encoded(make: Callable[[], str]) -> bytes:
    return make().encode()


def _chart(page: str) -> bytes:
    return chart(CHARTS[page]()).encode()


def _figure(name: str) -> bytes | None:
    """The sharpest drawing that is small enough, of fewer colours where that is needed; without loss, so that text is clear."""
    larger: list[bytes] = []
    for picture in gallery.figure(name):
        for shown in (picture, picture.quantize(64), picture.quantize(24)):
            content = webp(shown.convert("RGB"), lossless=True)
            if len(content) <= MOST:
                return content
            larger.append(content)
    if larger and min(map(len, larger)) > MOST_OF_FIGURE:
        raise ValueError(f"{name} takes more than {MOST_OF_FIGURE:,} bytes; draw fewer dots")
    return next((content for content in larger if len(content) <= MOST_OF_FIGURE), None)


def _small(make: Callable[[], Image.Image]) -> bytes:
    """A picture as WebP, of the best quality at which it is small enough; at half its size if it is of much noise."""
    picture = make()
    half = picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.BOX)
    for shown, quality in product((picture, half), (80, 65, 50, 35)):
        content = webp(shown, quality)
        if len(content) <= MOST:
            return content
    raise ValueError(f"a picture of {picture.size} pixels takes more than {MOST:,} bytes; draw fewer tiles")


def page_of(path: str) -> Path:
    """The page that shows a picture, which has its name or names it as a variant: `color-dsprites` is on dsprites-variants.
    Figures, and models on other data than methods' pages show, are in the gallery."""
    kind, _, name = path.partition("/")
    if kind in ("figures", "models"):
        return GALLERY
    name = name.rpartition(".")[0]
    own = FOLDER.parent / kind / f"{name}.md"
    return own if own.exists() else own.with_name(f"{name.rpartition('-')[2]}-variants.md")


def with_picture(text: str, path: str) -> str:
    """A page's text with a picture and its caption above the first code, table or section, unless it shows the picture already.

    >>> page = "# MIG\\n\\nA gap.\\n\\n```python\\nmig_score()\\n```\\n"
    >>> with_picture(page, "metrics/mig.svg").splitlines()[4]
    '![MIG: codes of known quality](../pictures/metrics/mig.svg)'
    """
    title = text.partition("\n")[0].removeprefix("# ")
    kind, name = path.partition("/")[0], path.partition("/")[2].rpartition(".")[0]
    alternative, caption = _words(kind, name, title)
    caption = f"*{caption} Made by `python -m website.pictures {kind}/{name}`.*"
    if f"pictures/{path})" in text:
        # A model that has come with hackle since takes the place of a small one.
        return re.sub(rf"^\*{SMALL}.*\*$", lambda _: caption, text, flags=re.MULTILINE)
    paragraphs = text.split("\n\n")
    at = next(at for at, one in enumerate(paragraphs) if at and one.startswith(("```", "|", "## ", "- ")))
    # What leads to the code or table stays with it.
    at -= paragraphs[at - 1].endswith(":") and at > 2
    shown = [f"![{alternative}](../pictures/{path})", caption]
    return "\n\n".join([*paragraphs[:at], *shown, *paragraphs[at:]])


def _words(kind: str, name: str, title: str) -> tuple[str, str]:
    """The text alternative and the caption of a picture."""
    if kind == "metrics":
        return f"{title}: codes of known quality", CAPTIONS.get(name, CAPTION)
    if kind == "methods":
        latents = "The most used latents of a trained model, one in each line, from one end of its range to the other."
        if name in shown_small():
            latents = (
                f"{SMALL}, the most used first, each moved from one end of its range to the other. It saw "
                f"{small_run(name).steps:,} batches of white squares whose place and size vary."
            )
        return f"Traversals of a model trained by {title}", latents
    if name in PAGES:
        return (
            f"The factors of {name}, a box for each value",
            f"What varies in `{PAGES[name]}`: a box for each value of a factor. `hackle data show {PAGES[name]}` shows the "
            "images once you have them.",
        )
    return f"Images of {name}", f"Random images of `{name}`, and below them what each factor changes."


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the pictures of the documentation's pages.")
    parser.add_argument("begin", nargs="*", help="only those whose path begins so, such as metrics/mig")
    chosen = tuple(parser.parse_args().begin) or ("",)
    shown = set[Path]()
    for path, make in pictures().items():
        if not path.startswith(chosen):
            continue
        content = make()
        if content is None:
            (FOLDER / path).unlink(missing_ok=True)
            continue
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_bytes(content)
        page = page_of(path)
        shown.add(page)
        if page != GALLERY:
            page.write_text(with_picture(page.read_text(encoding="utf-8"), path), encoding="utf-8")
        print(f"{len(content):7,} bytes  docs/pictures/{path}", flush=True)
    if GALLERY in shown:
        GALLERY.write_text(gallery.page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
