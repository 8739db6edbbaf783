"""Pictures, figures and frames as PNG and GIF, for files and HTML pages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from hackle.core.tiles import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def png_bytes(view: Picture | Figure) -> bytes:
    """A uint8 picture or a matplotlib figure as PNG."""
    buffer = BytesIO()
    if isinstance(view, np.ndarray):
        Image.fromarray(view).save(buffer, "png", optimize=True)
    else:
        view.savefig(buffer, format="png")
    return buffer.getvalue()


def gif_bytes(frames: Sequence[Picture], milliseconds: int = 80) -> bytes:
    """Frames as a looping GIF."""
    head, *tail = [Image.fromarray(frame) for frame in frames]
    buffer = BytesIO()
    head.save(buffer, "gif", save_all=True, append_images=tail, duration=milliseconds, loop=0)
    return buffer.getvalue()


def data_address(content: bytes, kind: str = "png") -> str:
    """An image as a data URL for an HTML page."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
