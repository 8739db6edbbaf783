"""Which stored scores a study lacks: what cannot be computed is not missed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import TINY, some_runs

from hackle.core.factors import Factor, FactorGrid
from hackle.core.regimes import Drawing
from hackle.engine import run_study
from hackle.engine.tasks import TrainFleet
from hackle.metrics.metric import METRICS
from hackle.metrics.needs import Subject
from hackle.store import read


@pytest.fixture
def one_factor(data: Path, tmp_path: Path) -> Path:
    """The squares of which one place is known alone: nothing else can be held, so two metrics do not fit."""
    with np.load(data) as arrays:
        images, factors = arrays["images"], arrays["factors"]
    path = tmp_path / "one.npz"
    np.savez(path, images=images, factors=factors[:, :1], factor_names=np.array(["x"]))
    return path


@pytest.mark.parametrize("keep", ["all", "none"])
def test_a_set_with_one_factor_lacks_nothing_and_is_not_scored_again(
    one_factor: Path, tmp_path: Path, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replace(some_runs(one_factor)[0], dataset=str(one_factor))
    given: dict[str, Any] = {"workers": 0, "device": "cpu", "metrics": "mig,beta_vae,factor_vae,kl", "progress": False}
    first = run_study([run], tmp_path / "study", protocols=[TINY], keep=keep, **given)
    assert (first.done, first.lacking) == (1, "")
    monkeypatch.setattr(TrainFleet, "perform", lambda *_: pytest.fail("trained again"))
    again = run_study([run], tmp_path / "study", protocols=[TINY], **given)
    assert (again.scored, again.lacking) == (0, "")


def test_what_a_metric_misses_is_said_in_words() -> None:
    """Once for all who ask: scores that were asked for by name, and studies that look for what is lacking."""
    bare = FactorGrid([Factor("instance", 9, observed=False)])
    one, kinds = FactorGrid([Factor("x", 4)]), FactorGrid([Factor(name, 4, "categorical") for name in "ab"])
    lasso = replace(TINY, dci_skips_categorical=True)
    expected = [
        ("mig", Subject(bare, TINY, 5), "observed factors with more than one value (the data set has none)"),
        ("factor_vae", Subject(bare, TINY, 5), "observed factors with more than one value (the data set has none)"),
        ("factor_vae", Subject(one, TINY, 5), "two observed factors"),
        ("dci", Subject(kinds, lasso, 5), "a factor that is not categorical"),
        ("whole_misjed", Subject(one, TINY, 1), "two codes or more"),
        ("class_codes", Subject(one, TINY, 5), "codes that are class numbers (there are none)"),
        ("class_codes", Subject(one, TINY, 5, discrete=True), ""),
        ("grouped_information", Subject(one, TINY, 3), "groups that name each of the 3 codes once"),
        ("grouped_information", Subject(one, replace(TINY, groups=((0, 2), (1,))), 3), ""),
        ("neighbour_gap", Subject(one, TINY, 5), "a continuous factor (there is none)"),
        ("neighbour_gap", Subject(None, TINY, 5), "a continuous factor (there is none)"),
        ("kl", Subject(one, TINY, 5, posteriors=False), "posteriors; this encoder gives codes only"),
        ("iwae", Subject(one, TINY, 5, likelihood=False), "a hackle model whose decoder"),
        ("generalisation", Subject(one, TINY, 5), "a model whose training left combinations of factors out"),
        ("generalisation", Subject(one, TINY, 5, left_out=True), ""),
        ("factor_vae", Subject(None, TINY, 5), ""),
        ("gaussian_tc", Subject(bare, TINY, 5, posteriors=False, likelihood=False), ""),
    ]
    for name, subject, words in expected:
        found = METRICS[name].missing(subject)
        assert found.startswith(words) if words else found == ""


def test_runs_that_left_combinations_out_are_scored_on_these_and_others_lack_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of one data set with different rules each get their own points, and the plain one no such score."""
    plain = some_runs(data)[0]
    runs = [plain, *(replace(plain, drawing=Drawing(left_out=rule)) for rule in ("factor_0>=2", "factor_1>=2"))]
    given: dict[str, Any] = {"workers": 0, "device": "cpu", "metrics": "mig,generalisation", "progress": False}
    first = run_study(runs, tmp_path / "study", protocols=[TINY], keep="all", **given)
    assert (first.done, first.lacking) == (3, "")
    scores: Any = read(tmp_path / "study").scores
    found = scores[scores["metric"] == "generalisation_loss"].set_index("drawing")["score"]
    assert set(found.index.astype(str)) == {"left out factor_0>=2", "left out factor_1>=2"}
    assert found.nunique() == 2
    assert set(scores.loc[scores["metric"] == "mig", "drawing"].astype(str)) == {"", *found.index.astype(str)}
    monkeypatch.setattr(TrainFleet, "perform", lambda *_: pytest.fail("trained again"))
    again = run_study(runs, tmp_path / "study", protocols=[TINY], **given)
    assert (again.scored, again.lacking) == (0, "")
