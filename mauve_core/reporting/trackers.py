"""Log a stored run to an experiment tracker: Weights & Biases or MLflow.

The tracker's own settings decide where the run goes: ``WANDB_MODE=offline``, ``WANDB_BASE_URL``,
``MLFLOW_TRACKING_URI`` and so on. Logged again, a run is found again by its key
(:class:`mauve_core.reporting.tracked_runs.Tracked`) and stays one run of the tracker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mauve_core.base.errors import InputError
from mauve_core.base.extras import require
from mauve_core.runs import Run

if TYPE_CHECKING:
    from mauve_core.reporting.tracked_runs import Logged

# Trackers by the names of their packages.
TRACKERS = ("wandb", "mlflow")


def log_run(run: Run, to: str, *, project: str | None = None, texts: bool = False) -> Logged:
    """Log settings, scores with their spread, tables and figures of a stored run.

    Parameters
    ----------
    run : Run
    to : {"wandb", "mlflow"}
    project : str, optional
        W&B project or MLflow experiment; default that of the environment (``WANDB_PROJECT``,
        ``MLFLOW_EXPERIMENT_NAME``), else ``mauve-lens``.
    texts : bool
        Also log the texts, the clusters' names, which are words of them, and the report, which quotes them.

    Returns
    -------
    Logged
        Where the run went.

    Raises
    ------
    InputError
        There is no such tracker, its package is missing, it cannot be reached, or it refuses the run.

    Examples
    --------
    >>> Results(run).log("mlflow", project="decoders")  # doctest: +SKIP
    """
    from mauve_core.reporting.tracked_runs import log_to_mlflow, log_to_wandb, tracked  # imports what draws figures

    if to not in TRACKERS:
        raise InputError(f"No tracker is named {to!r}", allowed=", ".join(TRACKERS))
    if project is not None and not project.strip():
        raise InputError("The project has no name", todo="Name one, or leave it out")
    require(to)
    write = log_to_wandb if to == "wandb" else log_to_mlflow
    return write(tracked(run, texts=texts), project)
