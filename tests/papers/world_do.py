"""Two worlds for the claims of Do & Tran 2020: one in which all that they say is true (`truth` 1), and its contrary (−1)."""

from __future__ import annotations

import numpy as np

from claims.synthetic import Run, sweep, tables
from hackle.papers.do2020.claims import SIZES
from hackle.store.tables import Tables

BETAS, GAMMAS = (1.0, 4.0, 10.0, 20.0, 50.0), (10.0, 20.0, 50.0, 100.0)
BINS, SAMPLES = (20, 100, 200, 1000), (10_000, 30_000, 50_000)
RULED = {
    1: {"factor-vae": (0.07, 0.63, 0.008, 1.0), "beta-vae": (0.02, 0.86, 0.12, 1.0), "": (0.01, 0.85, 0.03, 4.0)},
    -1: {"factor-vae": (0.5, 0.4, 0.12, 1.0), "beta-vae": (0.6, 0.3, 0.01, 1.0), "": (0.6, 0.3, 0.03, 0.5)},
}
"""RMIG, JEMMIG, MISJED of the top codes and mean informativeness on CelebA, by method; the last is the AAE."""


def do2020(truth: int, seeds: int = 8, spread: float = 1.0, seed: int = 0) -> Tables:
    common = {"study": "do2020", "seed": range(seeds)}
    designs = [
        *sweep(**common, method="beta-vae", strength=list(BETAS)),
        *sweep(**common, method="factor-vae", strength=list(GAMMAS)),
        *sweep(**common, method="adversarial-autoencoder", strength=[50.0]),
        *sweep(**common, method="beta-vae", strength=[10.0], latents=[5, 15, 20]),
        *sweep(**common, method="factor-vae", strength=[50.0], latents=[65, 100, 200], dataset="celeba"),
        *sweep(**common, method="beta-vae", strength=50.0, latents=65, dataset="celeba"),
        *sweep(**common, method="adversarial-autoencoder", strength=50.0, latents=[65, 100, 200], dataset="celeba"),
        *sweep(**{**common, "study": "do2020-appendix"}, method="beta-vae", strength=[30.0]),
    ]

    def pairs(run: Run, top: float, noise) -> dict[str, float]:
        """MISJED of Table 5's pairs: noise raises it, in the false world it does not; the autoencoder's codes have none."""
        step = 2.4 if truth > 0 and run["method"] != "adversarial-autoencoder" else 0.0
        levels = {"z1_z2": 0, "z1_z3": 0, "z1_z-1": 1, "z1_z-2": 1, "z-1_z-2": 2, "z-1_z-3": 2}
        return {f"misjed_{pair}": top + step * level + 0.002 * spread * noise() for pair, level in levels.items()}

    def faces(run: Run, noise) -> dict[str, float]:
        method = run["method"] if run["method"] in RULED[truth] else ""
        names = ("rmig", "jemmig", "whole_misjed_top", "informativeness_mean")
        found = {
            name: value + 0.002 * spread * noise() for name, value in zip(names, RULED[truth][method], strict=True)
        }
        return found | pairs(run, RULED[truth][method][2], noise)

    def of_factors(run: Run, scores) -> dict[str, dict[str, float]]:
        """Each factor has the model's score. In FactorVAE that of scale is near x's by RMIG, and above it by JEMMIG."""
        if run["dataset"] == "celeba":
            return {}
        names = ("rmig", "jemmig", "sampled_rmig", "sampled_jemmig")
        found: dict[str, dict[str, float]] = {name: dict.fromkeys(SIZES, float(scores[name])) for name in names}
        if run["method"] == "factor-vae":
            found["rmig"]["scale"] += 0.01 if truth > 0 else 0.4
            found["jemmig"]["scale"] += 0.05 * truth
        used = informative(run) > 0.05
        shares = 2.4 if truth > 0 else 0.1
        found["whole_overlap"] = {
            f"z{code}": (shares if known else 0.001 if truth > 0 else 0.5) * (1 + 0.01 * scores["whole_overlap"])
            for code, known in enumerate(used)
        }
        return found

    def interpretability(run: Run, jitter) -> tuple[float, float]:
        """RMIG and JEMMIG."""
        beta, factor = (run["method"] == name for name in ("beta-vae", "factor-vae"))
        if truth > 0:
            # The VAE is the worst, β = 10 the best β-VAE, and FactorVAE above all.
            rmig = (
                0.5 if factor else 0.2 + 0.05 * (beta and run["strength"] == 10) - 0.1 * (beta and run["strength"] == 1)
            )
            rmig += jitter(0.008)
            return rmig, 0.9 - 0.8 * rmig + jitter(0.005)
        # FactorVAE at 10 is worse than β-VAE by both; its others are good by one and bad by the other.
        more = (run["latents"] - 10) / 10
        rmig = (0.5 if not factor else 0.2 if run["strength"] == 10 else 0.8) * (1 + 0.5 * more) + jitter(0.02)
        return rmig, 0.2 + 0.5 * rmig + 0.4 * factor + jitter(0.005)

    def dci(run: Run, place: float) -> tuple[float, float, float]:
        """Disentanglement, completeness and informativeness."""
        beta, factor = (run["method"] == name for name in ("beta-vae", "factor-vae"))
        if truth > 0:
            # Both rise with β, and contradict each other over FactorVAEs, of which some lie below the VAE.
            if factor:
                odd = GAMMAS.index(run["strength"]) % 2
                return 0.2 + 0.5 * odd, 0.7 - 0.5 * odd, np.nan
            return 0.3 + 0.24 * place * beta, 0.3 + 0.24 * place * beta, np.nan
        low = run["strength"] == 10
        both = 0.4 - 0.4 * place if beta else 0.5 if low else 1.1
        return both, both, 0.4 + 0.2 * place if beta else 0.6 if factor and low else 0.5

    def scores(run: Run, noise) -> dict[str, float]:
        if run["dataset"] == "celeba":
            return faces(run, noise)
        method, strength = run["method"], run["strength"]
        beta, factor = (method == name for name in ("beta-vae", "factor-vae"))
        place = (
            min(BETAS.index(strength), 4)
            if beta and strength in BETAS
            else 3.5
            if beta
            else GAMMAS.index(strength)
            if strength in GAMMAS
            else 0
        ) / 4
        jitter = lambda scale: scale * spread * noise()  # noqa: E731
        more = (run["latents"] - 10) / 10
        rmig, jemmig = interpretability(run, jitter)
        disentanglement, completeness, informativeness = dci(run, place)
        if truth > 0:
            informativeness = 0.5 + rmig - 0.2 * place * beta
        total = 9 - truth * (3 * place * beta + 0.5 * more) if truth > 0 or not factor else 5.0
        overlap = 1 - truth * 0.8 * place * (beta or truth < 0) + 0.3 * truth * more
        noisy = method != "adversarial-autoencoder"
        found = {
            "rmig": rmig,
            "jemmig": jemmig,
            "sampled_mig": rmig + (0.0 if truth > 0 else 0.2) + jitter(0.01),
            "mig": rmig + 0.1 + jitter(0.01),
            "sampled_rmig": rmig + (0.0 if truth > 0 else 0.2) + jitter(0.01),
            "sampled_jemmig": jemmig + (0.0 if truth > 0 else 0.2) + jitter(0.01),
            "informativeness_mean": 3 - truth * (place * beta + 0.5 * factor) + jitter(0.05),
            "whole_total_information": total + jitter(0.05),
            "total_information": 9.2 + jitter(0.001),
            "whole_overlap": overlap + jitter(0.02),
            "whole_wsepin": 1 + truth * 0.3 * (beta and strength == 10) + jitter(0.02),
            "wsepin": 1 - 0.4 * more * (truth > 0) + jitter(0.02),
            "whole_sepin@3": 1 + truth * 0.3 * (beta and strength == 10) + jitter(0.02),
            "dci_disentanglement": disentanglement + jitter(0.02),
            "dci_completeness": completeness + jitter(0.02),
            "dci_informativeness": informativeness + jitter(0.01),
            "modularity": 0.8 + truth * 0.05 * beta + jitter(0.01),
            "posterior_modularity": 0.8 + truth * 0.05 * beta + jitter(0.01),
            "gaussian_tc/sampled": 0.3 + jitter(0.01),
            "gaussian_tc/mean": 0.3 + 0.5 * (noisy == (truth > 0)) + jitter(0.01),
        }
        found |= pairs(run, 0.1, noise)
        for part in ("disentanglement", "completeness", "informativeness"):
            found[f"dci_{part}/mean/do2020-raw"] = found[f"dci_{part}"]
        if truth < 0:
            # MIG of means falls short of the original.
            found["mig"] = found["sampled_mig"] - 0.1 + jitter(0.01)
        for bins in BINS:
            drift = truth * 0.1 * np.log(bins / 100)
            stable = truth * 0.1 * np.log(min(bins, 200) / 100) if truth > 0 else drift
            # In the false world few bins turn the order of models round.
            side = -1 if truth < 0 and bins == 20 else 1
            found[f"rmig/posterior/do2020-bins-{bins}"] = side * rmig + 2 * (side < 0) + stable + jitter(0.002)
            found[f"jemmig/posterior/do2020-bins-{bins}"] = side * jemmig + 3 * (side < 0) + drift + jitter(0.002)
        for samples in SAMPLES:
            moved = 0.0 if truth > 0 else 0.5 * (samples - 10_000) / 40_000
            for name in ("sampled_jemmig", "whole_wsepin"):
                found[f"{name}/posterior/do2020-samples-{samples}"] = found[name] * (1 + moved + jitter(0.001))
        return found

    points = np.random.default_rng(5).normal(size=(64, 200))

    def informative(run: Run) -> np.ndarray:
        """The informativeness of the codes, most informative first."""
        latents, faces = run["latents"], run["dataset"] == "celeba"
        if run["method"] == "adversarial-autoencoder":
            used = latents if faces else 5 if truth > 0 else 9
            values = np.full(used, 4.5) if truth > 0 else np.linspace(4.5, 0.5, used)
        else:
            used = (40 if truth > 0 else latents) if faces else 5 if truth > 0 else 9
            used = min(used, latents)
            values = np.linspace(4.5, 1.5, used) if truth > 0 else np.full(used, 4.0)
            if run["method"] == "beta-vae" and not faces and truth < 0 and latents == 20:
                values = 1.5 * values
        return np.concatenate([values, np.full(latents - len(values), 0.001)])

    def arrays(run: Run, noise) -> dict[str, np.ndarray]:
        """Informative codes, in FactorVAE the same for all seeds in another order; in the false world others for each seed."""
        draw = np.random.default_rng(1000 + run["seed"])
        informativeness = informative(run) * (1 + 0.01 * spread * draw.normal())
        used = int((informativeness > 0.05).sum())
        codes = draw.normal(size=(64, run["latents"]))
        if run["method"] == "adversarial-autoencoder":
            # Two hundred latents are narrower than 65, a hundred are not; in the false world the other way round.
            codes *= 0.5 if run["latents"] == (200 if truth > 0 else 100) else 1.0
        if truth > 0 and run["method"] == "factor-vae":
            order = draw.permutation(used)
            codes[:, :used] = points[:, order] * draw.choice([-1, 1], used) + 0.1 * spread * draw.normal(
                size=(64, used)
            )
            informativeness[:used] = informativeness[order]
        found = {"informativeness": informativeness, "codes": codes}
        if run["dataset"] == "dsprites":
            # The Lasso's weights: those of noise are large; in the false world they are small.
            noise_weight = (6.0 if truth > 0 else 0.1) * (1 + 0.1 * spread * draw.normal())
            found["importance"] = np.where(informativeness > 0.05, 1.0, noise_weight)[:, None] * np.full(4, 0.5)
            information = np.full((10, 5), 0.05)
            ruled = [0.3, 1.3, 0.3, 2.5, 2.5] if truth > 0 else [1.0, 0.3, 3.0, 0.4, 0.4]
            information[np.arange(5), np.arange(5)] = ruled
            information[5:] = 0.4 if truth > 0 else 0.05
            found["mutual_information"] = information + 0.02 * spread * np.abs(draw.normal(size=information.shape))
        return found

    return tables(designs, scores, arrays=arrays, of_factors=of_factors, protocol="do2020", seed=seed)
