"""`hackle models`: the trained models that come with hackle."""

from __future__ import annotations

from hackle.cli.words import plain_table, say, table_console
from hackle.core.files import human_size


def models_command(json: bool = False) -> None:
    """List the trained models that come with hackle, with their scores and how they were chosen.

    Args:
        json: Print them as JSON.
    """
    from hackle.shipped.models import models

    shipped = models()
    if json:
        print(shipped.to_json(orient="records", indent=2, force_ascii=False))
        return
    table = plain_table("model", "weight", "steps", "seed", "MIG", "mean of its seeds", "seeds", "size", left=2)
    for row in shipped.to_dict("records"):
        table.add_row(
            row["name"],
            row["weight"],
            f"{row['steps']:,}",
            str(row["seed"]),
            f"{row['mig']:.3f}",
            f"{row['mig_of_seeds']:.3f}",
            str(row["seeds"]),
            human_size(row["size"]),
        )
    table_console().print(table)
    for sentence in dict.fromkeys(shipped["chosen"]):
        say(sentence)
    say('in Python: hackle.load_model("NAME"); in the browser: hackle explore')
