"""Our drop-in beside the reference package on the features of stored runs: means and spread over seeds, objectives.

    python benchmarks/peer_parity.py [--seeds 10] RUN:CANDIDATE [RUN:CANDIDATE ...]

Both get the same features and k. The objective is the sum of squared distances to the own centre in the reduced space;
the reference package's is read from what its clustering prints. A lower one is a better clustering.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from peer import best_objective, printed_by

from mauve_core.base.config import HUMAN
from mauve_core.clusters.k_means import kmeans, tenth_of_texts
from mauve_core.clusters.reduction import reduce_features
from mauve_core.runs import RunStore
from mauve_core.scoring.compute_mauve import compute_mauve


def compare_with_peer(run_id: str, candidate: str, seeds: int) -> str:
    from mauve import compute_mauve as peer

    run = RunStore().load(run_id)
    p, q = (np.array(run.features(name)) for name in (HUMAN, candidate))
    k = tenth_of_texts(len(p), len(q))
    reduced = reduce_features(np.concatenate([q, p])).array
    values: dict[str, list[float]] = {"ours": [], "peer": []}
    goals: dict[str, list[float]] = {"ours": [], "peer": []}
    seconds = dict.fromkeys(values, 0.0)
    for seed in range(seeds):
        start = time.perf_counter()
        values["ours"].append(compute_mauve(p_features=p, q_features=q, seed=seed).mauve)
        seconds["ours"] += time.perf_counter() - start
        start = time.perf_counter()
        found, printed = printed_by(lambda seed=seed: peer(p_features=p, q_features=q, seed=seed, verbose=True))
        seconds["peer"] += time.perf_counter() - start
        values["peer"].append(float(found.mauve))
        goals["ours"].append(kmeans(reduced, k, seed=seed).objective)
        goals["peer"].append(best_objective(printed))
    cells = [
        f"{np.mean(values[side]):.4f} ± {np.std(values[side], ddof=1):.4f} | {np.mean(goals[side]):.2f}"
        for side in ("ours", "peer")
    ]
    return f"| {run_id} | {candidate} | {k} | {' | '.join(cells)} | {seconds['peer'] / seconds['ours']:.2f} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="RUN:CANDIDATE")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    print("| run | candidate | k | MAUVE, ours | objective | MAUVE, mauve-text | objective | time, peer / ours |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for pair in arguments.pairs:
        name, _, side = pair.partition(":")
        print(compare_with_peer(name, side, arguments.seeds), flush=True)
