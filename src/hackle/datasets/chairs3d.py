"""3D Chairs (Aubry et al. 2014): 1,393 chairs seen from 62 sides, 86,366 images, 64×64×3.

rendered_chairs.tar holds rendered_chairs/CHAIR/renders/image_NNN_pEEE_tAAA_rRRR.png of 600×600 pixels, EEE being the
elevation and AAA the azimuth in degrees: 2 elevations × 31 azimuths. The central 400×400 pixels, which hold the chair, are
resized to 64×64. Kim & Mnih 2018 do not give their crop, and treat the factors as unknown. Chairs are numbered by their
sorted names.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.archives import members
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import DamagedError
from hackle.datasets.decoding import cropped_pictures
from hackle.datasets.fetch import present_files
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

_CROP, _SIZE = 400, 64
_NAME = r"([^/]+)/renders/image_\d+_p(\d+)_t(\d+)_r\d+\.png$"

# Neither size nor SHA-256 is published.
_FILE = RemoteFile(
    "rendered_chairs.tar", "https://www.di.ens.fr/willow/research/seeing3Dchairs/data/rendered_chairs.tar"
)


def load(root: Path) -> ArrayDataset:
    """The chairs of root/chairs3d/rendered_chairs.tar, or of the folder rendered_chairs that it unpacks to."""
    (path,) = present_files(SOURCE, root)
    images, rows = prepare([path], lambda: _build(path))
    return ArrayDataset("chairs3d", images, _grid(*(int(size) for size in rows.max(axis=0) + 1)))


def _grid(chairs: int, elevations: int, azimuths: int) -> FactorGrid:
    return FactorGrid(
        [
            Factor("chair", chairs, "categorical"),
            Factor("elevation", elevations, "ordinal"),
            Factor("azimuth", azimuths, "cyclic"),
        ]
    )


def _build(path: Path) -> Build:
    views = [_view(name) for name, _ in members(path, _NAME)]
    if not views:
        raise DamagedError(f"{path} holds no CHAIR/renders/image_…_p…_t…_r….png; expected the rendered chairs")
    codes = [np.unique(np.array(column), return_inverse=True) for column in zip(*views, strict=True)]
    rows = np.stack([code.reshape(-1) for _, code in codes], axis=1).astype(np.int64)
    grid = _grid(*(len(values) for values, _ in codes))
    positions = dict(zip(views, grid.index(rows).tolist(), strict=True))
    if len(positions) < len(views):
        (chair, elevation, azimuth), _ = Counter(views).most_common(1)[0]
        raise DamagedError(f"{path} shows a view twice: {chair} at elevation {elevation}, azimuth {azimuth}")
    if len(views) < grid.size:
        raise DamagedError(
            f"{path} holds {len(views):,} of {grid.size:,} views of {grid.sizes[0]:,} chairs: it is cut short"
        )
    items = ((positions[_view(name)], read()) for name, read in members(path, _NAME))
    parts = cropped_pictures(path, "the rendered chairs", items, crop=_CROP, size=_SIZE)
    return Build((grid.size, _SIZE, _SIZE, 3), grid.rows(np.arange(grid.size)), parts)


def _view(name: str) -> tuple[str, int, int]:
    match = re.search(_NAME, name)
    assert match is not None
    return match[1], int(match[2]), int(match[3])


SOURCE = Source(
    name="chairs3d",
    title="3D Chairs",
    summary="3D Chairs: rendered chairs seen from 62 sides",
    images="86,366 of 64×64×3",
    factors="chair 1393, elevation 2, azimuth 31",
    licence="not stated by its authors",
    load=load,
    files=(_FILE,),
    # Also objects in three dimensions, seen from all sides, in colour.
    stand_in="rooms3d",
)
