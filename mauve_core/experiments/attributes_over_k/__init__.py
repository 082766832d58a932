"""What a run's clusters capture of metadata and simple text properties, for several numbers of clusters.

attributes_run(run, columns=["topic"])
    attributes_run(run, others=texts_of_run(run, other_run))  # beside clusters learned on other texts
"""

from mauve_core.base.config import ALL_SIDES as ALL
from mauve_core.base.config import ATTRIBUTE_SPLITS as SPLITS
from mauve_core.experiments.attributes_over_k.held_out import attributes_run, usual_ks
from mauve_core.experiments.attributes_over_k.other_clusters import OtherTexts, encoded_texts, texts_of_run
from mauve_core.experiments.attributes_over_k.table import OWN, AttributeTable, stored_attributes

__all__ = [
    "ALL",
    "OWN",
    "SPLITS",
    "AttributeTable",
    "OtherTexts",
    "attributes_run",
    "encoded_texts",
    "stored_attributes",
    "texts_of_run",
    "usual_ks",
]
