"""Bins from the paths of a deep residual mixture: 3 layers of 10, 1,000 bins (NeurIPS 2021, appendix C.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from mauve_core.numerics import _checks
from mauve_core.numerics.quantisers.base import Progress, Quantised, distinct_rows, label_rows, require_own_size
from mauve_core.numerics.quantisers.residual_layers import MixtureSettings
from mauve_core.numerics.quantisers.residual_mixture import ResidualMixture, fit_mixture, log_joint

# Joint probabilities held at once: 64 MB.
_ENTRIES_AT_ONCE = 2**23


@dataclass(frozen=True)
class ResidualMixtureQuantiser(MixtureSettings):
    """A row's bin is its most likely path, argmax_z p(x, z): the exact maximum over all, not the path of the training.

    The label is the path as a number, with the first layer's component as first digit.
    """

    name: ClassVar[str] = "drmm"
    title: ClassVar[str] = "Deep residual mixture"

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """See :class:`mauve_core.numerics.quantisers.base.Quantiser`; needs as many different rows as components.

        Labels do not depend on the order of the rows. Equal seeds give equal labels on the CPU with equally many
        threads; on other devices, up to the rounding of sums. ``objective`` is the mean of -log p(x) of the whole
        mixture. It may rise in some epochs, because the layers are trained on their own losses.
        """
        require_own_size(self.title, self.bins, k)
        mixture = fit_mixture(x, self, seed=seed, progress=progress, device=device)

        def likeliest(rows: NDArray[np.float64]) -> NDArray[np.integer]:
            return np.concatenate(
                [log_joint(mixture, rows[part]).argmax(axis=1) for part in _parts(len(rows), self.bins)]
            )

        def assign(new: ArrayLike) -> NDArray[np.int32]:
            return label_rows(new, mixture.means.shape[2], likeliest)

        loss = negative_log_likelihood(mixture, x)
        return Quantised(assign(x), self.bins, loss, assign)


def negative_log_likelihood(mixture: ResidualMixture, x: ArrayLike) -> float:
    """Mean of -log p(x) over the (n, d) rows, in nats; negative if densities exceed 1."""
    distinct = distinct_rows(x)
    parts = _parts(len(distinct.rows), mixture.log_prior.size)
    logs = [logsumexp(log_joint(mixture, distinct.rows[part].astype(np.float64)), axis=1) for part in parts]
    return float(-np.concatenate(logs)[np.sort(distinct.index)].mean())


def _parts(rows: int, bins: int) -> list[slice]:
    return _checks.row_blocks(rows, max(1, _ENTRIES_AT_ONCE // bins))
