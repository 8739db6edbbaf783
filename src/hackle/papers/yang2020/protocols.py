"""How Yang et al. 2020 run their metrics: they take their scores from Locatello et al.'s library."""

from __future__ import annotations

from dataclasses import replace

from hackle.papers.locatello2019.protocols import LIBRARY

YANG = replace(LIBRARY, name="yang2020")
