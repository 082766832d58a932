"""Compare a stored run's texts again with other settings, normalized, or without some candidates.

The texts are the run's own. With an unchanged encoder, so are the features, so a run from another machine needs no
encoder here. Otherwise, or if the texts are normalized, they are encoded, or their features are found in the feature
store.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, silent
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features, without_features
from mauve_core.tasks.base import NewRunTask, Stored, unheeded
from mauve_core.tasks.comparison import compare_and_store
from mauve_core.texts.normalizing import normalize
from mauve_core.texts.normalizing_steps import parse_steps

# Encoder settings whose meaning depends on the model.
OF_THE_MODEL = ("revision", "pooling", "layer")


@dataclass(frozen=True)
class RecompareTask(NewRunTask):
    """A comparison of a run's texts with other settings.

    Attributes
    ----------
    run : str
        Id of the run with the texts.
    config : CompareConfig
        Its ``encoder`` is None only if the run's is, because its features were given.
    left_out : tuple of str
        Candidates of the run to leave out.
    device : str
    normalize : tuple of str or None
        Steps for the texts of every side, as for :func:`mauve_core.texts.normalizing.normalize`.
    """

    kind: ClassVar[str] = "again"
    kept: ClassVar[str] = "features already computed"

    run: NotBlank
    config: CompareConfig
    left_out: tuple[str, ...] = ()
    device: NotBlank = "auto"
    normalize: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if parse_steps(self.normalize or ()) and self.config.encoder is None:
            raise InputError("Normalized texts need an encoder: the run's features were given", todo="Name an encoder")

    def make(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> Run:
        """Compare and store the run.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``stored_features`` and ``compare_and_store``; an unknown candidate, or none left;
            no encoder although the run has one.
        """
        run = RunStore().load(self.run)
        names = self._sources(run)
        note = f"The {run.comparison.words.items} of run {run.id}, compared again."
        corpora = {
            name: dataclasses.replace(run.corpora[name], notes=(*run.corpora[name].notes, note)) for name in names
        }
        features = known = None
        if self.normalize:
            corpora = normalize(corpora, self.normalize, progress)
        elif self.config.encoder == run.comparison.config.encoder and self._has_features(run, names):
            own = stored_features(run)
            features = {name: own[name] for name in names}
            known = {
                source.name: dataclasses.replace(source, notes=(*source.notes, note))
                for source in run.comparison.sources
                if source.name in names
            }
        return compare_and_store(
            self.name,
            corpora,
            self.config,
            features=features,
            known=known,
            device=self.device,
            job=job,
            progress=progress,
            stored=stored,
        )

    def _sources(self, run: Run) -> list[str]:
        """Return the sources to compare, ``human`` first."""
        candidates = [candidate.name for candidate in run.comparison.candidates]
        unknown = [name for name in self.left_out if name not in candidates]
        remaining = [name for name in candidates if name not in self.left_out]
        if unknown or not remaining:
            wrong = "A candidate to leave out is not in the run" if unknown else "No candidate is left to compare"
            raise InputError(wrong, allowed=", ".join(candidates), received=", ".join(unknown or self.left_out))
        if self.config.encoder is None and run.comparison.config.encoder is not None:
            raise InputError("No encoder is given", allowed=f"{run.comparison.config.encoder.model}, or another one")
        return [HUMAN, *remaining]

    def _has_features(self, run: Run, names: list[str]) -> bool:
        """Whether the run's features exist; if nothing could make them again, loading them raises the error."""
        return self.config.encoder is None or not set(without_features(run)) & set(names)


def changed(config: CompareConfig, changes: Mapping[str, Any]) -> CompareConfig:
    """Return the settings with some replaced.

    Parameters
    ----------
    changes : mapping of str to value
        By field name of EncoderConfig (``encoder`` for its model) and ScoreConfig, and ``projection``. Another model
        takes its own revision, pooling and layer, unless they are given too.

    Raises
    ------
    InputError
        An unknown setting, an invalid value, or encoder settings without an encoder.
    """
    of_score = {item.name for item in dataclasses.fields(config.score)}
    of_encoder = {"encoder", *(item.name for item in dataclasses.fields(EncoderConfig))} - {"model"}
    unknown = sorted(set(changes) - of_score - of_encoder - {"projection"})
    if unknown:
        allowed = ", ".join(sorted(of_score | of_encoder | {"projection"}))
        raise InputError(f"No setting is named {', '.join(unknown)}", allowed=allowed)
    return CompareConfig(
        encoder=_encoder(config.encoder, {name: changes[name] for name in changes if name in of_encoder}),
        score=dataclasses.replace(config.score, **{name: changes[name] for name in changes if name in of_score}),
        projection=changes.get("projection", config.projection),
    )


def suggested_name(
    run_name: str, before: CompareConfig, after: CompareConfig, normalize: Sequence[str] | None = None
) -> str:
    """Suggest a name that states the changed settings: ``demo, k 50, seeds 3``, and the steps of normalizing."""
    parts = _departures(before.score, after.score)
    old, new = before.encoder, after.encoder
    if new is not None and old is not None and old.model == new.model:
        parts = _departures(old, new) + parts
    elif new is not None:
        parts = [new.model.rstrip("/").rpartition("/")[2], *parts]
    if normalize:
        parts.append(f"normalized {' '.join(parse_steps(normalize)).replace(':', ' ')}")
    return ", ".join([run_name, *parts]) if parts else f"{run_name}, again"


def _departures(old: EncoderConfig | ScoreConfig, new: EncoderConfig | ScoreConfig) -> list[str]:
    changed_fields = [
        item.name for item in dataclasses.fields(new) if getattr(new, item.name) != getattr(old, item.name)
    ]
    return [f"{name} {getattr(new, name)}".replace("_", " ") for name in changed_fields]


def _encoder(before: EncoderConfig | None, changes: dict[str, Any]) -> EncoderConfig | None:
    if not changes:
        return before
    model = changes.pop("encoder", None if before is None else before.model)
    if model is None:
        raise InputError(
            f"There is no encoder for {', '.join(sorted(changes))} to apply to: the run's features were given",
            todo="Name an encoder too",
        )
    if before is None:
        return EncoderConfig(model=model, **changes)
    own = {} if model == before.model else {name: getattr(EncoderConfig(), name) for name in OF_THE_MODEL}
    return dataclasses.replace(before, model=model, **{**own, **changes})
