from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets import load
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.contact_sheet import contact_sheet, vary, write_contact_sheet
from hackle.datasets.source import DataError

GRID = FactorGrid([Factor("shape", 2), Factor("grey", 25)])


def greys(grid: FactorGrid = GRID, channels: int = 1) -> ArrayDataset:
    """Every image is flat, ten times its grey factor."""
    rows = grid.rows(np.arange(grid.size))
    level = (10 * rows[:, 1]).astype(np.uint8)
    return ArrayDataset("greys", np.broadcast_to(level[:, None, None, None], (len(rows), 32, 16, channels)), grid)


def test_one_factor_varies_over_its_range_and_the_others_are_held() -> None:
    rows = vary(GRID, "grey", [1, 7])
    assert len(rows) == 10
    assert (rows[:, 0] == 1).all()
    assert rows[0, 1] == 0
    assert rows[-1, 1] == 24
    assert (np.diff(rows[:, 1]) > 0).all()


def test_an_incomplete_grid_shows_the_nearest_row_that_exists() -> None:
    present = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 2, 0]]
    factors = [Factor("a", 2), Factor("b", 4), Factor("instance", 2, "categorical", observed=False)]
    grid = FactorGrid(factors, present=present)
    assert vary(grid, "b", [0, 0, 0]).tolist() == [[0, 0, 0], [0, 1, 1], [0, 2, 0]]


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_tiles_show_the_images(channels: int) -> None:
    sheet = np.asarray(contact_sheet(greys(channels=channels)))
    line = sheet[4 + 68 + 30]  # through the middle of the second line's tiles, 64 pixels high
    first = sheet.shape[1] - 10 * (32 + 4)
    shown = [int(line[first + column * 36 + 10, 0]) for column in range(10)]
    assert shown == [10 * value for value in vary(GRID, "grey", [0, 0])[:, 1]]


def test_a_set_without_factors_shows_images_at_random() -> None:
    grid = FactorGrid([Factor("instance", 30, "categorical", observed=False)])
    images = np.broadcast_to(np.arange(30, dtype=np.uint8)[:, None, None, None] * 8, (30, 64, 64, 1))
    sheet = np.asarray(contact_sheet(ArrayDataset("own", images, grid)))
    shown = {int(sheet[4 + 68 * y + 30, 4 + 68 * x + 30, 0]) for y in range(3) for x in range(10)}
    assert shown == {8 * value for value in range(30)}


def test_lines_of_a_stochastic_set_do_not_repeat_its_noise(tmp_path: Path) -> None:
    sheet = np.asarray(contact_sheet(load("color-dsprites", tmp_path)))
    first = sheet.shape[1] - 10 * 68
    tiles = [
        sheet[4 + 68 * line : 68 + 68 * line, first + 68 * column :][:, :64] for line in range(5) for column in (0, 1)
    ]
    colours = {tuple(tile[tile.any(axis=2)][0].tolist()) for tile in tiles}
    assert len(colours) == 10


def test_the_sheet_is_the_same_for_the_same_seed() -> None:
    assert contact_sheet(greys(), seed=3) == contact_sheet(greys(), seed=3)


def test_a_file_is_written_and_kept_unless_told(tmp_path: Path) -> None:
    path = write_contact_sheet(greys(), tmp_path / "sheet.png")
    with Image.open(path) as picture:
        assert picture.format == "PNG"
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match="is there already"):
        write_contact_sheet(greys(), path)
    assert path.read_bytes() == b"mine"
    write_contact_sheet(greys(), path, overwrite=True)
    assert path.read_bytes() != b"mine"
    assert [child.name for child in tmp_path.iterdir()] == ["sheet.png"]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_contact_sheet(greys(), tmp_path / "no" / "sheet.png")
