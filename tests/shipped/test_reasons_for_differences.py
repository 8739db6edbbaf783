"""Reasons why results differ from a paper's: of things that exist, with numbers, and only while the table bears them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.reasons import NONE, Sweep, reasons
from benchmarks.reasons.do2020 import last_change
from benchmarks.reasons.runs import numbers, of_factors, offset, runs_of, stored

from hackle.claims import CLAIMS
from hackle.figures import FIGURES
from hackle.store import read
from hackle.store.tables import Tables


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read("hackle-2026")


def changed(tables: Tables, scores: Callable[[Any], Any] = lambda rows: rows, codes: float = 1.0) -> Tables:
    """The tables with other scores, and with codes of which the means over images are a multiple of what they were."""

    def array(name: str) -> Any:
        known = tables.array(name)
        if name != "codes":
            return known
        return {run: code + (codes - 1) * np.asarray(code, float).mean(axis=0) for run, code in known.items()}

    return Tables(scores(tables.scores), tables.runs, tables.curve, array, tables.per_factor)


def test_reasons_are_of_claims_and_figures_and_have_their_numbers(tables: Tables) -> None:
    found = reasons(tables)
    assert set(found) <= {*CLAIMS.found, *FIGURES}
    for text in found.values():
        assert text.endswith(".")
        assert not re.search(r"\bnan\b|\binf\b|  |\{", text)
        assert text != NONE


def test_of_every_paper_some_differences_are_explained(tables: Tables) -> None:
    papers = {re.split(r"[.-]", name)[0] for name in reasons(tables)}
    assert papers == {"locatello2019", "kim2018", "do2020", "yang2020"}


def test_a_constant_shift_of_codes_is_all_that_the_offset_counts() -> None:
    codes = np.random.default_rng(0).standard_normal((200, 3))
    centred = codes - codes.mean(axis=0)
    assert offset(centred) == pytest.approx(0, abs=1e-12)
    shifted = centred + np.array([3.0, 0.0, -4.0])
    assert offset(shifted) == pytest.approx(12.5)
    # With unit variances of posteriors left out, KL to the prior is half of the squares' mean: offset and spread.
    assert (shifted**2).sum(axis=1).mean() / 2 == pytest.approx(offset(shifted) + centred.var(axis=0).sum() / 2)


def test_the_last_change_is_that_of_any_column() -> None:
    index = pd.Index([10, 20, 30])
    assert last_change(pd.DataFrame({"a": [1, 1, 1]}, index=index)) == 10
    assert last_change(pd.DataFrame({"a": [1, 2, 2], "b": [5, 5, 4]}, index=index)) == 30


def test_numbers_in_a_sentence() -> None:
    assert numbers([1, 2.25, 3.5], 1) == "1.0, 2.2 and 3.5"


def test_a_score_is_that_of_its_protocol(tables: Tables) -> None:
    """RMIG under ten bins is not that under the paper's hundred, nor is the mean over factors another score."""
    runs = runs_of(tables, "do2020")
    own = stored(tables, runs, "rmig", "do2020")
    few = stored(tables, runs, "rmig", "do2020-bins-10")
    assert not np.allclose(own, few)
    np.testing.assert_allclose(of_factors(tables, runs, "rmig", "do2020").mean(axis=1), own, atol=1e-5)


def test_agreement_within_a_method_is_of_its_runs_alone(tables: Tables) -> None:
    sweep = Sweep(tables)
    within = sweep.within("dci_disentanglement", "mig")
    mine = sweep.runs.index[sweep.runs["method"].eq("factor-vae")]
    ranks = sweep.scores.loc[mine, ["dci_disentanglement", "mig"]].dropna().rank()
    assert within["factor-vae"] == pytest.approx(ranks.corr().iloc[0, 1], abs=1e-3)
    assert len(within) == 6


def test_without_drifting_codes_drift_explains_nothing(tables: Tables) -> None:
    found = reasons(changed(tables, codes=0.0))
    assert not {"yang2020.kl-hardly-moves", "yang2020.reconstruction-hardly-moves"} & set(found)
    assert "yang2020.tcvae-reconstruction" in found


def test_reasons_vanish_where_factor_vae_is_best_or_keeps_its_information(tables: Tables) -> None:
    factor_vaes = set(tables.runs.query("method == 'factor-vae' and study == 'do2020'")["run"])

    def put(metric: str, score: float) -> set[str]:
        """The reasons that are gone with this score of Do & Tran's FactorVAEs."""

        def rows(rows: Any) -> Any:
            here = rows["metric"].eq(metric) & rows["run"].isin(factor_vaes)
            return rows.assign(score=rows["score"].mask(here, score))

        return set(reasons(tables)) - set(reasons(changed(tables, rows)))

    of_dci = {f"do2020.{name}" for name in ("rmig-differs-from-dci", "jemmig-differs-from-dci", "dci-parts-disagree")}
    of_sharing = {f"do2020.{name}-beta-10" for name in ("wsepin-peaks-at", "sepin-peaks-at")}
    assert put("rmig", 0.9) == of_dci
    assert put("whole_total_information", 13.0) == {*of_sharing, "do2020.sharing-hardly-falls-with-gamma"}


def test_a_factor_vae_that_costs_nothing_has_no_reason_to(tables: Tables) -> None:
    def equal_errors(rows: Any) -> Any:
        score = rows["score"].mask(rows["metric"].eq("reconstruction") & rows["protocol"].eq("locatello2019"), 30.0)
        return rows.assign(score=score)

    found = reasons(changed(tables, equal_errors))
    gone = {"kim2018.factor-vae-keeps-reconstruction", "do2020-table-8", "yang2020.tcvae-reconstruction"}
    assert not gone & set(found)
    assert "kim2018-figure-5" in found
