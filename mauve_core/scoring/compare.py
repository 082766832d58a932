"""The pipeline: one human corpus P and any number of candidates Q become a Comparison.

Texts become features; features become clusters, both pairwise as published and jointly so that clusters are comparable
across candidates; clusters become histograms; histograms become scores. Each score has a standard deviation over
k-means seeds and a bootstrap interval over texts. NeurIPS 2021, algorithm 1; JMLR 2023, sections 4.1 and 8.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.extras import require_map
from mauve_core.base.progress import Progress, ProgressChoice, progress_for, silent
from mauve_core.clusters.reduction import Side, reduce_sides
from mauve_core.encoders.devices import first_gpu
from mauve_core.encoders.external_features import FeaturesOrPath
from mauve_core.encoders.features import FeatureStore
from mauve_core.scoring.differences import differences_of
from mauve_core.scoring.estimates import scored
from mauve_core.scoring.partitioning import partition_all
from mauve_core.scoring.result import OTHER_HALF, Candidate, Comparison, Partition, Source
from mauve_core.scoring.settings import (
    CLUSTERED_BY,
    Encoding,
    OwnClustering,
    name_of,
    require_clustering,
    settled,
    with_precision,
)
from mauve_core.scoring.sides import (
    advice,
    check_sides,
    checked_corpora,
    encode_by,
    encode_sides,
    require_skippable,
    take_features,
)
from mauve_core.scoring.streams import splits_of, stream
from mauve_core.texts.building import Texts
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.pairing import content_codes, group_codes, keys_of, matching

# Progress stage.
DRAWING = "drawing the map"

# Key of the environment: where features were clustered and labels counted.
CLUSTERING_DEVICE = "clustering_device"

# The device of a comparison begins with this if its features came from elsewhere.
NOTHING_ENCODED = "none"

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "mauve-lens")
_ENCODER_LIBRARIES = ("torch", "transformers", "tokenizers")


def compare(
    human: Texts,
    candidates: Mapping[str, Texts],
    config: CompareConfig | None = None,
    *,
    encoder: Encoding | None = None,
    encoder_name: str | None = None,
    clustering: OwnClustering | None = None,
    k: int | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    features: Mapping[str, FeaturesOrPath] | None = None,
    known: Mapping[str, Source] | None = None,
    feature_store: FeatureStore | None = None,
    device: str = "auto",
    progress: ProgressChoice = "auto",
    draw_map: bool = True,
    skip_unencodable: bool = False,
) -> Comparison:
    """Score every candidate against the human corpus.

    Parameters
    ----------
    human : Corpus, path, list, column or table
        The reference side, P; see :func:`mauve_core.texts.building.as_corpus`.
    candidates : mapping of str to the same
        The candidates, Q, by display name; ``human`` is reserved.
    config : CompareConfig, optional
        All settings. The usual ones can be given by themselves instead; each in one place.
    encoder : str, EncoderConfig, callable or object with ``encode``, optional
        The model by name or with its settings. Or a function from a list of n texts to an (n, d) array, or an object
        with such a method, as sentence-transformers has: these get the texts without prompts, and their features are
        not kept in a store.
    encoder_name : str, optional
        What a function's or an object's features, or given ones, are known as. Without it their origin is unknown.
        Runs rank together only where names and the features of the human texts are equal.
    clustering : callable or object with ``fit_predict``, optional
        Clusters in place of k-means: a function of (n, d) features, k and a seed, or an object as of scikit-learn, with
        k and the seed set; see :mod:`mauve_core.scoring.settings`. Such a comparison cannot be stored.
    k, seeds, seed : int, optional
        As in :class:`mauve_core.base.config.ScoreConfig`, which has the defaults.
    features : mapping of str to (n, d) array or path, optional
        Features of every side, ``human`` included, in the order of its texts; instead of an encoder. Any precision;
        memory maps and paths of .npy files are read in blocks. Tables and other files are as in
        :mod:`mauve_core.encoders.external_features`.
    known : mapping of str to Source, optional
        Every side's source in the earlier comparison whose features are given; ``config.encoder`` then names the
        encoder that made them.
    feature_store : FeatureStore, optional
        Keeps features between runs; None keeps nothing.
    device : str
        "auto", "cpu", "cuda", ...
    progress : callable or {"auto", "tqdm", "console", "none"}
        A function that is called with (stage, done, total), or which one; see
        :data:`mauve_core.base.progress.ProgressChoice`.
    draw_map : bool
        False leaves the map to :func:`mapped` even if ``config.projection`` asks for it: it takes longer than the
        scores.
    skip_unencodable : bool
        Leave out texts that the encoder refuses because it has no vector for anything in them; they are counted in the
        notes of their side. Without it, they are an error.

    Raises
    ------
    InputError
        Too few texts, a name used twice, features that do not fit, all texts equal, or an unknown model.
    StorageError
        The disk refuses while features are being stored; finished parts stay.

    Examples
    --------
    >>> import numpy as np
    >>> from mauve_core import compare
    >>> rng = np.random.default_rng(0)
    >>> texts = {name: [f"{name} {number}" for number in range(40)] for name in ("human", "greedy")}
    >>> features = {"human": rng.normal(size=(40, 8)), "greedy": rng.normal(1, size=(40, 8))}
    >>> result = compare(texts["human"], {"greedy": texts["greedy"]}, features=features, seeds=3, draw_map=False)
    >>> result["greedy"]["mauve"]
    <Estimate 0... ± 0... (0... to ...), 3 seeds>
    """
    progress = progress_for(progress)
    if clustering is not None:
        require_clustering(clustering)
    given, named = features is not None, config is not None or encoder is not None
    config, function = settled(config, encoder, encoder_name, given=given, k=k, seeds=seeds, seed=seed)
    require_skippable(skip_unencodable, not given and function is None)
    if config.projection and draw_map:
        require_map()
    clock = _Clock()
    corpora = checked_corpora(human, candidates, config, features, known, function)
    if not named and config.encoder is not None:
        config = dataclasses.replace(config, encoder=EncoderConfig(model=kind_of(corpora[HUMAN].kind).model))
    config = with_precision(config, device, given=given)
    if function is not None:
        encoded, used_device = encode_by(function, corpora, progress), f"{NOTHING_ENCODED}: features of a function"
    elif features is None:
        encoded, used_device = encode_sides(
            corpora, config, feature_store, device, progress, skip_unencodable=skip_unencodable
        )
        if skip_unencodable:
            corpora = {name: side.corpus for name, side in encoded.items()}
            check_sides(corpora[HUMAN], {name: corpora[name] for name in candidates}, config, None, None)
    else:
        encoded, used_device = take_features(corpora, features, known), f"{NOTHING_ENCODED}: features were given"
    clock.lap("encoding")
    arrays = {name: side.features for name, side in encoded.items()}
    generations = {name: corpora[name].generation_codes for name in candidates if corpora[name].generation_codes.any()}
    texts = {name: side.source.n_scored for name, side in encoded.items()}
    (codes, matched_by), used = matching(keys_of(corpora)), array_device(device)
    comparison = Comparison(
        human=encoded[HUMAN].source,
        candidates=tuple(Candidate(encoded[name].source, {}, {}, ()) for name in candidates),
        joint=(),
        config=config,
        warnings=(),
        environment={},
        prompts_by=matched_by,
        prompts=None if matched_by is None else codes,
        generations=generations,
        groups=group_codes(corpora),
        contents=content_codes(corpora),
    )
    drawn = splits_of(comparison)
    partitioned = partition_all(arrays, drawn, config.score, used, progress, texts, generations, clustering)
    clock.lap("clustering")
    reference, why = encoded[HUMAN].source, partitioned.why_no_halves
    comparison = dataclasses.replace(
        comparison,
        candidates=tuple(
            dataclasses.replace(each, partitions=partitioned.pairwise[each.name]) for each in comparison.candidates
        ),
        joint=partitioned.joint,
        warnings=(f"No {reference.words.halves}: {why}",) if why else (),
        halves=_halves(reference, partitioned.halves),
    )
    comparison = scored(comparison, partitioned.like_for_like, progress, used)
    differences = differences_of(comparison, progress, used)
    clock.lap("scoring")
    libraries = _LIBRARIES + (_ENCODER_LIBRARIES if config.encoder is not None and not given else ())
    if used != "cpu" and "torch" not in libraries:
        libraries += ("torch",)
    comparison = dataclasses.replace(
        comparison,
        differences=differences,
        warnings=(
            *advice(comparison.sources, corpora, config),
            *_without_intervals(comparison),
            *comparison.warnings,
            *([] if clustering is None else [f"Clusters are those of {name_of(clustering)}, not of k-means."]),
        ),
        environment=_environment(libraries, kind_of(corpora[HUMAN].kind).libraries, used_device, clock)
        | {CLUSTERING_DEVICE: used}
        | ({} if clustering is None else {CLUSTERED_BY: name_of(clustering)}),
    )
    return mapped(comparison, partitioned.sides, progress, used) if config.projection and draw_map else comparison


def mapped(
    comparison: Comparison, sides: Mapping[str, Side], progress: Progress = silent, device: str = "cpu"
) -> Comparison:
    """Add the map: the positions of all texts, fitted on some of every source and cluster if there are many.

    Parameters
    ----------
    comparison : Comparison
    sides : mapping of str to Side
        From :func:`mauve_core.scoring.partitioning.measured` of all features on the device, the human side first.
    progress : callable
    device : str
        As in :func:`mauve_core.clusters.projection.map_of`.

    Returns
    -------
    Comparison
        With ``projection``, ``map_fitted`` and the seconds that they took; everything else is unchanged.
    """
    from mauve_core.clusters.projection import map_of

    clock, config, joint = _Clock(), comparison.config, comparison.joint[0]
    seed = int(stream(config.score.seed, "projection").generate_state(1)[0])
    explained = config.score.explained_variance
    reduced = reduce_sides(list(sides.values()), explained_variance=explained, device=device).on_host()
    strata = np.concatenate([joint.labels[name] + index * joint.k for index, name in enumerate(sides)])
    drawn = map_of(reduced, strata, seed=seed, device=device, progress=lambda *state: progress(DRAWING, *state))
    clock.lap("projection")
    seconds = {**comparison.environment.get("seconds", {}), **clock.seconds}
    return dataclasses.replace(
        comparison,
        config=dataclasses.replace(config, projection=True),
        projection=drawn.positions,
        map_fitted=drawn.fitted,
        environment={**comparison.environment, "seconds": seconds},
    )


def _without_intervals(comparison: Comparison) -> list[str]:
    """Say of which candidates units support no interval, and why."""
    found = {each.name: comparison.why_no_interval(HUMAN, each.name) for each in comparison.candidates}
    todo = "Where texts of one prompt are independent, leave the prompts out: --prompt-field ''"
    return [f"{name}: no interval and no test: {why}. {todo}." for name, why in found.items() if why]


def _halves(human: Source, partitions: tuple[Partition, ...]) -> Candidate | None:
    """Return human vs. human, without scores yet."""
    if not partitions:
        return None
    n = partitions[0].labels[OTHER_HALF].size
    return Candidate(dataclasses.replace(human, name=OTHER_HALF, n=n), {}, {}, partitions)


def array_device(requested: str) -> str:
    """Return the device for features and labels: the first CUDA device that was requested, or that "auto" finds.

    Otherwise it is the CPU. Features may have been encoded elsewhere, and may have been given.
    """
    named = next((name for name in requested.split(",") if name.startswith("cuda")), None)
    if named is None and requested == "auto":
        named = first_gpu()
    return named or "cpu"


class _Clock:
    def __init__(self) -> None:
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, stage: str) -> None:
        now = time.monotonic()
        self.seconds[stage] = round(now - self._last, 3)
        self._last = now


def _environment(libraries: Sequence[str], of_kind: Sequence[str], device: str, clock: _Clock) -> dict[str, Any]:
    """What the comparison ran on; ``of_kind``, which read the items, need not be there for items of a stored run."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in libraries}}
    for name in of_kind:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "started": clock.started,
        "seconds": clock.seconds,
        "device": device,
        "versions": versions,
    }
