"""Log densities of the aggregate posterior q(z) = (1/N) Σ_n q(z|x_n), a mixture of N Gaussians (Do & Tran 2020, Eq. 13, 14).

The cost is draws × points × codes, so this is the one heavy loop of the information estimates. It runs in PyTorch, in
float64, over a few draws at a time: memory is bounded by codes × max(N, the tile). With u = (z − mean)/s, the codes S of
a correlated posterior (k of them) have

    −log q(z_S|x) = ½ [ Σ u² − σ/(1 + (k−1)σ) (Σ u)² ] / (1 − σ) + Σ log s + ½ log det Σ_k + ½ k log 2π,

so the density of all codes but one follows from the sums over all codes by subtracting one term.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from hackle.core.gaussian import correlation_divergence
from hackle.information.posterior import Floats, Labels, LogDensities, PosteriorError, Posteriors, label_tables

# Entries of one draws × points block: small enough for a CPU's cache, large enough to fill a GPU.
_TILE = {"cpu": 2**18, "cuda": 2**25}
# A point this many standard deviations away adds exp(−5e7) = 0 to a sum. Cutting u there keeps u² small enough for the
# subtraction of one code's term to leave the other codes' terms exact to 1e-8.
_FAR = 1e4
# With means farther than this many standard deviations from 0, u = z/s − mean/s has fewer than three correct digits.
_FARTHEST_MEAN = 1e13
# exp of less than this adds nothing to a float64 sum that holds exp(0), yet takes many times as long to compute.
_NEGLIGIBLE = -80.0


def mixture_log_densities(
    z: Floats,
    mixture: Posteriors,
    *,
    without: bool = False,
    marginal: bool = False,
    device: torch.device | str | None = None,
) -> LogDensities:
    """log q(z) at draws z (m, c): of all codes and, if requested, of all but one (`without`) and of each one (`marginal`).

    >>> mixture = Posteriors([[0.0], [0.0]], [[0.0], [0.0]])
    >>> mixture_log_densities(np.zeros((1, 1)), mixture).joint.round(4)
    array([-0.9189])
    """
    points = _Points(mixture, device)
    joint, others, alone = [], [], []
    for u in points.standardised(z):
        total, spread = points.sums(u)
        joint.append(points.density(total.clone(), spread, mixture.codes))
        if without:
            others.append(torch.stack([points.leave_out(u, total, spread, code) for code in range(mixture.codes)], 1))
        if marginal:
            alone.append(torch.stack([points.alone(u[code], code) for code in range(mixture.codes)], 1))
    return LogDensities(_joined(joint), _joined(others), _joined(alone))


def class_log_densities(
    z: Floats,
    mixture: Posteriors,
    labels: Labels,
    device: torch.device | str | None = None,
    *,
    joint: bool = False,
) -> list[Floats]:
    """log q(z_i|y) for every value y of every factor: for each factor an array (m, c, values).

    q(z_i|y) is the mixture over the points with that value, or by their probability of it; labels (N, f) count from 0
    without gaps. With `joint`, of all codes together: (m, 1, values).
    """
    tables = label_tables(labels)
    sizes = [table.shape[1] for table in tables]
    members = np.concatenate(tables, axis=1)
    points = _Points(mixture, device)
    constant = 0.5 * math.log(2 * math.pi)
    if joint:
        constant = mixture.codes * constant - float(correlation_divergence(mixture.correlation, mixture.codes))
    weights = torch.from_numpy(members / members.sum(axis=0)).to(points.device)
    tiles = []
    for u in points.standardised(z):
        tile = []
        for code in range(1 if joint else mixture.codes):
            exponents, top = _shifted(points.coupled(*points.sums(u)) if joint else points.exponents(u[code], code))
            # The cut at e^−80 of the nearest point's density also keeps a class far from z away from log 0.
            tile.append((exponents.exp_() @ weights).log_().add_(top).sub_(constant))
        tiles.append(torch.stack(tile, dim=1))
    return np.split(_joined(tiles), np.cumsum(sizes)[:-1], axis=2)


def check_members(points: Posteriors, mixture: Posteriors) -> None:
    """Refuse a mixture without one of the points: log q(z|x) − log q(z) is then unbounded (Kim & Mnih 2018, appendix D)."""
    if points is mixture:
        return
    if points.codes != mixture.codes:
        raise PosteriorError(
            f"{points.codes} codes but {mixture.codes} in the mixture; expected the same codes in both"
        )
    rows = np.hstack([points.means, points.logvars])
    known = {row.tobytes() for row in np.hstack([mixture.means, mixture.logvars])}
    for number, row in enumerate(rows):
        if row.tobytes() not in known:
            raise PosteriorError(
                f"row {number} of the means and logvars is not among the mixture's {len(mixture)} points; "
                "expected a mixture that contains every evaluated point, such as the whole data set"
            )


class _Points:
    """The mixture's points on a device, codes first so that each code's row is contiguous."""

    def __init__(self, mixture: Posteriors, device: torch.device | str | None) -> None:
        mixture.check_densities()
        self.device = torch.device("cpu" if device is None else device)
        self.log_scales = torch.from_numpy(0.5 * mixture.logvars.T).contiguous().to(self.device)
        self.precisions = torch.exp(-self.log_scales)
        self.origins = -torch.from_numpy(mixture.means.T).to(self.device) * self.precisions
        farthest = float(self.origins.abs().max())
        if farthest > _FARTHEST_MEAN:
            raise PosteriorError(
                f"means lie up to {farthest:.1g} standard deviations from 0, where float64 cannot tell draws from their means; "
                f"expected at most {_FARTHEST_MEAN:g}: subtract a constant from the means or widen the posteriors"
            )
        self.correlation = mixture.correlation
        self.log_size = math.log(len(mixture))

    def standardised(self, z: Floats):
        """u = (z − mean)/s for a few draws at a time, (c, draws, N); the next tile overwrites the last."""
        codes, size = self.origins.shape
        rows = max(1, _TILE.get(self.device.type, _TILE["cpu"]) // size)
        buffer = torch.empty(codes, min(rows, len(z)), size, dtype=torch.float64, device=self.device)
        draws = torch.from_numpy(z).to(self.device)
        reach = float(draws.abs().max() * self.precisions.max() + self.origins.abs().max())
        for tile in draws.split(rows):
            u = buffer[:, : len(tile)]
            torch.addcmul(self.origins[:, None], tile.T[:, :, None], self.precisions[:, None], out=u)
            yield u.clamp_(-_FAR, _FAR) if reach > _FAR else u

    def sums(self, u: Tensor) -> tuple[Tensor, Tensor | None]:
        """−Σ [½ u²/(1 − σ) + log s] and, where the posterior is correlated, Σ u; both (draws, N)."""
        total = torch.zeros_like(u[0])
        for code, log_scale in enumerate(self.log_scales):
            total.addcmul_(u[code], u[code], value=-0.5 / (1 - self.correlation)).sub_(log_scale)
        return total, u.sum(0) if self.correlation else None

    def density(self, total: Tensor, spread: Tensor | None, codes: int) -> Tensor:
        """log q(z_S) from the sums over the codes S, (draws,). Overwrites the first sum."""
        constant = float(correlation_divergence(self.correlation, codes)) - 0.5 * codes * math.log(2 * math.pi)
        return self._average(self.coupled(total, spread, codes)) + constant

    def coupled(self, total: Tensor, spread: Tensor | None, codes: int | None = None) -> Tensor:
        """The sums over so many codes, all by default, with what the correlation adds. Overwrites the first sum."""
        if spread is not None:
            codes = len(self.origins) if codes is None else codes
            coupling = self.correlation / (1 + (codes - 1) * self.correlation) / (1 - self.correlation)
            total.addcmul_(spread, spread, value=0.5 * coupling)
        return total

    def leave_out(self, u: Tensor, total: Tensor, spread: Tensor | None, code: int) -> Tensor:
        """log q(z_{≠code}), (draws,); the density of no code at all is 1."""
        if len(u) == 1:
            return torch.zeros_like(total[:, 0])
        rest = torch.addcmul(total, u[code], u[code], value=0.5 / (1 - self.correlation)).add_(self.log_scales[code])
        return self.density(rest, None if spread is None else spread - u[code], len(u) - 1)

    def exponents(self, u: Tensor, code: int) -> Tensor:
        """−½ u² − log s of one code, (draws, N)."""
        return torch.addcmul(-self.log_scales[code], u, u, value=-0.5)

    def alone(self, u: Tensor, code: int) -> Tensor:
        """log q(z_code), (draws,)."""
        return self._average(self.exponents(u, code)) - 0.5 * math.log(2 * math.pi)

    def _average(self, exponents: Tensor) -> Tensor:
        shifted, top = _shifted(exponents)
        return shifted.exp_().sum(1).log_() + top[:, 0] - self.log_size


def _shifted(exponents: Tensor) -> tuple[Tensor, Tensor]:
    """Exponents minus their row's maximum, clipped where they become negligible, and that maximum, (draws, 1). In place."""
    top = exponents.amax(1, keepdim=True)
    return exponents.sub_(top).clamp_(min=_NEGLIGIBLE), top


def _joined(tiles: list[Tensor]) -> Floats:
    return torch.cat(tiles).cpu().numpy() if tiles else np.empty((0, 0))
