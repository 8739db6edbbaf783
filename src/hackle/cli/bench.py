"""The command line's `bench` verb."""

from __future__ import annotations

from hackle.cli.words import Device, Root, plain_table, run_one_of
from hackle.core.terminal import Terminal


def main(words: list[str]) -> None:
    """`hackle bench fleet`: how fast this machine trains."""
    run_one_of({"fleet": fleet_command}, "bench", "fleet [options]", words)


def fleet_command(
    models: int | None = None,
    methods: str | None = None,
    seconds: float = 3.0,
    precision: str = "auto",
    device: Device = None,
    root: Root = None,
) -> None:
    """Steps of single models per second: stacked, alone, and by a plain PyTorch loop in the same process.

    Args:
        models: How many to stack; 64 on CUDA and 8 on a CPU if not given.
        methods: Names separated by commas; those reported in the documentation if not given. mixed is one stack of equal
            parts of five methods that differ in the loss alone.
        seconds: How long to train each stack.
        precision: float32 or bfloat16; auto is bfloat16 on CUDA.
    """

    from hackle.bench import CASES, Case, compare, measure, together_or_apart
    from hackle.datasets import load
    from hackle.train import find_device

    place = find_device(device).type
    cuda = place == "cuda"
    dtype = ("bfloat16" if cuda else "float32") if precision == "auto" else precision
    cases = CASES if methods is None else tuple(Case(name) for name in methods.split(","))
    count = models or (64 if cuda else 8)
    console = Terminal()
    sprites = load("dsprites", root)
    with console.status("the plain loop beside one model"):
        rates = compare(sprites, place, 300 if cuda else 5)
    console.print(
        f"one β-VAE: {rates['hackle']:,.1f} steps/s; plain loop: {rates['plain']:,.1f} ({rates['ratio']:.2f}×, losses "
        f"within {rates['largest loss difference']:.1g})"
    )
    if not cuda:
        with console.status(f"{count} models together and apart"):
            both = together_or_apart(sprites, place, count)
        console.print(
            f"{count} β-VAEs together: {both['together']:,.1f} steps/s; one after another: {both['apart']:,.1f} "
            f"({both['ratio']:.2f}×)"
        )
        if methods is None:
            return
    table = plain_table("stack", "models", "model-steps/s", "× plain loop", "MiB per model")
    for case in cases:
        with console.status(f"{case} × {count}"):
            dataset = sprites if case.dataset == sprites.name else load(case.dataset, root)
            rate = measure(case.runs(count, dtype), dataset, place, seconds)
        times = f"{rate.per_second / rates['plain']:,.0f}" if case.dataset == "dsprites" else ""
        memory = f"{rate.bytes_per_model / 2**20:,.1f}" if cuda else ""
        table.add_row(str(case), str(rate.models), f"{rate.per_second:,.0f}", times, memory)
    console.print(table)
