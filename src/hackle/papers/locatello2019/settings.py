"""The settings of Locatello et al. 2019, Tables 2, 3, 4."""

from __future__ import annotations

from hackle.core.types import Run
from hackle.nets import Convolutional
from hackle.studies.presets import either, method_at, preset_of

STRENGTHS: dict[str, tuple[float, ...]] = {
    "beta-vae": (1, 2, 4, 6, 8, 16),
    "factor-vae": (10, 20, 30, 40, 50, 100),
    "beta-tcvae": (1, 2, 4, 6, 8, 10),
    "dip-vae-i": (1, 2, 5, 10, 20, 50),
    "dip-vae-ii": (1, 2, 5, 10, 20, 50),
    "annealed-vae": (5, 10, 25, 50, 75, 100),
}
"""The six regularisation strengths of each method in Locatello et al. 2019, Table 3."""
METHODS = tuple(STRENGTHS)

DATASETS = (*("dsprites", "color-dsprites", "noisy-dsprites", "scream-dsprites"), *("smallnorb", "cars3d", "shapes3d"))
STAND_IN = {"shapes3d": "rooms3d"}
"""The data set whose runs claims and figures take where there are none of the paper's own."""
_MIDDLE = dict(zip(METHODS, (4, 30, 6, 5, 5, 25), strict=True))


@preset_of("locatello2019", ("vae", *STRENGTHS), DATASETS)
def settings(method: str, dataset: str, strength: float | None = None) -> Run:
    """Locatello et al. 2019. `strength` is one of `STRENGTHS[method]`; without it, one from the middle of that list.

    Training lasts 300,000 steps, the figure of the published study, which the paper's tables leave out. In that study's code
    FactorVAE's step counter advanced twice per update, so its 300,000 were half as many updates as here.
    """
    return Run(
        method=method_at(method, either(strength, _MIDDLE.get(method))), architecture=Convolutional(), dataset=dataset
    )
