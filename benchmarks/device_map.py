"""The map, for benchmarks/device.py: ours on the device beside cuml there and umap-learn on the CPU."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from device_bench import Bench
from device_peers import Array, cuml_map, made_up
from sklearn.manifold import trustworthiness

from mauve_core.clusters.projection import NEIGHBOURS, project

# Most rows on which neighborhoods are judged.
JUDGED = 4000


def map_of_many(bench: Bench) -> None:
    n, d = bench.scale.on_map
    x = made_up(n, d, bench.device)[0]
    ways: dict[str, Callable[[Array, int], Array]] = {
        "ours on the device": lambda x, seed: project(x, seed=seed, device=bench.clustering_device),
    }
    if find_spec("cuml"):
        ways["cuml on the device"] = lambda x, seed: cuml_map(x, seed, NEIGHBOURS)
    if find_spec("umap"):
        ways["umap-learn on the CPU"] = lambda x, seed: project(x, seed=seed)
    for name, way in ways.items():
        with bench.way("map", f"{n:,} x {d:,}", name) as row:
            first = bench.seconds_of(lambda: way(x, 0))  # noqa: B023
            times, found = [], []
            for seed in range(bench.scale.rounds if "device" in name else 1):
                times.append(bench.seconds_of(lambda: found.append(way(x, seed))))  # noqa: B023
            kept = np.mean([trustworthiness(x[:JUDGED], y[:JUDGED], n_neighbors=NEIGHBOURS) for y in found])
            cells = {"first map": f"{first:.3g} s", "trustworthiness": f"{kept:.4f}"}
            bench.send(replace(row, cost=statistics.median(times), cells=cells))
