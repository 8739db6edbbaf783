"""Training speed on this machine: stacked models, one model, and the plain loop, side by side in one process."""

from hackle.bench.fleet import CASES, Case, Rate, compare, measure, together_or_apart

__all__ = ["CASES", "Case", "Rate", "compare", "measure", "together_or_apart"]
