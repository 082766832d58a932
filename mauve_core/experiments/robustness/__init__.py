"""Perturbation probes: how a run's score responds to deliberate changes of texts (ICLR 2023, section 6.2).

probe_run(run, [parse_perturbation("drop-articles"), parse_perturbation("shuffle-words")])
"""

from mauve_core.base.config import PROBE_SPLITS as SPLITS
from mauve_core.experiments.robustness.detection import Detection, about_test, detections, summary
from mauve_core.experiments.robustness.experiment import PAPER, probe_run
from mauve_core.experiments.robustness.positions import POSITIONS, positions_sentence
from mauve_core.experiments.robustness.table import PROBE_SCORES, Flow, ProbeLine, ProbeTable, stored_probes

__all__ = [
    "PAPER",
    "POSITIONS",
    "PROBE_SCORES",
    "SPLITS",
    "Detection",
    "Flow",
    "ProbeLine",
    "ProbeTable",
    "about_test",
    "detections",
    "positions_sentence",
    "probe_run",
    "stored_probes",
    "summary",
]
