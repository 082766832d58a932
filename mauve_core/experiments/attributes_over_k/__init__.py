"""What a run's clusters capture of metadata and simple text properties, for several numbers of clusters.

attributes_run(run, columns=["topic"])
"""

from mauve_core.experiments.attributes_over_k.held_out import ALL, SPLITS, attributes_run, usual_ks
from mauve_core.experiments.attributes_over_k.table import AttributeTable, stored_attributes

__all__ = [
    "ALL",
    "SPLITS",
    "AttributeTable",
    "attributes_run",
    "stored_attributes",
    "usual_ks",
]
