"""Pictures of the pages: every page that should have one shows it, they are small, and the code still draws what they show."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from website.front import FRAMES, MOVING, moving
from website.metric_charts import CHARTS, CODES, scored
from website.pictures import FOLDER, MOST, MOST_IN_ALL, MOST_OF_FIGURE, page_of, pictures
from website.sheets import sheet, small_traversal
from website.small_models import shown_small, small_run, squares

from hackle.core.parts import name_of

DOCS = FOLDER.parent
KEPT = sorted(path for path in FOLDER.rglob("*.*") if path.parent != FOLDER)


def test_every_metric_has_its_chart() -> None:
    pages = {path.stem for path in (DOCS / "metrics").glob("*.md")} - {"index"}
    assert pages == CHARTS.keys(), "say in website/metric_charts.py what the chart of each page shows"


# The gallery has its own tests.
@pytest.mark.parametrize(
    "path", [path for path in pictures() if path.startswith(("datasets/", "methods/", "metrics/", "tutorials/"))]
)
def test_a_picture_is_kept_and_on_its_page(path: str) -> None:
    assert (FOLDER / path).is_file(), f"python -m website.pictures {path}"
    assert re.search(rf"!\[[^\]]+\]\(\.\./pictures/{re.escape(path)}\)", page_of(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["methods", "metrics", "datasets"])
def test_every_page_of_a_kind_has_a_picture(kind: str) -> None:
    pages = [page for page in (DOCS / kind).glob("*.md") if page.stem not in ("index", "own")]
    assert [page.stem for page in pages if "](../pictures/" not in page.read_text(encoding="utf-8")] == []
    assert "](pictures/figures/" in (DOCS / "figures.md").read_text(encoding="utf-8")


def test_pictures_are_small_and_used() -> None:
    most = {path: MOST_OF_FIGURE if path.parent.name == "figures" else MOST for path in KEPT}
    assert all(path.stat().st_size <= most[path] for path in KEPT)
    assert sum(path.stat().st_size for path in KEPT) <= MOST_IN_ALL
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert [path.name for path in KEPT if f"pictures/{path.relative_to(FOLDER).as_posix()}" not in pages] == []


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", ["mig", "mcc", "similarity", "entangle", "pairwise-entanglement"])
def test_charts_show_what_the_metrics_say(page: str) -> None:
    path = f"metrics/{page}.svg"
    kept, made = (FOLDER / path).read_text(encoding="utf-8"), (pictures()[path]() or b"").decode()
    numbers = re.compile(r"(?<=>)(?:reference )?-?\d+\.\d\d(?=<)|\d+(?:\.\d+)?")
    assert numbers.sub("", made) == numbers.sub("", kept), f"make it again: python -m website.pictures {path}"
    values = [[float(value) for value in re.findall(r"(-?\d+\.\d\d)<", text)] for text in (made, kept)]
    assert values[0] == pytest.approx(values[1], abs=0.02)


@pytest.mark.filterwarnings("default")
def test_the_codes_of_the_charts_are_of_the_quality_that_they_are_said_to_be() -> None:
    (bars,) = scored("mig")
    assert bars.reference == pytest.approx(1.0, abs=0.01)
    best, rotated, noise = (bars.values[kind] for kind in CODES)
    assert best > 0.9 > 0.5 > rotated > 0.1 > noise


@pytest.mark.parametrize("name", ["dsprites", "color-dsprites"])
def test_sheets_show_the_data_sets(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKLE_DATA", str(tmp_path))
    kept = Image.open(BytesIO((FOLDER / "datasets" / f"{name}.webp").read_bytes())).convert("RGB")
    drawn = sheet(name)
    assert kept.size == drawn.size
    assert np.abs(np.asarray(kept, float) - np.asarray(drawn, float)).mean() < 6


def test_the_readme_shows_a_model_that_moves() -> None:
    with Image.open(MOVING) as kept, Image.open(BytesIO(moving())) as made:
        assert kept.size == made.size
        assert kept.n_frames == made.n_frames == 2 * FRAMES - 2  # type: ignore[attr-defined]
        for frame in (0, FRAMES // 2):
            kept.seek(frame)
            made.seek(frame)
            before, now = (np.asarray(shown.convert("L"), float) for shown in (kept, made))
            assert np.abs(before - now).mean() < 2, "python -m website.front"


def test_small_models_are_of_every_method_that_has_no_other() -> None:
    assert {name_of(small_run(name).method) for name in shown_small()} == set(shown_small())
    images = squares().images
    assert images.shape == (9 * 9 * 3, 32, 32, 1)
    assert sorted(set((images[..., 0] > 0).sum((1, 2)).tolist())) == [36, 100, 196]
    first = shown_small()[0]
    with Image.open(FOLDER / "methods" / f"{first}.webp") as kept:
        assert small_traversal(first, steps=2).size == kept.size
