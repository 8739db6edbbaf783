"""The runs that a claim compares with one another, and data sets that stand in for others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hackle.claims.conditions import Condition
from hackle.core.parts import parts_of


@dataclass(frozen=True)
class Stratum:
    """Runs that are compared with one another: conditions with a name."""

    name: str
    conditions: tuple[Condition, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets that it takes together; one that stands in for another of them does not count.

        >>> Stratum("all", ({"dataset": ("dsprites", "cars3d")},)).datasets
        ('dsprites', 'cars3d')
        """
        named = [condition.get("dataset", ()) for condition in self.conditions]
        return without_stand_ins(name for each in named if isinstance(each, tuple) for name in each)

    @property
    def methods(self) -> set[str]:
        """The methods that its conditions name beside others."""
        named = (condition.get("method", ()) for condition in self.conditions)
        return {str(name) for each in named if isinstance(each, tuple) for name in each}

    def on(self, other: str, own: str) -> Stratum:
        """The same on another data set than one of its own.

        >>> Stratum("dsprites and cars3d", ({"dataset": "dsprites"}, {"dataset": "cars3d"})).on("rooms3d", "cars3d")
        Stratum(name='dsprites and rooms3d', conditions=({'dataset': 'dsprites'}, {'dataset': 'rooms3d'}))
        """

        def changed(value: Any) -> Any:
            return tuple(map(changed, value)) if isinstance(value, tuple) else other if value == own else value

        conditions = tuple(
            {key: changed(value) if key == "dataset" else value for key, value in condition.items()}
            for condition in self.conditions
        )
        return Stratum(self.name.replace(own, other), conditions)


def serves_for(dataset: str) -> str:
    """The data set in whose place conditions accept this one."""
    known = parts_of("data set")
    return known[dataset].like if dataset in known else ""


def without_stand_ins(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, but for data sets that serve for another of them; one that stands alone is meant itself.

    >>> without_stand_ins(("shapes3d", "rooms3d")), without_stand_ins(("dsprites", "rooms3d"))
    (('shapes3d',), ('dsprites', 'rooms3d'))
    """
    known = dict.fromkeys(names)
    return tuple(name for name in known if serves_for(name) not in known)
