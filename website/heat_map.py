"""A matrix of rank correlations as a small SVG: blue where rankings agree, orange where they are opposite."""

from __future__ import annotations

from html import escape

import pandas as pd

CELL, MARGIN, TOP = 32, 118, 10
_BLUE, _ORANGE = (47, 111, 179), (217, 138, 28)


def heat_map(matrix: pd.DataFrame, title: str) -> str:
    """The picture of a symmetric matrix with values from −1 to 1: what is below its diagonal. NaN stays empty.

    >>> names = ["MIG", "SAP"]
    >>> heat_map(pd.DataFrame([[1.0, 0.5], [0.5, 1.0]], names, names), "ranks").count("<rect")
    1
    """
    width, height = MARGIN + CELL * len(matrix) + 90, TOP + CELL * len(matrix) + 4
    labels, cells = [], []
    for row, (name, values) in enumerate(matrix.iterrows()):
        y = TOP + CELL * row
        label = escape(str(name))
        labels.append(f'<text x="{MARGIN - 6}" y="{y + 20}" text-anchor="end">{label}</text>')
        labels.append(f'<text x="{MARGIN + CELL * row + 4}" y="{y + 20}">{label}</text>')
        below = list(values)[:row]
        cells += [
            _cell(MARGIN + CELL * column, y, float(value)) for column, value in enumerate(below) if value == value
        ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" font-family="sans-serif" font-size="11"><title>{escape(title)}</title>',
            f'<g fill="#888">{"".join(labels)}</g>',
            '<g text-anchor="middle">',
            *cells,
            "</g></svg>\n",
        ]
    )


def _cell(x: int, y: int, value: float) -> str:
    red, green, blue = (round(255 + (end - 255) * abs(value)) for end in (_BLUE if value > 0 else _ORANGE))
    ink = "fff" if abs(value) > 0.6 else "222"
    return (
        f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="#{red:02x}{green:02x}{blue:02x}"/>'
        f'<text x="{x + CELL // 2}" y="{y + 20}" fill="#{ink}">{value:.2f}</text>'
    )
