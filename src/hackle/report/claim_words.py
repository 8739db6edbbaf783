"""What a claim's verdict rests on, as a page says it: data sets and methods as papers spell them, and the same said once."""

from __future__ import annotations

import re

from hackle.figures import words


def reason(text: str) -> str:
    """Why a verdict is what it is; a command in it keeps its words.

    >>> reason("mean is -0.1, on beta-vae. 9 runs: hackle study run kim2018 --methods beta-vae")
    'mean is −0.1, on β-VAE. 9 runs: hackle study run kim2018 --methods beta-vae'
    """
    said, command, options = text.partition("hackle study run")
    return words.spelled(said) + command + options


def missing(text: str) -> str:
    """What is missing, with data sets that lack the same named together.

    >>> missing("no runs of vae on cars3d; no runs of vae on dsprites, latents 5; no runs of vae on mnist, latents 5")
    'no runs of VAE on Cars3D; no runs of VAE on dSprites and MNIST, latents 5'
    """
    by_text: dict[tuple[str, str], list[str]] = {}
    for line in text.split("; "):
        before, name, after = re.fullmatch(r"(no runs of .* on )?([\w-]+)?(.*)", line, re.DOTALL).groups("")  # type: ignore[union-attr]
        key, name = ((before, after), name) if before else ((line, ""), "")
        by_text.setdefault(key, []).append(name)
    return "; ".join(
        words.spelled(before + (words.listing(dict.fromkeys(names)) if any(names) else "") + after)
        for (before, after), names in by_text.items()
    )
