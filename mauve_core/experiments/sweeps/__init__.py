"""Sweeps of a stored run: its candidates' scores as one setting moves, each point with its spread over seeds."""

from mauve_core.experiments.sweeps.execution import sweep_run, usual_values
from mauve_core.experiments.sweeps.sweep import AXES, Over, SeedSpread, Sweep, SweepPoint, require_axis
from mauve_core.experiments.sweeps.task import SweepTask, attachment_name, stored_sweep

__all__ = [
    "AXES",
    "Over",
    "SeedSpread",
    "Sweep",
    "SweepPoint",
    "SweepTask",
    "attachment_name",
    "require_axis",
    "stored_sweep",
    "sweep_run",
    "usual_values",
]
