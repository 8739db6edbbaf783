"""Pictures of data sets whose images hackle may not show: what varies in them, a box for each value of a factor.

They are drawn from what a set's source says about it, before it is fetched.
"""

from __future__ import annotations

import re

from hackle.datasets import DATASETS
from website.tutorial_charts import WIDTH, svg

PAGES = {
    "cars3d": "cars3d",
    "celeba": "celeba",
    "chairs3d": "chairs3d",
    "faces3d": "faces3d",
    "mnist": "mnist",
    "mpi3d": "mpi3d-toy",
    "smallnorb": "smallnorb",
}
"""Pages of sets that must be fetched or asked for, and the set that each one's picture is of."""
LEFT, RIGHT, LINE, BOX = 112, 60, 26, 14
MOST = 60
"""The most boxes of a factor; it ends in dots if it has more values."""
YES_OR_NO = re.compile(r"(\d+) yes-or-no (\w+)")


def factors(said: str) -> list[tuple[str, int, int]]:
    """Names of factors, how many values each has, and how many factors are like it.

    >>> factors("elevation 4, azimuth 24")
    [('elevation', 4, 1), ('azimuth', 24, 1)]
    >>> factors("40 yes-or-no attributes")
    [('attributes', 2, 40)]
    """
    if found := YES_OR_NO.fullmatch(said):
        return [(found[2], 2, int(found[1]))]
    pairs = (one.rpartition(" ") for one in said.split(", "))
    return [(name, int(size), 1) for name, _, size in pairs]


def factor_chart(page: str) -> str:
    """A line for each factor of a page's data set, a box for each of its values."""
    source = DATASETS[PAGES[page]]
    parts = [f'<text x="12" y="20" font-weight="600">{source.images.replace("of", "images of")}</text>']
    top = 32
    for name, size, alike in factors(source.factors):
        columns, rows = (alike, size) if alike > 1 else (min(size, MOST), 1)
        step = min(BOX + 3, (WIDTH - LEFT - RIGHT) / columns)
        parts.append(f'<text x="12" y="{top + 12}">{name.replace("_", " ")}</text>')
        parts += [
            f'<rect x="{LEFT + step * at:.1f}" y="{top + (BOX + 3) * row}" width="{0.8 * step:.1f}" height="{BOX}" '
            f'fill="#2f6fb3" opacity="{0.35 + 0.65 * (row + 1) / rows * (at + 1) / columns:.2f}"/>'
            for row in range(rows)
            for at in range(columns)
        ]
        count = f"{alike} × {size}" if alike > 1 else f"… {size:,}" if size > MOST else f"{size}"
        parts.append(f'<text x="{WIDTH - 12}" y="{top + 12}" text-anchor="end">{count}</text>')
        top += LINE + (BOX + 3) * (rows - 1)
    return svg(parts, top + 6)
