"""Every chart of every page has its camera and a button that saves its numbers, and no chart escapes this walk."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mauve_app.components import charts
from mauve_core.analysis.attributes import Attribute
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.experiments.attributes_over_k import AttributeTable
from mauve_core.experiments.attributes_over_k.table import ATTACHMENT as ATTRIBUTES
from mauve_core.experiments.clusters_over_shards import ATTACHMENT as CLUSTERS_OVER_SHARDS
from mauve_core.experiments.over_shards import ATTACHMENT as OVER_SHARDS
from mauve_core.experiments.robustness.table import ATTACHMENT as PROBES
from mauve_core.experiments.sweeps import attachment_name, sweep_run
from mauve_core.experiments.text_measures.stored import measure_run
from mauve_core.judgments import OPTIONS, QUESTIONS, RatingStore, pair_plan
from mauve_core.reporting.spreadsheets import csv_bytes
from mauve_core.store import Run, RunStore
from mauve_core.tasks.attributes import AttributesTask
from mauve_core.tasks.compare_encoders import CompareEncodersTask
from mauve_core.tasks.compare_methods import CompareMethodsTask
from mauve_core.tasks.lengths import LengthsTask
from mauve_core.tasks.neighbours import NeighboursTask
from tests.handmade import spread
from tests.mutations import clusters_over_shards_example, over_shards_example
from tests.planted_modes import store_modes
from tests.probe_tables import table_of
from tests.tiny_models import make_gpt2
from tests.word_files import by_topic

OpenPage = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]

WALK: tuple[tuple[str, Mapping[str, str | bool], Mapping[str, str]], ...] = (
    ("compare", dict.fromkeys(("all_scores", "differences", "like_for_like"), True), {}),
    ("clusters", {"cluster_detail_tabs": "Why"}, {"cluster": "0"}),
    ("gap", {"gap_tabs": "What would close the gap"}, {"candidate": "shifted", "chosen": "0"}),
    ("gap", {"gap_tabs": "The few clusters that make up most of it"}, {"candidate": "shifted"}),
    ("map", {}, {}),
    ("texts", {}, {"find": "the"}),
    ("findings", {}, {"candidate": "collapsed"}),
    ("decoders", {"measures_ranking": True, "measures_plane": True, "measure_differences": True}, {}),
    ("decoders", {"neighbours_over_k": True, "measures_over_length": True}, {}),
    ("decoders", {}, {"run": "modes", "section": "variety"}),
    ("decoders", {}, {"section": "sweeps", "axis": "scale"}),
    ("methods", {}, {}),
    ("methods", {}, {"vary": "encoders"}),
    ("probes", {}, {}),
    ("probes", {}, {"part": "flow"}),
    ("probes", {}, {"part": "flow", "moves": "largest"}),
    ("probes", {}, {"part": "flow", "moves": "sensitivity"}),
    ("judge", {}, {"tab": "results"}),
    ("published", {}, {}),
    ("runs", {}, {"shelf": "pair", "left": "synthetic", "right": "again"}),
)
"""View, open tabs and query of every state in which a page shows a chart."""

CSV_OF = {
    "leaderboard_chart": "leaderboard_csv",
    "scores_chart": "scores_csv",
    "differences_chart": "differences_csv",
    "frontier_chart": "frontier_csv",
    "clusters_of_all_chart": "clusters_of_all_csv",
    "clusters_chart": "clusters_csv",
    "why_properties": "why_csv",
    "attributes_accuracy": "attributes_csv",
    "attributes_agreement": "attributes_csv",
    "attributes_explained": "attributes_csv",
    "gap_ledger_adds": "gap_csv_adds",
    "gap_ledger_misses": "gap_csv_misses",
    "what_if_chart": "what_if_csv",
    "greedy_chart": "greedy_csv",
    "map_chart": "map_csv",
    "texts_chart": "texts_csv",
    "findings_chart": "findings_csv",
    "measures_chart": "measures_csv",
    "variety_chart": "variety_csv",
    "measure_differences_chart": "measure_differences_csv",
    "plane_chart": "plane_csv",
    "neighbours_chart": "neighbours_csv",
    "lengths_chart": "lengths_csv",
    "sweep_chart_scale": "sweep_csv",
    "methods_chart": "methods_csv",
    "agreement_chart": "agreement_csv",
    "encoders_agreement": "encoders_agreement_csv",
    "sampling_n": "sampling_n_csv",
    "sampling_k": "sampling_k_csv",
    "probes_chart": "probes_csv",
    "probes_doses": "probes_doses_csv",
    "probe_matrix": "probe_flows_csv",
    "probe_sankey": "probe_flows_csv",
    "probe_sensitivity": "probe_sensitivity_csv",
    "judge_ranking_chart": "judge_ranking_csv",
    "pair_chart": "pair_csv",
    "published_chart": "published_csv",
    "published_settings_chart": "published_settings_csv",
}
"""A chart's key, and that of the button with its numbers, on the same page."""


@dataclass
class Seen:
    """What one run of a page showed."""

    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, Callable[[], pd.DataFrame]] = field(default_factory=dict)
    sites: set[tuple[str, int]] = field(default_factory=set)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Filled whenever a page runs."""
    found = Seen()
    show, button = charts.show_chart, charts.csv_button

    def show_chart(figure: Any, *, key: str, **options: Any) -> Any:
        frame = inspect.currentframe()
        assert frame is not None
        assert frame.f_back is not None
        found.sites.add((str(Path(frame.f_back.f_code.co_filename).relative_to(ROOT)), frame.f_back.f_lineno))
        result = show(figure, key=key, **options)
        found.charts[key] = options
        return result

    def csv_button(make: Callable[[], pd.DataFrame], *, key: str, **options: Any) -> None:
        found.tables[key] = make
        button(make, key=key, **options)

    monkeypatch.setattr(charts, "show_chart", show_chart)
    monkeypatch.setattr(charts, "csv_button", csv_button)
    return found


@pytest.fixture
def run(stored_run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The stored run with a map and with everything that can be found out about a run."""
    store = RunStore()
    places = np.random.default_rng(0).normal(size=(4 * stored_run.comparison.human.n, 2)).astype(np.float32)
    comparison = dataclasses.replace(stored_run.comparison, projection=places)
    features = {name: np.asarray(stored_run.features(name)) for name in stored_run.corpora}
    run = store.save(stored_run.id, comparison, stored_run.corpora, features)
    store.save("again", comparison, stored_run.corpora)
    store_modes("modes")
    measure_run(run, ("diversity", "recall", "length"))
    NeighboursTask(run.id, (1, 5), ("recall",)).compute()
    tokenizer = str(make_gpt2(own_home / "gpt2"))
    monkeypatch.setattr("mauve_core.experiments.text_measures.stored.DEFAULT_MODEL", tokenizer)
    LengthsTask(run.id, (4, 8), ("length",)).compute()
    CompareMethodsTask(run.id, ("kmeans", "frechet"), 2).compute()
    CompareEncodersTask(run.id, (str(by_topic(own_home / "topics.txt")),)).compute()
    found = AttributesTask(run.id, ks=(3, 6), splits=4).compute()
    number = Attribute("length", "surface", 6, 9, 0, {"r2": spread(0.4, 0.1)})
    store.attach(run.id, ATTRIBUTES, dataclass_to_json(AttributeTable((*found.rows, number), found.settings)))
    store.attach(run.id, attachment_name("scale"), dataclass_to_json(sweep_run(run, "scale")))
    part = run.comparison.joint[0]
    ids, labels = run.corpora[HUMAN].ids[::2], part.labels[HUMAN][::2]
    moved = {text_id: (int(label) + 1) % part.k for text_id, label in zip(ids[:6], labels[:6], strict=True)}
    store.attach(run.id, PROBES, dataclass_to_json(table_of(run, {"typos": moved, "typos@0.5": {}})))
    plan, ratings = pair_plan(run.corpora, rater="Ann"), RatingStore(run.ratings_path)
    for i in range(30):
        option = OPTIONS[2] if i % 5 == 4 else OPTIONS[0] if plan[i].left < plan[i].right else OPTIONS[4]
        ratings.append(plan[i].ratings(plan.rater, dict.fromkeys(QUESTIONS, option), 40.0))
    store.attach(run.id, OVER_SHARDS, dataclass_to_json(over_shards_example(run)))
    store.attach(run.id, CLUSTERS_OVER_SHARDS, dataclass_to_json(clusters_over_shards_example(run)))
    shutil.rmtree(run.path / "derived", ignore_errors=True)
    return run


def call_sites() -> set[tuple[str, int]]:
    """File and line of every call of ``show_chart`` in the app."""
    sites = set()
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "show_chart":
                sites.add((str(path.relative_to(ROOT)), node.lineno))
    return sites


@pytest.mark.slow
def test_every_chart_has_its_camera_and_its_numbers(open_page: OpenPage, run: Run, seen: Seen) -> None:
    known: set[str] = set()
    for view, tabs, query in WALK:
        seen.charts.clear()
        seen.tables.clear()
        app = open_page(f"views/{view}/{view}.py", tabs, **{"run": run.id, **query})
        assert not app.exception, view
        assert seen.charts, f"{view} {query} shows no chart"
        for key, options in seen.charts.items():
            assert options["file_name"], key
            assert options["alt"], key
            assert CSV_OF[key] in seen.tables, f"{view} shows {key} without {CSV_OF[key]}"
        for key in {CSV_OF[key] for key in seen.charts}:
            table = seen.tables[key]()
            assert len(table) > 0, key
            assert len(pd.read_csv(io.BytesIO(csv_bytes(table)))) == len(table), key
        known |= set(seen.charts)
    assert known == set(CSV_OF)
    assert seen.sites == call_sites()


def test_no_page_draws_a_chart_past_the_one_way() -> None:
    for path in (ROOT / "app").rglob("*.py"):
        if path.name != "charts.py":
            assert "plotly_chart(" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("chosen", ["PNG", "SVG"])
def test_the_camera_saves_in_the_chosen_format(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(st, "plotly_chart", lambda figure, **options: sent.update(options))
    monkeypatch.setitem(st.session_state, charts._IMAGE_FORMAT, chosen)
    charts.show_chart(object(), key="k", file_name="a/b: c")
    assert sent["config"]["toImageButtonOptions"] == {"format": chosen.lower(), "scale": 3, "filename": "a-b-c"}
