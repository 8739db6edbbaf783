"""DCI-ES: curves by hand, probes solved one by one, and what explicitness says of codes that are linear, bent or noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from samples import values

from hackle.metrics import MetricError, dci_es_scores, explicitness_from_losses, loss_curves
from hackle.scoring.codes import score_codes
from hackle.scoring.protocol import PROTOCOLS

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, (3, 4, 5, 6), size=(900, 4))
PLACES = values(FACTORS)
KINDS = ["categorical", "ordinal", "ordinal", "ordinal"]
ROTATION = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
CODES = {
    "perfect": PLACES,
    "rotated": PLACES @ ROTATION,
    "bent": np.hstack([np.cos(3.5 * PLACES), np.sin(3.5 * PLACES)]),
    "noise": RNG.normal(size=(900, 4)),
}
FEATURES = (0, 8, 32, 128)


def halves(kind: str) -> dict[str, Any]:
    codes = CODES[kind]
    test = codes[600:], FACTORS[600:]
    return {"codes": codes[:600], "factors": FACTORS[:600], "test": test, "kinds": KINDS, "features": FEATURES}


def solved_alone(kind: str, count: int, factor: int) -> tuple[float, float]:
    """The test loss of one probe of one factor, from the normal equations with an intercept column, and ℓ_b."""
    codes = CODES[kind]
    scaled = (codes - codes[:600].mean(axis=0)) / codes[:600].std(axis=0)
    rng = np.random.default_rng(0)
    directions, phases = rng.normal(size=(codes.shape[1], 128)), rng.uniform(0, 2 * np.pi, 128)
    waves = np.sqrt(2) * np.cos(np.float32(scaled @ directions / np.sqrt(codes.shape[1]) + phases))
    design = np.hstack([np.ones((900, 1)), scaled, waves[:, :count]])
    penalty = np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    truth = FACTORS[:, factor]
    columns = (
        np.stack([truth == v for v in range(3)], axis=1) * 1.0 if KINDS[factor] == "categorical" else truth[:, None]
    )
    system = design[:600].T @ design[:600] + penalty
    predicted = design[600:] @ np.linalg.solve(system, design[:600].T @ columns[:600])
    if KINDS[factor] == "categorical":
        wrong = np.mean([row.argmax() != v for row, v in zip(predicted, truth[600:], strict=True)])
        return float(wrong), float(np.mean(truth[600:] != np.bincount(truth[:600]).argmax()))
    constant = np.mean((truth[600:] - truth[:600].mean()) ** 2)
    return float(np.mean((predicted[:, 0] - truth[600:]) ** 2) / constant), 1.0


@pytest.mark.parametrize("kind", CODES)
def test_losses_are_those_of_probes_solved_one_by_one(kind: str) -> None:
    curves = loss_curves(**halves(kind))
    codes = CODES[kind].shape[1]
    np.testing.assert_allclose(curves.capacities, np.log([1 + codes + count for count in FEATURES]))
    for factor in range(4):
        lowest = np.inf
        for place, count in enumerate(FEATURES):
            loss, constant = solved_alone(kind, count, factor)
            lowest = min(lowest, loss, constant)
            assert curves.losses[factor, place] == pytest.approx(lowest, abs=1e-6)
            assert curves.baselines[factor] == pytest.approx(constant, abs=1e-12)


@pytest.mark.parametrize(
    ("losses", "expected", "above_zero"),
    [
        ((1, 2 / 3, 1 / 3, 0), 0.0, 0.0),
        ((0, 0, 0), 1.0, 1.0),
        ((1, 1, 1, 0), -2 / 3, -2 / 3),
        ((1, 0.5, 0, 0, 0), 0.5, 0.5),
        ((1, 1, 1), 1.0, -1.0),
        ((1, 0.5, 0.75, 0.5), 1 - (0.5 * 0.5) / 1.5, 1 - 1.75 / 1.5),
    ],
)
def test_explicitness_of_curves_by_hand(losses: Any, expected: float, above_zero: float) -> None:
    steps = np.arange(len(losses))
    assert explicitness_from_losses([losses], steps, [1.0])[0] == pytest.approx(expected, abs=1e-12)
    assert explicitness_from_losses([losses], steps, [1.0], above="zero")[0] == pytest.approx(above_zero, abs=1e-12)
    # The unit of capacity does not matter, and losses are in units of the constant prediction's.
    again = explicitness_from_losses([np.array(losses) / 3], 7 + 2.5 * steps, [1 / 3])
    assert again[0] == pytest.approx(expected, abs=1e-12)


def test_what_it_says_of_perfect_rotated_bent_and_useless_codes() -> None:
    found = {kind: dci_es_scores(**halves(kind)) for kind in CODES}
    for kind in ("perfect", "rotated"):
        # A linear probe reads ordered factors; of three shapes along a line it does not see the middle one.
        curves = loss_curves(**halves(kind))
        explicitness = explicitness_from_losses(curves.losses, curves.capacities, curves.baselines)
        assert (explicitness[1:] > 0.999).all()
        assert 0.8 < explicitness[0] < 0.95
        assert found[kind].explicitness == pytest.approx(explicitness.mean())
        assert found[kind].informativeness > 0.99
    assert found["perfect"].disentanglement > 0.99
    assert found["perfect"].completeness > 0.99
    assert found["rotated"].disentanglement < 0.6
    assert found["bent"].explicitness < 0.93
    assert found["bent"].informativeness > 0.85
    # Codes that say nothing are explicit, too, unless the integral is above zero.
    assert found["noise"].explicitness > 0.97
    assert found["noise"].informativeness < 0.15
    assert dci_es_scores(**halves("noise"), above="zero").explicitness < -0.8
    assert dci_es_scores(**halves("perfect"), above="zero").explicitness > 0.95
    assert [found[kind].size for kind in CODES] == [1.0, 1.0, 0.5, 1.0]
    # More factors than codes.
    given = halves("perfect")
    narrow = {**given, "codes": given["codes"][:, :2], "test": (given["test"][0][:, :2], given["test"][1])}
    assert dci_es_scores(**narrow).size == 2.0
    assert 0.4 < dci_es_scores(**narrow).informativeness < 0.7


def test_a_permuted_code_of_a_single_linear_factor_costs_twice_its_variance() -> None:
    """Predicting v by z = v of an independent row has the error E(v − v')² = 2 var: importance is all on that code."""
    numbers = np.random.default_rng(1).normal(size=(2_000, 2))
    curves = loss_curves(numbers, numbers[:, :1], kinds="continuous", features=(0, 4))
    np.testing.assert_allclose(curves.importance, [[1.0], [0.0]], atol=1e-3)
    assert curves.losses.max() < 1e-4


def test_constant_codes_are_counted_in_size_alone() -> None:
    given = halves("bent")
    expected = dci_es_scores(**given)
    wider = [np.insert(part, 1, 3.0, axis=1) for part in (given["codes"], given["test"][0])]
    found = dci_es_scores(**{**given, "codes": wider[0], "test": (wider[1], given["test"][1])})
    np.testing.assert_allclose(found[:4], expected[:4], atol=1e-9)
    assert found.size == 4 / 9
    constant = [np.ones((len(part), 2)) for part in wider]
    found = dci_es_scores(**{**given, "codes": constant[0], "test": (constant[1], given["test"][1])})
    assert found[:2] == (0.0, 0.0)
    assert found.explicitness == pytest.approx(1.0)
    guess = np.mean(FACTORS[600:, 0] == np.bincount(FACTORS[:600, 0]).argmax())
    assert found.informativeness == pytest.approx(guess / 4)


def test_a_table_has_its_rows_with_references_and_chance() -> None:
    table: Any = score_codes(
        CODES["rotated"], {f"v{k}": FACTORS[:, k] for k in range(4)}, "dci_es", PROTOCOLS["locatello2019"].smaller(0.05)
    ).set_index("metric")
    assert set(table.index) == {
        *(f"dci_es_{name}" for name in ("disentanglement", "completeness", "informativeness", "explicitness", "size")),
        "dci_es_explicitness_above_zero",
    }
    assert np.isfinite(table[["score", "reference", "chance"]].to_numpy(float)).all()
    assert table.loc["dci_es_explicitness_above_zero", "chance"] < -0.8
    assert (table["reference"][["dci_es_explicitness", "dci_es_informativeness"]] > 0.99).all()


def test_what_cannot_be_is_refused() -> None:
    for changed, words in (
        ({"features": (4,)}, "two or more growing numbers"),
        ({"features": (8, 4)}, "two or more growing numbers"),
        ({"above": "one"}, "expected one of lowest, zero"),
        ({"test": (CODES["bent"][:1], FACTORS[:1]), "codes": CODES["bent"]}, "does not vary in the test rows"),
    ):
        given = {**halves("bent"), **changed}
        given["factors"] = FACTORS[: len(given["codes"])]
        if "test" in changed:
            given |= {
                "factors": given["factors"][:, :1],
                "test": (changed["test"][0], [[np.bincount(FACTORS[:, 0]).argmax()]]),
                "kinds": KINDS[:1],
            }
        with pytest.raises(MetricError, match=words):
            dci_es_scores(**given)
    with pytest.raises(MetricError, match="expected 3 growing numbers"):
        explicitness_from_losses([[1, 1, 1]], [0, 2, 1], [1])
    with pytest.raises(MetricError, match="expected 1 positive losses"):
        explicitness_from_losses([[1, 1, 1]], [0, 1, 2], [0])
