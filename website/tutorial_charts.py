"""Charts of the tutorials, drawn from the results that come with hackle."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

import hackle
from hackle.claims import judge
from hackle.store import read

WIDTH = 360
CLAIMS = ("kim2018.error-rises-with-beta", "yang2020.kl-hardly-moves", "yang2020.mig-vae-10-dsprites")
METHODS = {"beta-vae": "β-VAE", "ada-gvae": "Ada-GVAE", "s2-beta-vae": "S2-β-VAE"}


def svg(parts: list[str], height: int) -> str:
    """A drawing that is readable at the width of a phone; its paper is white, in dark mode too."""
    style = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"'
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    paper = f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{paper}{"".join(parts)}</svg>\n'


def _said(value: float) -> str:
    """A number with two digits, or as many as it takes not to be taken for zero.

    >>> _said(-0.314), _said(-0.0042)
    ('−0.31', '−0.004')
    """
    return (f"{value:.2f}" if abs(value) >= 0.005 else f"{value:.1g}").replace("-", "−")


def verdicts() -> str:
    """Where the intervals of three claims lie, beside the regions that are claimed; each on a scale of its own."""
    judged = {one.claim.id: one for one in judge(read("hackle-2026"))}
    parts, top = [], 8
    for name in CLAIMS:
        found, region = judged[name], judged[name].claim.region
        effect, low, high = found.evidence.effect, found.evidence.low, found.evidence.high
        numbers = [low, high, 0.0, *(bound for bound in (region.low, region.high) if np.isfinite(bound))]
        margin = 0.15 * (max(numbers) - min(numbers))
        least, most = min(numbers) - margin, max(numbers) + margin

        def at(value: float, least: float = least, most: float = most) -> float:
            return 12 + (WIDTH - 24) * (min(max(value, least), most) - least) / (most - least)

        left, right = at(region.low), at(region.high)
        line = top + 76
        parts += [
            f'<text x="12" y="{top + 13}" font-weight="600">{escape(name)}</text>',
            f'<text x="12" y="{top + 29}">{found.verdict}: {_said(effect)} [{_said(low)}, {_said(high)}]</text>',
            f'<text x="12" y="{top + 45}">claimed {str(region).replace("-", "−")}</text>',
            f'<rect x="{left:.1f}" y="{line - 22}" width="{right - left:.1f}" height="22" fill="#bfe3cb"/>',
            f'<path d="M12 {line}H{WIDTH - 12}M{at(0):.1f} {line}v5" stroke="#222"/>',
            f'<path d="M{at(low):.1f} {line - 11}H{at(high):.1f}" stroke="#222" stroke-width="3"/>',
            f'<circle cx="{at(effect):.1f}" cy="{line - 11}" r="5"/>',
            f'<text x="{at(0):.1f}" y="{line + 17}" text-anchor="middle">0</text>',
        ]
        top += 108
    return svg(parts, top)


def weak_supervision() -> str:
    """MIG of single runs on dSprites, by method: a line for each strength, a dot for each run."""
    runs = hackle.results("hackle-2026")
    runs = runs.query("dataset == 'dsprites' and metric == 'mig' and representation == 'mean' and latents == 10")
    runs = runs.query("correlation == 0 and drawing == '' and steps == 100_000 and architecture == 'convolutional'")
    runs = runs[runs["pairs"].isin(["", "rule resample, changed 1"]) & runs["protocol"].eq("locatello2019")]
    parts, top = [], 8

    def at(score: float) -> float:
        return 70 + (WIDTH - 90) * score / 0.5

    for method, label in METHODS.items():
        parts.append(f'<text x="12" y="{top + 13}" font-weight="600">{label}</text>')
        top += 20
        for strength, of in runs.query(f"method == '{method}'").groupby("strength"):
            parts.append(f'<text x="62" y="{top + 11}" text-anchor="end">β = {strength:g}</text>')
            parts.append(f'<path d="M{at(0)} {top + 7}H{at(0.5)}" stroke="#ddd"/>')
            parts += [
                f'<circle cx="{at(score):.1f}" cy="{top + 7}" r="4" fill="#2f6fb3" opacity=".6"/>'
                for score in of["score"]
            ]
            top += 16
        top += 6
    for tick in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        parts.append(f'<text x="{at(tick):.1f}" y="{top + 12}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="12" y="{top + 12}" font-weight="600">MIG</text>')
    return svg(parts, top + 22)


TUTORIAL_CHARTS: dict[str, Callable[[], str]] = {"verdict": verdicts, "weak-supervision": weak_supervision}
