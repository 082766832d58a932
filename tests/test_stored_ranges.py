"""Every leaf of every stored document, one at a time of another type, out of range or of another length, is refused.

What is not refused stands in ``FREE`` with its reason, so that a field without a range is noticed.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.experiments.documents import DOCUMENTS, check_documents
from mauve_core.jobs import queue
from mauve_core.jobs.state import STATE, read_state
from mauve_core.store import Run, RunStore
from mauve_core.store.folder import read_record
from tests.job_folders import job
from tests.mutations import leaves, make_full_run, swapped

NUMBERS: dict[str, Any] = {"low": -1e30, "minus": -0.5, "fraction": 1.5, "high": 1e30, "huge": 10**30}
TYPES: dict[str, Any] = {"nan": float("nan"), "inf": float("inf"), "text": "x", "list": [], "object": {}, "true": True}

ABOVE = {"fraction", "high", "huge"}
ANY = {*NUMBERS, *TYPES} - {"nan", "inf"}
ROWS = {"longer", "shorter"}
EXTRA = {"extra"}

FREE: dict[str, tuple[set[str], str]] = {
    "comparison: *.objective": (ABOVE, "a sum of squares has no upper end"),
    "comparison: *.scale": (ABOVE, "a setting: any positive number"),
    "comparison: *.seconds*": ({*ABOVE, *EXTRA}, "a stage took what it took; stages have no fixed names"),
    "comparison: *.environment": (EXTRA, "versions and devices have no fixed names"),
    "comparison: *.normalized": ({"list"}, "no step"),
    "comparison: *.warnings": (ROWS, "sentences"),
    "comparison: *.like_for_like": ({"shorter"}, "a candidate may lack these scores"),
    "*differences.#.low": ({"minus"}, "in the range of a difference, and before its end"),
    "*differences.#.joint_difference": ({"minus"}, "in the range of a difference"),
    "about: ": (EXTRA, "not read"),
    "about: name": ({"text"}, "a name"),
    "*: tags": (ROWS, "words"),
    "*: notes": (ROWS, "sentences"),
    "*: rows": ({"shorter"}, "a row that is missing is not shown"),
    "attributes: rows.#.by_value": ({"shorter"}, "a value that is missing is not shown"),
    "*: points": ({"shorter"}, "a point that is missing is not shown"),
    "*: results": ({"shorter"}, "a result that is missing is not shown"),
    "*: orders": (ROWS, "a pair that is missing is not shown, and one that stands twice says the same twice"),
    "probes: lines": ({"shorter"}, "a line that is missing is not shown"),
    "measures: differences": ({"shorter"}, "a test that is missing is not shown"),
    "measures: differences.#.low": ({"low", "minus"}, "as far as the interval says the same as the p-value"),
    "measures: differences.#.high": (ABOVE, "as far as the interval says the same as the p-value"),
    "neighbours: rows.#.gap.high": ({"fraction"}, "as far as the standard deviation allows"),
    "methods: results.#.seconds": (ABOVE, "an estimator took what it took"),
    "encoders: results.#.encoder": ({"object"}, "an encoder with the default settings"),
    "positions: *.revision": ({"text"}, "a name"),
    "sweep-scale: points.#.value": (ABOVE, "any positive constant"),
    "shards: sides.#.left_out": (EXTRA, "a reason to leave texts out, counted"),
    "shards: *.objectives.#": ({*ABOVE, "fraction"}, "a sum of squares has no upper end"),
    "shards: encoder": ({"object"}, "an encoder with the default settings"),
    "shards: score.scale": ({"fraction"}, "a setting: any positive number"),
    "shards: passes": (ROWS, "what a pass took is not shown in the app"),
    "shards: passes.#.seconds": ({*ABOVE, "fraction"}, "a pass took what it took"),
    "shards-clusters: *.clusters": ({"shorter"}, "a cluster that is missing is not shown"),
    "shards-clusters: *.effect": ({"fraction"}, "prompts may make texts alike by so much"),
    "shards-clusters: *.phrases": ({"shorter"}, "a phrase that is missing is not shown"),
    "*: settings*": ({*ANY, *EXTRA}, "what a result was made with, shown as it is or compared with what is asked for"),
}
"""By document and place: the changes that may pass, and why they show no wrong number."""


def changes(document: Any) -> Iterator[tuple[str, str, Any]]:
    """(place with # for an index, name of the change, the changed document)."""
    for place in leaves(document):
        value, words = document, []
        for key in place:
            words.append("#" if isinstance(key, int) else key)
            value = value[key]
        name = ".".join(words)
        for kind, other in ({**NUMBERS, **TYPES} if type(value) in (int, float) else TYPES).items():
            if type(other) is not type(value) or type(value) is float:
                yield name, kind, swapped(document, place, other)
        if isinstance(value, list) and value:
            yield name, "longer", swapped(document, place, [*value, copy.deepcopy(value[-1])])
            yield name, "shorter", swapped(document, place, value[:-1])
        if isinstance(value, dict):
            yield name, "extra", swapped(document, place, {**value, "no such entry": 1})


def passed(path: Path, read: Callable[[], object]) -> dict[str, set[str]]:
    """The changes of a document that reading does not refuse, by place; any other exception than ours escapes."""
    original, found = path.read_bytes(), defaultdict(set)
    read()
    try:
        for place, kind, document in changes(json.loads(original)):
            path.write_text(json.dumps(document))
            try:
                read()
            except MauveLensError:
                continue
            found[place].add(kind)
    finally:
        path.write_bytes(original)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    home = tmp_path_factory.mktemp("full")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        yield make_full_run(home)


def documents(run: Run) -> dict[str, tuple[Path, Callable[[], object]]]:
    """Path and reader of each document of the run and of the home around it."""

    def opened() -> object:
        read_record(run.path)  # refuses most, and is quick
        return RunStore(run.path.parent).load(run.id)

    attached = {path.stem: path for path in sorted((run.path / "attached").glob("*.json"))}
    return {
        "comparison": (run.path / "comparison.json", opened),
        "about": (run.path / "about.json", opened),
        **{name: (path, lambda name=name: DOCUMENTS[name](run)) for name, path in attached.items()},  # type: ignore[misc]
    }


@pytest.mark.trial
def test_what_is_not_refused_shows_no_wrong_number(run: Run) -> None:
    unused = set(FREE)
    for name, (path, read) in documents(run).items():
        for place, kinds in passed(path, read).items():
            free = {pattern for pattern in FREE if fnmatchcase(f"{name}: {place}", pattern)}
            allowed = set().union(*(FREE[pattern][0] for pattern in free))
            assert kinds <= allowed, f"{name}: {place} may be {', '.join(sorted(kinds - allowed))}"
            unused -= free
    assert not unused, "each of these is refused by now"


def test_every_document_of_a_run_is_among_them(run: Run) -> None:
    assert {path.stem for path in (run.path / "attached").iterdir()} <= set(DOCUMENTS)
    attached = {name for name in documents(run) if name in DOCUMENTS}
    assert {name for name in DOCUMENTS if not name.startswith("sweep-")} <= attached


def test_a_damaged_document_is_not_imported(run: Run, tmp_path: Path) -> None:
    store, path = RunStore(run.path.parent), run.path / "attached" / "methods.json"
    original = path.read_bytes()
    values = json.loads(original)
    values["results"][0]["scores"]["close"]["p_value"] = 2
    try:
        path.write_text(json.dumps(values))
        archive = store.export(run.id, tmp_path)
    finally:
        path.write_bytes(original)
    with pytest.raises(InputError, match=r"attached/methods.json: .*p_value.* cannot be used"):
        store.import_(archive, check=check_documents)
    assert [line.id for line in store.list()] == [run.id]


def test_a_job_counts_nothing_negative(own_home: Path) -> None:
    with job(1, status="done", done=3, total=5) as state:
        path = queue.jobs_folder() / state.id / STATE
        found = passed(path, lambda: read_state(path.parent))
    assert found == {"run": {"text"}}, "the name of a run"
