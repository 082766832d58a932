"""MAUVE Lens: how machine-written text differs from human text, from a score to the clusters and texts behind it.

Public names are imported on first use, so ``import mauve_core`` is quick and loads neither torch nor transformers.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mauve_core.analyses.attached_results import load_run
    from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
    from mauve_core.base.errors import InputError, MauveLensError, StorageError
    from mauve_core.encoders import encode
    from mauve_core.encoders.features import FeatureStore
    from mauve_core.figures.by_name import figure
    from mauve_core.results import Results
    from mauve_core.runs import Run, RunStore
    from mauve_core.scoring.compare import compare
    from mauve_core.scoring.compute_mauve import compute_mauve
    from mauve_core.scoring.result import Candidate, Comparison, Estimate, Partition
    from mauve_core.scoring.serialization import to_json
    from mauve_core.scoring.tables import to_table
    from mauve_core.texts import Corpus, corpus_from_texts, read_corpus

_HOMES = {
    "base.config": ("CompareConfig", "EncoderConfig", "ScoreConfig"),
    "base.errors": ("InputError", "MauveLensError", "StorageError"),
    "encoders": ("encode",),
    "encoders.features": ("FeatureStore",),
    "analyses.attached_results": ("load_run",),
    "figures.by_name": ("figure",),
    "scoring.compare": ("compare",),
    "scoring.compute_mauve": ("compute_mauve",),
    "scoring.result": ("Candidate", "Comparison", "Estimate", "Partition"),
    "scoring.serialization": ("to_json",),
    "scoring.tables": ("to_table",),
    "results": ("Results",),
    "runs": ("Run", "RunStore"),
    "texts": ("Corpus", "corpus_from_texts", "read_corpus"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Candidate",
    "CompareConfig",
    "Comparison",
    "Corpus",
    "EncoderConfig",
    "Estimate",
    "FeatureStore",
    "InputError",
    "MauveLensError",
    "Partition",
    "Results",
    "Run",
    "RunStore",
    "ScoreConfig",
    "StorageError",
    "compare",
    "compute_mauve",
    "corpus_from_texts",
    "encode",
    "figure",
    "load_run",
    "read_corpus",
    "to_json",
    "to_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def _show_in_notebooks() -> None:
    """Under IPython, show a comparison as its leaderboard and divergence curves."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        formatter.for_type_by_name("mauve_core.scoring.result", "Comparison", _notebook_html)


def _notebook_html(comparison: Comparison) -> str:
    from mauve_core.figures.by_name import notebook_html

    return notebook_html(comparison)


_show_in_notebooks()
