"""3D Chairs (Aubry et al. 2014): 1,393 chairs seen from 62 sides, 86,366 images, 64×64×3.

rendered_chairs.tar holds rendered_chairs/CHAIR/renders/image_NNN_pEEE_tAAA_rRRR.png of 600×600 pixels, EEE being the
elevation and AAA the azimuth in degrees: 2 elevations × 31 azimuths. The central 400×400 pixels, which hold the chair, are
resized to 64×64. Kim & Mnih 2018 do not give their crop, and treat the factors as unknown. Chairs are numbered by their
sorted names.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np

from hackle.core.factors import Factor, FactorError, FactorGrid
from hackle.datasets.archives import members
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import DamagedError, reading
from hackle.datasets.decoding import cropped_and_resized, decoded
from hackle.datasets.fetch import present_files
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import RemoteFile, Source

_CROP, _SIZE = 400, 64
_NAME = r"([^/]+)/renders/image_\d+_p(\d+)_t(\d+)_r\d+\.png$"

# Neither size nor SHA-256 is published.
_FILE = RemoteFile(
    "rendered_chairs.tar", "https://www.di.ens.fr/willow/research/seeing3Dchairs/data/rendered_chairs.tar", None, None
)


def load(root: Path) -> ArrayDataset:
    """The chairs of root/chairs3d/rendered_chairs.tar, or of the folder rendered_chairs that it unpacks to."""
    (path,) = present_files(SOURCE, root)
    images, rows = prepare([path], lambda: _build(path))
    chairs, elevations, azimuths = (int(size) for size in rows.max(axis=0) + 1)
    grid = FactorGrid(
        [
            Factor("chair", chairs, "categorical"),
            Factor("elevation", elevations, "ordinal"),
            Factor("azimuth", azimuths, "cyclic"),
        ]
    )
    return ArrayDataset("chairs3d", images, grid)


def _build(path: Path) -> Build:
    views = [_view(name) for name, _ in members(path, _NAME)]
    if not views:
        raise DamagedError(f"{path} holds no CHAIR/renders/image_…_p…_t…_r….png; expected the rendered chairs")
    codes = [np.unique(np.array(column), return_inverse=True) for column in zip(*views, strict=True)]
    rows = np.stack([code.reshape(-1) for _, code in codes], axis=1).astype(np.int64)
    factors = [
        Factor(name, len(values)) for name, (values, _) in zip(("chair", "elevation", "azimuth"), codes, strict=True)
    ]
    complete = FactorGrid(factors)
    try:
        held = FactorGrid(factors, present=rows).size
    except FactorError as error:
        raise DamagedError(f"{path} shows a view twice: {error}") from error
    if held != complete.size:
        raise DamagedError(
            f"{path} holds {held:,} of {complete.size:,} views of {factors[0].size:,} chairs: it is cut short"
        )
    positions = dict(zip(views, complete.index(rows).tolist(), strict=True))
    items = ((positions[_view(name)], read()) for name, read in members(path, _NAME))

    def parts():
        with reading(path, "the rendered chairs"):
            yield from decoded(items, partial(cropped_and_resized, crop=_CROP, size=_SIZE))

    return Build((complete.size, _SIZE, _SIZE, 3), complete.rows(np.arange(complete.size)), parts())


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
