"""Scores and k-means from made-up features, for benchmarks/device.py."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from device_bench import Bench
from device_peers import (
    Score,
    cuml_kmeans,
    faiss_kmeans,
    flash_kmeans,
    has_mauve_text,
    made_up,
    mauve_text_score,
    plain_best,
    plain_score,
    scikit_kmeans,
)
from numpy.typing import NDArray

from mauve_core.clusters.features import Stacked
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.stats.divergences import divergence_frontier, probabilities, reference_weights, trapezoid_area


def our_score(p: NDArray[np.float32], q: NDArray[np.float32], k: int, seed: int, device: str) -> Score:
    """The steps of compute_mauve on a device."""
    started = time.perf_counter()
    reduced = reduce_features(Stacked([q, p]), device=device).array
    middle = time.perf_counter()
    found = kmeans(reduced, k, restarts=5, seed=np.random.SeedSequence(seed).spawn(2)[0], device=device)
    clustered = time.perf_counter()
    q_shares, p_shares = (probabilities(np.bincount(part, minlength=k)) for part in np.split(found.labels, [len(q)]))
    area = trapezoid_area(*divergence_frontier(p_shares, q_shares, reference_weights(25)).curve(5.0))
    return Score(float(area), found.objective, reduced.shape[1], middle - started, clustered - middle)


def scores_small(bench: Bench) -> None:
    _scores(bench, bench.scale.small, bench.scale.rounds, with_mauve_text=True)


def scores_large(bench: Bench) -> None:
    _scores(bench, bench.scale.large, 1, with_mauve_text=False)


def _scores(bench: Bench, size: tuple[int, int, int], rounds: int, *, with_mauve_text: bool) -> None:
    n, d, k = size
    p, q = made_up(n, d, bench.device, sides=2)
    case = f"{n:,} + {n:,} x {d:,}, k = {k:,}"
    ways: dict[str, Callable[[Any, Any, int, int], Score]] = {
        "ours on the device": lambda p, q, k, seed: our_score(p, q, k, seed, bench.clustering_device),
        "plain torch on the device": lambda p, q, k, seed: plain_score(p, q, k, seed, bench.device),
        "ours on the CPU": lambda p, q, k, seed: our_score(p, q, k, seed, "cpu"),
    }
    if with_mauve_text and has_mauve_text():
        ways["mauve-text on the CPU"] = mauve_text_score
    elif with_mauve_text:
        bench.leave_out("scores", case, "mauve-text on the CPU", "mauve-text or faiss is not installed")
    for name, way in ways.items():
        with bench.way("scores", case, name) as row:
            way(p[:1000], q[:1000], 8, 0)  # what begins once a process
            times, found = [], []
            for seed in range(rounds):
                times.append(bench.seconds_of(lambda: found.append(way(p, q, k, seed))))  # noqa: B023
            bench.send(
                replace(
                    row,
                    cost=statistics.median(times),
                    objective=float(np.mean([one.objective for one in found])),
                    cells={
                        "reducing": _seconds([one.reducing for one in found]),
                        "k-means": _seconds([one.clustering for one in found]),
                        "components": "" if found[0].components is None else str(found[0].components),
                        "MAUVE": f"{np.mean([one.mauve for one in found]):.4f}",
                    },
                )
            )


def _seconds(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.3g} s" if known else ""


def kmeans_small(bench: Bench) -> None:
    _kmeans(bench, bench.scale.kmeans_small, bench.scale.rounds, with_slow=True)


def kmeans_large(bench: Bench) -> None:
    _kmeans(bench, bench.scale.kmeans_large, 1, with_slow=False)


def _kmeans(bench: Bench, size: tuple[int, int, int], rounds: int, *, with_slow: bool) -> None:
    n, d, k = size
    x = made_up(n, d, bench.device)[0]

    def ours(x: NDArray[np.float32], k: int, seed: int, starts: int, device: str) -> tuple[float, int]:
        found = kmeans(x, k, restarts=starts, seed=seed, device=device)
        return found.objective, found.iterations

    def plain(x: NDArray[np.float32], k: int, seed: int) -> tuple[float, int]:
        return plain_best(torch.from_numpy(x).to(bench.device), k, seed, 1)[1:]

    ways: dict[str, Callable[[Any, int, int], tuple[float, int]]] = {
        "ours on the device, 1 start": lambda x, k, seed: ours(x, k, seed, 1, bench.clustering_device),
        "ours on the device, 5 starts": lambda x, k, seed: ours(x, k, seed, 5, bench.clustering_device),
        "plain torch on the device, 1 start": plain,
        "ours on the CPU, 1 start": lambda x, k, seed: ours(x, k, seed, 1, "cpu"),
    }
    if find_spec("faiss"):
        import faiss

        on_gpu = hasattr(faiss, "StandardGpuResources") and bench.device != "cpu"
        if on_gpu or with_slow:
            name = f"faiss on the {'device' if on_gpu else 'CPU'}, 1 random start, 100 iterations"
            ways[name] = lambda x, k, seed: faiss_kmeans(x, k, seed, gpu=on_gpu)
    if find_spec("flash_kmeans"):
        ways["flash-kmeans on the device, 1 random start, 100 iterations"] = partial(flash_kmeans, device=bench.device)
    if find_spec("cuml"):
        ways["cuml on the device, 1 start"] = partial(cuml_kmeans, device=bench.device)
    if with_slow:
        ways["scikit-learn on the CPU, 1 start"] = scikit_kmeans
    case = f"{n:,} x {d:,}, k = {k:,}"
    for name, way in ways.items():
        with bench.way("kmeans", case, name) as row:
            way(x[:1000], 8, 0)
            times, found = [], []
            for seed in range(rounds if "device" in name else 1):
                times.append(bench.seconds_of(lambda: found.append(way(x, k, seed))))  # noqa: B023
            bench.send(
                replace(
                    row,
                    cost=statistics.median(times),
                    objective=float(np.mean([objective for objective, _ in found])),
                    cells={"iterations": f"{statistics.median(count for _, count in found):g}"},
                )
            )
