"""What the caller of a comparison gives: a configuration, or the usual settings one by one; and a clustering.

A function, or an object with ``fit_predict`` as scikit-learn has, may take the place of k-means. Such a comparison is
for Python alone and cannot be stored: much of what is computed of a stored run clusters its texts again, by k-means,
and would stand with scores of other clusters.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders.external_features import EncoderObject, is_encoder_object

# The name of a model, its settings, or a function or object that encodes.
Encoding = str | EncoderConfig | EncoderObject


def settled(
    config: CompareConfig | None,
    encoder: Encoding | None,
    encoder_name: str | None,
    *,
    given: bool,
    **score: Any,
) -> tuple[CompareConfig, EncoderObject | None]:
    """Return the configuration, and the encoder if it is a function or an object.

    Parameters
    ----------
    config : CompareConfig or None
    encoder : str, EncoderConfig, callable or object with ``encode``, or None
    encoder_name : str or None
        What features from elsewhere are known as.
    given : bool
        Whether features were given.
    **score
        Fields of ScoreConfig; None leaves the default.

    Raises
    ------
    InputError
        A setting is given in two places, cannot be used, or is of another type.
    """
    chosen = {name: value for name, value in score.items() if value is not None}
    twice = [*(["encoder"] if encoder is not None else []), *chosen]
    if config is not None and not isinstance(config, CompareConfig):
        raise InputError("config cannot be used", allowed="CompareConfig", received=type(config).__name__)
    if config is not None and twice and not (twice == ["encoder"] and config.encoder is None):
        raise InputError(
            f"{', '.join(twice)} and config were both given",
            allowed="each setting in one place",
            todo="Set it in config: CompareConfig(encoder=..., score=ScoreConfig(seeds=...))",
        )
    if given and encoder is not None:
        raise InputError("Features and an encoder were both given", allowed="one of the two")
    function = encoder if is_encoder_object(encoder) else None
    if encoder is not None and function is None and not isinstance(encoder, str | EncoderConfig):
        allowed = "a model's name, EncoderConfig, a function from texts to an array, or an object with encode"
        received = f"the class {encoder.__name__}" if isinstance(encoder, type) else type(encoder).__name__
        raise InputError("encoder cannot be used", allowed=allowed, received=received)
    if config is None:
        config = CompareConfig() if encoder is None and not given else CompareConfig(encoder=None)
    if isinstance(encoder, str | EncoderConfig):
        model = EncoderConfig(model=encoder) if isinstance(encoder, str) else encoder
        config = dataclasses.replace(config, encoder=model)
    if encoder_name is not None:
        if config.encoder is not None:
            raise InputError("encoder_name is for features from elsewhere", todo="The encoder has a name; leave it out")
        config = dataclasses.replace(config, features_from=encoder_name)
    config = dataclasses.replace(config, score=dataclasses.replace(config.score, **chosen))
    return config, function


def with_precision(config: CompareConfig, device: str, *, given: bool) -> CompareConfig:
    """Return the configuration with the precision that "auto" means here, before a key or a run is made of it.

    Raises InputError where features are given: what made them has one precision.
    """
    from mauve_core.encoders.devices import checked_precision, choose_precision

    if config.encoder is None:
        return config
    if given:
        checked_precision(config.encoder.dtype)
        return config
    return dataclasses.replace(config, encoder=choose_precision(config.encoder, device).config)


class HasFitPredict(Protocol):
    """An object whose ``fit_predict`` takes an (n, d) array and returns n labels."""

    def fit_predict(self, features: Any, /) -> Any: ...


# A function from (n, d) features, the number of clusters k and a seed to n labels, or an object with ``fit_predict``.
#
# Features are those that k-means would get: of both sides, human texts first, scaled and reduced. An object is copied
# for each call; its ``n_clusters`` and ``random_state``, if it has them as parameters, are set to k and the seed.
OwnClustering = Callable[[NDArray[np.float32], int, int], Any] | HasFitPredict

# Name in a comparison's environment of what clustered in place of k-means.
CLUSTERED_BY = "clustered_by"

ALLOWED = "a function of features, k and a seed, or an object with fit_predict"


def require_clustering(clustering: Any) -> None:
    """Raise InputError unless it is a function or an object with ``fit_predict``; a class is neither."""
    if isinstance(clustering, type) or not (callable(clustering) or callable(getattr(clustering, "fit_predict", None))):
        received = f"the class {clustering.__name__}" if isinstance(clustering, type) else type(clustering).__name__
        raise InputError("clustering cannot be used", allowed=ALLOWED, received=received)


def name_of(clustering: OwnClustering) -> str:
    """Return what it is called: a function's name, or the object as it prints itself, on one line."""
    name = getattr(clustering, "__qualname__", None) or repr(clustering)
    return " ".join(str(name).split())[:200]


def labels_by(
    clustering: OwnClustering, features: NDArray[np.float32], k: int, seed: SeedSequence
) -> NDArray[np.int32]:
    """Return a label from 0 to k - 1 for each row.

    Raises
    ------
    InputError
        What comes back are not n whole numbers from 0 on, or not of exactly k clusters. What the clustering itself
        raises passes through.
    """
    number = int(seed.generate_state(1)[0])
    if callable(getattr(clustering, "fit_predict", None)):
        found = _prepared(clustering, k, number).fit_predict(features.copy())
    else:
        found = clustering(features.copy(), k, number)  # type: ignore[operator]
    labels = np.asarray(found)
    if labels.shape != (len(features),) or labels.dtype.kind not in "iu":
        raise InputError(
            "The clustering returned something else than labels",
            allowed=f"{len(features)} whole numbers, one for each row",
            received=f"{labels.dtype} array of shape {labels.shape}",
        )
    names, codes = np.unique(labels, return_inverse=True)
    if names[0] < 0:
        raise InputError(
            "The clustering returned negative labels",
            allowed="0 or more; every text is in a cluster",
            received=str(names[0]),
        )
    if names.size != k:
        raise InputError(
            "The clustering returned another number of clusters",
            allowed=f"exactly k = {k}, so that scores under different seeds can be compared",
            received=str(names.size),
            todo="Set k in compare(..., k=...), or take it from the second argument",
        )
    return codes.astype(np.int32)


def sum_of_squares(features: NDArray[np.float32], labels: NDArray[np.int32], k: int) -> float:
    """Return the squared distances of the rows from the means of their clusters, summed: the objective of k-means."""
    sums = np.zeros((k, features.shape[1]))
    np.add.at(sums, labels, features)
    means = sums / np.bincount(labels, minlength=k)[:, np.newaxis]
    return float(((features - means[labels]) ** 2).sum())


def _prepared(clustering: Any, k: int, seed: int) -> Any:
    own = copy.deepcopy(clustering)
    parameters = own.get_params() if hasattr(own, "get_params") else {}
    wanted = {"n_clusters": k, "random_state": seed}
    chosen = {name: value for name, value in wanted.items() if name in parameters}
    return own.set_params(**chosen) if chosen else own
