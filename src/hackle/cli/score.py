"""`hackle score`: score a trained model with every metric that fits."""

from __future__ import annotations

from pathlib import Path

from hackle.cli.score_options import USUAL, ScoringOptions
from hackle.cli.words import Root, RunDirectory, Trust, data_of, place_of_output, print_scores, say


def score_command(
    directory: RunDirectory,
    options: ScoringOptions = USUAL,
    fraction: float = 1.0,
    page: Path | None = None,
    dataset: str | None = None,
    root: Root = None,
    trust: Trust = False,
) -> None:
    """Score a trained model. The table is printed and kept as scores.json in the run's folder; that of a model which comes
    with hackle, as METHOD-DATASET.json in the current folder.

    Args:
        fraction: Score on this fraction of the protocol's points, above 0 and up to 1, for a quick look. No part of them
            gets smaller than 200 points.
        page: Where to also write an HTML page with the scores and pictures.
        dataset: Name or path of the data set, if it is not the one trained on, or has moved.
    """
    from hackle.report import write_run_page
    from hackle.scoring.models import score
    from hackle.scoring.protocol import protocol as find_protocol
    from hackle.scoring.registry import choose_metrics
    from hackle.shipped import place_of_run
    from hackle.train import find_device
    from hackle.train.model import Model

    whole = find_protocol(options.protocol)
    settings = {**options.arguments, "protocol": whole if fraction == 1.0 else whole.smaller(fraction)}
    # Before the folder is read: what a file named here defines needs no trust.
    choose_metrics(options.metrics, whole, strictly=True)
    folder = place_of_run(directory)
    model = Model.load(folder, trust=trust).to(find_device(options.device))
    data = data_of(model, dataset, root)
    target = options.json or place_of_output(directory, folder, "scores.json", ".json")
    options.check(target, options.parquet, page)
    scores = score(model, data, **settings, progress=True)
    print_scores(scores)
    options.write(scores, target)
    if page is not None:
        write_run_page(model, data, scores, page, folder=directory)
    say(f"kept in {target}")
    if page is not None:
        say(f"open {page.resolve()} in a browser")
