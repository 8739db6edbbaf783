"""Facts that hold for every classical score, checked on a list that must name them all."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from samples import Sample, disentangled, imperfect, make_sample

from hackle.metrics import (
    beta_vae,
    dci,
    dci_es,
    dcimig,
    downstream,
    explicitness,
    factor_vae,
    infomec,
    irs,
    mcc,
    mig,
    mig_sup,
    modularity,
    sap,
)
from hackle.metrics.checks import MetricError
from hackle.metrics.entangle import entangle, householder_rotation
from hackle.metrics.predictors import trees


def _dci(predictor, field):
    return lambda s: getattr(dci.dci_scores(s.codes, s.factors, test=s.test, predictor=predictor), field)


def _infomec(field):
    return lambda s: getattr(infomec.infomec_scores(s.codes, s.factors), field)


def _dci_es(field):
    return lambda s: getattr(dci_es.dci_es_scores(s.codes, s.factors, test=s.test, features=(0, 16, 64, 256)), field)


SCORES = {
    "beta_vae_score": lambda s: beta_vae.beta_vae_score(s.differences, s.held, test=(s.test_differences, s.test_held)),
    "factor_vae_score": lambda s: factor_vae.factor_vae_score(
        s.groups, s.held, factor_vae.code_scale(s.codes), test=(s.test_groups, s.test_held), minimum_variance=0.02
    ),
    "mig_score": lambda s: mig.mig_score(s.codes, s.factors),
    "sap_score": lambda s: sap.sap_score(s.codes, s.factors, test=s.test),
    "sap_score continuous": lambda s: sap.sap_score(s.codes, s.factors, kinds="continuous"),
    "dci_scores disentanglement": _dci("l1-svm", "disentanglement"),
    "dci_scores completeness": _dci("l1-svm", "completeness"),
    "dci_scores informativeness": _dci("l1-svm", "informativeness"),
    "dci_scores gbt disentanglement": _dci("gbt", "disentanglement"),
    "dci_scores lasso disentanglement": _dci("lasso", "disentanglement"),
    "dci_scores lasso informativeness": _dci("lasso", "informativeness"),
    "mig_sup_score": lambda s: mig_sup.mig_sup_score(s.codes, s.factors, active=True),
    "dcimig_score": lambda s: dcimig.dcimig_score(s.codes, s.factors),
    "infomec_scores modularity": _infomec("modularity"),
    "infomec_scores compactness": _infomec("compactness"),
    "infomec_scores explicitness": _infomec("explicitness"),
    "dci_es_scores explicitness": _dci_es("explicitness"),
    "dci_es_scores informativeness": _dci_es("informativeness"),
    "dci_es_scores disentanglement": _dci_es("disentanglement"),
    "irs_score": lambda s: irs.irs_score(s.codes, s.factors),
    "mcc_score": lambda s: mcc.mcc_score(s.codes, s.factors),
    "mcc_score spearman": lambda s: mcc.mcc_score(s.codes, s.factors, correlation="spearman"),
    "modularity_score": lambda s: modularity.modularity_score(s.codes, s.factors),
    "explicitness_score": lambda s: explicitness.explicitness_score(s.codes, s.factors, test=s.test),
    "downstream_accuracy": lambda s: downstream.downstream_accuracy(s.codes, s.factors, *s.test, classifier="gbt"),
    "statistical_efficiency": lambda s: downstream.statistical_efficiency(
        s.codes, s.factors, *s.test, few=30, many=120, classifier="gbt"
    ),
}

# Solvers stop at a tolerance, histograms are cut at one side of an edge, folds are consecutive rows, and random features
# meet other codes.
TOLERANCE = {
    "dci_es_scores explicitness": 0.02,
    "dci_es_scores informativeness": 0.03,
    "dci_es_scores disentanglement": 0.05,
    "beta_vae_score": 0.02,
    "sap_score": 0.005,
    "dci_scores disentanglement": 0.002,
    "dci_scores completeness": 0.002,
    "dci_scores informativeness": 0.005,
    "dci_scores gbt disentanglement": 0.02,
    "dci_scores lasso disentanglement": 1e-4,
    "dci_scores lasso informativeness": 1e-4,
    # The noise that breaks ties belongs to rows and columns.
    "infomec_scores modularity": 1e-6,
    "infomec_scores compactness": 1e-6,
    "infomec_scores explicitness": 1e-4,
    "explicitness_score": 1e-3,
    "downstream_accuracy": 0.03,
    "statistical_efficiency": 0.03,
}
NUMERIC = {
    "sap_score continuous",
    "dci_scores lasso disentanglement",
    "dci_scores lasso informativeness",
    "dci_es_scores explicitness",
    "dci_es_scores informativeness",
    "dci_es_scores disentanglement",
    "mcc_score",
    "mcc_score spearman",
}
INFORMATIVENESS = {
    "dci_es_scores explicitness",
    "dci_es_scores informativeness",
    "infomec_scores explicitness",
    "dci_scores informativeness",
    "dci_scores lasso informativeness",
    "explicitness_score",
    "downstream_accuracy",
    "statistical_efficiency",
}
PAIRWISE = {"beta_vae_score", "factor_vae_score"}

every_score = pytest.mark.parametrize("name", SCORES)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    """The properties of boosted trees do not depend on how many there are."""
    monkeypatch.setattr(trees, "_ROUNDS", 20)


@pytest.fixture(scope="module")
def sample() -> Sample:
    return make_sample(imperfect, rows=400, group_size=8)


@pytest.fixture(scope="module")
def score(sample):
    """The score of the untouched sample, computed once for all properties."""
    known: dict[str, float] = {}

    def scored(name: str) -> float:
        if name not in known:
            known[name] = SCORES[name](sample)
        return known[name]

    return scored


def test_the_list_names_every_score():
    modules = (
        *(beta_vae, dci, dci_es, dcimig, downstream, explicitness, factor_vae),
        *(infomec, irs, mcc, mig, mig_sup, modularity, sap),
    )
    endings = ("_score", "_scores", "_accuracy", "_efficiency")
    public = {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and name.endswith(endings) and not name.startswith("_")
    }
    assert public == {name.split()[0] for name in SCORES}


@every_score
def test_scores_are_floats_between_zero_and_one(name, score):
    assert type(score(name)) is float
    assert 0.0 < score(name) < (1.5 if name == "statistical_efficiency" else 1.0)


@pytest.mark.parametrize("name", [name for name in SCORES if name != "statistical_efficiency"])
def test_sample_order_does_not_matter(name, sample, score):
    """Statistical efficiency is defined by which rows come first."""
    rng = np.random.default_rng(1)
    a, b, g, h = (rng.permutation(len(x)) for x in (sample.codes, sample.test_codes, sample.groups, sample.test_groups))
    shuffled = Sample(
        sample.codes[a],
        sample.factors[a],
        sample.test_codes[b],
        sample.test_factors[b],
        sample.groups[g],
        sample.held[g],
        sample.test_groups[h],
        sample.test_held[h],
    )
    assert SCORES[name](shuffled) == pytest.approx(score(name), abs=TOLERANCE.get(name, 1e-9))


@every_score
def test_order_and_sign_of_codes_do_not_matter(name, sample, score):
    flipped = sample.map_codes(lambda codes: codes[:, ::-1] * np.array([1, -1, 1, -1, -1, 1, 1]))
    assert SCORES[name](flipped) == pytest.approx(score(name), abs=TOLERANCE.get(name, 1e-9))


@every_score
def test_order_of_factors_does_not_matter(name, sample, score):
    order = np.array([2, 0, 3, 1])
    place = np.argsort(order)
    moved = replace(
        sample,
        factors=sample.factors[:, order],
        test_factors=sample.test_factors[:, order],
        held=place[sample.held],
        test_held=place[sample.test_held],
    )
    assert SCORES[name](moved) == pytest.approx(score(name), abs=TOLERANCE.get(name, 1e-9))


@pytest.mark.parametrize("name", [name for name in SCORES if name not in NUMERIC])
def test_names_of_factor_values_do_not_matter(name, sample, score):
    names = np.array([40, -7, 1000, 3, 12, 0])
    renamed = replace(
        sample,
        factors=names[sample.factors],
        test_factors=names[sample.test_factors],
        held=names[sample.held],
        test_held=names[sample.test_held],
    )
    assert SCORES[name](renamed) == pytest.approx(score(name), abs=TOLERANCE.get(name, 1e-9))


@every_score
def test_a_constant_code_changes_nothing(name, sample, score):
    wider = sample.map_codes(lambda codes: np.insert(codes, 3, 0.1, axis=1))
    assert SCORES[name](wider) == pytest.approx(score(name), abs=1e-9)


@every_score
def test_constant_codes_alone_have_a_documented_score(name, sample):
    constant = sample.map_codes(lambda codes: np.full((len(codes), 2), 3.0))
    frequent = np.mean(
        [
            np.mean(test == np.bincount(train).argmax())
            for train, test in zip(sample.factors.T, sample.test_factors.T, strict=True)
        ]
    )
    expected = {
        "beta_vae_score": np.mean(sample.test_held == np.bincount(sample.held).argmax()),
        "dci_scores informativeness": frequent,
        "downstream_accuracy": frequent,
        "explicitness_score": 0.5,
        "dci_es_scores explicitness": 1.0,
    }
    value = SCORES[name](constant)
    if name == "statistical_efficiency":
        assert value > 0
    else:
        assert value == pytest.approx(expected.get(name, 0.0))


@pytest.mark.parametrize("name", [name for name in SCORES if name not in PAIRWISE])
def test_a_factor_with_one_value_is_left_out(name, sample, score):
    wider = replace(
        sample,
        factors=np.insert(sample.factors, 1, 5, axis=1),
        test_factors=np.insert(sample.test_factors, 1, 5, axis=1),
    )
    assert SCORES[name](wider) == pytest.approx(score(name), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in SCORES if name not in INFORMATIVENESS])
@pytest.mark.parametrize("rotation", [None, householder_rotation(4)], ids=["cosine", "householder"])
def test_entangled_codes_score_lower(name, rotation):
    sample = make_sample(disentangled)
    entangled = sample.map_codes(lambda codes: entangle(codes, rotation=rotation))
    assert SCORES[name](entangled) < SCORES[name](sample) - 0.05


@every_score
def test_a_nan_is_refused(name, sample):
    def spoil(codes):
        codes = codes.copy()
        codes[::10, 2] = np.nan
        return codes

    with pytest.raises(MetricError, match="NaN"):
        SCORES[name](sample.map_codes(spoil))


@every_score
def test_one_factor_with_one_value_is_refused(name, sample):
    single = replace(
        sample,
        factors=np.zeros_like(sample.factors),
        held=np.zeros_like(sample.held),
    )
    with pytest.raises(MetricError, match=r"single value|same factor|constant|does not vary"):
        SCORES[name](single)


@pytest.mark.parametrize("name", [name for name in SCORES if name not in PAIRWISE])
def test_a_lone_factor_can_be_scored(name, sample):
    lone = replace(sample, factors=sample.factors[:, 1:2], test_factors=sample.test_factors[:, 1:2])
    assert 0.0 < SCORES[name](lone) <= 1.5


@pytest.mark.parametrize("name", [name for name in SCORES if name not in PAIRWISE])
def test_values_missing_from_training_or_test_rows_are_survived(name, sample):
    train, test = sample.factors[:, 3] != 2, sample.test_factors[:, 3] != 4
    missing = replace(
        sample,
        codes=np.vstack([sample.codes[train]] * 2),
        factors=np.vstack([sample.factors[train]] * 2),
        test_codes=sample.test_codes[test],
        test_factors=sample.test_factors[test],
    )
    assert 0.0 < SCORES[name](missing) <= 1.5


STRANGE = {
    "repeated": lambda codes: codes[:, [0, 0, 0]],
    "rounded": np.round,
    "huge": lambda codes: codes * 1e200,
    "tiny": lambda codes: codes * 1e-200,
    "far away": lambda codes: codes + 1e9,
    "with an outlier": lambda codes: np.vstack([codes[:1] * 1e8, codes[1:]]),
    "single precision": lambda codes: codes.astype(np.float32),
    "one alone": lambda codes: codes[:, :1],
}


@every_score
@pytest.mark.filterwarnings("ignore:.* of the rows of code .* share one of its")
@pytest.mark.parametrize("kind", STRANGE)
def test_strange_codes_end_in_a_number_or_a_sentence(name, kind):
    strange = make_sample(imperfect, rows=120, groups=40, group_size=4).map_codes(STRANGE[kind])
    try:
        value = SCORES[name](strange)
    except MetricError as error:
        # The one score whose classifier depends on the size of the codes.
        assert name == "beta_vae_score"
        assert "divide the codes" in str(error)  # noqa: PT017
    else:
        assert 0.0 <= value < 1.5
