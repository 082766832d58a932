"""Our drop-in beside the reference package on the features of stored runs: means and spread over seeds, objectives.

    python benchmarks/peer_parity.py [--seeds 10] RUN:CANDIDATE [RUN:CANDIDATE ...]

Both get the same features and k. The objective is the sum of squared distances to the own centre in the reduced space;
the reference package's is read from what its clustering prints. A lower one is a better clustering.
"""

from __future__ import annotations

import numpy as np
from frame import arguments, in_turn, mauve_text, table, write

from mauve_core.base.config import HUMAN
from mauve_core.clusters.k_means import kmeans, tenth_of_texts
from mauve_core.clusters.reduction import reduce_features
from mauve_core.runs import RunStore
from mauve_core.scoring.compute_mauve import compute_mauve

HEADER = ["run", "candidate", "k", "MAUVE, ours", "objective", "MAUVE, mauve-text", "objective", "time, peer / ours"]


def row(run_id: str, candidate: str, seeds: int) -> list[object]:
    run = RunStore().load(run_id)
    p, q = (np.array(run.features(name)) for name in (HUMAN, candidate))
    k = tenth_of_texts(len(p), len(q))
    peer = mauve_text()
    ways = {
        "ours": lambda seed: compute_mauve(p_features=p, q_features=q, seed=seed).mauve,
        "peer": lambda seed: peer(p, q, k, seed),
    }
    found = in_turn(ways, seeds)
    rows = reduce_features(np.concatenate([q, p])).array
    ours = [(each.result, kmeans(rows, k, seed=seed).objective) for seed, each in enumerate(found["ours"])]
    cells: list[object] = [run_id, candidate, k]
    for pairs in (ours, [each.result for each in found["peer"]]):
        values, objectives = np.transpose(pairs)
        cells += [f"{values.mean():.4f} ± {values.std(ddof=1):.4f}", f"{objectives.mean():.2f}"]
    seconds = {name: sum(each.wall for each in rounds) for name, rounds in found.items()}
    return [*cells, f"{seconds['peer'] / seconds['ours']:.2f}"]


if __name__ == "__main__":
    parser = arguments(__doc__, seeds=10)
    parser.add_argument("pairs", nargs="+", metavar="RUN:CANDIDATE")
    options = parser.parse_args()
    pairs = [pair.partition(":")[::2] for pair in options.pairs]
    write(table(HEADER, [row(*pair, options.seeds) for pair in pairs]) + "\n", options.out)
