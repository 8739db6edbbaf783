"""Tables made up for tests: the runs of each paper's study, with scores that are functions of the settings plus noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hackle.core.design import DEFAULTS
from hackle.store.tables import FACTOR_COLUMNS, RUN_COLUMNS, SCORE_COLUMNS, Tables

CODES = (
    *("beta_vae", "factor_vae", "mig", "sap", "dci_disentanglement", "dci_completeness", "dci_informativeness"),
    *("modularity", "explicitness", "gaussian_tc"),
    *(f"downstream_{kind}_{size}" for kind in ("logistic_cv", "gbt") for size in (10, 100, 1000, 10000)),
    *("efficiency_logistic_cv", "efficiency_gbt"),
)
POSTERIOR = (
    *("informativeness_mean", "total_information", "sepin@3", "wsepin", "indin@3", "windin", "rmig", "jemmig"),
    *(
        "posterior_modularity",
        "posterior_mig",
        "misjed",
        "monte_carlo_tc",
        "kl",
        "active_units",
        "reconstruction",
        "elbo",
    ),
    *("iwae", "true_tc", "batch_tc", "sampled_rmig", "sampled_mig", "sampled_jemmig", "whole_misjed_top"),
    *("whole_total_information", "whole_overlap", "whole_sepin@3", "whole_wsepin"),
)
LADDER = {
    "beta-vae": (1, 2, 4, 6, 8, 16),
    "annealed-vae": (5, 10, 25, 50, 75, 100),
    "factor-vae": (10, 20, 30, 40, 50, 100),
    "dip-vae-i": (1, 2, 5, 10, 20, 50),
    "dip-vae-ii": (1, 2, 5, 10, 20, 50),
    "beta-tcvae": (1, 2, 4, 6, 8, 10),
}
LOCATELLO_DATA = (
    *("dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites"),
    *("smallnorb", "cars3d", "shapes3d"),
)


def settings(**columns: Any) -> list[dict[str, Any]]:
    """Every combination of the values given for some settings; the others are a vanilla VAE's on dSprites."""
    plain = {
        "dataset": "dsprites",
        "method": "vae",
        "strength": float("nan"),
        "architecture": "convolutional",
        **DEFAULTS,
        "steps": 1000,
        "study": "",
        "status": "done",
        "reason": "",
    }
    lists = {key: value if isinstance(value, (list, tuple, range)) else [value] for key, value in columns.items()}
    return [{**plain, **dict(zip(lists, values, strict=True))} for values in product(*lists.values())]


def yang2020(seeds: int = 5, datasets: Sequence[str] = ("dsprites", "smallnorb", "cars3d")) -> list[dict[str, Any]]:
    rows = []
    for method, strength in (("vae", float("nan")), ("factor-vae", 35.0), ("beta-tcvae", 6.0)):
        rows += settings(
            dataset=datasets,
            method=method,
            strength=strength,
            seed=range(seeds),
            latents=[10, 20],
            correlation=[0.0, 0.9],
            study="yang2020",
        )
    return rows + settings(
        dataset="mnist",
        method="infogan",
        strength=0.1,
        architecture="adversarial",
        seed=range(seeds),
        latents=2,
        correlation=[0.0, 0.9],
        study="yang2020",
    )


def split_encoder(seeds: int = 5, datasets: Sequence[str] = ("dsprites", "cars3d")) -> list[dict[str, Any]]:
    rows = []
    for method, strength in (("vae", float("nan")), ("factor-vae", 35.0), ("beta-vae", 4.0)):
        rows += settings(
            dataset=datasets,
            method=method,
            strength=strength,
            seed=range(seeds),
            study="split-encoder",
            architecture=["convolutional", "split"],
        )
        rows += settings(
            method=method, strength=strength, seed=range(seeds), architecture="sharing", study="split-encoder"
        )
        rows += settings(method=method, strength=strength, seed=range(seeds), correlation=0.9, study="split-encoder")
    return rows


def kim2018(seeds: int = 5, datasets: Sequence[str] = ("dsprites", "shapes3d")) -> list[dict[str, Any]]:
    rows = settings(dataset=datasets, method="vae", seed=range(seeds), study="kim2018")
    for method, strengths in (
        ("beta-vae", [1.0, 4.0, 5.0, 9.0, 16.0, 32.0]),
        ("factor-vae", [6.0, 10.0, 35.0, 40.0, 100.0]),
        ("adversarial-autoencoder", [1.0, 10.0]),
        ("factor-vae-prior", [10.0, 35.0]),
    ):
        for strength in strengths:
            rows += settings(dataset=datasets, method=method, strength=strength, seed=range(seeds), study="kim2018")
    rows = [{**row, "latents": 10 if row["dataset"] == "dsprites" else 6} for row in rows]
    return rows + [
        row
        for strength in (0.0, 0.2, 1.0)
        for row in settings(
            method="infowgan-gp",
            strength=strength,
            architecture="adversarial",
            latents=4,
            seed=range(seeds),
            study="kim2018",
        )
    ]


def kim2018_models(seeds: int = 2) -> list[dict[str, Any]]:
    """What appendix H and the data sets without factors add to Kim & Mnih's study."""
    gan = {"architecture": "adversarial", "strength": 1.0, "seed": range(seeds), "study": "kim2018"}
    rows = []
    for codes, classes, more in (
        *((2, 10, ""), (2, 10, ', "discriminator_optimiser": {"learning_rate": 1e-05}')),
        *((codes, classes, ', "stops_early": true') for codes, classes in ((2, 10), (3, 10), (2, 2), (2, 20))),
    ):
        record = f'{{"method": {{"categories": [{classes}]{more}}}}}'
        rows += settings(method="infogan", dataset="mnist", latents=codes, record=record, **gan)
    record = '{"method": {"categories": [10]}}'
    rows += settings(method="infowgan-gp", dataset="mnist", latents=2, record=record, **gan)
    bigger = {**gan, "strength": [0.0, 0.6], "record": '{"architecture": {"hidden": 1024}}'}
    rows += settings(method="infowgan-gp", latents=4, **bigger)
    for method, strengths in (("beta-vae", [1.0, 4.0, 16.0, 64.0]), ("factor-vae", [10.0, 20.0, 40.0, 80.0])):
        data = ["dsprites", "faces3d", "chairs3d", "celeba"]
        rows += settings(dataset=data, method=method, strength=strengths, seed=range(seeds), study="kim2018")
    return rows


def do2020(seeds: int = 4) -> list[dict[str, Any]]:
    rows = []
    for method, strengths in (
        ("factor-vae", [10.0, 20.0, 50.0, 100.0]),
        ("beta-vae", [1.0, 4.0, 10.0, 20.0, 50.0]),
        ("adversarial-autoencoder", [50.0]),
    ):
        for strength in strengths:
            rows += settings(method=method, strength=strength, seed=range(seeds), study="do2020")
    return rows + settings(method="beta-vae", strength=10.0, latents=[5, 15, 20], seed=range(seeds), study="do2020")


def do2020_celeba(seeds: int = 2) -> list[dict[str, Any]]:
    """The models of CelebA: the three of its figures, and FactorVAEs and autoencoders of other sizes."""
    common = {"dataset": "celeba", "seed": range(seeds), "study": "do2020"}
    rows = settings(method=["factor-vae", "beta-vae", "adversarial-autoencoder"], strength=50.0, latents=65, **common)
    rows += settings(method=["factor-vae", "adversarial-autoencoder"], strength=50.0, latents=[100, 200], **common)
    rows += settings(method="factor-vae", strength=10.0, latents=65, **common)
    return rows + settings(method="factor-vae", strength=[10.0, 50.0], latents=3, **{**common, "seed": range(3)})


def locatello2019(seeds: int = 3, datasets: Sequence[str] = LOCATELLO_DATA) -> list[dict[str, Any]]:
    return [
        row
        for method, strengths in LADDER.items()
        for strength in strengths
        for row in settings(
            dataset=datasets, method=method, strength=float(strength), seed=range(seeds), study="locatello2019"
        )
    ]


def _ablations(scores: Any, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Scores of β-VAEs under the protocols of ablations: one over scoring seeds, every one over bins and samples."""
    chosen = scores[(scores["method"] == "beta-vae") & (scores["dataset"] == "dsprites")]
    one = chosen[chosen["run"] == chosen["run"].iloc[0]]
    parts = []
    for metric, names in (
        ("beta_vae", [f"kim2018-pairs-{pairs}-iterations-{count}" for pairs in (50, 100) for count in (1000, 10000)]),
        ("factor_vae", [f"kim2018-points-{size}-votes-{votes}" for size in (50, 100) for votes in (100, 800)]),
    ):
        row = one[(one["metric"] == metric) & (one["representation"] == "mean")].iloc[[0]]
        parts += [
            row.assign(protocol=f"{name}@{seed}", scoring_seed=seed, score=rng.uniform(0.5, 0.9))
            for name in names
            for seed in range(3)
        ]
    for kind, amounts, metrics in (
        ("bins", (10, 100), ("rmig", "jemmig")),
        ("samples", (10000, 50000), ("sampled_jemmig", "whole_wsepin")),
    ):
        rows = chosen[chosen["metric"].isin(metrics)]
        parts += [
            rows.assign(protocol=f"do2020-{kind}-{amount}", score=rows["score"] * (1 + amount / 1e5))
            for amount in amounts
        ]
    return parts


FACTORS = {
    "dsprites": ("shape", "scale", "orientation", "x", "y"),
    "celeba": ("Bangs", "Black_Hair", "Eyeglasses", "Goatee", "Male", "Smiling", "Young"),
}
"""Factors that scores of single factors are of: dSprites', and some of CelebA's."""
PICTURES = ("reconstructions", "traversals", "latents", "samples", "pair-maps", "noise")


def picture(name: str, latents: int) -> np.ndarray:
    """What `hackle.report.with_pictures` adds for a run: code k is brightness 10 k, and its KL is 0.1 k."""
    if name == "latents":
        return np.array([(code, 0.1 * code, -2.0, 2.0) for code in range(latents)])
    shape = {"reconstructions": (2, 11), "samples": (8, 8), "pair-maps": (3, 9, 9), "noise": (8, 11)}
    tiles = np.zeros((*shape.get(name, (latents, 11)), 8, 8, 1), np.uint8)
    if name == "traversals":
        tiles += 10 * np.arange(latents, dtype=np.uint8)[:, None, None, None, None]
    return tiles


def tables(
    runs: Iterable[Mapping[str, Any]],
    seed: int = 0,
    sensitivity: bool = False,
    codes: Sequence[str] = CODES,
    posterior: Sequence[str] = POSTERIOR,
    protocols: Sequence[str] = ("locatello2019",),
    curves: Sequence[str] = (
        "reconstruction",
        "total_correlation",
        "discriminator_accuracy",
        "generator",
        "information",
        "discriminator",
        "wasserstein",
        "score_factor_vae",
    ),
    factors: int = 5,
    pictures: bool = False,
) -> Tables:
    """Tables of these runs. Scores of means and samples lie in (0, 1), those of posteriors in (0, 10). pictures: as of runs
    whose weights were kept, tiles of 8 × 8 pixels whose brightness is the code's number."""
    rng = np.random.default_rng(seed)
    frame: Any = pd.DataFrame(list(runs))
    keys = [column for column in frame if column not in ("study", "status", "reason")]
    frame = frame.drop_duplicates(keys).reset_index(drop=True)
    frame["run"] = [f"{index:016x}" for index in range(len(frame))]
    frame["record"] = frame["record"].fillna("{}") if "record" in frame else "{}"
    frame["sources"] = ""
    frame["version"], frame["device"], frame["finished"] = "0.1.0", "cpu", "2026-11-15T12:00:00"
    frame["training_seconds"], frame["scoring_seconds"] = 1.0, 1.0
    done = frame[frame["status"] == "done"]
    shared = [column for column in SCORE_COLUMNS if column in done]
    effect = (
        0.25 + 0.3 * rng.random(len(done)) - 0.15 * (done["correlation"] > 0) + 0.1 * (done["architecture"] == "split")
    ).to_numpy(float)
    kinds = [*product(codes, ("mean", "sampled")), *product(posterior, ("posterior",))]
    of_posterior = np.array([representation == "posterior" for _, representation in kinds])
    fraction = np.array([metric in ("rmig", "posterior_mig") for metric, _ in kinds])
    scale = np.tile(np.where(of_posterior & ~fraction, 10.0, 1.0), len(protocols))
    noise = rng.normal(0, 0.05, (len(protocols) * len(kinds), len(done)))

    def each(values: Sequence[Any] | np.ndarray) -> np.ndarray:
        """A value for each kind of score, for every run."""
        return np.repeat(np.tile(values, len(protocols)), len(done))

    scores: Any = done[shared].take(np.tile(np.arange(len(done)), len(noise))).reset_index(drop=True)
    scores = scores.assign(
        metric=each([metric for metric, _ in kinds]),
        representation=each([representation for _, representation in kinds]),
        score=(scale[:, None] * np.clip(effect + noise, 0.01, 0.99)).ravel(),
        protocol=np.repeat(list(protocols), len(kinds) * len(done)),
        low=np.nan,
        high=np.nan,
        reference=each(np.where(of_posterior, np.nan, 0.93)),
        better="higher",
        scoring_seed=0,
        seconds=0.1,
        note="",
    )[list(SCORE_COLUMNS)]
    if sensitivity:
        scores = pd.concat([scores, *_ablations(scores, rng)], ignore_index=True)

    def curve(term: str) -> pd.DataFrame:
        if term not in curves:
            return pd.DataFrame(columns=["run", "step", "value"])
        steps = np.arange(0, 1001, 200)
        own = np.random.default_rng(len(term))
        value = 2.0 * np.exp(-steps / 500)[None] + own.random((len(done), 1))
        return pd.DataFrame(
            {
                "run": np.repeat(done["run"].to_numpy(), len(steps)),
                "step": np.tile(steps, len(done)),
                "value": value.ravel(),
            }
        )

    @cache
    def per_factor(metric: str = "") -> pd.DataFrame:
        """Of every run that has the score, values of the data set's factors, or of its codes."""
        rows: Any = scores[scores["metric"] == metric]
        own = np.random.default_rng(len(metric))
        found = []
        for row in rows.drop_duplicates(["run", "protocol"]).itertuples():
            names = FACTORS["celeba" if row.dataset == "celeba" else "dsprites"]
            names = [f"z{code}" for code in range(row.latents)] if metric.startswith("whole") else names
            key = (row.run, metric, row.representation, row.protocol, 0)
            found += [(*key, name, value) for name, value in zip(names, own.random(len(names)), strict=True)]
        return pd.DataFrame(found, columns=list(FACTOR_COLUMNS))

    def array(name: str) -> dict[str, np.ndarray]:
        own = np.random.default_rng(len(name))
        shapes = {
            "codes": lambda latents: (64, latents),
            "informativeness": lambda latents: (latents,),
            "mutual_information": lambda latents: (latents, factors),
            "posterior_information": lambda latents: (latents, factors),
            "marginals": lambda latents: (latents, 100),
            "misjed": lambda latents: (latents, latents),
            "correlations": lambda latents: (2, latents, latents),
            "importance": lambda latents: (latents, factors - 1),
        }
        runs = list(zip(done["run"], done["latents"], strict=True))
        if name in shapes:
            return {run: own.random(shapes[name](latents)) for run, latents in runs}
        return {run: picture(name, latents) for run, latents in runs} if pictures and name in PICTURES else {}

    return Tables(scores, frame[list(RUN_COLUMNS)], curve, array, per_factor)
