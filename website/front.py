"""The README's two pictures: a model whose latents move, and the explorer. `python -m website.front` makes both.

The first is drawn from a model that comes with hackle. The second is a screenshot, which needs Chromium on the path.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hackle.core.tiles import to_bytes
from hackle.datasets import load
from hackle.pictures import Captured, Look, gif_bytes, traversals
from hackle.shipped import TRAINED
from hackle.train.model import Model
from website.pictures import FOLDER
from website.sheets import webp

MODEL = "factor-vae/dsprites"
LATENTS, FRAMES, SCALE = 4, 21, 2
CAPTION, GAP = 22, 6
MOVING, EXPLORER = FOLDER / "traversal.gif", FOLDER / "explorer.webp"


def moving(name: str = MODEL) -> bytes:
    """A tile for each of the most used latents of a model that comes with hackle, moved from end to end and back."""
    model = Model.load(TRAINED / name)
    dataset = load(model.run.dataset)
    look = Look.of(model, dataset)
    captured = Captured.of(look, dataset.factors)
    rows = to_bytes(traversals(look, columns=FRAMES))[:LATENTS, ..., 0]
    titles = [f"z{latent}  {captured.main_factor(latent)}" for latent in look.order[:LATENTS]]
    frames = [_frame(rows[:, at], titles) for at in [*range(FRAMES), *range(FRAMES - 2, 0, -1)]]
    return gif_bytes(frames, milliseconds=70)


def _frame(tiles: np.ndarray, titles: list[str]) -> np.ndarray:
    side = tiles.shape[1] * SCALE
    whole = Image.new("L", (len(tiles) * (side + GAP) - GAP, side + CAPTION), 255)
    draw = ImageDraw.Draw(whole)
    font = ImageFont.load_default(13)
    for place, (tile, title) in enumerate(zip(tiles, titles, strict=True)):
        left = place * (side + GAP)
        whole.paste(Image.fromarray(tile).resize((side, side), Image.Resampling.BICUBIC), (left, CAPTION))
        draw.text((left + side / 2, CAPTION / 2), title, 0, font, anchor="mm")
    return np.asarray(whole)


def explorer(name: str = MODEL, width: int = 1280, height: int = 860) -> bytes:
    """A screenshot of the explorer with a model that comes with hackle."""
    from playwright.sync_api import Error, sync_playwright

    port = 8399
    command = [sys.executable, "-m", "hackle", "explore", name, "--port", str(port), "--no-browser"]
    with subprocess.Popen(command) as server, sync_playwright() as play:
        try:
            browser = play.chromium.launch(executable_path=shutil.which("chromium"))
            page = browser.new_page(viewport={"width": width, "height": height})
            page.add_init_script("localStorage.setItem('hackle-tour', 'seen')")
            for _ in range(60):
                try:
                    page.goto(f"http://127.0.0.1:{port}")
                    break
                except Error:
                    time.sleep(0.5)
            page.wait_for_selector("canvas")
            page.wait_for_timeout(4000)
            found = page.screenshot()
        finally:
            server.terminate()
    return webp(Image.open(BytesIO(found)).convert("RGB"), quality=75)


def main() -> int:
    for path, make in ((MOVING, moving), (EXPLORER, explorer)):
        path.write_bytes(make())
        print(f"{path.stat().st_size:9,} bytes  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
