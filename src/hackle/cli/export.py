"""`hackle export`: a trained model's encoder or decoder as a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hackle.cli.words import RunDirectory, Trust, say


def export_command(
    directory: RunDirectory,
    out: Path,
    part: Literal["encoder", "decoder"] = "encoder",
    overwrite: bool = False,
    trust: Trust = False,
) -> None:
    """Write a trained model's encoder or decoder to a file that runs without hackle, and check it by running it.

    Args:
        out: The file: FILE.pt2 for torch.export, FILE.onnx for ONNX.
        part: The encoder takes images (n, c, h, w) in [0, 1] and gives means and logvars; the decoder takes latents (n, l) and
            gives images.
        overwrite: Replace an existing file.
    """
    from hackle.shipped import place_of_run
    from hackle.train.model import Model

    say(str(Model.load(place_of_run(directory), trust=trust).export(out, part, overwrite=overwrite)))
