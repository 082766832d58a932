"""What a run shows of itself as data frames and figures, as a file and in the app."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.views import view
from mauve_core.scoring.result import Comparison

if TYPE_CHECKING:
    import pandas as pd

    from mauve_core.scoring.estimates import Divergence
    from mauve_core.scoring.result import Estimate


class RunViews:
    """Methods of :class:`mauve_core.store.Run` that packages above the store carry out."""

    comparison: Comparison

    def scores(self) -> pd.DataFrame:
        """Return every score of every candidate; see :func:`mauve_core.analysis.frames.scores`."""
        return self.comparison.scores()

    def pairs(self) -> pd.DataFrame:
        """Return the tests of every two candidates; see :func:`mauve_core.analysis.frames.pairs`."""
        frame: pd.DataFrame = view("run.pairs")(self)
        return frame

    def clusters(
        self, candidate: str | None = None, *, kind: PartitionKind = "pairwise", seed: int | None = None
    ) -> pd.DataFrame:
        """Return the clusters of a candidate; see :func:`mauve_core.analysis.frames.clusters`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if the run has only one.
        """
        frame: pd.DataFrame = view("run.clusters")(self, candidate, kind=kind, seed=seed)
        return frame

    def ledger(
        self,
        candidate: str | None = None,
        *,
        kind: PartitionKind = "pairwise",
        seed: int | None = None,
        most: int = 12,
    ) -> pd.DataFrame:
        """Return what makes up a candidate's gap; see :func:`mauve_core.analysis.frames.ledger`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one.
        most : int
            Clusters of either direction with a row of their own.
        """
        frame: pd.DataFrame = view("run.ledger")(self, candidate, kind=kind, seed=seed, most=most)
        return frame

    def findings(self, candidate: str | None = None, *, q: float = 0.05, reference: str = HUMAN) -> pd.DataFrame:
        """Return what a candidate does more or less than people; see
        :func:`mauve_core.analysis.findings.rows.findings_frame`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one.
        q : float in (0, 1)
            Expected share of false findings, at most.
        reference : str
            Source that takes the place of the human texts.
        """
        frame: pd.DataFrame = view("run.findings")(self, candidate, q=q, reference=reference)
        return frame

    def texts(
        self,
        candidate: str | None = None,
        *,
        cluster: int | None = None,
        kind: PartitionKind = "pairwise",
        seed: int | None = None,
        vectors: bool = False,
    ) -> pd.DataFrame:
        """Return the human texts and a candidate's with their clusters; see :func:`mauve_core.analysis.frames.texts`.

        Parameters
        ----------
        candidate : str, optional
            May be left out if the run has only one: clusters of two candidates are others.
        """
        frame: pd.DataFrame = view("run.texts")(self, candidate, cluster=cluster, kind=kind, seed=seed, vectors=vectors)
        return frame

    def divergence(
        self,
        function: Divergence,
        *,
        kind: PartitionKind = "pairwise",
        smoothing: str = "none",
        bounds: tuple[float, float] = (0.0, float("inf")),
    ) -> dict[str, Estimate]:
        """Apply a divergence of your own; see :func:`mauve_core.scoring.estimates.divergence`."""
        return self.comparison.divergence(function, kind=kind, smoothing=smoothing, bounds=bounds)

    def figure(self, name: str, **settings: Any) -> Any:
        """Draw a figure; arguments as in :func:`mauve_core.figures.by_name.figure`."""
        return view("figure")(self, name, **settings)

    def save(self, path: str | Path, *, ratings: bool = True) -> Path:
        """Write the run to one file; see :func:`mauve_core.experiments.saved_runs.save_run`."""
        file: Path = view("run.save")(self, path, ratings=ratings)
        return file

    def log(self, to: str, *, project: str | None = None, texts: bool = False) -> Any:
        """Log the run to an experiment tracker, ``wandb`` or ``mlflow``, and return where it went.

        See :func:`mauve_core.reporting.trackers.log_run.log_run`. Texts, which may be private, are logged only with
        ``texts``.
        """
        return view("run.log")(self, to, project=project, texts=texts)

    def open(self, port: int | None = None) -> Any:
        """Start the app on this run and return at once; see :func:`mauve_core.cli.app_process.open_run`.

        The app runs until ``close()`` of what is returned, or until Python ends.
        """
        return view("run.open")(self, port)
