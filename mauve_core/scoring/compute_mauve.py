"""``compute_mauve`` with the arguments and result of mauve-text 0.4, a drop-in replacement.

:mod:`mauve_core.clusters` normalizes, reduces and clusters features; :mod:`mauve_core.encoders` encodes texts and
token ids. For equal histograms, the four scores match mauve-text to 1e-9. For equal features, they differ as two runs
under different seeds do, because the k-means starts differ. Where mauve-text departs from its own definition, this
module keeps the definition: scores stay in [0, 1], and equal histograms score 1 and 0.

NeurIPS 2021, equations 1 to 3; JMLR 2023, sections 3.1, 3.2 and 4.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.arguments import entries_of, text_list
from mauve_core.base.config import DEFAULT_MODEL, PAPERS_MODEL, EncoderConfig, Pooling, names_server
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, summary, written
from mauve_core.base.progress import ConsoleProgress, Progress, silent
from mauve_core.clusters.features import Stacked, require_usable
from mauve_core.clusters.k_means import kmeans, tenth_of_texts
from mauve_core.clusters.reduction import reduce_features
from mauve_core.encoders import Encoder
from mauve_core.encoders.catalogue import has_no_tokenizer
from mauve_core.encoders.devices import resolve_device
from mauve_core.encoders.features import FeatureStore
from mauve_core.stats.divergences import (
    Frontier,
    divergence_frontier,
    frontier_integral,
    probabilities,
    reference_weights,
    trapezoid_area,
)
from mauve_core.stats.scores import STAR_SMOOTHING

# Texts of a side below which a warning says so, and how many JMLR 2023, section 8, advises.
FEWEST_TEXTS, ADVISED_TEXTS = 100, 1000


class _Unnamed(str):
    """The name of an encoder that the caller did not name."""

    __slots__ = ()


_DEFAULT_ENCODER = _Unnamed(PAPERS_MODEL)


@dataclass(frozen=True, eq=False)
class MauveResult:
    """Result of :func:`compute_mauve`.

    Attributes
    ----------
    mauve : float
        Area under ``divergence_curve``, in [0, 1]; 1 for equal histograms.
    mauve_star : float
        The same from histograms with Krichevsky-Trofimov smoothing.
    frontier_integral, frontier_integral_star : float
        In [0, 1], 0 for equal histograms; without and with that smoothing.
    p_hist, q_hist : (num_buckets,) float64 arrays
        Share of human texts and of candidate texts in each cluster, without smoothing.
    divergence_curve : (m + 2, 2) float64 array
        Points (exp(-c KL(Q || R)), exp(-c KL(P || R))) from (1, 0) to (0, 1), by increasing weight of P in R.
    num_buckets : int
        Number of clusters.
    """

    mauve: float
    mauve_star: float
    frontier_integral: float
    frontier_integral_star: float
    p_hist: NDArray[np.float64]
    q_hist: NDArray[np.float64]
    divergence_curve: NDArray[np.float64]
    num_buckets: int

    def __repr__(self) -> str:
        names = ("mauve", "mauve_star", "frontier_integral", "frontier_integral_star")
        scores = [f"{name} {written(getattr(self, name), SCORE_DECIMALS)}" for name in names]
        title = f"<MauveResult: one k-means seed, so no spread; {self.num_buckets:,} clusters>"
        return summary(title, [", ".join(scores), "mauve_core.compare gives scores with their spread"])


def compute_mauve(
    p_features: ArrayLike | None = None,
    q_features: ArrayLike | None = None,
    p_tokens: Sequence[Any] | None = None,
    q_tokens: Sequence[Any] | None = None,
    p_text: Sequence[str] | None = None,
    q_text: Sequence[str] | None = None,
    num_buckets: int | Literal["auto"] = "auto",
    pca_max_data: int = -1,
    kmeans_explained_var: float = 0.9,
    kmeans_num_redo: int = 5,
    kmeans_max_iter: int = 500,
    featurize_model_name: str = _DEFAULT_ENCODER,
    device_id: int = -1,
    max_text_length: int = 1024,
    divergence_curve_discretization_size: int = 25,
    mauve_scaling_factor: float = 5,
    verbose: bool = False,
    seed: int = 25,
    batch_size: int = 1,
    use_float64: bool = False,
) -> MauveResult:
    """Compute MAUVE and related scores of a candidate (Q) against human text (P).

    Each side is given as features, token ids or texts. The first form given, in that order, is used; a warning names
    the forms that are ignored.

    Parameters
    ----------
    p_features, q_features : (n, d) and (m, d) arrays or CPU tensors, optional
    p_tokens, q_tokens : sequences of token id lists, arrays or CPU tensors, optional
        Ids from the tokenizer of ``featurize_model_name``.
    p_text, q_text : sequences of str, optional
        A list, a generator or a table column.
    num_buckets : "auto" or int >= 2
        Number of clusters; "auto" takes max(2, round(min(n, m) / 10)).
    pca_max_data : int
        Number of random rows on which the principal components are fitted; -1 takes all.
    kmeans_explained_var : float in (0, 1]
        Share of variance that the components keep.
    kmeans_num_redo, kmeans_max_iter : int >= 1
        k-means restarts, and the most iterations of each.
    featurize_model_name : str
        See ``mauve_core.encoders.available_models``. The default is that of mauve-text, ``gpt2-large``, fetched once
        from the Hugging Face hub; the rest of this package defaults to ``smollm2-135m``, which is 4-bit quantized.
        With any model, a text's feature is the last layer's state of its last real token; with a model behind a server
        (``openai:URL#model``), it is the server's embedding, which is kept in the feature store.
    device_id : int
        CUDA device of the encoder and the clustering; -1 takes the CPU, and so does any other where the machine has no
        CUDA device.
    max_text_length : int
        Texts are cut at this many tokens.
    divergence_curve_discretization_size : int >= 2
        Number of mixture weights of the curve, m.
    mauve_scaling_factor : float > 0
        The scaling constant c.
    verbose : bool
        Report the encoder's progress on standard error.
    seed : int >= 0
        Decides the k-means starts (and the rows of ``pca_max_data``).
    batch_size : int >= 1
        Number of full-length texts that the encoder takes at once: affects memory and speed, not the features.
    use_float64 : bool
        No effect on given features: scores are always float64. Encoding in float64 is not supported.

    Returns
    -------
    MauveResult

    Raises
    ------
    InputError
        A side is missing, or is a table, a mapping or a set instead of a list; the sides have different dimensions; an
        argument is out of range; or texts or tokens would have to be encoded in float64.
    ModelUnavailableError
        The encoder is unknown or cannot be reached.

    Warns
    -----
    UserWarning
        A side was given in two forms or has fewer than 100 texts, or both sides hold the same texts. Once per process:
        texts or tokens are encoded with the default encoder, which is not that of the rest of this package; or they
        are encoded on the CPU although ``device_id`` names a CUDA device, because there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from mauve_core import compute_mauve
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 8)), rng.normal(1, size=(200, 8))
    >>> found = compute_mauve(p_features=p, q_features=q)
    >>> found.num_buckets
    20
    >>> 0 < found.mauve < compute_mauve(p_features=p, q_features=rng.normal(size=(200, 8))).mauve
    True
    """
    weights = reference_weights(divergence_curve_discretization_size)
    encoder = _LazyEncoder(featurize_model_name, device_id, max_text_length, batch_size, verbose, use_float64)
    p_side = _choose("p", p_features, p_tokens, p_text)
    q_side = _choose("q", q_features, q_tokens, q_text)
    if p_side[0] == q_side[0] == "text" and sorted(map(str, p_side[1])) == sorted(map(str, q_side[1])):
        warnings.warn("p_text and q_text hold the same texts: the scores are meaningless", UserWarning, stacklevel=2)
    p, q = _features("p", *p_side, encoder), _features("q", *q_side, encoder)
    if p.shape[1] != q.shape[1]:
        raise InputError(
            "The features of p and q have different dimensions",
            allowed="features of one encoder",
            received=f"{p.shape[1]} and {q.shape[1]}",
        )
    k = tenth_of_texts(len(p), len(q)) if num_buckets == "auto" else num_buckets
    _require_integer("seed", seed, low=0)
    sequence, subset = np.random.SeedSequence(int(seed)).spawn(2)
    stacked = Stacked([q, p])
    fit_rows = _subset(len(stacked), pca_max_data, subset)
    device = _clustering_device(device_id)
    reduced = reduce_features(stacked, explained_variance=kmeans_explained_var, fit_rows=fit_rows, device=device).array
    labels = kmeans(
        reduced, k, restarts=kmeans_num_redo, max_iterations=kmeans_max_iter, seed=sequence, device=device
    ).labels
    q_counts, p_counts = (np.bincount(part, minlength=k) for part in (labels[: len(q)], labels[len(q) :]))
    result = _result(p_counts, q_counts, weights, mauve_scaling_factor)
    if min(len(p), len(q)) < FEWEST_TEXTS:
        warnings.warn(
            f"p has {len(p):,} texts and q has {len(q):,}: the scores are not reliable, because scores of fewer than "
            f"{FEWEST_TEXTS} per side are too high and vary a lot; use {ADVISED_TEXTS:,} or more per side "
            "(JMLR 2023, section 8)",
            UserWarning,
            stacklevel=2,
        )
    return result


def _result(
    p_counts: NDArray[np.int64], q_counts: NDArray[np.int64], weights: NDArray[np.float64], scale: float
) -> MauveResult:
    p, q = probabilities(p_counts), probabilities(q_counts)
    p_star, q_star = probabilities(p_counts, STAR_SMOOTHING), probabilities(q_counts, STAR_SMOOTHING)
    x, y = divergence_frontier(p, q, weights).curve(scale)
    star: Frontier = divergence_frontier(p_star, q_star, weights)
    return MauveResult(
        mauve=float(trapezoid_area(x, y)),
        mauve_star=float(trapezoid_area(*star.curve(scale))),
        frontier_integral=float(frontier_integral(p, q)),
        frontier_integral_star=float(frontier_integral(p_star, q_star)),
        p_hist=p,
        q_hist=q,
        divergence_curve=np.stack([x, y], axis=1),
        num_buckets=p.size,
    )


class _LazyEncoder:
    def __init__(
        self, model: str, device_id: int, max_tokens: int, batch_size: int, verbose: bool, double: bool
    ) -> None:
        _require_integer("device_id", device_id, low=-1)
        _require_integer("batch_size", batch_size, low=1)
        self._named = not isinstance(model, _Unnamed)
        model = model if self._named else PAPERS_MODEL
        pooling: Pooling = "auto" if names_server(model) else "last"
        self._config = EncoderConfig(model=model, pooling=pooling, max_tokens=max_tokens)
        self._device_id = device_id
        self._batch_tokens = batch_size * max_tokens
        self._double = double
        self._encoder: Encoder | None = None
        # What a server answers may cost money, so that it is kept.
        self.store = FeatureStore() if names_server(model) else None
        self.progress: Progress = ConsoleProgress() if verbose else silent

    def get(self) -> Encoder:
        if self._double:
            raise InputError("Encoding in float64 is not supported", allowed="use_float64=False")
        if self._encoder is None:
            if not self._named:
                _tell_default_encoder()
            device = "cpu" if has_no_tokenizer(self._config.model) else _device_of(self._device_id)
            self._encoder = Encoder(self._config, device=device, batch_tokens=self._batch_tokens)
        return self._encoder


def _device_of(device_id: int) -> str:
    """Return the device's name: scripts name GPU 0 wherever they run, so a machine without any takes its CPU."""
    if device_id == -1:
        return "cpu"
    if resolve_device("auto") == "cpu":
        _tell_no_gpu(device_id)
        return "cpu"
    return f"cuda:{device_id}"


def _clustering_device(device_id: int) -> str:
    """Return the device for given features, too: the CPU, and nothing is said, where there is no other or no torch."""
    if device_id == -1 or find_spec("torch") is None or resolve_device("auto") == "cpu":
        return "cpu"
    return resolve_device(f"cuda:{device_id}")


@cache
def _tell_no_gpu(device_id: int) -> None:
    """Warn that the CPU encodes, the first time only."""
    warnings.warn(
        f"device_id={device_id} names a CUDA device and this machine has none: the CPU encodes. "
        "Pass device_id=-1 to choose it",
        UserWarning,
        stacklevel=6,  # the caller of compute_mauve
    )


@cache
def _tell_default_encoder() -> None:
    """Warn about the default encoder, the first time only."""
    warnings.warn(
        f"compute_mauve encodes with {PAPERS_MODEL}, as mauve-text does; the rest of mauve_core defaults to "
        f"{DEFAULT_MODEL}. Name an encoder with featurize_model_name",
        UserWarning,
        stacklevel=5,  # the caller of compute_mauve
    )


def _choose(side: str, features: Any, tokens: Any, text: Any) -> tuple[str, Any]:
    """Return the form in which a side is given, and its values."""
    forms = {"features": features, "tokens": tokens, "text": text}
    present = [name for name, values in forms.items() if values is not None]
    if not present:
        raise InputError(
            f"Side {side} is missing", allowed=", ".join(f"{side}_{name}" for name in forms), todo="Pass one of them"
        )
    if len(present) > 1:
        aside = " and ".join(f"{side}_{name}" for name in present[1:])
        warnings.warn(f"{side}_{present[0]} is used; {aside} is ignored", UserWarning, stacklevel=3)
    values = forms[present[0]]
    return present[0], text_list(values, f"{side}_text") if present[0] == "text" else values


def _features(side: str, form: str, values: Any, encoder: _LazyEncoder) -> Stacked | NDArray[np.float32]:
    """Return the (n, d) features of a side without copying them."""
    if form == "text":
        return encoder.get().encode(values, store=encoder.store, progress=encoder.progress).array
    if form == "tokens":
        # A tokenizer called with return_tensors gives (1, t) per text.
        rows = [np.asarray(row).reshape(-1) for row in entries_of(values, f"{side}_tokens")]
        return encoder.get().encode_tokens(rows, progress=encoder.progress).array  # type: ignore[arg-type]
    return require_usable(values, name=f"{side}_features")


def _subset(n: int, most: int, seed: np.random.SeedSequence) -> NDArray[np.int64] | None:
    """Return the rows on which the principal components are fitted; None for all."""
    if most == -1:
        return None
    _require_integer("pca_max_data (-1 for all)", most, low=2)
    return None if most >= n else np.sort(np.random.default_rng(seed).choice(n, size=most, replace=False))


def _require_integer(name: str, value: object, *, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise InputError(f"{name} cannot be used", allowed=f"a whole number of at least {low}", received=repr(value))
