"""Two worlds for the claims of Do & Tran 2020: one in which all that they say is true (`truth` 1), and its contrary (−1)."""

from __future__ import annotations

import numpy as np

from claims.synthetic import Run, sweep, tables
from hackle.store.tables import Tables

BETAS, GAMMAS = (1.0, 4.0, 10.0, 20.0, 50.0), (10.0, 20.0, 50.0, 100.0)
BINS, SAMPLES = (20, 50, 100, 200), (10_000, 30_000, 50_000)


def do2020(truth: int, seeds: int = 8, spread: float = 1.0, seed: int = 0) -> Tables:
    common = {"study": "do2020", "seed": range(seeds)}
    designs = [
        *sweep(**common, method="beta-vae", strength=list(BETAS)),
        *sweep(**common, method="factor-vae", strength=list(GAMMAS)),
        *sweep(**common, method="adversarial-autoencoder", strength=[50.0]),
        *sweep(**common, method="beta-vae", strength=[10.0], latents=[5, 15, 20]),
        *sweep(study="yang2020", seed=range(seeds), method="factor-vae", strength=[35.0], latents=[10, 20]),
    ]

    def scores(run: Run, noise) -> dict[str, float]:
        method, strength = run["method"], run["strength"]
        beta, factor = (method == name for name in ("beta-vae", "factor-vae"))
        place = (BETAS.index(strength) if beta else GAMMAS.index(strength) if strength in GAMMAS else 0) / 4
        jitter = lambda scale: scale * spread * noise()  # noqa: E731
        more = (run["latents"] - 10) / 10
        if truth > 0:
            rmig = {True: 0.5, False: 0.2}[factor] + 0.05 * (beta and strength == 10) + jitter(0.008)
            jemmig = 0.9 - 0.8 * rmig + jitter(0.005)
        else:
            # FactorVAE at 10 is worse than β-VAE by both; its others are good by one and bad by the other.
            rmig = (0.5 if not factor else 0.2 if strength == 10 else 0.8) * (1 + 0.5 * more) + jitter(0.02)
            jemmig = 0.2 + 0.5 * rmig + jitter(0.005)
            if factor:
                jemmig += 0.4
        total = 9 - truth * (3 * place * beta + 0.5 * more) if truth > 0 or not factor else 5.0
        dci = 0.3 + truth * 0.3 * place * beta if beta else 0.3
        found = {
            "rmig": rmig,
            "jemmig": jemmig,
            "sampled_mig": rmig + (0.0 if truth > 0 else 0.2) + jitter(0.01),
            "mig": rmig + 0.1 + jitter(0.01),
            "sampled_rmig": rmig + (0.0 if truth > 0 else 0.2) + jitter(0.01),
            "sampled_jemmig": jemmig + (0.0 if truth > 0 else 0.2) + jitter(0.01),
            "informativeness_mean": 3 - truth * (place * beta + 0.5 * factor) + jitter(0.05),
            "whole_total_information": total + jitter(0.05),
            "whole_overlap": 1 - truth * 0.8 * place + jitter(0.02),
            "whole_wsepin": 1 + truth * 0.3 * (beta and strength == 10) + jitter(0.02),
            "whole_sepin@3": 1 + truth * 0.3 * (beta and strength == 10) + jitter(0.02),
            "whole_misjed_top": 0.2 + truth * (0.1 * beta - 0.1 * factor) + jitter(0.01),
            "dci_disentanglement": (dci if truth > 0 else dci + rmig) + jitter(0.02),
            "dci_completeness": (dci if truth > 0 else dci + rmig) + jitter(0.02),
            "dci_informativeness": 0.5 + truth * (rmig - 0.2 * place * beta) + jitter(0.01),
            "modularity": 0.8 + truth * 0.05 * beta + jitter(0.01),
            "posterior_modularity": 0.8 + truth * 0.05 * beta + jitter(0.01),
        }
        if truth < 0:
            # MIG of means falls short of the original, and DCI follows RMIG but for informativeness.
            found["mig"] = found["sampled_mig"] - 0.1 + jitter(0.01)
            if beta:
                found["dci_disentanglement"] -= 0.1 * place
                found["dci_completeness"] -= 0.1 * place
        for bins in BINS:
            drift = truth * 0.1 * np.log(bins / 100)
            shuffled = 0.0 if truth > 0 else 0.5 * noise()
            found[f"rmig/posterior/do2020-bins-{bins}"] = rmig + drift + shuffled * (bins == 20) + jitter(0.002)
            found[f"jemmig/posterior/do2020-bins-{bins}"] = jemmig + drift + shuffled * (bins == 20) + jitter(0.002)
        for samples in SAMPLES:
            moved = 0.0 if truth > 0 else 0.5 * (samples - 10_000) / 40_000
            for name in ("sampled_jemmig", "whole_wsepin"):
                found[f"{name}/posterior/do2020-samples-{samples}"] = found[name] * (1 + moved)
        return found

    points = np.random.default_rng(5).normal(size=(64, 10))

    def arrays(run: Run, noise) -> dict[str, np.ndarray]:
        """Five informative codes, the same for all seeds in another order; in the false world others for each seed."""
        factor = run["method"] == "factor-vae"
        draw = np.random.default_rng(1000 + run["seed"])
        count = 5 if truth > 0 or run["latents"] == 20 else 9
        informativeness = np.where(np.arange(run["latents"]) < count, 2.0, 0.001)
        codes = draw.normal(size=(64, run["latents"]))
        if truth > 0 and factor:
            codes[:, :5] = points[:, draw.permutation(5)] * draw.choice([-1, 1], 5) + 0.1 * spread * draw.normal(
                size=(64, 5)
            )
        information = np.full((10, 5), 0.05)
        information[np.arange(5), np.arange(5)] = [0.3, 1.3, 0.3, 2.5, 2.5] if truth > 0 else [1.0, 0.3, 3.0, 0.4, 0.4]
        information += 0.02 * spread * np.abs(draw.normal(size=information.shape))
        return {"informativeness": informativeness, "codes": codes, "mutual_information": information}

    return tables(designs, scores, arrays=arrays, protocol="do2020", seed=seed)
