"""Features that a stored run was scored with, from the run's folder or by key from the feature store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run


def stored_features(run: Run, feature_store: FeatureStore | None = None) -> dict[str, NDArray[np.floating]]:
    """Return the (n, d) features of every source, in the order of its texts; float32, or float16 if given so.

    Parameters
    ----------
    feature_store : FeatureStore, optional
        Searched for features that were not kept with the run; by default the user's own.

    Raises
    ------
    InputError
        The features of a source are not found.
    """
    arrays = _by_source(run, feature_store)
    for name, array in arrays.items():
        if array is None:
            raise InputError(
                f"The features of {name!r} were not stored with run {run.id}", todo="Compare the texts again"
            )
    return {name: array for name, array in arrays.items() if array is not None}


def without_features(run: Run, feature_store: FeatureStore | None = None) -> list[str]:
    """Return the sources whose features are not found."""
    return [name for name, array in _by_source(run, feature_store).items() if array is None]


def _by_source(run: Run, feature_store: FeatureStore | None) -> dict[str, NDArray[np.floating] | None]:
    store = FeatureStore() if feature_store is None else feature_store
    found = {}
    for source in run.comparison.sources:
        array = run.features(source.name)
        if array is None:
            stored = store.get(source.features_key)
            array = None if stored is None else stored.array
        found[source.name] = array
    return found
