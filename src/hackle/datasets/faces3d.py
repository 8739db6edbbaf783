"""3D Faces: renderings of the Basel Face Model (Paysan et al. 2009), 127,050 grey images of 64×64.

The file is basel_face_renders.pth of Chen et al. 2018 (β-TCVAE): one uint8 tensor of shape (50, 21, 11, 11, 64, 64),
for identity, azimuth, elevation and lighting. Kim & Mnih 2018 rendered their own 239,840 images of the same model,
which were never published, so results here are not comparable to theirs image for image. The model's licence forbids
redistributing renderings, so there is no public address. The tensor is read with PyTorch's `weights_only`, which runs
no pickled code.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import torch

from hackle.core.factors import Factor, FactorGrid
from hackle.datasets.arrays import ArrayDataset
from hackle.datasets.damage import DamagedError, reading
from hackle.datasets.fetch import present_files
from hackle.datasets.source import RemoteFile, Source

_FILE = RemoteFile("basel_face_renders.pth", "")


def load(root: Path) -> ArrayDataset:
    """The tensor of root/faces3d/basel_face_renders.pth; its first four axes are the factors."""
    (path,) = present_files(SOURCE, root)
    try:
        with reading(path, "a file of one PyTorch tensor"):
            faces = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, AttributeError, IndexError, TypeError) as error:
        raise DamagedError(
            f"{path} is not a file of one plain PyTorch tensor; nothing in it was run ({error})"
        ) from error
    whole = isinstance(faces, torch.Tensor) and faces.dtype == torch.uint8 and faces.ndim == 6 and faces.numel() > 0
    if not whole or faces.shape[4:] != (64, 64):
        form = f"{faces.dtype} {tuple(faces.shape)}" if isinstance(faces, torch.Tensor) else type(faces).__name__
        raise DamagedError(f"{path} holds {form}; expected uint8 (identities, azimuths, elevations, lightings, 64, 64)")
    identities, azimuths, elevations, lightings = faces.shape[:4]
    factors = [
        Factor("identity", identities, "categorical"),
        Factor("azimuth", azimuths, "ordinal"),
        Factor("elevation", elevations, "ordinal"),
        Factor("lighting", lightings, "ordinal"),
    ]
    return ArrayDataset("faces3d", np.asarray(faces.reshape(-1, 64, 64, 1)), FactorGrid(factors))


SOURCE = Source(
    name="faces3d",
    title="3D Faces",
    summary="3D Faces: renderings of the Basel Face Model",
    images="127,050 of 64×64×1",
    factors="identity 50, azimuth 21, elevation 11, lighting 11",
    licence="non-commercial, not to be passed on",
    load=load,
    files=(_FILE,),
    # Also objects in three dimensions, seen from all sides, in colour.
    stand_in="rooms3d",
    steps=(
        "obtain a licence for the Basel Face Model at https://faces.dmi.unibas.ch, then ask the authors of β-TCVAE "
        "(https://github.com/rtqichen/beta-tcvae) for basel_face_renders.pth, or render the same grid yourself"
    ),
)
