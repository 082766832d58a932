"""What a person asks of a comparison or of a stored run: tables, a figure, texts, one file, the app.

Each method imports what carries it out when it is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from mauve_core.cli.serving import RunningApp
    from mauve_core.reporting.tracked_runs import Logged
    from mauve_core.scoring.estimates import Divergence
    from mauve_core.scoring.result import Estimate


class Results:
    """Results of a comparison or of a stored run.

    A comparison holds labels and scores, no texts: its clusters have no names, which are words of the texts, and
    findings, texts, save, log and open raise an InputError.

    Parameters
    ----------
    of : Comparison or Run
    """

    def __init__(self, of: Comparison | Run) -> None:
        self.of = of

    def __repr__(self) -> str:
        return f"Results({self.of!r})"

    def scores(self) -> pd.DataFrame:
        """Return every score of every candidate; see :func:`mauve_core.analyses.data_frames.scores`."""
        from mauve_core.analyses import data_frames

        return data_frames.scores(self._comparison)

    def pairs(self) -> pd.DataFrame:
        """Return the tests of every two candidates; see :func:`mauve_core.analyses.data_frames.pairs`."""
        from mauve_core.analyses import data_frames

        return data_frames.pairs(self._comparison)

    def clusters(
        self, candidate: str | None = None, *, kind: PartitionKind = "pairwise", seed: int | None = None
    ) -> pd.DataFrame:
        """Return the clusters of a candidate; see :func:`mauve_core.analyses.data_frames.clusters`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one.
        """
        from mauve_core.analyses import data_frames

        return data_frames.clusters(self.of, candidate, kind=kind, seed=seed)

    def ledger(
        self,
        candidate: str | None = None,
        *,
        kind: PartitionKind = "pairwise",
        seed: int | None = None,
        most: int = 12,
    ) -> pd.DataFrame:
        """Return what makes up a candidate's gap; see :func:`mauve_core.analyses.data_frames.ledger`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one.
        most : int
            Clusters of either direction with a row of their own.
        """
        from mauve_core.analyses import data_frames

        return data_frames.ledger(self.of, candidate, kind=kind, seed=seed, most=most)

    def findings(self, candidate: str | None = None, *, q: float = 0.05, reference: str = HUMAN) -> pd.DataFrame:
        """Return what a candidate does more or less than people; see
        :func:`mauve_core.findings.finding.findings_frame`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one.
        q : float in (0, 1)
            Expected share of false findings, at most.
        reference : str
            Source that takes the place of the human texts.
        """
        from mauve_core.findings.finding import findings_frame

        return findings_frame(self._run, candidate, q=q, reference=reference)

    def texts(
        self,
        candidate: str | None = None,
        *,
        cluster: int | None = None,
        kind: PartitionKind = "pairwise",
        seed: int | None = None,
        vectors: bool = False,
    ) -> pd.DataFrame:
        """Return the human texts and a candidate's with clusters; see :func:`mauve_core.analyses.data_frames.texts`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one: clusters of two candidates are others.
        """
        from mauve_core.analyses import data_frames

        return data_frames.texts(self._run, candidate, cluster=cluster, kind=kind, seed=seed, vectors=vectors)

    def divergence(
        self,
        function: Divergence,
        *,
        kind: PartitionKind = "pairwise",
        smoothing: str = "none",
        bounds: tuple[float, float] = (0.0, float("inf")),
    ) -> dict[str, Estimate]:
        """Apply a divergence of your own; see :func:`mauve_core.scoring.estimates.divergence`."""
        from mauve_core.scoring.estimates import divergence

        return divergence(self._comparison, function, kind=kind, smoothing=smoothing, bounds=bounds)

    def figure(
        self,
        name: str,
        *,
        candidate: str | None = None,
        partition: PartitionKind = "pairwise",
        seed: int | None = None,
        weight: float = 0.5,
    ) -> go.Figure:
        """Draw a figure; see :func:`mauve_core.figures.by_name.figure`."""
        from mauve_core.figures.by_name import figure

        return figure(self.of, name, candidate=candidate, partition=partition, seed=seed, weight=weight)

    def save(self, path: str | Path, *, ratings: bool = True) -> Path:
        """Write the run to one file; see :func:`mauve_core.analyses.attached_results.save_run`."""
        from mauve_core.analyses.attached_results import save_run

        return save_run(self._run, path, ratings=ratings)

    def log(self, to: str, *, project: str | None = None, texts: bool = False) -> Logged:
        """Log the run to an experiment tracker, ``wandb`` or ``mlflow``, and return where it went.

        See :func:`mauve_core.reporting.trackers.log_run`. Texts, which may be private, are logged only with
        ``texts``.
        """
        from mauve_core.reporting.trackers import log_run

        return log_run(self._run, to, project=project, texts=texts)

    def open(self, port: int | None = None) -> RunningApp:
        """Start the app on this run and return at once; see :func:`mauve_core.cli.serving.open_run`.

        The app runs until ``close()`` of what is returned, or until Python ends.
        """
        from mauve_core.cli.serving import open_run

        return open_run(self._run, port)

    @property
    def _comparison(self) -> Comparison:
        return self.of.comparison if isinstance(self.of, Run) else self.of

    @property
    def _run(self) -> Run:
        if isinstance(self.of, Run):
            return self.of
        raise InputError(
            "A comparison holds labels and scores, no texts",
            todo="Store it with its corpora, run = RunStore().save(name, comparison, corpora), then use Results(run)",
        )
