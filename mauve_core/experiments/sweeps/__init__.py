"""Sweeps of a stored run: its candidates' scores over one setting, with a spread over seeds at each point."""

from mauve_core.experiments.sweeps.execution import sweep_run, usual_values
from mauve_core.experiments.sweeps.sweep import (
    AXES,
    Over,
    Sweep,
    SweepPoint,
    attachment_name,
    require_axis,
    stored_sweep,
)

__all__ = [
    "AXES",
    "Over",
    "Sweep",
    "SweepPoint",
    "attachment_name",
    "require_axis",
    "stored_sweep",
    "sweep_run",
    "usual_values",
]
