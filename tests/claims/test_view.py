"""What claims read of a table: which runs, which protocol, which scores."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from claims.synthetic import sweep, tables
from hackle.claims.conditions import describe
from hackle.claims.own_runs import trainings_planned
from hackle.claims.view import KL_WITHOUT_CONSTANT, View
from hackle.core.records import to_json
from hackle.core.types import Run
from hackle.objectives import AnnealedVAE, FactorVAE
from hackle.studies import STUDIES, Study


def test_failed_runs_are_left_out() -> None:
    made = tables(sweep(seed=range(3)), lambda run, noise: {"mig": 0.1})
    made.runs.loc[1, "status"] = "failed"
    assert len(View(made).of("").rows({"method": "vae"}, ["mig"])) == 2


def test_a_studys_own_runs_are_preferred_and_others_serve_where_it_has_none() -> None:
    designs = [*sweep(study=["yang2020", "mine"], seed=range(2)), *sweep(study="mine", method="beta-vae")]
    data = View(tables(designs, lambda run, noise: {"mig": 0.1})).of("yang2020")
    assert set(data.rows({"method": "vae"})["study"]) == {"yang2020"}
    assert not data.borrows({"method": "vae"})
    assert set(data.rows({"method": "beta-vae"})["study"]) == {"mine"}
    assert data.borrows({"method": "beta-vae"})


def test_runs_of_a_setting_that_the_study_plans_are_its_own_whoever_trained_them() -> None:
    """Unless they are not scored as its runs are; runs of another setting are borrowed."""
    planned: Any = next(run for run in STUDIES["kim2018"].runs(seeds=1) if isinstance(run.method, FactorVAE))
    told = {"study": "initialisation", "steps": 10}
    designs = [*sweep(**told, seed=range(6)), *sweep(**told, method="beta-vae")]
    protocols = {5: "posteriors"}
    made = tables(designs, lambda run, noise: {f"mig/mean/{protocols.get(run['seed'], 'locatello2019')}": 0.1})
    made.runs["record"] = [
        json.dumps(
            to_json(replace(planned, seed=place, steps=10, architecture=replace(planned.architecture, **changed)))
        )
        for place, changed in enumerate([*[{}] * 6, {"hidden": 7}])
    ]
    data = View(made).of("kim2018")
    assert data.own.tolist() == [True] * 5 + [False] * 2
    assert sorted(data.rows({"method": "vae"})["seed"]) == [0, 1, 2, 3, 4]
    assert data.borrows({"method": "beta-vae"})


def test_settings_are_planned_with_the_runs_number_of_steps_and_for_what_stands_in_for_a_data_set() -> None:
    """AnnealedVAE's capacity grows over a third of the steps."""
    planned: Any = STUDIES["locatello2019"].runs(seeds=1, steps=1200, datasets=["dsprites", "rooms3d"])
    assert {run.method.iteration_threshold for run in planned if isinstance(run.method, AnnealedVAE)} == {400}
    made = tables(sweep(study="hackle-2026", seed=range(len(planned)), steps=1200), lambda run, noise: {"mig": 0.1})
    made.runs["record"] = [json.dumps(to_json(run)) for run in planned]
    assert View(made).of("locatello2019").own.all()
    assert not View(made).of("kim2018").own.all()


def test_what_a_study_without_seeds_or_steps_plans_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan() -> list[Run]:
        raise AssertionError

    monkeypatch.setattr("hackle.claims.own_runs.STUDIES", {"mine": Study("mine", plan)})
    assert trainings_planned("mine", 10) == frozenset()
    assert trainings_planned("nobody's", 10) == frozenset()


def test_borrowed_runs_are_of_one_study_for_each_data_set_and_method() -> None:
    """Of the same seed two studies have runs that were trained otherwise: they are not averaged."""
    designs = [
        *sweep(study="large", seed=range(3)),
        *sweep(study="small", seed=range(2)),
        *sweep(study="small", method="beta-vae", seed=range(2)),
        *sweep(study="small", dataset="cars3d", seed=range(4)),
    ]
    made = tables(designs, lambda run, noise: {"mig": 0.1} if run["study"] == "large" else {"mig": 0.9, "sap": 0.5})
    data = View(made).of("mine")
    rows = data.rows({"method": ("vae", "beta-vae"), "dataset": ("dsprites", "cars3d")}, ["mig"])
    lent = rows.astype(str).groupby(["dataset", "method"])["study"].unique().map(list).to_dict()
    assert lent == {("cars3d", "vae"): ["small"], ("dsprites", "beta-vae"): ["small"], ("dsprites", "vae"): ["large"]}
    assert len(data.rows({"method": "vae", "dataset": "dsprites"}, ["mig"])) == 3
    # Of those that have the score that is asked for.
    assert set(data.rows({"method": "vae", "dataset": "dsprites"}, ["sap"])["study"]) == {"small"}


def test_one_protocol_serves_all_claims_of_a_study() -> None:
    def scores(run, noise):
        return {"mig/mean/yang2020": 0.1, "mig/mean/locatello2019": 0.2, "sap/mean/locatello2019": 0.3}

    view = View(tables(sweep(seed=range(2)), scores))
    assert view.of("yang2020").protocol == "yang2020"
    assert view.of("yang2020").scored("mig").tolist() == [0.1, 0.1]
    assert np.isnan(view.of("yang2020").scored("sap")).all()
    assert view.of("kim2018").protocol == "locatello2019"


def test_of_others_runs_the_protocol_is_that_of_most_and_the_lender_is_scored_by_it() -> None:
    """Neither a few runs that another study scored by this one's protocol nor a larger study that scored by a third one leave
    the claims without runs."""

    protocols = {"first": "locatello2019", "few": "kim2018", "larger": "do2020"}

    def scores(run, noise):
        return {f"mig/mean/{protocols[run['study']]}": 0.1}

    designs = [
        *sweep(study="first", method=["vae", "beta-vae"], seed=range(4)),
        *sweep(study="few", seed=range(2)),
        *sweep(study="larger", seed=range(6)),
    ]
    data = View(tables(designs, scores)).of("kim2018")
    assert data.protocol == "locatello2019"
    assert set(data.rows({"method": "vae"})["study"]) == {"first"}
    assert data.lacks({"method": "vae"}, ["mig"], (), ()) == []


def test_a_score_under_another_protocol_is_read_where_a_claim_names_it() -> None:
    def scores(run, noise):
        return {"mig/mean/yang2020": 0.1, "mig/mean/locatello2019": 0.2, "mig/sampled/locatello2019": 0.3}

    data = View(tables(sweep(seed=range(2)), scores)).of("yang2020")
    assert data.scored("mig under locatello2019").tolist() == [0.2, 0.2]
    assert data.scored("mig/sampled under locatello2019").tolist() == [0.3, 0.3]
    assert np.isnan(data.scored("mig under kim2018")).all()
    assert data.lacks({"method": "vae"}, ["mig under kim2018"], (), ()) == ["no score mig under kim2018 of vae"]


def test_a_condition_may_name_any_number_of_the_records() -> None:
    """Those that vary are columns of the results, of which a condition may name any; one value is no reason to refuse it."""
    rates = [{"optimiser": {"learning_rate": rate, "beta1": 0.5}} for rate in (0.1, 0.2)]
    data = View(tables(sweep(seed=range(3), fields=rates), lambda run, noise: {"mig": 0.1})).of("")
    assert len(data.rows({"method": "vae"}, ["mig"])) == 6
    assert len(data.rows({"method": "vae", "learning_rate": 0.2, "beta1": 0.5}, ["mig"])) == 3
    assert len(data.rows({"learning_rate": (0.1, 0.2)}, ["mig"])) == 6
    assert data.lacks({"learning_rate": 0.3}, ["mig"], (), ()) == ["no runs of any method, learning_rate 0.3"]


def test_a_condition_on_what_no_run_has_is_met_by_none_and_says_so() -> None:
    data = View(tables(sweep(seed=range(3)), lambda run, noise: {"mig": 0.1})).of("")
    assert not len(data.rows({"methd": "vae"}, ["mig"]))
    (words,) = data.lacks({"methd": "vae"}, ["mig"], (), ())
    assert words.startswith("no runs of any method, methd vae (no run has a column 'methd'; did you mean method?")


def test_scores_of_several_scoring_seeds_are_averaged() -> None:
    made = tables(sweep(seed=[0]), lambda run, noise: {"mig": 0.1})
    again = made.scores.assign(score=0.3, scoring_seed=1)
    both = View(type(made)(pd.concat([made.scores, again]), made.runs))
    assert both.of("").scored("mig") == pytest.approx([0.2])


def test_a_score_is_of_means_unless_it_says_otherwise() -> None:
    view = View(tables(sweep(), lambda run, noise: {"mig/mean": 0.1, "mig/sampled": 0.2, "kl": 3.0}))
    data = view.of("")
    assert [data.scored(name)[0] for name in ("mig", "mig/sampled", "kl")] == [0.1, 0.2, 3.0]


def test_the_kl_of_correlated_noise_loses_its_constant() -> None:
    sigma = 0.9 * np.ones((10, 10)) + 0.1 * np.eye(10)
    constant = -0.5 * np.linalg.slogdet(sigma)[1]
    view = View(
        tables(sweep(correlation=[0.0, 0.9]), lambda run, noise: {"kl": 20 + constant * bool(run["correlation"])})
    )
    assert view.of("").scored("kl_without_constant") == pytest.approx([20, 20])


def test_the_longest_training_counts_and_the_longest_that_is_shared() -> None:
    designs = [*sweep(steps=[100, 200]), *sweep(method="factor-vae", steps=[100])]
    data = View(tables(designs, lambda run, noise: {"mig": run["steps"]})).of("")
    assert data.rows({"method": "vae"}, ["mig"])["mig"].tolist() == [200]
    first, second = data.matched([{"method": "vae"}, {"method": "factor-vae"}], ["mig"])
    assert (first["mig"].tolist(), second["mig"].tolist()) == ([100], [100])


def test_a_sweep_has_gaps_where_runs_are_missing() -> None:
    designs = sweep(method="beta-vae", strength=[1.0, 2.0], seed=range(3))[:-1]
    data = View(tables(designs, lambda run, noise: {"mig": 10 * run["strength"] + run["seed"]})).of("")
    found = data.sweep({"method": "beta-vae"}, ["mig"])
    assert [setting[:2] for setting in found.settings] == [("beta-vae", 1.0), ("beta-vae", 2.0)]
    assert found.scores["mig"] == pytest.approx(np.array([[10, 20], [11, 21], [12, np.nan]]), nan_ok=True)


def test_the_tail_of_a_curve_is_its_last_tenth() -> None:
    made = tables(sweep(steps=1000), lambda run, noise: {}, curves=lambda run, noise: {"loss": np.arange(100.0)})
    assert View(made).tail("loss").tolist() == [pytest.approx(np.arange(90, 100).mean())]


def test_what_is_missing_is_said() -> None:
    data = View(tables(sweep(), lambda run, noise: {"mig": 0.1})).of("")
    assert data.lacks({"method": "vae"}, ["mig"], [], []) == []
    assert data.lacks({"method": "vae"}, ["sap"], ["loss"], ["codes"]) == [
        "no score sap of vae",
        "no curve loss of vae",
        "no array codes of vae",
    ]
    assert data.lacks({"method": "vae", "dataset": "cars3d"}, ["mig"], [], []) == ["no runs of vae on cars3d"]
    assert data.lacks({}, ["mig"], [], []) == []
    mlp = View(tables(sweep(architecture="mlp", correlation=0.9, seed=range(2)), lambda run, noise: {})).of("")
    assert mlp.lacks({"method": "vae"}, [], [], []) == [
        "no runs of vae (correlation 0.0 is meant, 2 have 0.9, architecture convolutional is meant, 2 have mlp)"
    ]
    assert mlp.lacks({"method": "vae", "correlation": 0.9, "architecture": "mlp"}, [], [], []) == []
    two = {"mig": 0.1, "kl": 1.0, "sap/mean/quick": 0.1}
    quick = View(tables(sweep(), lambda run, noise: two)).of("")
    assert quick.lacks({"method": "vae"}, ["sap"], [], []) == [
        "no score sap of vae under locatello2019 (there is one under quick)"
    ]
    # A score that is a stored one with a constant is found where that is, and a study without any score has no protocol.
    apart = {"mig": 0.1, "sap": 0.1, "kl/posterior/quick": 1.0}
    derived = View(tables(sweep(), lambda run, noise: apart)).of("")
    assert derived.lacks({"method": "vae"}, [KL_WITHOUT_CONSTANT], [], []) == [
        "no score kl_without_constant of vae under locatello2019 (there is one under quick)"
    ]
    runs = [*sweep(study="mine", dataset="cars3d"), *sweep(study="other", dataset="dsprites")]
    bare = View(tables(runs, lambda run, noise: {"mig": 0.1} if run["study"] == "other" else {})).of("mine")
    assert bare.lacks({"method": "vae", "dataset": "dsprites"}, ["mig"], [], []) == [
        "no score mig of vae on dsprites (there is one under locatello2019)"
    ]
    assert describe({"method": ("vae", "beta-vae"), "latents": 20}) == "vae or beta-vae, latents 20"


def test_settings_differ_in_more_than_the_seed() -> None:
    made = tables(sweep(method="infowgan-gp", strength=[0.1], seed=range(2), batch_size=[64, 128]), lambda r, n: {})
    assert View(made).runs.groupby("setting")["batch_size"].nunique().tolist() == [1, 1]


def test_a_sweep_may_span_conditions_of_which_other_studies_have_some() -> None:
    designs = [
        *sweep(study="mine", method="vae", seed=range(2)),
        *sweep(study="other", method="beta-vae", seed=range(2)),
    ]
    data = View(tables(designs, lambda run, noise: {"mig": run["seed"]})).of("mine")
    found = data.sweep([{"method": "vae"}, {"method": "beta-vae"}], ["mig"])
    assert [setting[0] for setting in found.settings] == ["beta-vae", "vae"]
    assert found.runs == 4
