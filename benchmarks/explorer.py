"""The explorer in headless Chromium: from moving a slider to the new picture on the screen, and the list's first paint.

The slider: a model with ordinary networks on 64 × 64 images, ten latents. Each time an input event is sent to a slider and
the time is taken until the frame after the picture's canvas has changed. The list: a store of 12,600 made-up runs with the
scores of the six metrics and more, read at the server's start; from navigation until the first rows have been painted.

Run: python benchmarks/explorer.py [--runs 12600] [--moves 200] [--root DATA]
"""

from __future__ import annotations

import argparse
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hackle.datasets import load
from hackle.store import Store
from hackle.store.tables import Outcome
from hackle.studies.presets import default_run, method_at
from hackle.train.model import Model

METRICS = (
    *("mig", "dci_disentanglement", "dci_completeness", "dci_informativeness", "factor_vae", "beta_vae", "sap"),
    *("modularity", "explicitness", "gaussian_tc"),
)
POSTERIOR = ("rmig", "wsepin", "windin", "misjed", "kl", "active_units", "informativeness_mean", "jemmig")
STRENGTHS = (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)

SLIDER = """
async ([moves]) => {
  const slider = document.querySelector(".latent input[type=range]"), canvas = document.querySelector("canvas.picture");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const seen = () => { const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
    let sum = 0; for (let at = 0; at < data.length; at += 4) sum = (sum * 31 + data[at]) | 0; return sum; };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const times = [];
  for (let move = 0; move < moves; move += 1) {
    const before = seen(), started = performance.now();
    slider.value = 2.5 * Math.sin(1.3 * move + 0.4);
    slider.dispatchEvent(new Event("input"));
    while (seen() === before && performance.now() - started < 2000) await frame();
    times.push(performance.now() - started);
    await new Promise((done) => setTimeout(done, 60));
  }
  return times;
}
"""

PAINT = """
() => new Promise((done) => {
  const look = () => {
    const rows = document.querySelectorAll("table.runs tbody tr[data-id]").length;
    if (rows) requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    else requestAnimationFrame(look);
  };
  look();
})
"""


def scores(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Made-up rows of every metric, of means and of samples."""
    named = [(metric, kind) for metric in METRICS for kind in ("mean", "sampled")]
    named += [(metric, "posterior") for metric in POSTERIOR]
    fixed = {"reference": 0.9, "low": None, "high": None, "better": "higher", "protocol": "locatello2019"}
    return [
        {"metric": metric, "representation": kind, "score": float(rng.random()), "seed": 0, "seconds": 0.1, "note": ""}
        | fixed
        for metric, kind in named
    ]


def fill_store(folder: Path, count: int) -> None:
    """A study of `count` runs that never trained."""
    methods = ("beta-vae", "annealed-vae", "factor-vae", "dip-vae-i", "dip-vae-ii", "beta-tcvae")
    datasets = ("dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites", "smallnorb", "cars3d", "shapes3d")
    rng = np.random.default_rng(0)
    with Store.create_or_open(folder, "made up") as store:
        # One transaction for all of them would be faster, but this is the way that studies are written.
        store.connection.execute("PRAGMA synchronous = OFF")
        for number in range(count):
            dataset, method = datasets[number % 7], methods[number // 7 % 6]
            run = replace(default_run(method, dataset), seed=number // 252)
            run = replace(run, method=method_at(method, STRENGTHS[number // 42 % 6]))
            store.add(Outcome(run, "done", scores=scores(rng)))


@contextmanager
def serving(folder: Path, root: str | None) -> Iterator[str]:
    """A server on a free port; its address."""
    import uvicorn

    from hackle.explorer import create_app

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(folder, root=root), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


def report(name: str, times: list[float], most: tuple[float, float]) -> None:
    middle, high = np.percentile(times, [50, 95])
    print(
        f"{name}: median {middle:.0f} ms (at most {most[0]:.0f}), 95% {high:.0f} ms (at most {most[1]:.0f}), "
        f"largest {max(times):.0f} ms, {len(times)} times"
    )


def measure_slider(browser: Any, moves: int, root: str | None, dataset: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        run = default_run("beta-vae", dataset)
        model = Model(run, load(dataset, root).shape)
        for parameter in model.networks["decoder"].parameters():
            # Fresh networks hardly heed their latents; larger weights make every move of a slider visible.
            parameter.data.mul_(1.6)
        model.save(Path(place) / "run")
        with serving(Path(place) / "run", root) as address:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(address)
            page.wait_for_selector(".tool[data-drawn]", timeout=120_000)
            page.evaluate(SLIDER, [10])
            times = page.evaluate(SLIDER, [moves])
            report(f"slider to picture, {dataset}", times, (50, 120))
            page.close()


def measure_list(browser: Any, count: int, times: int = 7) -> None:
    with tempfile.TemporaryDirectory() as place:
        fill_store(Path(place), count)
        started = time.perf_counter()
        with serving(Path(place), None) as address:
            print(f"server with {count:,} runs started in {time.perf_counter() - started:.1f} s")
            found = []
            for _ in range(times):
                # A context of its own each time: nothing is cached from the visit before.
                context = browser.new_context(viewport={"width": 1280, "height": 800})
                page = context.new_page()
                page.goto(address, wait_until="commit")
                found.append(page.evaluate(PAINT))
                context.close()
            print(f"first visit after the start: {found[0]:.0f} ms")
            report(f"first paint with {count:,} runs", found, (1000, 1000))


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12_600)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--root", default=None)
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium on the path: nothing to measure")
        return
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=list(QUIET))
        for dataset in ("dsprites", "rooms3d"):
            measure_slider(browser, options.moves, options.root, dataset)
        measure_list(browser, options.runs)
        browser.close()


if __name__ == "__main__":
    main()
