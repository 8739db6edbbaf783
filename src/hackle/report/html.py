"""The frame that every page shares: one file, no address outside it, light and dark, readable on a phone."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hackle.pictures import Picture

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --faint: #68707a; --line: #d9dee3; --card: #f6f8fa;
  --bar: #0072b2; --track: #dfe6ec; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e6e9ec; --faint: #98a2ad; --line: #303841;
  --card: #1c2127; --bar: #56b4e9; --track: #2d3640; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 1.7rem; margin: 0 0 4px; } h2 { font-size: 1.2rem; margin: 40px 0 12px; }
p.lead { color: var(--faint); margin: 0 0 16px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--faint); font-weight: 600; font-size: .85rem; cursor: pointer; }
th:focus-visible { outline: 2px solid var(--bar); }
td.number { text-align: right; }
.meter { display: inline-block; width: 120px; height: 8px; border-radius: 4px; background: var(--track); position: relative; }
.meter i { position: absolute; inset: 0 auto 0 0; border-radius: 4px; background: var(--bar); }
.meter b { position: absolute; top: -3px; width: 2px; height: 14px; background: var(--ink); }
th.number { text-align: right; }
figure { margin: 0; background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: 8px; overflow-x: auto; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figure img:not(.pixels) { min-width: min(640px, var(--natural)); }
figcaption { position: sticky; left: 0; }
figcaption { color: #4a525b; font-size: .85rem; padding: 8px 4px 0; }
.pair { display: grid; gap: 16px; align-items: start; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; overflow-x: auto; }
img.pixels { image-rendering: pixelated; }
@media (max-width: 640px) { main table { font-size: .85rem; } main th, main td { padding: 5px 6px; } .meter { width: 72px; } }
"""

_SORTING = """
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((head, column) => {
    head.tabIndex = 0;
    let up = false;
    const sort = () => {
      up = !up;
      const value = row => { const text = row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        return text === "" || isNaN(text) ? text : Number(text); };
      const rows = [...table.tBodies[0].rows].sort((a, b) => { const x = value(a), y = value(b);
        return (x > y ? 1 : x < y ? -1 : 0) * (up ? 1 : -1); });
      table.tBodies[0].append(...rows);
      table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") {
      event.preventDefault(); sort(); } });
  });
}
"""


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """A whole HTML document; `style` and `script` are added to what every page has."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><style>{_STYLE}{style}</style></head><body><main>{body}</main>'
        f"<script>{_SORTING}{script}</script></body></html>\n"
    )


def png_of_picture(picture: Picture) -> bytes:
    """A uint8 picture as PNG."""
    buffer = BytesIO()
    Image.fromarray(picture).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def gif_of_frames(frames: list[Picture], milliseconds: int = 80) -> bytes:
    """Frames as an endless GIF."""
    head, *tail = [Image.fromarray(frame) for frame in frames]
    buffer = BytesIO()
    head.save(buffer, "gif", save_all=True, append_images=tail, duration=milliseconds, loop=0)
    return buffer.getvalue()


def png_of_figure(figure: Figure) -> bytes:
    """A matplotlib figure as PNG."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def picture(content: bytes, caption: str, *, kind: str = "png", pixels: bool = False) -> str:
    """An embedded picture with its caption, which is also what a screen reader says."""
    data = base64.b64encode(content).decode()
    with Image.open(BytesIO(content)) as image:
        style = ' class="pixels"' if pixels else f' style="--natural: {image.width}px"'
    return (
        f'<figure><img{style} alt="{escape(caption)}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def meter(share: float, mark: float | None = None) -> str:
    """A small bar from 0 to 1 with an optional mark, such as a ceiling."""
    clip = lambda value: 100 * min(1.0, max(0.0, value))  # noqa: E731
    tick = "" if mark is None else f'<b style="left: calc({clip(mark):.1f}% - 1px)"></b>'
    return f'<span class="meter" aria-hidden="true"><i style="width: {clip(share):.1f}%"></i>{tick}</span>'
