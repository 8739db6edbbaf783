"""Uploaded pictures, decoded safely: only known formats, with the size checked before any pixel is read."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from hackle.core.errors import HackleError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MOST_PIXELS = 24_000_000
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


class UploadError(HackleError):
    """An upload that is not a usable picture."""


def decode_upload(data: bytes, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """The largest central crop with the model's aspect ratio, scaled to the model's size, (h, w, c)."""
    height, width, channels = shape
    if channels not in _MODES:
        raise UploadError(f"this model's images have {channels} channels: a picture cannot stand for one")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as probe:
                if probe.width * probe.height > MOST_PIXELS:
                    raise UploadError(
                        f"the picture has {probe.width}×{probe.height} pixels; at most {MOST_PIXELS:,} are taken"
                    )
                probe.verify()
            # A verified file must be reopened before its pixels can be read.
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                upright = ImageOps.exif_transpose(image).convert(_MODES[channels])
                fitted = ImageOps.fit(upright, (width, height), Image.Resampling.LANCZOS)
    except UploadError:
        raise
    except Exception as error:
        # Decoders can fail on broken files in any way: none of these is an error of the server.
        raise UploadError(f"this is no picture that can be read ({error}); send {', '.join(FORMATS)}") from error
    return np.asarray(fitted, dtype=np.uint8).reshape(shape)
