"""Criteria and choices on a study that is made up, so that every number is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_study import FACTORS, GRID, SEEDS, codes_of, made_study

from hackle.claims.view import View
from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorGrid
from hackle.metrics import MetricError, dci_scores, mig_score, sap_score, udr_scores
from hackle.scoring.plan import kept_images
from hackle.selection import kl_of_runs, label_scores, select, udr_of_runs
from hackle.store import read


@pytest.fixture(scope="module")
def study(tmp_path_factory: Any) -> Path:
    return made_study(tmp_path_factory.mktemp("made") / "study")


def test_the_images_whose_codes_are_kept_begin_with_those_of_older_stores() -> None:
    grid = FactorGrid([Factor("shape", 3), Factor("scale", 6), Factor("turn", 40), Factor("x", 32), Factor("y", 32)])
    kept = kept_images(grid)
    np.testing.assert_array_equal(kept[:512], np.sort(np.random.default_rng(0).choice(grid.size, 512, replace=False)))
    assert len(np.unique(kept)) == len(kept) == 1000
    assert sorted(kept_images(FactorGrid([Factor("x", 30)]))) == list(range(30))


def test_every_criterion_is_ranked_and_its_choice_is_judged(study: Path) -> None:
    found = select(read(study), {"dsprites": FACTORS}, scores=["mig"], labels=[100, 300])
    table = found.table.set_index("criterion")
    assert set(table.index) == {
        *("udr", "udr_spearman", "udr_a2a", "elbo", "reconstruction", "kl", "tc"),
        *("mig@100", "dci_disentanglement@100", "mig@300", "dci_disentanglement@300"),
    }
    assert set(table["runs"]) == {5 * SEEDS}
    assert set(table["lacking"]) == {0}
    # Codes that are not mixed agree between seeds, and have the lowest total correlation.
    for name in ("udr", "udr_spearman", "tc", "mig@300"):
        assert table.loc[name, "correlation"] > 0.9
        assert table.loc[name, "regret"] < 0.004
    assert table.loc["udr", "best"] == pytest.approx(0.903)
    assert table.loc["udr", "median"] == pytest.approx(0.6015)
    # The least error is that of strength 1 and seed 0, the most mixed.
    assert table.loc["reconstruction", "chosen_score"] == pytest.approx(0.1)
    assert table.loc["reconstruction", "regret"] == pytest.approx(0.803)
    assert found.lines == ()
    assert table.loc["mig@100", "labels"] == 100
    assert table.loc["udr", "labels"] == 0


def test_udr_is_that_of_the_stored_codes(study: Path) -> None:
    tables = read(study)
    found = select(tables, scores=["mig"]).criteria
    runs = View(tables).runs
    part = runs[(runs["method"] == "beta-vae") & (runs["strength"] == 4.0)].sort_values("seed").index
    kls = [np.array([2, 2, 2, 2, 0.001])] * SEEDS
    codes = [codes_of(0.3, seed) for seed in range(SEEDS)]
    np.testing.assert_allclose(found.loc[part, "udr"], udr_scores(codes, kls).scores, atol=1e-6)
    spearman = udr_scores(codes, kls, similarity="spearman").scores
    np.testing.assert_allclose(found.loc[part, "udr_spearman"], spearman, atol=1e-6)


def test_label_scores_are_those_of_the_drawn_images(study: Path) -> None:
    codes = {"a": codes_of(0.3, 0), "b": codes_of(0.0, 1)}
    found: Any = label_scores(codes, FACTORS, 200, seed=3)
    drawn = np.random.default_rng(3).permutation(1000)[:200]
    z, v = codes["a"][drawn].astype(float), FACTORS[drawn]
    assert found.loc["a", "mig"] == pytest.approx(mig_score(z, v, kinds="categorical"))
    dci = dci_scores(z[:180], v[:180], test=(z[180:], v[180:]), kinds="categorical").disentanglement
    assert found.loc["a", "dci_disentanglement"] == pytest.approx(dci)
    sap = sap_score(z[:180], v[:180], test=(z[180:], v[180:]), kinds="categorical")
    assert found.loc["a", "sap"] == pytest.approx(sap)
    assert found.loc["b", "mig"] > found.loc["a", "mig"] + 0.2
    assert not found.equals(label_scores(codes, FACTORS, 200, seed=4))
    with pytest.raises(MetricError, match=r"10 labelled images; expected 20"):
        label_scores(codes, FACTORS, 10)
    with pytest.raises(MetricError, match=r"1,001 labelled images"):
        label_scores(codes, FACTORS, 1001)


def test_methods_apart_and_scores_of_which_lower_is_better(study: Path) -> None:
    table: Any = select(read(study), scores=["jemmig"], by_method=True).table
    assert set(table["method"]) == {"beta-vae", "factor-vae"}
    rows = table[table["criterion"] == "udr"].set_index("method")
    assert list(rows["runs"]) == [3 * SEEDS, 2 * SEEDS]
    assert rows.loc["beta-vae", "best"] == pytest.approx(0.0)
    assert rows.loc["factor-vae", "best"] == pytest.approx(0.1)
    assert (rows["regret"] == 0).all()
    # Seeds of one setting have the same JEMMIG, so that no ranking correlates perfectly.
    assert (rows["correlation"] > 0.85).all()


def test_kls_of_older_stores_come_from_their_curves(tmp_path: Path, study: Path) -> None:
    old = read(made_study(tmp_path / "old", kl_arrays=True, rows=512))
    kls = kl_of_runs(View(old))
    assert len(kls) == 5 * SEEDS
    for values in kls.values():
        np.testing.assert_allclose(values, [values[0]] * 4 + [0], atol=1e-6)
        assert 1.8 < values[0] <= 2
    found = select(old, {"dsprites": FACTORS}, scores=["mig"], labels=[100, 1000])
    assert found.lines == ("dsprites: codes of 512 images are stored, too few for 1,000 labels: all are used instead",)
    assert {"mig@100", "mig@512"} <= set(found.criteria)
    whole = select(read(study), scores=["mig"]).criteria["udr"]
    np.testing.assert_allclose(found.criteria["udr"], whole, atol=0.1)


def test_runs_of_older_and_newer_stores_are_compared_on_the_images_that_both_have() -> None:
    codes = {str(seed): codes_of(0.3, seed)[: 512 if seed else None] for seed in range(3)}
    found = udr_of_runs(codes, dict.fromkeys(codes, np.ones(5)), dict.fromkeys(codes, "setting"))
    expected = udr_scores([codes_of(0.3, seed)[:512] for seed in range(3)], [np.ones(5)] * 3).scores
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-9)


def test_runs_without_codes_are_counted(tmp_path: Path) -> None:
    found = select(read(made_study(tmp_path / "study", codes_of_seed=0)), scores=["mig"])
    rows = found.table.set_index("criterion")
    assert (rows.loc["udr", "runs"], rows.loc["udr", "lacking"]) == (15, 5)
    assert rows.loc["elbo", "lacking"] == 0
    assert found.lines == ("5 of 20 runs have no stored codes: UDR leaves them out",)


def test_cka_does_not_see_how_codes_are_mixed(study: Path) -> None:
    found: Any = select(read(study), scores=["mig"], with_cka=True).criteria
    mixed, plain = found["udr"].min(), found["udr"].max()
    assert plain - mixed > 0.3
    assert "cka" in found
    assert found["cka"].notna().all()


def test_rankings_and_wrong_names(study: Path) -> None:
    found = select(read(study))
    ranking = found.ranking("reconstruction")
    assert list(ranking["reconstruction"]) == sorted(ranking["reconstruction"])
    assert list(ranking) == ["reconstruction", "mig"]
    with pytest.raises(HackleError, match="no criterion 'udrr'"):
        found.ranking("udrr")
    with pytest.raises(HackleError, match="no finished run has the score sap; there are elbo"):
        select(read(study), scores=["sap"])
    with pytest.raises(HackleError, match="no metric 'mgi' of few labels; did you mean mig"):
        select(read(study), scores=["mig"], label_metrics=["mgi"])


def test_the_grid_of_the_made_study_is_larger_than_what_is_kept() -> None:
    assert GRID.size == 1200
    assert FACTORS.shape == (1000, 4)


def test_a_run_whose_codes_are_broken_has_no_score_and_takes_none_from_others() -> None:
    codes = {str(seed): codes_of(4.0, seed) for seed in range(3)}
    alone = label_scores(codes, FACTORS, 100)
    broken = label_scores({**codes, "9": np.full_like(codes["0"], np.nan)}, FACTORS, 100)
    assert broken.loc["9"].isna().all()
    np.testing.assert_allclose(broken.loc[alone.index], alone, atol=1e-9)
