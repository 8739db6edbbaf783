"""`hackle score`: score a trained model with every metric that fits."""

from __future__ import annotations

from pathlib import Path

from tyro.conf import Positional

from hackle.cli.words import data_of, not_negative, print_scores, writable
from hackle.core.untrusted import place_inside


def score_command(
    directory: Positional[Path],
    metrics: str = "all",
    protocol: str = "locatello2019",
    fraction: float = 1.0,
    seed: int = 0,
    factor_bins: int | None = None,
    bootstrap: int = 0,
    references: bool = True,
    whole_mixture: bool = False,
    groups: str | None = None,
    json: Path | None = None,
    parquet: Path | None = None,
    page: Path | None = None,
    dataset: str | None = None,
    root: Path | None = None,
    device: str | None = None,
    overwrite: bool = False,
    trust: bool = False,
) -> None:
    """Score a trained model. The table is printed and kept as scores.json in the run's folder.

    Args:
        directory: The run's folder.
        metrics: Names separated by commas; "all" is every metric that takes seconds: beta_vae, dci, dci_es, dcimig,
            explicitness, factor_vae, gaussian_tc, infomec, irs, mcc, mig, mig_sup, modularity, neighbour_gap, sap,
            autoregressive, generalisation, generalisation_reconstruction, interpretability, jemmig, kl, misjed,
            monte_carlo_tc, posterior_mig, reconstruction, separability. Those that take minutes are class_codes,
            downstream_gbt, downstream_logistic_cv, unfairness, batch_tc, entropy_information, grouped_information,
            grouped_interpretability, iwae, kl_split, multivariate_information, ranked_misjed, sampled_interpretability,
            sampled_jemmig, true_tc, whole_iwae, whole_misjed, whole_separability. Your own is path.py:function or
            module:function.
        protocol: locatello2019, disentanglement_lib, kim2018, do2020, yang2020, or quick for a rough look.
        fraction: Score on this fraction of the protocol's points, above 0 and up to 1, for a quick look. No part of them
            gets smaller than 200 points.
        seed: Seed of the draws.
        factor_bins: Number of equal-width bins for continuous factors where a metric needs classes; 20.
        bootstrap: Number of random halves of the points for 95% intervals; 0 gives none.
        references: Also show the scores of perfect codes.
        whole_mixture: Estimate mutual information by sampling with every image of the plan in the mixture; slower.
        groups: Codes that count as one representation each, for the metrics of groups, such as 0,1/2/3.
        json: Where to write the table as JSON instead.
        parquet: Where to also write the table as Parquet.
        page: Where to also write an HTML page with the scores and pictures.
        dataset: Name or path of the data set, if it is not the one trained on, or has moved.
        root: The folder of data sets.
        device: cpu or cuda; the best one available if not given.
        overwrite: Replace existing files.
        trust: Import the modules outside hackle that the run's record names, which runs their code.
    """
    from hackle.report import write_run_page
    from hackle.scoring.models import score
    from hackle.scoring.protocol import protocol as find_protocol
    from hackle.train import find_device
    from hackle.train.model import Model

    not_negative(seed=seed, bootstrap=bootstrap)
    whole = find_protocol(protocol)
    settings = whole if fraction == 1.0 else whole.smaller(fraction)
    model = Model.load(directory, trust=trust).to(find_device(device))
    data = data_of(model, dataset, root)
    target = json or place_inside(directory, "scores.json")
    for path in (target, parquet, page):
        if path is not None:
            writable(path, overwrite)
    scores = score(
        model,
        data,
        metrics,
        settings,
        seed,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
        references=references,
        whole_mixture=whole_mixture,
        groups=groups,
        progress=True,
    )
    print_scores(scores)
    scores.to_json(target, orient="records", indent=2)
    if parquet is not None:
        scores.to_parquet(parquet, index=False)
    if page is not None:
        write_run_page(model, data, scores, page, folder=directory)
    print(f"kept in {target}")
    if page is not None:
        print(f"open {page.resolve()} in a browser")
