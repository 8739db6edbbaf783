"""The explorer in headless Chromium: from moving a slider to the new picture on the screen, and the list's first paint.

The slider: a model with ordinary networks on 64 × 64 images, ten latents. Each time an input event is sent to a slider and
the time is taken until the frame after the picture's canvas has changed. The list: a store of 12,600 made-up runs with the
scores of the six metrics and more, read at the server's start; from navigation until the first rows have been painted.

With `--against COMMIT` both are measured of that commit as well, taken from this repository's history: a server of each in a
process of its own, the same runs, and visits that alternate, so that whatever else the machine does meets both.

Run: python benchmarks/explorer.py [--runs 12600] [--moves 200] [--root DATA] [--against COMMIT] [--out FILE]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

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

TOURED = "localStorage.setItem('hackle-tour', 'seen')"
"""A visitor who has taken the tour."""

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


def serve(folder: Path, root: str | None) -> None:
    """Serve the explorer of a folder as `hackle explore` does, on a free port, until the process is ended."""
    from hackle.explorer import serve as serve_explorer

    serve_explorer(folder, port=0, browser=False, root=root, announce=partial(print, flush=True))


@contextmanager
def serving(source: Path, folder: Path, root: str | None) -> Iterator[str]:
    """A server of the package in this source tree, in a process of its own; its address."""
    command = [sys.executable, __file__, "--serve", str(folder), *([] if root is None else ["--root", root])]
    environment = {**os.environ, "PYTHONPATH": str(source / "src")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            _await(address)
            yield address
        finally:
            server.terminate()


def _await(address: str) -> None:
    """Wait until a server answers: it says its address before it listens."""
    for _ in range(200):
        try:
            urlopen(address).close()
            return
        except URLError:
            time.sleep(0.05)
    raise SystemExit(f"{address} does not answer")


@contextmanager
def source_of(commit: str | None) -> Iterator[dict[str, Path]]:
    """The source trees to measure, by name: this one, and that of a commit in a folder that is removed afterwards."""
    here = Path(__file__).resolve().parents[1]
    if commit is None:
        yield {"now": here}
        return
    with tempfile.TemporaryDirectory() as place:
        packed = subprocess.run(["git", "-C", here, "archive", commit, "src"], check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", place], check=True, input=packed.stdout)
        yield {commit: Path(place), "now": here}


def said(name: str, times: list[float], most: float) -> str:
    middle, high = np.percentile(times, [50, 95])
    return f"{name}: median {middle:.0f} ms (at most {most:.0f}), 95% {high:.0f} ms, {len(times)} times"


def slider_times(browser: Any, addresses: dict[str, str], moves: int) -> dict[str, list[float]]:
    """Milliseconds from a slider's move to the picture, of each server, in blocks of ten moves that alternate."""
    pages = {}
    for name, address in addresses.items():
        pages[name] = browser.new_page(viewport={"width": 1280, "height": 800})
        pages[name].add_init_script(TOURED)
        pages[name].goto(address)
        pages[name].wait_for_selector(".tool[data-drawn]", timeout=120_000)
        pages[name].evaluate(SLIDER, [10])
    times: dict[str, list[float]] = {name: [] for name in pages}
    for _ in range(moves // 10):
        for name, page in pages.items():
            page.bring_to_front()
            times[name] += page.evaluate(SLIDER, [10])
    for page in pages.values():
        page.close()
    return times


def paint_times(browser: Any, addresses: dict[str, str], visits: int) -> dict[str, list[float]]:
    """Milliseconds until the list's first rows are painted, of each server, in visits that alternate."""
    times: dict[str, list[float]] = {name: [] for name in addresses}
    for _ in range(visits):
        for name, address in addresses.items():
            # A context of its own each time: nothing is cached from the visit before.
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = context.new_page()
            page.goto(address, wait_until="commit")
            times[name].append(page.evaluate(PAINT))
            context.close()
    return times


def measured(browser: Any, options: argparse.Namespace, sources: dict[str, Path]) -> Iterator[str]:
    """A line for each figure of each source tree."""
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as servers:
        place = Path(temporary)

        def served(folder: Path) -> dict[str, str]:
            return {
                name: servers.enter_context(serving(source, folder, options.root)) for name, source in sources.items()
            }

        for dataset in ("dsprites", "rooms3d"):
            model = Model(default_run("beta-vae", dataset), load(dataset, options.root).shape)
            for parameter in model.networks["decoder"].parameters():
                # Fresh networks hardly heed their latents; larger weights make every move of a slider visible.
                parameter.data.mul_(1.6)
            model.save(place / dataset / "run")
            for name, times in slider_times(browser, served(place / dataset / "run"), options.moves).items():
                yield said(f"{name}: slider to picture, {dataset}", times, 50)
        for count in sorted({min(2000, options.runs), options.runs}):
            fill_store(place / f"{count} runs", count)
            for name, times in paint_times(browser, served(place / f"{count} runs"), options.visits).items():
                yield said(f"{name}: first paint with {count:,} runs", times, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12_600)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--visits", type=int, default=15)
    parser.add_argument("--root", default=None)
    parser.add_argument("--against", metavar="COMMIT", default=None)
    parser.add_argument("--out", type=Path, default=None, help="write the lines there, too")
    parser.add_argument("--serve", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve, options.root)
        return
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium on the path: nothing to measure")
        return
    lines = [f"python {' '.join(['benchmarks/explorer.py', *sys.argv[1:]])}; load before {os.getloadavg()[0]:.1f}"]
    print(lines[0])
    with source_of(options.against) as sources, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=list(QUIET))
        for line in measured(browser, options, sources):
            print(line, flush=True)
            lines.append(line)
        browser.close()
    if options.out is not None:
        options.out.write_text("\n".join([*lines, f"load after {os.getloadavg()[0]:.1f}"]) + "\n")


if __name__ == "__main__":
    main()
