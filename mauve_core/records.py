"""A comparison as plain JSON values plus a few arrays, and back without losing a bit.

JSON carries names, settings and scores (Python writes a float so that it reads back equal); the labels and the map
stay arrays: ``joint``, ``pairwise-<i>`` and ``halves`` are (seeds, n) int32 with the human side first, and
``projection`` is (n, 2).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.config import HUMAN, CompareConfig, PartitionKind
from mauve_core.result import Candidate, Comparison, Estimate, Partition, Source

JOINT, PROJECTION, HALVES = "joint", "projection", "halves"


def record_of_comparison(comparison: Comparison) -> dict[str, Any]:
    """Everything of a comparison that is not an array, as JSON values."""
    return {
        "human": dataclasses.asdict(comparison.human),
        "candidates": [_record_of_candidate(candidate) for candidate in comparison.candidates],
        "joint": [_record_of_partition(partition) for partition in comparison.joint],
        "config": comparison.config.as_dict(),
        "warnings": list(comparison.warnings),
        "environment": dict(comparison.environment),
        "projection": comparison.projection is not None,
        "map_fitted": comparison.map_fitted,
        "halves": None if comparison.halves is None else _record_of_candidate(comparison.halves),
    }


def arrays_of_comparison(comparison: Comparison) -> dict[str, NDArray[Any]]:
    """The arrays that belong to the record, by key."""
    arrays: dict[str, NDArray[Any]] = {}
    names = [source.name for source in comparison.sources]
    if comparison.joint:
        arrays[JOINT] = _stack(comparison.joint, names)
    for index, candidate in enumerate(comparison.candidates):
        arrays[_pairwise(index)] = _stack(candidate.partitions, [names[0], candidate.name])
    if comparison.halves is not None:
        arrays[HALVES] = _stack(comparison.halves.partitions, [names[0], comparison.halves.name])
    if comparison.projection is not None:
        arrays[PROJECTION] = np.asarray(comparison.projection, dtype=np.float32)
    return arrays


def array_keys(record: Mapping[str, Any]) -> list[str]:
    """The keys of the arrays that belong to a record."""
    keys = [JOINT] if record["joint"] else []
    keys += [_pairwise(index) for index in range(len(record["candidates"]))]
    keys += [HALVES] if record.get("halves") else []
    return keys + ([PROJECTION] if record["projection"] else [])


def comparison_from_record(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Comparison:
    """The comparison that ``record_of_comparison`` and ``arrays_of_comparison`` took apart.

    Raises
    ------
    ValueError, KeyError, TypeError
        The two do not belong together or are damaged.
    """
    human = _source(record["human"])
    candidates = [_candidate(item, arrays[_pairwise(index)], human) for index, item in enumerate(record["candidates"])]
    sources = [human, *(candidate.source for candidate in candidates)]
    projection = arrays[PROJECTION] if record["projection"] else None
    if projection is not None and projection.shape != (sum(source.n for source in sources), 2):
        raise ValueError(f"a map of shape {projection.shape}")
    return Comparison(
        human=human,
        candidates=tuple(candidates),
        joint=_partitions("joint", record["joint"], arrays[JOINT], sources) if record["joint"] else (),
        config=CompareConfig.from_dict(record["config"]),
        warnings=tuple(record["warnings"]),
        environment=dict(record["environment"]),
        projection=projection,
        halves=_halves(record.get("halves"), arrays),
        map_fitted=record.get("map_fitted"),
    )


def _halves(item: Mapping[str, Any] | None, arrays: Mapping[str, NDArray[Any]]) -> Candidate | None:
    """None for a run that was stored before there were any."""
    if item is None:
        return None
    one_half = dataclasses.replace(_source(item["source"]), name=HUMAN)
    return _candidate(item, arrays[HALVES], one_half)


def _candidate(item: Mapping[str, Any], labels: NDArray[np.int32], human: Source) -> Candidate:
    source = _source(item["source"])
    partitions = _partitions("pairwise", item["partitions"], labels, [human, source])
    return Candidate(source, _estimates(item["scores"]), _estimates(item["joint_scores"]), partitions)


def _record_of_candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "source": dataclasses.asdict(candidate.source),
        "scores": {name: dataclasses.asdict(score) for name, score in candidate.scores.items()},
        "joint_scores": {name: dataclasses.asdict(score) for name, score in candidate.joint_scores.items()},
        "partitions": [_record_of_partition(partition) for partition in candidate.partitions],
    }


def _record_of_partition(partition: Partition) -> dict[str, Any]:
    return {"seed": partition.seed, "k": partition.k, "objective": float(partition.objective)}


def _stack(partitions: Sequence[Partition], names: Sequence[str]) -> NDArray[np.int32]:
    rows = [np.concatenate([partition.labels[name] for name in names]) for partition in partitions]
    return np.stack(rows).astype(np.int32)


def _pairwise(index: int) -> str:
    return f"pairwise-{index}"


def _source(values: Mapping[str, Any]) -> Source:
    return Source(**{**values, "notes": tuple(values["notes"])})


def _estimates(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Estimate]:
    return {name: Estimate(**{**item, "values": tuple(item["values"])}) for name, item in values.items()}


def _partitions(
    kind: PartitionKind, records: Sequence[Mapping[str, Any]], labels: NDArray[np.int32], sources: Sequence[Source]
) -> tuple[Partition, ...]:
    ends = np.cumsum([source.n for source in sources])
    if labels.dtype != np.int32 or labels.shape != (len(records), int(ends[-1])):
        raise ValueError(f"labels of shape {labels.shape} and type {labels.dtype}")
    made = []
    for record, row in zip(records, labels, strict=True):
        if row.min() < 0 or row.max() >= record["k"]:
            raise ValueError(f"labels outside 0 to {record['k'] - 1}")
        parts = np.split(row, ends[:-1])
        by_source = {source.name: part for source, part in zip(sources, parts, strict=True)}
        made.append(Partition(kind, record["seed"], record["k"], record["objective"], by_source))
    return tuple(made)
