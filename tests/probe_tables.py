"""Tables of probes put together by hand: every number and every flow is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mauve_core.analyses.probe_results import PROBE_SCORES, Flow, LineKind, ProbeLine, ProbeTable
from mauve_core.base.config import HUMAN
from mauve_core.runs import Run
from mauve_core.scoring.result import SeedSpread

# Jensen-Shannon divergence of each line; the other measures follow from it.
FAR = {"none": 0.02, "drop-articles": 0.05, "typos@0.5": 0.2, "typos": 0.4, "close": 0.1, "shifted": 0.3}

# Values of equal halves where they are not 0.
BEGIN = {"exponentiated-kl": 1.0, "mauve": 1.0}

# Perturbations that are this far are detected.
NOTICED = 0.2

REPEATS = 4


def scores_of(divergence: float, repeats: int = REPEATS) -> dict[str, SeedSpread]:
    """Measures that grow with a divergence, but for MAUVE, each with a spread of its own."""
    values = divergence + np.arange(repeats) / 100
    grown = {measure: BEGIN.get(measure, place / 20) + values for place, measure in enumerate(PROBE_SCORES)}
    return {measure: SeedSpread.of(each) for measure, each in {**grown, "mauve": BEGIN["mauve"] - values}.items()}


def line_of(
    name: str, divergence: float, *, kind: LineKind = "perturbation", flow: Flow | None = None, repeats: int = REPEATS
) -> ProbeLine:
    changed = {"control": 0.0, "perturbation": 0.9, "source": 1.0}[kind]
    notes = ("3 of 40 chosen texts stayed as they were.",) if kind == "perturbation" else ()
    p_values = () if kind != "perturbation" else (0.001, 0.003) if divergence >= NOTICED else (0.2, 0.4)
    return ProbeLine(kind, name, 30, 6, changed, scores_of(divergence, repeats), flow, notes, p_values)


def flow_of(k: int, ids: Sequence[str], before: Sequence[int], moved: Mapping[str, int]) -> Flow:
    """Texts stay in their clusters but for those in ``moved``."""
    after = [moved.get(text_id, cluster) for text_id, cluster in zip(ids, before, strict=True)]
    return Flow(k, tuple(ids), np.array(before, np.int32), np.array(after, np.int32))


def table_of(run: Run, moved: Mapping[str, Mapping[str, int]]) -> ProbeTable:
    """Probes of the human texts of ``synthetic``: half of them, in the run's own clusters.

    ``moved`` says for each perturbation which texts went to which cluster.
    """
    part = run.comparison.joint[0]
    ids = run.corpora[HUMAN].ids[::2]
    before = part.labels[HUMAN][::2].tolist()
    flows = {name: flow_of(part.k, ids, before, there) for name, there in moved.items()}
    lines = [line_of("none", FAR["none"], kind="control")]
    lines += [line_of(name, FAR.get(name, 0.25), flow=flow) for name, flow in flows.items()]
    lines += [line_of(name, FAR.get(name, 0.3), kind="source") for name in [*run.corpora][1:3]]
    settings = {"run": run.id, "splits": 2, "seeds": 2, "seed": run.comparison.config.score.seed, "rows": None}
    return ProbeTable(HUMAN, tuple(lines), settings, ("Halves of <30> texts.",))
