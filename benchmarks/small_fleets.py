"""Model-steps per second of small fleets and large ones, before a change and after it, in turns; and what a step launches.

    python benchmarks/small_fleets.py --before OTHER_CHECKOUT [--out FILE]      # needs CUDA; some minutes

With --tiles in its place both are this checkout, the first with HACKLE_TILES=0.
Two processes, one for each, build every fleet of the table and record its graph. Meanwhile the tests of kernels and fleets
run, with --tests. Then the two are timed in turns, and a step of some rows is profiled as written. Without
either option there is one process. `--rows` names some rows by their beginnings, such as "24,300 F". `--device cpu --tiny`
tries all of this out where there is no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROWS: dict[str, tuple[dict[str, Any], int]] = {
    "one β-VAE": ({"method": "beta-vae"}, 1),
    "8 β-VAEs": ({"method": "beta-vae"}, 8),
    "24, mixed": ({"method": "mixed"}, 24),
    "24 FactorVAEs": ({"method": "factor-vae"}, 24),
    "64 β-VAEs": ({"method": "beta-vae"}, 64),
    "64, three channels": ({"method": "beta-vae", "dataset": "rooms3d"}, 64),
    "64, split encoder": ({"method": "beta-vae", "split": True}, 64),
    "300 β-VAEs": ({"method": "beta-vae"}, 300),
    "24, three channels": ({"method": "beta-vae", "dataset": "rooms3d"}, 24),
    "300, three channels": ({"method": "beta-vae", "dataset": "rooms3d"}, 300),
    "300 FactorVAEs": ({"method": "factor-vae"}, 300),
    "64 InfoWGAN-GPs": ({"method": "infowgan-gp", "critic_updates": 5}, 64),
}
"""What is stacked, and how many."""
PROFILED = ("one β-VAE", "8 β-VAEs", "24, mixed", "24 FactorVAEs", "64 β-VAEs", "64, split encoder", "64 InfoWGAN-GPs")
FIRST_STEPS = 20
TESTS = (
    ("tests/kernels/test_triton_convolution.py", "-k", "layers_and_their_gradients"),
    ("tests/kernels/test_triton_convolution.py", "-k", "not layers_and_their_gradients"),
    ("tests/train/test_fleet.py", "tests/kernels/test_adam.py", "tests/kernels/test_halves.py"),
    ("tests/train/test_mixed_fleets.py", "tests/kernels/test_running_terms.py", "tests/kernels/test_sums.py"),
    ("tests/kernels/test_clipping.py", "tests/kernels/test_stacked_linear.py", "tests/kernels/test_branch.py",
     "tests/kernels/test_dispatch.py", "tests/kernels/test_bernoulli_error.py", "tests/kernels/test_posterior_sample.py"),
    ("tests/objectives/test_every_method.py", "tests/train/test_resnet_training.py"),
)  # fmt: skip
"""The tests of each of several processes."""


def launches(fleet: Any) -> list[tuple[float, str]]:
    """Microseconds and name of everything that one step puts on the device, in order."""
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        fleet._take_step()
        torch.cuda.synchronize()
    events = [event for event in found.events() or () if str(event.device_type).endswith("CUDA")]
    events.sort(key=lambda event: event.time_range.start)
    return [(round(event.time_range.elapsed_us(), 1), event.name) for event in events]


def serve(device: str, tiny: bool, rows: Sequence[str]) -> None:
    """Build the fleets of these rows, say so, then answer requests: a row and seconds to time it, or a row to profile it."""
    import torch

    from hackle.bench import Case
    from hackle.datasets import load
    from hackle.train.fleet import Fleet

    def synchronise() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    def say(**what: Any) -> None:
        print(json.dumps(what), flush=True)

    images: dict[str, Any] = {}
    fleets: dict[str, Any] = {}
    for row in rows:
        fields, count = ROWS[row]
        started, case = time.perf_counter(), Case(**fields)
        runs = case.runs(min(count, 2) if tiny else count, "bfloat16" if device == "cuda" else "float32")
        if case.dataset not in images:
            dataset = load(case.dataset)
            images[case.dataset] = dataset, dataset.images_on(device)
        dataset, on_device = images[case.dataset]
        fleets[row] = fleet = Fleet(runs, on_device, dataset.factors, dataset.shape, device)
        for _ in range(1 if tiny else FIRST_STEPS):
            fleet.step()
        synchronise()
        # A GAN has no error of reconstructions; its first term does as well to compare two checkouts.
        errors = [float(str(terms.get("reconstruction", next(iter(terms.values()))))) for terms in fleet.averages()]
        failed = int((fleet.state["failed_at"] >= 0).sum())
        taken = round(time.perf_counter() - started, 1)
        say(row=row, error=statistics.mean(errors), failed=failed, seconds=taken)
    triton = sys.modules.get("triton")
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    say(ready=f"{name}, torch {torch.__version__}, triton {getattr(triton, '__version__', 'none')}")
    for line in sys.stdin:
        row, *seconds = json.loads(line)
        fleet = fleets[row]
        if not seconds:
            say(launches=launches(fleet) if device == "cuda" else [])
            continue
        steps, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds[0]:
            for _ in range(5 if device == "cuda" else 1):
                fleet.step()
                steps += 1
            synchronise()
        say(rate=steps * len(fleet) / (time.perf_counter() - started))


class Checkout:
    """A process that trains the fleets with the code of one checkout."""

    def __init__(self, path: Path, device: str, tiny: bool, rows: Sequence[str], **environment: str) -> None:
        options = ["--serve", "--device", device, "--rows", ",".join(rows), *(["--tiny"] if tiny else [])]
        paths = os.pathsep.join([str(path / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=path,
            env={**os.environ, "PYTHONPATH": paths, **environment},
        )  # fmt: skip
        self.built: dict[str, dict[str, Any]] = {}
        self.versions = ""

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"the process ended with {self._process.wait()}")

    def wait(self) -> None:
        """Until all fleets are built."""
        while "ready" not in (answer := self._answer()):
            self.built[answer["row"]] = answer
        self.versions = answer["ready"]

    def ask(self, *what: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def start_tests(log: Path) -> list[tuple[subprocess.Popen[bytes], Path]]:
    found = []
    for number, files in enumerate(TESTS):
        path = log.with_suffix(f".tests-{number}.txt")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "gpu",
            "-p",
            "no:benchmark",
            "-p",
            "no:cacheprovider",
            *files,
        ]
        paths = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        with path.open("wb") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}
            )
        found.append((process, path))
    return found


def end_tests(tests: list[tuple[subprocess.Popen[bytes], Path]], until: float) -> list[str]:
    """The last line of each process, and what failed in it."""
    said = []
    for process, path in tests:
        try:
            process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        lines = path.read_text(errors="replace").strip().splitlines() or ["nothing"]
        said += [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        said.append(f"tests, exit {process.returncode}: {lines[-1]}")
    return said


class Watch:
    """Clock, power and temperature of the GPU while the block runs."""

    def __enter__(self) -> Watch:
        command = [
            "nvidia-smi",
            "--query-gpu=clocks.sm,power.draw,temperature.gpu",
            "--format=csv,noheader",
            "-lms",
            "250",
        ]
        self.lines: list[str] = []
        try:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        except OSError:
            self._process = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self.lines = self._process.communicate()[0].splitlines()

    def __str__(self) -> str:
        def numbers(place: int) -> list[float]:
            return [float(line.split(",")[place].split()[0]) for line in self.lines if line.count(",") == 2]

        if not self.lines or not numbers(0):
            return "clock and power unknown"
        return "; ".join(
            f"{name} {min(found):.0f} to {max(found):.0f} {unit}, median {statistics.median(found):.0f}"
            for name, unit, found in (
                ("clock", "MHz", numbers(0)),
                ("power", "W", numbers(1)),
                ("GPU", "°C", numbers(2)),
            )
        )


def table(checkouts: dict[str, Checkout], rates: dict[str, dict[str, list[float]]]) -> list[str]:
    """Best rate of each row, and how far the errors of the first steps are apart."""
    lines = []
    for row in next(iter(rates.values())):
        best = {name: max(rates[name][row]) for name in checkouts}
        cells = [f"{name} {rate:9,.0f}" for name, rate in best.items()]
        errors = [checkout.built[row]["error"] for checkout in checkouts.values()]
        if len(best) == 2:
            cells.append(f"× {best['after'] / best['before']:.3f}")
            cells.append(f"errors differ by {abs(errors[0] / errors[1] - 1):.1e}")
        failed = sum(checkout.built[row]["failed"] for checkout in checkouts.values())
        lines.append(f"{row:20} {'   '.join(cells)}{f'   {failed} FAILED' if failed else ''}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, default=None, help="the other checkout")
    parser.add_argument(
        "--tiles", action="store_true", help="this checkout without the kernels of tiles.cu and with them"
    )
    parser.add_argument("--out", type=Path, default=Path("small-fleets.txt"))
    parser.add_argument("--seconds", type=float, default=0.5, help="to time a fleet, in each of two turns")
    parser.add_argument("--tests", action="store_true", help="run the tests of kernels and fleets, too")
    parser.add_argument("--limit", type=float, default=100.0, help="seconds until tests are ended")
    parser.add_argument("--rows", default="", help="beginnings of rows, separated by commas; all if not given")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = [row for row in ROWS if row.startswith(tuple(options.rows.split(",")))]
    if options.serve:
        serve(options.device, options.tiny, rows)
        return
    started = time.monotonic()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    tests = start_tests(options.out) if options.tests else []
    before = ROOT if options.tiles else options.before
    paths = {**({"before": before} if before else {}), "after": ROOT}
    without = {"HACKLE_TILES": "0"} if options.tiles else {}
    checkouts = {
        name: Checkout(path.resolve(), options.device, options.tiny, rows, **(without if name == "before" else {}))
        for name, path in paths.items()
    }
    for checkout in checkouts.values():
        checkout.wait()
    print(f"built after {time.monotonic() - started:.0f} s", flush=True)
    said = end_tests(tests, started + options.limit)
    rates: dict[str, dict[str, list[float]]] = {name: {row: [] for row in rows} for name in checkouts}
    with Watch() as watch:
        for _ in range(2):
            for row in rows:
                for name, checkout in checkouts.items():
                    rates[name][row].append(checkout.ask(row, options.seconds)["rate"])
    lists = {
        f"{row}, {name}": checkout.ask(row)["launches"]
        for row in rows
        if row in PROFILED
        for name, checkout in checkouts.items()
    }
    for checkout in checkouts.values():
        checkout.close()
    head = [f"{checkouts['after'].versions}; bfloat16, batch 64, dSprites 64×64 unless said otherwise; {watch}"]
    head.append(
        f"model-steps/s, the better of two turns of {options.seconds} s in two processes; {time.strftime('%Y-%m-%d')}"
    )
    counts = [
        f"{title}: {len(found)} launches, {sum(spent for spent, _ in found):,.0f} µs one after another"
        for title, found in lists.items()
    ]
    summary = [*head, *said, *counts, *table(checkouts, rates)]
    listed = [
        line
        for title, found in lists.items()
        for line in ("", title, *(f"{us:8.1f}  {name[:90]}" for us, name in found))
    ]
    built = [f"{name}: {json.dumps(checkout.built, ensure_ascii=False)}" for name, checkout in checkouts.items()]
    options.out.write_text("\n".join([*summary, "", json.dumps(rates, ensure_ascii=False), *built, *listed]) + "\n")
    print("\n".join(summary), f"all took {time.monotonic() - started:.0f} s", sep="\n")


if __name__ == "__main__":
    main()
