"""Metrics as parts: each is found, its rows are its own, pages name it, and functions of one's own become one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hackle.core.parts import PartError
from hackle.metrics.metric import METRICS, Evaluation, Metric, known_rows, own_metric, row_of

DOCS = Path(__file__).parents[2] / "docs"
EVALUATION: Any = SimpleNamespace(
    codes=np.ones((4, 2)), factors=np.zeros((4, 1)), test=("test codes", "test factors"), posteriors=("m", "l"), seed=3
)


def test_every_module_that_declares_a_metric_is_found() -> None:
    folder = Path(__file__).parents[2] / "src" / "hackle" / "metrics"
    declaring = [path.stem for path in folder.glob("*.py") if " = Metric(" in path.read_text(encoding="utf-8")]
    assert {"mig", "sap", "dci", "total_correlation", "likelihood"} <= set(declaring)
    assert len(METRICS) == 44
    assert all(METRICS[name].name == name for name in METRICS)
    quick = [not metric.slow for metric in METRICS.values()]
    assert quick == sorted(quick, reverse=True)


def test_no_score_is_two_metrics() -> None:
    names = [row.name for row in known_rows()]
    assert len(set(names)) == len(names)
    for metric in METRICS.values():
        for row in metric.rows:
            found = row_of(row.name.replace("*", "7"))
            assert found is not None
            assert found[0] is metric


def test_rows_that_depend_on_the_protocol_carry_its_number() -> None:
    found = row_of("whole_sepin@5")
    assert found is not None
    assert (found[0].name, found[1].label, found[1].short) == (
        "whole_separability",
        "SEPIN@5 over all images (nats)",
        "SEPIN@5",
    )
    assert row_of("strongest") is None


def test_the_page_on_scoring_names_every_metric_and_every_row() -> None:
    page = (DOCS / "scoring.md").read_text(encoding="utf-8")
    quick, _, slow = page.partition("## Metrics")[2].partition("Others take longer")
    for name, metric in METRICS.items():
        assert f"`{name}`" in (slow if metric.slow else quick), name
        for row in metric.rows:
            shown = row.name.replace("@*", "@3"), row.name.replace("@*", "@k")
            few = row.name.startswith(("downstream_", "efficiency_"))
            assert few or any(f"`{one}`" in page for one in shown), row.name


@pytest.mark.parametrize(
    ("function", "given", "needs", "on"),
    [
        (lambda codes, factors: [codes, factors], [EVALUATION.codes, EVALUATION.factors], ("factors",), "codes"),
        (lambda z, y: [z, y], [EVALUATION.codes, EVALUATION.factors], ("factors",), "codes"),
        (lambda codes, bins=20: [codes], [EVALUATION.codes], (), "codes"),
        (
            lambda test_codes, test_factors, seed: [test_codes, test_factors, seed],
            [*EVALUATION.test, 3],
            ("factors",),
            "codes",
        ),
        (lambda means, logvars: [means, logvars], ["m", "l"], (), "posterior"),
        (lambda evaluation: [evaluation], [EVALUATION], (), "codes"),
    ],
)
def test_a_function_is_given_what_its_arguments_are_called(function: Any, given: Any, needs: Any, on: str) -> None:
    seen: list[Any] = []

    def watched(*arguments: Any) -> float:
        seen.extend(arguments)
        return 1.0

    watched.__signature__ = __import__("inspect").signature(function)  # type: ignore[attr-defined]
    metric = own_metric("my.py:watched", watched)
    assert metric is not None
    assert (metric.name, metric.needs, metric.on) == ("watched", needs, on)
    assert metric.compute(EVALUATION) == 1.0
    assert all(one is other for one, other in zip(seen, given, strict=True))


def test_an_annotation_tells_too_and_several_scores_are_named_after_the_function() -> None:
    def spread(e: Evaluation) -> dict[str, float]:
        return {"least": float(e.codes.min()), "spread": 2.0, "spread_most": 3.0}

    metric = own_metric("spread", spread)
    assert metric is not None
    assert metric.compute(EVALUATION) == {"spread_least": 1.0, "spread": 2.0, "spread_most": 3.0}
    assert all(metric.gives(name) for name in ("spread_least", "spread", "spread_most"))
    assert not metric.gives("spreading")


def test_functions_of_other_arguments_are_refused() -> None:
    with pytest.raises(PartError, match="takes images; expected a function of codes and factors"):
        own_metric("mine", lambda images: 0.0)
    with pytest.raises(PartError, match="takes no arguments"):
        own_metric("mine", lambda: 0.0)
    assert own_metric("mine", 3) is None
    assert own_metric("mine", Metric) is None
