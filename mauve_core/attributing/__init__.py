"""What a run's clusters capture of metadata and cheap properties, over several numbers of clusters.

attributes_run(run, columns=["topic"])
"""

from mauve_core.attributing.running import ALL, SPLITS, attributes_run, usual_ks
from mauve_core.attributing.table import AttributeTable
from mauve_core.attributing.task import AttributesTask, stored_attributes

__all__ = [
    "ALL",
    "SPLITS",
    "AttributeTable",
    "AttributesTask",
    "attributes_run",
    "stored_attributes",
    "usual_ks",
]
