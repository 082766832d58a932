"""Methods to partition feature space into bins, by name.

    QUANTISERS["drmm"].fit(rows, seed=sequence).labels

k-means takes any number of bins and gives the published scores; the deep residual mixture makes 1,000 bins and the
lattice 744. NeurIPS 2021, appendix C.3.
"""

from __future__ import annotations

from mauve_core.numerics.quantisers.base import Quantised, Quantiser
from mauve_core.numerics.quantisers.drmm import ResidualMixtureQuantiser
from mauve_core.numerics.quantisers.kmeans import KMeans
from mauve_core.numerics.quantisers.lattice import Lattice

__all__ = ["QUANTISERS", "KMeans", "Lattice", "Quantised", "Quantiser", "ResidualMixtureQuantiser"]

# Every quantizer with the settings of the papers, in display order.
QUANTISERS: dict[str, Quantiser] = {item.name: item for item in (KMeans(), ResidualMixtureQuantiser(), Lattice())}
