"""Informativeness against the slow twin, Gaussian channels and the order that the paper asks for."""

import math

import numpy as np
import posterior_references as slow
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from samples import channels
from scipy import sparse

from hackle.core import code_table
from hackle.core.progress import listening
from hackle.information import OutOfRangeWarning, PosteriorError, Posteriors, SaturatedEstimateWarning
from hackle.metrics.informativeness import informativeness, total_information


@pytest.mark.filterwarnings("ignore::hackle.information.OutOfRangeWarning")
@settings(max_examples=25, deadline=None)
@given(arrays(float, (6, 2), elements=st.floats(-3, 3)), arrays(float, (6, 2), elements=st.floats(-8, 0)))
def test_quantised_equals_the_slow_twin(means, logvars):
    np.testing.assert_allclose(
        informativeness(means, logvars, bins=13), slow.informativeness(means, logvars, 13), atol=1e-9
    )


@pytest.mark.parametrize("estimator", ["quantised", "sampled"])
def test_gaussian_channels(estimator):
    scales = [0.1, 0.4, 0.999999]
    found = informativeness(*channels(scales), estimator=estimator, bins=400)
    np.testing.assert_allclose(found, -np.log(scales), atol=0.04)


@pytest.mark.filterwarnings("ignore::hackle.information.SaturatedEstimateWarning")
def test_sampled_equals_the_slow_twin_on_the_same_draws():
    rng = np.random.default_rng(0)
    means, logvars = rng.normal(size=(9, 2)), rng.normal(-1, 1, size=(9, 2))
    z = Posteriors(means, logvars).draw(seed=4)
    found = informativeness(means, logvars, estimator="sampled", seed=4)
    expected = [slow.sampled_information(z, means, logvars, 0.0, [code]) for code in range(2)]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.filterwarnings("ignore::hackle.information.SaturatedEstimateWarning")
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_total_information_equals_the_slow_twin_on_the_same_draws(correlation):
    rng = np.random.default_rng(0)
    means, logvars = rng.normal(size=(12, 3)), rng.normal(-1, 1, size=(12, 3))
    part = slice(2, 7)
    z = Posteriors(means[part], logvars[part], correlation).draw(seed=1)
    found = total_information(means[part], logvars[part], correlation=correlation, mixture=(means, logvars), seed=1)
    expected = slow.sampled_information(z, means[part], logvars[part], correlation, [0, 1, 2], mixture=(means, logvars))
    assert found == pytest.approx(expected, abs=1e-10)


def test_total_information_of_independent_channels_is_the_sum():
    assert total_information(*channels([0.4, 0.6], n=3000), samples=2) == pytest.approx(-math.log(0.24), abs=0.05)


def test_normalised_divides_by_the_logarithm_of_the_bins():
    means, logvars = channels([0.2, 0.7], n=300)
    np.testing.assert_allclose(
        informativeness(means, logvars, bins=50, normalised=True) * math.log(50),
        informativeness(means, logvars, bins=50),
    )


def test_order_permutation_and_sign_do_not_matter():
    rng = np.random.default_rng(2)
    means, logvars = rng.normal(size=(300, 3)), rng.normal(-2, 1, size=(300, 3))
    plain = informativeness(means, logvars)
    order = rng.permutation(300)
    np.testing.assert_allclose(informativeness(means[order], logvars[order]), plain, atol=1e-12)
    np.testing.assert_allclose(
        informativeness(means[:, [2, 0, 1]], logvars[:, [2, 0, 1]]), plain[[2, 0, 1]], atol=1e-12
    )
    np.testing.assert_allclose(informativeness(-means, logvars), plain, atol=1e-12)


def test_a_collapsed_code_has_none_and_changes_no_other():
    means, logvars = channels([0.2, 0.5], n=500)
    more = informativeness(np.column_stack([means, np.zeros(500)]), np.column_stack([logvars, np.zeros(500)]))
    np.testing.assert_allclose(more[:2], informativeness(means, logvars), atol=1e-12)
    assert more[2] == pytest.approx(0.0, abs=1e-12)
    total = total_information(np.column_stack([means, np.zeros(500)]), np.column_stack([logvars, np.zeros(500)]))
    assert total == pytest.approx(-math.log(0.1), abs=0.15)


def test_saturation_is_reported():
    with pytest.warns(SaturatedEstimateWarning, match="a mixture of 100 points allows at most 4.61"):
        total_information(*channels([0.01, 0.01], n=100))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"estimator": "guess"}, "estimator is 'guess'"),
        ({"bins": 1}, "bins is 1"),
        ({"mixture": (np.zeros((4, 2)), np.zeros((4, 2)))}, "serves the sampled estimator"),
        ({"estimator": "sampled", "samples": 0}, "samples is 0"),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(PosteriorError, match=said):
        informativeness(np.zeros((4, 2)), np.zeros((4, 2)), **options)


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    """Posteriors of 30 codes in files, of which a few are read at a time."""
    monkeypatch.setattr(code_table, "ENTRIES", 1_500)
    monkeypatch.setattr(code_table, "SLAB", 40_000)
    rng = np.random.default_rng(7)
    made = rng.normal(size=(200, 30)), rng.normal(-2.0, 1.0, size=(200, 30)).astype(np.float32)
    for name, array in zip(("means", "logvars"), made, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    return made, [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("means", "logvars")]


@pytest.mark.parametrize("options", [{}, {"bounds": "data", "bins": 20}, {"rule": "rectangle", "normalised": True}])
def test_posteriors_in_files_are_read_in_blocks_and_score_the_same(mapped, options):
    held, files = mapped
    told = []
    with listening(lambda what, fraction: told.append((what, fraction))):
        found = informativeness(*files, **options)
    np.testing.assert_allclose(found, informativeness(*held, **options), atol=1e-13)
    parts = [fraction for what, fraction in told if what == "quantising"]
    assert len(parts) > 5
    assert parts[-1] == 1.0
    with torch.device("meta"):
        np.testing.assert_array_equal(informativeness(*files, **options, device="cpu"), found)


def test_what_is_wrong_with_posteriors_in_files_is_said_of_the_right_code(mapped, tmp_path):
    (means, logvars), files = mapped
    means[:, 17] += 100.0
    np.save(tmp_path / "far.npy", means)
    with pytest.warns(OutOfRangeWarning, match="code 17 has 100% of its mass outside"):
        informativeness(np.load(tmp_path / "far.npy", mmap_mode="r"), files[1])
    means[3, 17] = np.nan
    np.save(tmp_path / "bad.npy", means)
    with pytest.raises(PosteriorError, match=r"codes 1[0-9] to 1[0-9]: means hold nan in row 3"):
        informativeness(np.load(tmp_path / "bad.npy", mmap_mode="r"), files[1])
    with pytest.raises(PosteriorError, match="dense arrays of the same shape"):
        informativeness(files[0], logvars[:, :4])
    with pytest.raises(PosteriorError, match="means are a sparse matrix"):
        informativeness(sparse.csr_array(logvars), files[1])


@pytest.mark.gpu
def test_a_gpu_gives_the_informativeness_of_the_cpu(mapped):
    held, files = mapped
    np.testing.assert_allclose(informativeness(*files, device="cuda"), informativeness(*held), atol=1e-10)
