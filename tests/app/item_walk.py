"""Every page of a run of images, and every word that a page sends to the browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from mauve_core import compare, read_corpus
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.corpus.kinds import parse_perturbation
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.experiments.robustness import probe_run
from mauve_core.experiments.robustness.table import ATTACHMENT as PROBES
from mauve_core.experiments.sweeps import attachment_name, sweep_run
from mauve_core.experiments.text_measures.stored import measure_run
from mauve_core.store import Run, RunStore
from mauve_core.tasks.attributes import AttributesTask
from mauve_core.tasks.compare_methods import CompareMethodsTask
from mauve_core.tasks.neighbours import NeighboursTask
from tests.images.made import draw_images

OPEN = dict.fromkeys(
    (
        "all_scores",
        "differences",
        "like_for_like",
        "warnings",
        "measures_ranking",
        "measures_plane",
        "measure_differences",
        "neighbours_over_k",
        "measures_settings",
        "probes_settings",
        "methods_settings",
        "empty_clusters",
    ),
    True,
)
"""Folded parts, all open."""

WALK: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("compare", {}),
    ("compare", {"partition": "joint"}),
    ("compare", {"tour": "1"}),
    ("compare", {"tour": "2"}),
    ("clusters", {"tour": "3"}),
    ("probes", {"tour": "4"}),
    ("clusters", {}),
    ("clusters", {"form": "table"}),
    ("clusters", {"cluster": "0"}),
    ("clusters", {"cluster": "0", "detail": "why"}),
    ("clusters", {"cluster": "0", "detail": "words"}),
    ("clusters", {"cluster": "0", "detail": "metadata"}),
    ("gap", {}),
    ("gap", {"cluster": "0", "chosen": "0", "below": "what-if"}),
    ("gap", {"below": "few"}),
    ("map", {}),
    ("map", {"cluster": "0"}),
    ("map", {"lasso": "-100,-100;100,-100;100,100;-100,100"}),
    ("map", {"find": "dark"}),
    ("texts", {}),
    ("texts", {"find": "dark"}),
    ("findings", {}),
    ("findings", {"candidate": "dark"}),
    ("findings", {"candidate": "dark", "reference": "same"}),
    ("decoders", {}),
    ("decoders", {"section": "measures", "measure": "recall"}),
    ("decoders", {"section": "sweeps", "axis": "k"}),
    ("decoders", {"section": "variety"}),
    ("judge", {}),
    ("methods", {}),
    ("methods", {"vary": "encoders"}),
    ("probes", {}),
    ("probes", {"part": "flow"}),
    ("probes", {"part": "flow", "moves": "largest"}),
    ("probes", {"part": "flow", "moves": "sensitivity"}),
    ("probes", {"perturbation": "blur-3"}),
    ("runs", {}),
    ("runs", {"shelf": "pair", "left": "photos", "right": "again"}),
)
"""View and query of every state of a page that has something to say of a run's items."""


def make_photo_run(folder: Path) -> Run:
    """Store a run of real, darker and other real images, with a map and all that can be found out about it."""
    sides = {HUMAN: (60, 0.5), "dark": (60, 0.3), "same": (54, 0.5)}
    corpora = {
        name: read_corpus(draw_images(folder / f"side-{seed}", n, seed=seed, light=light), name=name)
        for seed, (name, (n, light)) in enumerate(sides.items())
    }
    models = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    kept = FeatureStore()
    comparison = compare(corpora[HUMAN], models, encoder="pixels", seeds=2, k=4, draw_map=False, feature_store=kept)
    features = {source.name: kept.get(source.features_key).array for source in comparison.sources}
    object.__setattr__(comparison, "projection", np.random.default_rng(0).normal(size=(174, 2)).astype(np.float32))
    store = RunStore()
    run = store.save("photos", comparison, corpora, features)
    store.save("again", comparison, corpora, features)
    measure_run(run, ("recall", "precision", "vendi"))
    NeighboursTask(run.id, (1, 5), ("recall",)).compute()
    CompareMethodsTask(run.id, ("kmeans", "frechet"), 2).compute()
    AttributesTask(run.id, ks=(3, 6), splits=2).compute()
    store.attach(run.id, attachment_name("k"), dataclass_to_json(sweep_run(run, "k", (2, 4))))
    found = probe_run(run, [parse_perturbation(spec) for spec in ("blur-3", "noise-25", "flip@0.5", "flip")], splits=2)
    store.attach(run.id, PROBES, dataclass_to_json(found))
    return run


def sent(app: AppTest) -> Iterator[str]:
    """Every string that the page sends, but keys and addresses."""
    for element in _elements(app._tree):
        proto = getattr(element, "proto", None)
        if hasattr(proto, "DESCRIPTOR") and element.type != "html":
            yield from _strings(MessageToDict(proto))
        if isinstance(frame := getattr(element, "value", None), pd.DataFrame):
            labels = {
                name: each.get("label") for name, each in json.loads(getattr(proto, "columns", "") or "{}").items()
            }
            yield from (str(labels.get(name) or name) for name in frame.columns)
            yield from map(str, frame.to_numpy().ravel())


def _elements(block: Any) -> Iterator[Any]:
    yield block
    for child in getattr(block, "children", {}).values():
        yield from _elements(child)


SILENT = {
    "id",
    "key",
    "elementId",
    "formId",
    "url",
    "queryString",
    "page",
    "pageScriptHash",
    "deltaPath",
    "urlPathname",
    "icon",
    "cssClass",
    "groupId",
    "columnOrder",
    "jsContent",
    "cssContent",
    "mime",
    "meta",
    "mode",
    "type",
}
"""Fields of Streamlit's messages that nobody reads."""


def _strings(value: Any, name: str = "") -> Iterator[str]:
    if name in SILENT or (name == "data" and isinstance(value, str)):  # a table's bytes
        return
    if isinstance(value, str):
        if value[:1] in "{[":
            try:
                yield from _strings(json.loads(value))
                return
            except ValueError:
                pass
        yield value
    elif isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _strings(each, str(inner))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _strings(each, name)


OpenPage = Callable[..., AppTest]
