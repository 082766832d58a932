"""How a comparison is used from Python: as a collection of candidates, as data frames and as figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from mauve_core.base.arguments import named
from mauve_core.base.config import PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.views import view

if TYPE_CHECKING:
    import pandas as pd

    from mauve_core.scoring.own_divergence import Divergence
    from mauve_core.scoring.result import Candidate
    from mauve_core.scoring.spread import Estimate


class ComparisonViews:
    """Methods of :class:`mauve_core.scoring.result.Comparison` that hold no numbers of their own.

    Packages above it carry out those that return frames and figures.
    """

    candidates: tuple[Candidate, ...]

    def __getitem__(self, name: str) -> Candidate:
        """Return the candidate of that name; an UnknownNameError, which is an InputError, lists the names."""
        return named(name, {candidate.name: candidate for candidate in self.candidates}, "candidate")

    def __contains__(self, name: object) -> bool:
        """Whether a candidate has that name, or is the one given."""
        return any(name == each.name or name is each for each in self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        """Go through the candidates in the order in which they were given."""
        return iter(self.candidates)

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.candidates)

    def _ipython_key_completions_(self) -> list[str]:
        return [candidate.name for candidate in self.candidates]

    def scores(self) -> pd.DataFrame:
        """Return every score of every candidate; see :func:`mauve_core.analysis.frames.scores`."""
        frame: pd.DataFrame = view("scores")(self)
        return frame

    def pairs(self) -> pd.DataFrame:
        """Return the tests of every two candidates; see :func:`mauve_core.analysis.frames.pairs`."""
        frame: pd.DataFrame = view("comparison.pairs")(self)
        return frame

    def clusters(
        self, candidate: str | None = None, *, kind: PartitionKind = "pairwise", seed: int | None = None
    ) -> pd.DataFrame:
        """Return the clusters of a candidate; see :func:`mauve_core.analysis.frames.clusters`.

        They have no names, which are words of the texts: a comparison holds labels, a run has the texts.

        Parameters
        ----------
        candidate : str, optional
            May be left out if there is only one.
        """
        frame: pd.DataFrame = view("comparison.clusters")(self, candidate, kind=kind, seed=seed)
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
        frame: pd.DataFrame = view("comparison.ledger")(self, candidate, kind=kind, seed=seed, most=most)
        return frame

    def texts(self, *_: Any, **__: Any) -> NoReturn:
        """Raise an InputError: a comparison holds no texts, a stored run does."""
        raise InputError(
            "A comparison holds labels and scores, no texts",
            todo="Store it with its corpora, run = RunStore().save(name, comparison, corpora), then use run.texts()",
        )

    def divergence(
        self,
        function: Divergence,
        *,
        kind: PartitionKind = "pairwise",
        smoothing: str = "none",
        bounds: tuple[float, float] = (0.0, float("inf")),
    ) -> dict[str, Estimate]:
        """Apply a divergence of your own; see :func:`mauve_core.scoring.own_divergence.divergence`."""
        found: dict[str, Estimate] = view("divergence")(self, function, kind=kind, smoothing=smoothing, bounds=bounds)
        return found

    def figure(self, name: str, **settings: Any) -> Any:
        """Draw a figure; arguments as in :func:`mauve_core.figures.by_name.figure`."""
        return view("figure")(self, name, **settings)
