"""Real-valued factors in every score: noise scores as chance does, perfect codes reach their reference, and all doors agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import hackle
from hackle import metrics
from hackle.core.factors import Factor, FactorGrid
from hackle.datasets import load
from hackle.scoring.plan import PlanSizes, draw_plan, holding_one, rows_of, values_of
from hackle.scoring.protocol import Protocol
from hackle.scoring.scorer import perfect_codebook

TINY = Protocol("tiny", PlanSizes(400, 200, 400, 200, 16, 400, 200, 16), bins=10, posterior_bins=40)
TREES = Protocol("trees", TINY.sizes, bins=10, dci_predictor="gbt")
FOREST = Protocol("forest", TINY.sizes, bins=10, dci_predictor="random-forest")
LASSO = Protocol("lasso", TINY.sizes, bins=10, dci_predictor="lasso", dci_skips_categorical=True)


def scores(table: pd.DataFrame, column: str = "score") -> dict[str, float]:
    kept = table[table["representation"] != "sampled"]
    return dict(zip(kept["metric"], kept[column], strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 477 pictures whose places are real numbers, as people have them."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "dots"
    path.mkdir()
    lines = ["file,x,y"]
    for number, (x, y) in enumerate(rng.random((477, 2))):
        picture = np.full((8, 8), number % 256, np.uint8)
        picture[int(8 * y), int(8 * x)] = 255 - number % 256
        Image.fromarray(picture).save(path / f"{number:03}.png")
        lines.append(f"{number:03}.png,{x:.6f},{y:.6f}")
    (path / "factors.csv").write_text("\n".join(lines))
    return path


def test_noise_on_a_folder_with_real_valued_places_scores_as_chance(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once 477 classes each, whose noise scored DCI-D .375 beside perfect codes' .396."""
    data = load(folder)
    assert "dots: factors x (continuous, guessed), y (continuous, guessed)" in capsys.readouterr().err
    assert data.factors.kinds[:2] == ("continuous", "continuous")
    noise = np.random.default_rng(1).normal(size=(477, 5)).astype(np.float32)
    place = {picture.tobytes(): number for number, picture in enumerate(data.render(data.factors.rows(np.arange(477))))}

    def encode(images: np.ndarray) -> np.ndarray:
        return noise[[place[image.tobytes()] for image in images]]

    table = hackle.score(encode, data, protocol=TREES)
    found, best = scores(table), scores(table, "reference")
    assert best["dci_disentanglement"] > 0.95
    assert best["dci_informativeness"] > 0.95
    assert best["sap"] > 0.9
    assert best["neighbour_gap"] > 0.95
    assert found["dci_disentanglement"] < 0.3
    assert found["dci_informativeness"] < 0.05
    assert found["sap"] < 0.03
    assert found["mig"] < 0.05
    assert found["neighbour_gap"] < 0.15
    assert abs(found["explicitness"] - 0.5) < 0.06
    # 40 bins can be held: three times √(0.25 / 40).
    assert abs(found["factor_vae"] - 0.5) < 0.24


@pytest.mark.parametrize("protocol", [TINY, TREES, FOREST, LASSO], ids=lambda protocol: protocol.name)
def test_perfect_codes_reach_their_reference(protocol: Protocol) -> None:
    """Factors of every kind; the codes are their numbers, or class numbers, in other units and another order."""
    rng = np.random.default_rng(2)
    shape, size = rng.integers(0, 3, 900), rng.integers(0, 6, 900)
    x, angle = rng.random(900), rng.integers(0, 8, 900)
    factors = {"shape": np.array(["a", "b", "c"])[shape], "size": size, "x": x, "angle": angle}
    codes = np.column_stack([3 - 2 * x, angle, 5.0 * shape, -size])
    kinds = {"angle": "cyclic", "shape": "categorical", "size": "ordinal", "x": "continuous"}
    table = hackle.score_codes(codes, factors, protocol=protocol, kinds=kinds)
    for name, found in scores(table).items():
        if np.isfinite(best := scores(table, "reference")[name]):
            assert found == pytest.approx(best, abs=0.02), name
    assert "guessed" not in table.attrs["read"]


def test_the_table_is_what_the_functions_say() -> None:
    rng = np.random.default_rng(3)
    x, shape = rng.random(600), rng.integers(0, 3, 600)
    factors = {"x": x, "shape": shape}
    codes = np.column_stack([x**2, shape, x]) + 0.1 * rng.normal(size=(600, 3))
    everything = Protocol("everything", PlanSizes(400, 200, 0, 0, 1, 0, 0, 1), bins=10, dci_predictor="gbt")
    seen: dict[str, Any] = {}

    def look(codes: Any, values: Any, test_codes: Any, test_values: Any, kinds: Any, factors: Any) -> float:
        names = ("codes", "values", "test_codes", "test_values", "kinds", "factors")
        seen.update(zip(names, (codes, values, test_codes, test_values, kinds, factors), strict=True))
        return 0.0

    wanted = ["dci", "sap", "mig", "neighbour_gap", "downstream_logistic_cv", look]
    found = scores(
        hackle.score_codes(codes, factors, wanted, everything, kinds={"shape": "categorical"}, references=False)
    )
    kinds, z, v, test = seen["kinds"], seen["codes"], seen["values"], (seen["test_codes"], seen["test_values"])
    assert kinds == ("continuous", "categorical")
    assert set(np.unique(seen["factors"][:, 0])) <= set(range(20))
    assert len(np.unique(v[:, 0])) == 400
    dci = metrics.dci_scores(z, v, test=test, predictor="gbt", kinds=kinds)
    assert found["dci_disentanglement"] == pytest.approx(dci.disentanglement)
    assert found["dci_informativeness"] == pytest.approx(dci.informativeness)
    assert found["sap"] == pytest.approx(metrics.sap_score(z, v, test=test, kinds=kinds))
    assert found["neighbour_gap"] == pytest.approx(metrics.neighbour_gap_score(z, v, kinds=kinds))
    assert found["downstream_logistic_cv_100"] == pytest.approx(
        metrics.downstream_accuracy(z[:100], v[:100], *test, kinds=kinds)
    )
    # Bins of the table span the values of all rows, those of the function its own.
    assert found["mig"] == pytest.approx(metrics.mig_score(z, v, bins=10, kinds=kinds), abs=0.02)


FUNCTIONS = [
    metrics.mig_score,
    metrics.modularity_score,
    metrics.mig_sup_score,
    metrics.dcimig_score,
    metrics.infomec_scores,
    metrics.sap_score,
    metrics.dci_scores,
    metrics.explicitness_score,
    lambda z, v: metrics.downstream_accuracy(z, v, z, v),
    lambda z, v: metrics.rmig_score(z, metrics_like(z), v),
    lambda z, v: metrics.jemmig(z, metrics_like(z), v),
]


def metrics_like(codes: Any) -> np.ndarray:
    """Logvars for codes of any make."""
    return np.full(tuple(getattr(codes, "shape", (200, 2))), -4.0)


@pytest.mark.filterwarnings("ignore::hackle.metrics.OutOfRangeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_functions_take_whatever_score_codes_takes(function: Any) -> None:
    rng = np.random.default_rng(4)
    shape, x = rng.integers(0, 3, 200), rng.random(200).astype(np.float32)
    codes = np.column_stack([x, shape + 0.1 * rng.normal(size=200)]).astype(np.float32)
    words = np.array(["ball", "box", "cone"])[shape]
    plain = function(codes, np.column_stack([x, shape]))
    for z, v in (
        (torch.from_numpy(codes).requires_grad_(), torch.from_numpy(np.column_stack([x, shape]).astype(np.float32))),
        (codes.tolist(), {"x": torch.from_numpy(x).double(), "shape": words}),
        (pd.DataFrame(codes), pd.DataFrame({"x": x, "shape": words}).astype({"shape": "category"})),
    ):
        np.testing.assert_allclose(np.asarray(function(z, v)), np.asarray(plain), atol=1e-6)
    alone = function(codes[:, :1], x[:, None])
    np.testing.assert_allclose(np.asarray(function(codes[:, 0], x)), np.asarray(alone))
    assert np.isfinite(np.asarray(function(torch.from_numpy(codes[:, 1]).bfloat16(), words))).all()


def test_functions_of_codes_alone_take_tensors_with_gradients() -> None:
    codes = torch.from_numpy(np.random.default_rng(7).normal(size=(60, 3))).requires_grad_()
    plain, logvars = codes.detach().numpy(), torch.full((60, 3), -3.0, requires_grad=True)
    held, groups = torch.arange(20) % 2, codes.reshape(20, 3, 3)
    for given, known in (
        (metrics.gaussian_total_correlation(codes), metrics.gaussian_total_correlation(plain)),
        (metrics.correlation_matrix(codes), metrics.correlation_matrix(plain)),
        (metrics.informativeness(codes, logvars), metrics.informativeness(plain, np.full((60, 3), -3.0))),
        (metrics.misjed(codes, logvars), metrics.misjed(plain, np.full((60, 3), -3.0))),
        (metrics.consistency((codes, logvars), (codes, logvars)).score, 1.0),
        (metrics.entangle(codes), metrics.entangle(plain)),
        (
            metrics.factor_vae_score(groups, held, metrics.code_scale(codes), active=torch.tensor([True] * 3)),
            metrics.factor_vae_score(plain.reshape(20, 3, 3), held.numpy(), metrics.code_scale(plain)),
        ),
        (metrics.beta_vae_score(codes[:20].abs(), held), metrics.beta_vae_score(np.abs(plain[:20]), held.numpy())),
    ):
        np.testing.assert_allclose(given, known, rtol=1e-5)


def test_groups_share_a_bin_of_a_continuous_factor() -> None:
    values = tuple(np.sort(np.random.default_rng(5).random(100)).tolist())
    factors = [Factor("x", 100, "continuous", values=values), Factor("shape", 3, "categorical")]
    whole = FactorGrid(factors).with_bins(5)
    some = FactorGrid(factors, present=whole.rows(np.arange(0, 300, 2))).with_bins(5)
    for grid in (whole, some):
        groups = holding_one(grid, 300, 16, np.random.default_rng(6))
        classes = grid.classes(grid.rows(groups.index.ravel())).reshape(300, 16, 2)
        held = np.take_along_axis(classes, groups.held[:, None, None], axis=2)[:, :, 0]
        assert (held == held[:, :1]).all()
        moved = grid.rows(groups.index.ravel()).reshape(300, 16, 2)[groups.held == 0, :, 0]
        assert (np.ptp(moved, axis=1) > 0).all()
        assert set(held[groups.held == 0, 0]) == set(range(5))


def test_a_grid_tells_numbers_and_bins_and_leaves_other_factors_alone() -> None:
    grid = FactorGrid([Factor("x", 4, "continuous", values=(0.0, 0.1, 0.9, 1.0)), Factor("y", 40)])
    rows = np.array([[0, 39], [1, 7], [2, 0], [3, 1]])
    assert grid.classes(rows).tolist() == rows.tolist()
    assert grid.with_bins(2).classes(rows).tolist() == [[0, 39], [0, 7], [1, 0], [1, 1]]
    assert grid.values(rows).tolist() == [[0.0, 39.0], [0.1, 7.0], [0.9, 0.0], [1.0, 1.0]]
    index = grid.index(rows)
    np.testing.assert_array_equal(rows_of(grid.with_bins(2), index), grid.with_bins(2).classes(rows))
    np.testing.assert_array_equal(values_of(grid, index), grid.values(rows))
    means = perfect_codebook(grid, np.sort(index)).means(index)
    assert np.corrcoef(means[:, 0], grid.values(rows)[:, 0])[0, 1] == pytest.approx(1.0)
    assert draw_plan(grid, TINY.sizes, 0).groups is not None
