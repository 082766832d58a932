"""MAUVE Lens: how machine-written text differs from human text, from a score to the clusters and texts behind it.

The public names are imported when they are first used, so that ``import mauve_core`` is quick and loads neither torch
nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mauve_core.config import CompareConfig, EncoderConfig, ScoreConfig
    from mauve_core.corpus import Corpus, corpus_from_texts, read_corpus
    from mauve_core.dropin import compute_mauve
    from mauve_core.encoders import encode
    from mauve_core.errors import InputError, MauveLensError, StorageError
    from mauve_core.feature_store import FeatureStore
    from mauve_core.pipeline import compare
    from mauve_core.report import to_json, to_table
    from mauve_core.result import Candidate, Comparison, Estimate, Partition
    from mauve_core.store import Run, RunStore

_HOMES = {
    "pipeline": ("compare",),
    "config": ("CompareConfig", "EncoderConfig", "ScoreConfig"),
    "corpus": ("Corpus", "corpus_from_texts", "read_corpus"),
    "dropin": ("compute_mauve",),
    "encoders": ("encode",),
    "errors": ("InputError", "MauveLensError", "StorageError"),
    "feature_store": ("FeatureStore",),
    "report": ("to_json", "to_table"),
    "result": ("Candidate", "Comparison", "Estimate", "Partition"),
    "store": ("Run", "RunStore"),
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
    "Run",
    "RunStore",
    "ScoreConfig",
    "StorageError",
    "compare",
    "compute_mauve",
    "corpus_from_texts",
    "encode",
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
