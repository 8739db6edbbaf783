"""What is sent of a list: everything once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from explorer_fixtures import columns_of

from hackle.explorer.catalogue import Catalogue
from hackle.explorer.listing import Listing
from hackle.store import Store
from made_up_outcomes import made_up


def test_what_all_runs_share_is_sent_once_and_names_that_are_identifiers_not_at_all(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path, "made up") as store:
        for seed in range(3):
            store.add(made_up(seed=seed))
    catalogue = Catalogue(tmp_path)
    answer = json.loads(gzip.decompress(Listing(catalogue).answer()[1]))
    sent = {column["key"]: column for column in answer["columns"]}
    assert sent["name"]["as"] == "id"
    assert "words" not in sent["name"]
    assert "codes" not in sent["name"]
    assert sent["steps"]["values"] == [catalogue.contents.runs["steps"][0]]
    assert sent["method"]["codes"] == [0]
    assert len(sent["seed"]["values"]) == len(sent["id"]["codes"]) == 3
    columns = columns_of(answer)
    runs = catalogue.contents.runs
    for name in ("id", "name", "method", "seed", "steps", "status"):
        assert columns[name] == runs[name].tolist(), name
