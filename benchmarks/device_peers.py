"""What benchmarks/device.py compares with: plain lines of torch on the same device, and libraries."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from peer import best_objective, printed_by

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Score:
    """A score, how it came about, and the seconds that its two long steps took."""

    mauve: float
    objective: float
    components: int | None = None
    reducing: float | None = None
    clustering: float | None = None


def has_mauve_text() -> bool:
    """mauve-text imports faiss when it is imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("mauve", "faiss"))


def made_up(n: int, d: int, device: str, *, sides: int = 1, topics: int = 100, decay: float = 0.3) -> list[Array]:
    """Features as encoders make them (see peer.made_up_sides), drawn on the device: (n, d) float32 of each side."""
    random = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device, generator=random)

    deviations = torch.arange(1, d + 1, device=device, dtype=torch.float32) ** -decay
    deviations /= deviations.norm()
    turn = torch.linalg.qr(normal(d, d))[0]
    mean, centers = 0.7 * normal(d) / d**0.5, 0.6 * normal(topics, d) * deviations
    made = []
    for _ in range(sides):
        weights = -torch.rand(topics, device=device, generator=random).log()
        topic = torch.multinomial(weights, n, replacement=True, generator=random)
        made.append(((centers[topic] + 0.8 * normal(n, d) * deviations) @ turn + mean).cpu().numpy())
    return made


def plain_reduced(x: torch.Tensor, share: float = 0.9) -> torch.Tensor:
    """Unit rows on the fewest principal components that reach a share of the variance."""
    x = x / x.norm(dim=1, keepdim=True)
    x = x - x.mean(0)
    values, vectors = torch.linalg.eigh((x.T @ x).double())
    shares = values.flip(0).cumsum(0) / values.sum()
    components = int((shares < share).sum()) + 1
    axes: torch.Tensor = vectors.flip(1)[:, :components].float()
    return x @ axes


def plain_distances(x: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """(n, k) squared distances less the rows' squared lengths, which change no minimum."""
    return torch.addmm((centers * centers).sum(1), x, centers.T, alpha=-2)


def plain_kmeans(x: torch.Tensor, k: int, random: torch.Generator, most: int = 500) -> tuple[torch.Tensor, float, int]:
    """k-means++ by sampling, then Lloyd until nothing moves: labels, objective and iterations."""
    chosen = torch.empty(k, x.shape[1], device=x.device)
    nearest = torch.ones(len(x), device=x.device)
    for index in range(k):
        chosen[index] = x[torch.multinomial(nearest, 1, generator=random)][0]
        squares = ((x - chosen[index]) ** 2).sum(1)
        nearest = squares if index == 0 else torch.minimum(nearest, squares)
    centers, labels, iterations = chosen, torch.full((len(x),), -1, device=x.device), 0
    while iterations < most:
        found = plain_distances(x, centers).argmin(1)
        if torch.equal(found, labels):
            break
        labels, iterations = found, iterations + 1
        counts = torch.bincount(labels, minlength=k)[:, None]
        sums = torch.zeros_like(centers).index_add_(0, labels, x)
        centers = torch.where(counts > 0, sums / counts.clamp(min=1), centers)
    return labels, float(((x - centers[labels]) ** 2).sum()), iterations


def plain_best(x: torch.Tensor, k: int, seed: int, starts: int) -> tuple[torch.Tensor, float, int]:
    """The best of some starts."""
    random = torch.Generator(x.device).manual_seed(seed)
    return min((plain_kmeans(x, k, random) for _ in range(starts)), key=lambda found: found[1])


def plain_area(p: torch.Tensor, q: torch.Tensor, scale: float = 5.0) -> float:
    """Area under the divergence curve of two histograms, at the 25 mixtures of the published grid."""
    weights = torch.linspace(1e-6, 1 - 1e-6, 25, device=p.device, dtype=torch.float64)[:, None]
    mixtures = weights * p + (1 - weights) * q

    def points(one: torch.Tensor) -> torch.Tensor:
        divergences = torch.where(one > 0, one * (one / mixtures).log(), 0.0).sum(1)
        return torch.exp(-scale * divergences)

    zero, one = (torch.full((1,), value, device=p.device, dtype=torch.float64) for value in (0.0, 1.0))
    x, y = torch.cat([one, points(q), zero]), torch.cat([zero, points(p), one])
    return -float(torch.trapezoid(y, x))  # x falls


def plain_score(p: Array, q: Array, k: int, seed: int, device: str, starts: int = 5) -> Score:
    """The whole way in plain torch."""
    started = time.perf_counter()
    rows = plain_reduced(torch.from_numpy(np.concatenate([q, p])).to(device))
    components = rows.shape[1]
    if device != "cpu":
        torch.cuda.synchronize()
    reduced = time.perf_counter()
    labels, objective, _ = plain_best(rows, k, seed, starts)
    clustered = time.perf_counter()
    q_shares, p_shares = (
        torch.bincount(part, minlength=k).double() / len(part) for part in (labels[: len(q)], labels[len(q) :])
    )
    return Score(plain_area(p_shares, q_shares), objective, components, reduced - started, clustered - reduced)


def mauve_text_score(p: Array, q: Array, k: int, seed: int) -> Score:
    import mauve

    found, printed = printed_by(
        lambda: mauve.compute_mauve(p_features=p, q_features=q, num_buckets=k, seed=seed, verbose=True)
    )
    return Score(float(found.mauve), best_objective(printed))


def mauve_text_features(model: Any, ids: Sequence[NDArray[np.int32]], rows: int) -> Callable[[], Array]:
    """mauve-text's featurizing, ``rows`` texts at a time, without its progress bar."""
    from mauve.utils import featurize_tokens_from_model

    given = [torch.from_numpy(row.astype(np.int64))[None] for row in ids]

    def encode() -> Array:
        with contextlib.redirect_stderr(io.StringIO()):
            return np.asarray(featurize_tokens_from_model(model, given, rows).float().numpy())

    return encode


def faiss_kmeans(x: Array, k: int, seed: int, *, gpu: bool) -> tuple[float, int]:
    """Objective and iterations of one random start."""
    import faiss

    found: Any = faiss.Kmeans(x.shape[1], k, niter=100, seed=seed, min_points_per_centroid=1, gpu=gpu)
    found.train(x)
    return float(found.index.search(x, 1)[0].sum(dtype=np.float64)), len(found.obj)


def scikit_kmeans(x: Array, k: int, seed: int) -> tuple[float, int]:
    from sklearn.cluster import KMeans

    found = KMeans(k, n_init=1, max_iter=500, tol=0, random_state=seed).fit(x)
    return float(found.inertia_), int(found.n_iter_)


def _objective(x: Array, centers: Any, device: str) -> float:
    """Sum of squared distances to the nearest center."""
    rows, found = torch.from_numpy(x).to(device), torch.as_tensor(centers, device=device).float()
    nearest = found[plain_distances(rows, found).argmin(1)]
    return float((rows - nearest).square().sum(dtype=torch.float64))


def flash_kmeans(x: Array, k: int, seed: int, device: str) -> tuple[float, int]:
    """Objective and iterations of one random start."""
    from flash_kmeans import batch_kmeans_Euclid

    torch.manual_seed(seed)
    found = batch_kmeans_Euclid(torch.from_numpy(x).to(device)[None], k, max_iters=100, tol=1e-6)
    return _objective(x, found[1][0], device), int(found[2])


def cuml_kmeans(x: Array, k: int, seed: int, device: str) -> tuple[float, int]:
    """Objective and iterations of one start from scalable k-means++."""
    from cuml.cluster import KMeans

    found = KMeans(n_clusters=k, n_init=1, max_iter=500, tol=1e-6, random_state=seed, output_type="numpy").fit(x)
    return _objective(x, found.cluster_centers_, device), int(found.n_iter_)


def cuml_map(x: Array, seed: int, neighbors: int) -> Array:
    from cuml.manifold import UMAP

    return np.asarray(UMAP(n_neighbors=neighbors, random_state=seed, output_type="numpy").fit_transform(x))
