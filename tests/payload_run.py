"""Stored runs in which a payload stands in every field that holds text.

Which fields there are is read from the annotations of the program's own records, so that a new one is filled without a
word here. ``RULED`` lists, with the reason, those whose text the program itself rules.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from mauve_core.analyses.attributes_over_k import AttributeTable
from mauve_core.analyses.encoders import EncoderTable
from mauve_core.analyses.measures_over_lengths import LengthTable
from mauve_core.analyses.measures_over_neighbours import NeighbourTable
from mauve_core.analyses.method_scores import MethodTable
from mauve_core.analyses.over_shards import ClustersOverAll
from mauve_core.analyses.positions import PositionTable
from mauve_core.analyses.probe_results import ProbeTable
from mauve_core.analyses.sweeps import Sweep
from mauve_core.analyses.text_measures import Measurements
from mauve_core.base.config import HUMAN, QUESTIONS, EncoderConfig
from mauve_core.base.json_codec import Written, dataclass_to_json
from mauve_core.runs import Run, RunStore
from mauve_core.runs.folder import ATTACHED, MAX_NAME, MAX_TAG, MAX_TAGS, About, RunRecord, read_run
from mauve_core.runs.ratings import OPTIONS, RatingStore, pair_plan
from mauve_core.shards.plan import ShardedComparison
from mauve_core.texts import Corpus
from tests.mutations import add_everything
from tests.synthetic import CROWD, TOPICS, make_crowd

# What stands beside a run, by the name of its file.
DOCUMENTS: Mapping[str, type] = {
    "attributes": AttributeTable,
    "encoders": EncoderTable,
    "lengths": LengthTable,
    "measures": Measurements,
    "methods": MethodTable,
    "neighbours": NeighbourTable,
    "positions": PositionTable,
    "probes": ProbeTable,
    "shards": ShardedComparison,
    "shards-clusters": ClustersOverAll,
    "sweep-scale": Sweep,
}

# Fields that hold text and no payload, and why.
RULED: Mapping[str, str] = {
    "id": "given by the program",
    "created": "a time",
    "started": "a time",
    "stage_started": "a time",
    "updated": "a time",
    "digest": "of the texts, and checked",
    "left_digest": "of the texts, and checked",
    "right_digest": "of the texts, and checked",
    "features_key": "of the features",
    "counts": "a digest",
    "engine": "one of the program's words",
    "Pass.name": "one of the program's words",
    "files": "digests of the arrays, and checked",
    "run": "the id of a run",
    "kind": "one of the program's words, checked",
    "step": "one of the program's words, checked",
    "score": "one of the program's words, checked",
    "measure": "one of the program's words, checked",
    "option": "one of the program's words, checked",
    "partition": "one of the program's words",
    "ProbeLine.name": "a perturbation, parsed by the page",
    "config": "settings, checked by their own class",
}

# What stands instead of a text in the field of that name; of a key of a mapping, without a name.
Fill = Callable[[str, str], str]


def filled(kind: Any, value: Any, fill: Fill, name: str = "") -> Any:
    """The plain JSON of a ``kind`` with every text in it changed; texts that a ``Literal`` lists stay."""
    origin, inner = get_origin(kind), get_args(kind)
    if (name in RULED and not dataclasses.is_dataclass(kind)) or origin is Literal or value is None:
        return value
    if origin is Annotated:
        return value if any(isinstance(mark, Written) for mark in inner) else filled(inner[0], value, fill, name)
    if origin in (Union, UnionType):
        (of_its_kind,) = [each for each in inner if each is not type(None)] if len(inner) == 2 else [Any]
        return filled(of_its_kind, value, fill, name)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        ruled = {key for key in hints if f"{kind.__name__}.{key}" in RULED}
        return {
            key: fill(each, "") if key in ruled else filled(hints[key], each, fill, key) for key, each in value.items()
        }
    if isinstance(value, dict):
        of_each = inner[1] if len(inner) == 2 else Any
        return {fill(key, ""): filled(of_each, each, fill, key) for key, each in value.items()}
    if isinstance(value, list):
        of_each = inner[0] if inner else Any
        return [filled(of_each, each, fill, name) for each in value]
    return fill(value, name) if isinstance(value, str) else value


def record_of_texts(kind: type, fill: Fill) -> dict[str, str]:
    """For each field of a dataclass that holds a text, and that the program does not rule, what ``fill`` says."""
    return {name: fill("", name) for name, hint in get_type_hints(kind).items() if hint is str and name not in RULED}


def make_plain_run(home: Path) -> Run:
    """The run ``crowd`` with a map and something of every kind beside it, to be written anew by :func:`rewritten`."""
    run = make_crowd(home, n=40)
    places = np.random.default_rng(0).normal(size=(40 * (CROWD + 1), 2)).astype(np.float32)
    store = RunStore(home / "runs")
    store.add_map(run, dataclasses.replace(run.comparison, projection=places))
    return store.load(add_everything(store.load(run.id), home).id)


def rewritten(run: Run, payloads: Sequence[str], run_id: str, home: Path) -> Run:
    """The same run stored under ``home`` and another id, its texts replaced by the payloads in turn.

    A candidate is called by one payload alone (and its number, where there are fewer payloads than candidates), as are
    a metadata field and its values. Every text, prompt and id begins with one.
    """
    folder = home / "runs" / run_id
    shutil.copytree(run.path, folder, ignore=shutil.ignore_patterns("derived"))
    source = _Source(payloads)
    names = [candidate.name for candidate in run.comparison.candidates]
    renamed = {name: source.name(place) for place, name in enumerate(names)}
    renamed |= {"topic": source.name(len(names)), "words": source.name(len(names) + 1)}
    renamed |= {topic: source.name(place) for place, topic in enumerate(TOPICS)}
    renamed |= {text_id: source.begun(text_id, place) for place, text_id in enumerate(run.corpora[HUMAN].ids)}

    def fill(text: str, name: str) -> str:
        return renamed.get(text) or (text if text in ("", HUMAN, run.id) or not name else source.cut(name))

    digests = {}
    for place, (name, corpus) in enumerate(run.corpora.items()):
        changed = _rewritten_corpus(corpus, renamed, source)
        changed.to_parquet(folder / f"texts-{place}.parquet")
        digests[name] = changed.digest
    record = json.loads((folder / "comparison.json").read_text())
    comparison = record["comparison"]
    for side in (comparison["human"], *(each["source"] for each in comparison["candidates"])):
        side["digest"] = digests[side["name"]]
        side["notes"] = ["a note"]
    comparison["config"]["encoder"] = dataclass_to_json(EncoderConfig("an encoder", revision="a revision"))
    comparison["warnings"] = ["a warning"]
    (folder / "comparison.json").write_text(json.dumps(filled(RunRecord, record, fill)))
    about = {"name": "a name", "tags": ["a tag"] * MAX_TAGS, "notes": "notes"}
    (folder / "about.json").write_text(json.dumps(filled(About, about, fill)))
    for path in sorted((folder / ATTACHED).glob("*.json")):
        path.write_text(json.dumps(filled(DOCUMENTS[path.stem], json.loads(path.read_text()), fill)))
    rewritten = read_run(folder)
    _rate(rewritten, source)
    return rewritten


class _Source:
    """Payloads, one after another."""

    def __init__(self, payloads: Sequence[str]) -> None:
        self._payloads = payloads
        self._next = itertools.cycle(payloads)

    def name(self, place: int) -> str:
        """One alone; after the last one with a number."""
        turn, place = divmod(place, len(self._payloads))
        return self._payloads[place] + (f" {turn}" if turn else "")

    def begun(self, text: str, place: int) -> str:
        return f"{self._payloads[place % len(self._payloads)]} {text}"

    def cut(self, name: str) -> str:
        """The next one, no longer than the field of that name may be."""
        most = {"tags": MAX_TAG, "name": MAX_NAME}.get(name)
        text = next(self._next)[:most]
        return text.replace(",", ";") if name == "tags" else text


def _rewritten_corpus(corpus: Corpus, renamed: Mapping[str, str], source: _Source) -> Corpus:
    assert corpus.prompts is not None
    frame = corpus.metadata.rename(columns=renamed)
    frame[renamed["topic"]] = frame[renamed["topic"]].map(renamed)
    return dataclasses.replace(
        corpus,
        name=renamed.get(corpus.name, corpus.name),
        texts=tuple(source.begun(text, place) for place, text in enumerate(corpus.texts)),
        ids=tuple(renamed[text_id] for text_id in corpus.ids),
        prompts=tuple(source.begun(prompt, place) for place, prompt in enumerate(corpus.prompts)),
        metadata=frame,
        origin=source.cut("origin"),
        notes=(source.cut("notes"),),
    )


def _rate(run: Run, source: _Source) -> None:
    store = RunStore(run.path.parent).load(run.id).ratings_path
    for turn in range(3):
        rater = source.name(turn)
        plan = pair_plan(run.corpora, rater=rater)
        for place in range(8):
            answers = dict.fromkeys(QUESTIONS, OPTIONS[(place + turn) % len(OPTIONS)])
            RatingStore(store).append(plan[place].ratings(rater, answers, 40.0))
