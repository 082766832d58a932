"""Sweeps of a stored run: its candidates' scores over one setting, with a spread over seeds at each point."""

from mauve_core.base.config import AXES, ESTIMATOR_AXES, EVERY_AXIS, Axis, EstimatorAxis, Over
from mauve_core.experiments.sweeps.estimators import (
    EstimatorPoint,
    EstimatorSweep,
    estimator_sweep,
    stored_estimator_sweep,
    usual_parameters,
)
from mauve_core.experiments.sweeps.execution import sweep_run, usual_values
from mauve_core.experiments.sweeps.sweep import (
    Sweep,
    SweepPoint,
    attachment_name,
    require_axis,
    stored_sweep,
)

__all__ = [
    "AXES",
    "ESTIMATOR_AXES",
    "EVERY_AXIS",
    "Axis",
    "EstimatorAxis",
    "EstimatorPoint",
    "EstimatorSweep",
    "Over",
    "Sweep",
    "SweepPoint",
    "attachment_name",
    "estimator_sweep",
    "require_axis",
    "stored_estimator_sweep",
    "stored_sweep",
    "sweep_run",
    "usual_parameters",
    "usual_values",
]
