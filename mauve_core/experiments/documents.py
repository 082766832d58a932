"""The results that a run keeps in ``attached/``, by name, each with what reads and checks it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mauve_core.base.config import AXES, ESTIMATOR_AXES
from mauve_core.base.errors import InputError
from mauve_core.experiments import clusters_over_shards, over_shards
from mauve_core.experiments.attributes_over_k import table as attributes
from mauve_core.experiments.encoders import positions
from mauve_core.experiments.encoders import table as encoders
from mauve_core.experiments.methods import table as methods
from mauve_core.experiments.robustness import table as probes
from mauve_core.experiments.sweeps import estimators, sweep
from mauve_core.experiments.text_measures import over_lengths, over_neighbours, stored
from mauve_core.runs import Run

# Each returns None if the run has no such document, and raises StorageError or InputError if it is damaged.
DOCUMENTS: dict[str, Callable[[Run], object]] = {
    stored.ATTACHMENT: stored.stored_measurements,
    over_lengths.ATTACHMENT: over_lengths.stored_lengths,
    over_neighbours.ATTACHMENT: over_neighbours.stored_neighbours,
    methods.ATTACHMENT: methods.stored_methods,
    probes.ATTACHMENT: probes.stored_probes,
    attributes.ATTACHMENT: attributes.stored_attributes,
    encoders.ATTACHMENT: encoders.stored_encoders,
    positions.ATTACHMENT: positions.stored_positions,
    over_shards.ATTACHMENT: over_shards.stored_over_shards,
    clusters_over_shards.ATTACHMENT: clusters_over_shards.stored_clusters_over_all,
    **{sweep.attachment_name(over): partial(sweep.stored_sweep, over=over) for over in AXES},
    **{sweep.attachment_name(over): partial(estimators.stored_estimator_sweep, over=over) for over in ESTIMATOR_AXES},
}


def check_documents(run: Run) -> None:
    """Read all documents of a run; StorageError or InputError names the first that is damaged."""
    for name, read in DOCUMENTS.items():
        try:
            read(run)
        except InputError as error:
            raise InputError(
                f"attached/{name}.json: {error.wrong}", allowed=error.allowed, received=error.received
            ) from error
