"""The one pipeline: a human corpus P and any number of candidates Q -> a Comparison.

Texts become features, features become clusters (pairwise as published, and jointly so that clusters are comparable
across candidates), clusters become histograms, histograms become scores with their spread: a standard deviation over
k-means seeds and a bootstrap interval over texts. NeurIPS 2021 algorithm 1; JMLR 2023 sections 4.1 and 8.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.names import require_text
from mauve_core.base.progress import Progress, silent
from mauve_core.corpus import Corpus
from mauve_core.encoders.external_features import Given, checked_digest, features_of, require_one_width
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.numerics.feature_space.reduction import Side, reduce_sides
from mauve_core.numerics.feature_space.stacked import require_usable
from mauve_core.scoring.advice import advice
from mauve_core.scoring.estimates import rescored, score_basis, stream
from mauve_core.scoring.partitioning import clustering_seeds, grouped_partitions, human_halves, measured
from mauve_core.scoring.replicates import require_room
from mauve_core.scoring.result import OTHER_HALF, Candidate, Comparison, Partition, Source

MIN_TEXTS = 20
"""Fewest texts on a side: below it, not even two clusters would have ten texts each."""

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "mauve-lens")
_ENCODER_LIBRARIES = ("torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class _Encoded:
    """One side on its way through the pipeline."""

    source: Source
    features: NDArray[np.floating]


def compare(
    human: Corpus,
    candidates: Mapping[str, Corpus],
    config: CompareConfig | None = None,
    *,
    features: Mapping[str, Given] | None = None,
    known: Mapping[str, Source] | None = None,
    feature_store: FeatureStore | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> Comparison:
    """Score every candidate against the human corpus.

    Parameters
    ----------
    human : Corpus
        The reference side, P.
    candidates : mapping of str to Corpus
        The candidates, Q, by the name they are shown under; ``human`` is taken.
    config : CompareConfig, optional
    features : mapping of str to (n, d) array or path, optional
        Features of every side, ``human`` included, in the order of its texts; ``config.encoder`` must then be None.
        Any precision; memory maps and the paths of .npy files are read by blocks.
    known : mapping of str to Source, optional
        What an earlier comparison says of every side, where the given features are those of its texts; then
        ``config.encoder`` is the one that made them.
    feature_store : FeatureStore, optional
        Where features are kept between runs; None keeps nothing.
    device : str
        "auto", "cpu", "cuda", ...
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    InputError
        Too few texts, a name used twice, features that do not fit, all texts equal, an unknown model.
    StorageError
        The disk refuses while features are being kept; finished parts stay.
    """
    config = config or CompareConfig()
    _check_sides(human, candidates, config, features, known)
    clock = _Clock()
    corpora = {HUMAN: human, **candidates}
    if features is None:
        encoded, used_device = _encode_all(corpora, config, feature_store, device, progress)
    else:
        encoded, used_device = _take_features(corpora, features, known), "none: features were given"
    clock.lap("encoding")
    on = _clustering_device(device, used_device)
    sides = measured({name: side.features for name, side in encoded.items()})
    pairwise, joint = _partition_all(sides, config, on, progress)
    halves, why_not = _halves(encoded[HUMAN], next(iter(pairwise.values()))[0].k, config, on, progress)
    clock.lap("clustering")
    projection, fitted = _map_of(sides, joint[0], config, progress)
    clock.lap("projection")
    comparison = Comparison(
        human=encoded[HUMAN].source,
        candidates=tuple(Candidate(encoded[name].source, {}, {}, pairwise[name]) for name in candidates),
        joint=joint,
        config=config,
        warnings=why_not,
        environment={},
        projection=projection,
        halves=halves,
        map_fitted=fitted,
    )
    libraries = _LIBRARIES + (_ENCODER_LIBRARIES if features is None else ())
    return _finish(comparison, corpora, used_device, libraries, clock, progress)


def _finish(
    comparison: Comparison,
    corpora: Mapping[str, Corpus],
    device: str,
    libraries: Sequence[str],
    clock: _Clock,
    progress: Progress,
) -> Comparison:
    """Fill in scores, advice and circumstances."""
    kinds: tuple[PartitionKind, ...] = ("pairwise", "joint")
    for done, kind in enumerate(kinds):
        progress("scoring", done, len(kinds))
        basis = score_basis(comparison, kind, "none")
        comparison = rescored(comparison, kind, basis, comparison.config.score.scale)
    progress("scoring", len(kinds), len(kinds))
    clock.lap("scoring")
    return dataclasses.replace(
        comparison,
        warnings=(*advice(comparison.sources, corpora, comparison.config), *comparison.warnings),
        environment=_environment(libraries, device, clock),
    )


def _check_sides(
    human: Corpus,
    candidates: Mapping[str, Corpus],
    config: CompareConfig,
    features: Mapping[str, Given] | None,
    known: Mapping[str, Source] | None,
) -> None:
    if not candidates:
        raise InputError("There is nothing to compare with", allowed="at least one candidate")
    for name in candidates:
        require_text(name, "candidate")
        if not name.strip() or name == HUMAN:
            raise InputError("A candidate cannot have this name", allowed=f"any but {HUMAN!r}", received=repr(name))
    for name, corpus in {HUMAN: human, **candidates}.items():
        if not isinstance(corpus, Corpus):
            todo = "Make one of a list or a column with corpus_from_texts, or of a file with read_corpus"
            received = type(corpus).__name__
            raise InputError(f"The side {name!r} is no corpus", allowed="Corpus", received=received, todo=todo)
        if len(corpus) < MIN_TEXTS:
            raise InputError(
                f"The side {name!r} ({corpus.origin}) has too few texts to cluster",
                allowed=f"at least {MIN_TEXTS}; 1,000 or more before small gaps mean anything",
                received=f"{len(corpus)}",
            )
    require_room(config.score, [len(human), *map(len, candidates.values())])
    if known is None and (features is None) == (config.encoder is None):
        raise InputError(
            "Features and encoder settings exclude each other",
            allowed="an encoder, or features for every side with config.encoder = None",
        )
    for name, corpus in {HUMAN: human, **candidates}.items():
        if known is not None and (features is None or name not in known or known[name].digest != corpus.digest):
            raise InputError(f"What is known of {name!r} is not of these texts", allowed="their features and source")


def _encode_all(
    corpora: Mapping[str, Corpus], config: CompareConfig, store: FeatureStore | None, device: str, progress: Progress
) -> tuple[dict[str, _Encoded], str]:
    from mauve_core.encoders import Encoder

    if config.encoder is None:
        raise InputError("No encoder was chosen")
    encoder = Encoder(config.encoder, device=device)
    encoded = {}
    used_device = device
    for name, corpus in corpora.items():

        def tell(stage: str, done: int, total: int, name: str = name) -> None:
            progress(f"{stage} of {name}", done, total)

        found = encoder.encode(corpus.encoder_inputs(config.encoder.with_prompt), store=store, progress=tell)
        median, cut = float(np.median(found.lengths)), int(found.cut.sum())
        source = _source(name, corpus, found.key, tokens_median=median, cut=cut, notes=found.notes)
        require_usable(found.array, name=f"features of {name!r}", ids=corpus.ids)
        encoded[name] = _Encoded(source, found.array)
        used_device = found.device
    return encoded, used_device


def _take_features(
    corpora: Mapping[str, Corpus], features: Mapping[str, Given], known: Mapping[str, Source] | None
) -> dict[str, _Encoded]:
    if set(features) != set(corpora):
        raise InputError(
            "Features must be given for every side and no other",
            allowed=", ".join(corpora),
            received=", ".join(features),
        )
    arrays = {name: features_of(name, corpus, features[name]) for name, corpus in corpora.items()}
    require_one_width(arrays)
    encoded = {}
    for name, corpus in corpora.items():
        key = checked_digest(name, corpus, arrays[name])
        source = _source(name, corpus, key, tokens_median=None, cut=0) if known is None else known[name]
        encoded[name] = _Encoded(source, arrays[name])
    return encoded


def _source(
    name: str, corpus: Corpus, key: str, *, tokens_median: float | None, cut: int, notes: tuple[str, ...] = ()
) -> Source:
    return Source(
        name=name,
        n=len(corpus),
        origin=corpus.origin,
        digest=corpus.digest,
        features_key=key,
        tokens_median=tokens_median,
        cut=cut,
        notes=(*corpus.notes, *notes),
    )


def _clustering_device(asked: str, used: str) -> str:
    """Where k-means runs: on the CUDA device that was asked for or that the encoder found, else on the CPU."""
    return next((name.split("+")[0] for name in (used, asked) if name.startswith("cuda")), "cpu")


def _partition_all(
    sides: Mapping[str, Side], config: CompareConfig, device: str, progress: Progress
) -> tuple[dict[str, tuple[Partition, ...]], tuple[Partition, ...]]:
    """Pairwise partitions of each candidate, and the joint ones, a partition a seed."""
    names = [name for name in sides if name != HUMAN]
    joint_seeds, pairwise_seeds = clustering_seeds(config.score, len(names))
    total, done = (1 + len(names)) * config.score.seeds, 0

    def advance() -> None:
        nonlocal done
        done += 1
        progress("clustering", done, total)

    progress("clustering", 0, total)
    joint = grouped_partitions("joint", {"": sides}, {"": joint_seeds}, config.score, advance, device)[""]
    pairs = {name: {HUMAN: sides[HUMAN], name: sides[name]} for name in names}
    seeds = dict(zip(names, pairwise_seeds, strict=True))
    pairwise = grouped_partitions("pairwise", pairs, seeds, config.score, advance, device)
    return pairwise, joint


def _halves(
    human: _Encoded, k: int, config: CompareConfig, device: str, progress: Progress
) -> tuple[Candidate | None, tuple[str, ...]]:
    """The human texts against themselves, without scores yet; or None and why."""
    if human.source.n < 2 * MIN_TEXTS:
        why = f"{human.source.n} human texts are too few to hold one half of them against the other."
        return None, (why,)
    done, total = 0, config.score.seeds

    def advance() -> None:
        nonlocal done
        done += 1
        progress("clustering human halves", done, total)

    progress("clustering human halves", 0, total)
    try:
        found = human_halves(human.features, k, config.score, advance, device)
    except InputError as error:
        return None, (f"One half of the human texts cannot be held against the other: {error}",)
    return Candidate(dataclasses.replace(human.source, name=OTHER_HALF, n=human.source.n // 2), {}, {}, found), ()


def _map_of(
    sides: Mapping[str, Side], joint: Partition, config: CompareConfig, progress: Progress
) -> tuple[NDArray[np.float32] | None, int | None]:
    """Positions of all texts, and on how many the map was fitted; every source and joint cluster has some of these."""
    if not config.projection:
        return None, None
    from mauve_core.numerics.feature_space.projection import map_of

    seed = int(stream(config.score.seed, "projection").generate_state(1)[0])
    reduced = reduce_sides(list(sides.values()), explained_variance=config.score.explained_variance).array
    strata = np.concatenate([joint.labels[name] + place * joint.k for place, name in enumerate(sides)])
    found = map_of(reduced, strata, seed=seed, progress=lambda *state: progress("drawing the map", *state))
    return found.positions, found.fitted


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, stage: str) -> None:
        now = time.monotonic()
        self.seconds[stage] = round(now - self._last, 3)
        self._last = now


def _environment(libraries: Sequence[str], device: str, clock: _Clock) -> dict[str, Any]:
    return {
        "started": clock.started,
        "seconds": clock.seconds,
        "device": device,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in libraries}},
    }
