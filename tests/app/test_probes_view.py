"""The Probes page: what is asked, what came out, exactly the texts that moved, and one text under the encoder."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Multiselect

from mauve_app import cache
from mauve_app.views import probes_items
from mauve_app.views.probes_items import PAGE_SIZE
from mauve_core.analyses.probe_results import ATTACHMENT, PROBE_SCORES, ProbeTable, detections, stored_probes
from mauve_core.analyses.probes import PAPER, ProbeTask, probe_run
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.config import PROBE_SPLITS as SPLITS
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.encoders import Encoder
from mauve_core.encoders.features import FeatureStore
from mauve_core.figures.probes import by_distance, flows_frame, spread_label
from mauve_core.findings.marked_texts import marked
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.perturbations import parse_perturbation, perturb
from tests.app.pages import said, url_of
from tests.probe_tables import table_of
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/probes.py"
NASTY = "*b* <img> [x](y)"


@pytest.fixture(autouse=True)
def typed_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest sends titles alone; a browser sends those of what is offered, and anything else as it was typed."""

    def sent(self: Multiselect[str]) -> list[str]:
        titles = {value: self.format_func(value) for value in self.value}
        return [title if title in self.options else value for value, title in titles.items()]

    monkeypatch.setattr(Multiselect, "values", property(sent))


@pytest.fixture
def run(stored_run: Run, own_home: Path) -> Run:
    """A copy of ``stored_run`` that may be added to, and that says it has an encoder."""
    comparison = dataclasses.replace(
        stored_run.comparison,
        config=dataclasses.replace(stored_run.comparison.config, encoder=EncoderConfig("no-such/model")),
    )
    features = {name: np.asarray(stored_run.features(name)) for name in stored_run.corpora}
    return RunStore(own_home / "runs").save(stored_run.id, comparison, stored_run.corpora, features)


@pytest.fixture
def table(run: Run) -> ProbeTable:
    """Three perturbations; the first five texts of the largest cluster go to another one, a sixth to a third one."""
    part = run.comparison.joint[0]
    ids, labels = run.corpora[HUMAN].ids[::2], part.labels[HUMAN][::2]
    big = int(np.bincount(labels, minlength=part.k).argmax())
    there = [text_id for text_id, cluster in zip(ids, labels, strict=True) if cluster == big]
    first, second = [cluster for cluster in range(part.k) if cluster != big][:2]
    moved = {**dict.fromkeys(there[:5], first), **dict.fromkeys(there[5:6], second)}
    found = table_of(run, {"shuffle-words": moved, "typos": {there[0]: first}, "typos@0.5": {}})
    RunStore().attach(run.id, ATTACHMENT, dataclass_to_json(found))
    return found


def found(elements: Any, key: str) -> Any:
    """The one widget whose key begins so."""
    (item,) = [item for item in elements if str(item.key).startswith(key)]
    return item


def choose(app: AppTest, *specs: str) -> None:
    found(app.multiselect, "probes_chosen").set_value(list(specs)).run()
    assert not app.exception


def start(app: AppTest) -> None:
    app.button(key="probes_start").click().run()
    assert not app.exception


def scores_of(app: AppTest) -> pd.DataFrame:
    """The table of all measures."""
    (shown,) = [item.value for item in app.dataframe if "half" in item.value]
    return shown


def html_of(app: AppTest) -> list[str]:
    """What stands on the page as HTML, in order; without the styles, which every page has."""
    return [element.proto.body for element in app.get("html") if not element.proto.body.startswith("<style>")]


# The form


def test_the_papers_perturbations_start_as_one_job(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    app = open_page(VIEW)
    start(app)
    assert started == [("probes", ProbeTask(run.id, tuple(item.spec for item in PAPER), splits=SPLITS))]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("typed", ["replace:/(/x/", NASTY])
def test_what_cannot_be_read_is_said_and_nothing_starts(open_page: OpenPage, typed: str) -> None:
    app = open_page(VIEW)
    choose(app, "lowercase", typed)
    assert len(app.error) == 1
    assert app.button(key="probes_start").disabled


def test_given_features_cannot_be_probed(open_page: OpenPage, stored_run: Run, own_home: Path) -> None:
    shutil.copytree(stored_run.path.parent, own_home / "runs")
    for part in ("scores", "text"):
        app = open_page(VIEW, part=part)
        assert not app.exception
        assert "made from given features" in said(app)
        assert not [item for item in app.button if item.key == "probes_start"]
        assert not app.text_area
        assert "Press" not in said(app)


# What came out


@pytest.mark.usefixtures("table")
def test_the_chosen_perturbations_texts_stand_side_by_side(open_page: OpenPage, run: Run, table: ProbeTable) -> None:
    flow = table.line("typos").flow
    assert flow is not None
    texts = dict(zip(run.corpora[HUMAN].ids, run.corpora[HUMAN].texts, strict=True))
    done = perturb([texts[i] for i in flow.ids], flow.ids, parse_perturbation("typos"), seed=0)
    changed = [i for i, other in zip(flow.ids, done.changed, strict=True) if other]
    app = open_page(VIEW, perturbation="typos")
    assert not app.exception
    assert [element.value for element in app.text if element.value in flow.ids] == changed[:PAGE_SIZE]
    assert html_of(app) == expected_html(run, flow.ids, changed[:PAGE_SIZE], "typos")
    sentences = {each.name: each.sentence for each in detections(table)}
    assert sentences["typos"] in said(app)
    app.selectbox(key="url_perturbation").set_value("shuffle-words").run()
    assert url_of(app)["perturbation"] == "shuffle-words"
    assert sentences["shuffle-words"] in said(app)
    assert html_of(app) != expected_html(run, flow.ids, changed[:PAGE_SIZE], "typos")


def test_the_table_has_the_cores_numbers_in_order(open_page: OpenPage, table: ProbeTable) -> None:
    app = open_page(VIEW, {"probes_settings": True})
    assert not app.exception
    shown = scores_of(app)
    lines = [table.control, *by_distance(table, "jensen-shannon")]
    for (_, row), line in zip(shown.iterrows(), lines, strict=True):
        for measure in PROBE_SCORES:
            assert row[measure] == spread_label(line.scores[measure])
    assert shown["half"][0] == "None (control)"
    assert shown["changed"].tolist() == ["–", *("90%" if x.kind == "perturbation" else "–" for x in lines[1:])]
    moved = {line.name: f"{len(line.flow.moved) / len(line.flow.ids):.0%}" for line in lines if line.flow}
    assert shown["moved"].tolist() == [moved.get(line.name, "–") for line in lines]
    assert "2 splits × 2 k-means seeds" in said(app)
    assert "Halves of <30> texts." in said(app)


@pytest.mark.usefixtures("run")
def test_a_damaged_table_is_said(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, ATTACHMENT, {"lines": 3})
    app = open_page(VIEW)
    assert not app.exception
    assert len(app.error) == 1
    assert app.button(key="probes_start")


# Flows


def expected_html(run: Run, flow_ids: tuple[str, ...], moved: list[str], spec: str) -> list[str]:
    """Both sides of each text of the page, perturbed here and now."""
    texts = dict(zip(run.corpora[HUMAN].ids, run.corpora[HUMAN].texts, strict=True))
    seed = run.comparison.config.score.seed
    done = perturb([texts[i] for i in flow_ids], flow_ids, parse_perturbation(spec), seed=seed)
    after = dict(zip(flow_ids, done.texts, strict=True))
    pairs = [marked(texts[text_id], after[text_id]) for text_id in moved]
    return [side for pair in pairs for side in (pair.before, pair.after)]


def test_a_flow_in_the_url_lists_exactly_the_texts_that_moved(open_page: OpenPage, run: Run, table: ProbeTable) -> None:
    flow = table.line("shuffle-words").flow
    assert flow is not None
    row = flows_frame(flow).iloc[0]
    source, target = int(row["from"]), int(row["to"])
    moved = [i for i, b, a in zip(flow.ids, flow.before, flow.after, strict=True) if (b, a) == (source, target)]
    app = open_page(VIEW, part="flow", perturbation="shuffle-words", flow=f"{source},{target}")
    assert not app.exception
    names = run_cluster_names(run, "joint", run.comparison.candidates[0].name, 0)
    titles = [f"{names[cluster]} · {cluster}" for cluster in (source, target)]
    assert f"From {titles[0]} to {titles[1]}: 5 texts" in said(app)
    shown = [element.value for element in app.text if element.value in flow.ids]
    assert shown == moved[:PAGE_SIZE]
    assert html_of(app) == expected_html(run, flow.ids, moved[:PAGE_SIZE], "shuffle-words")
    link = url_of(app) | {"sheet": "2"}
    assert html_of(open_page(VIEW, **link)) == expected_html(run, flow.ids, moved[PAGE_SIZE:], "shuffle-words")
    app.button(key="probe_flow_close").click().run()
    assert "flow" not in url_of(app)
    assert not html_of(app)


def test_probes_of_other_texts_are_an_error_not_a_crash(open_page: OpenPage, run: Run, table: ProbeTable) -> None:
    values = dataclass_to_json(table)
    flow = values["lines"][1]["flow"]
    moved = next(place for place, (b, a) in enumerate(zip(flow["before"], flow["after"], strict=True)) if b != a)
    flow["ids"][moved] = "a stranger"
    RunStore().attach(run.id, ATTACHMENT, values)
    app = open_page(VIEW, part="flow", flow=f"{flow['before'][moved]},{flow['after'][moved]}")
    assert not app.exception
    assert "made from other texts" in said(app)


# Real probes, and one text


@pytest.fixture(scope="module")
def encoded_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run of a few sentences, encoded by a tiny GPT-2, its texts full of markup."""
    home = tmp_path_factory.mktemp("encoded")
    folder = str(make_gpt2(tmp_path_factory.mktemp("model") / "tiny-gpt2"))
    words = " ".join(SENTENCES[:4]).replace(".", "").split()

    def side(name: str, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        texts = [
            ". ".join(" ".join(["The <b>", *rng.choice(words, size=5), f"{name}{i}x{s}"]) for s in range(3)) + "."
            for i in range(48)
        ]
        return corpus_from_texts(texts, name=name, ids=[f"{name}-{i}" for i in range(48)])

    corpora = {HUMAN: side(HUMAN, 1), "model": side("model", 2)}
    config = CompareConfig(EncoderConfig(folder), ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    store = FeatureStore(home / "features")
    comparison = compare(corpora[HUMAN], {"model": corpora["model"]}, config, feature_store=store, device="cpu")
    features = {source.name: store.get(source.features_key).array for source in comparison.sources}  # type: ignore[union-attr]
    run = RunStore(home / "runs").save("encoded", comparison, corpora, features)
    specs = ("lowercase", "swap-halves", "typos")
    made = probe_run(run, [parse_perturbation(spec) for spec in specs], splits=2, device="cpu", feature_store=store)
    RunStore(home / "runs").attach(run.id, ATTACHMENT, dataclass_to_json(made))
    return home


@pytest.fixture
def encoded(encoded_home: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(encoded_home))
    return RunStore().load("encoded")


@pytest.mark.parametrize("spec", ["swap-halves", "typos"])
def test_what_is_shown_as_after_is_what_was_encoded(encoded: Run, spec: str) -> None:
    """Perturbed once more, every text of the flow gets the features with which it was found in its cluster."""
    found_table = stored_probes(encoded)
    assert found_table is not None
    flow = found_table.line(spec).flow
    assert flow is not None
    after = cache.perturbed_texts(encoded.id, HUMAN, spec, flow.ids)
    texts = dict(zip(encoded.corpora[HUMAN].ids, encoded.corpora[HUMAN].texts, strict=True))
    changed = [place for place, i in enumerate(flow.ids) if after[i] != texts[i]]
    config = encoded.comparison.config.encoder
    assert config is not None
    array = Encoder(config, device="cpu").encode([after[flow.ids[place]] for place in changed]).array
    assert cache.text_space(encoded.id).clusters(list(array)) == flow.after[changed].tolist()
    unchanged = np.setdiff1d(np.arange(len(flow.ids)), changed)
    assert np.array_equal(flow.before[unchanged], flow.after[unchanged])


def lab(app: AppTest) -> AppTest:
    assert not app.exception
    return app


def test_a_text_of_the_run_is_in_its_cluster_and_not_its_own_neighbour(open_page: OpenPage, encoded: Run) -> None:
    app = lab(open_page(VIEW, part="text"))
    corpus, labels = encoded.corpora[HUMAN], encoded.comparison.joint[0].labels[HUMAN]
    app.selectbox(key="lab_id_encoded").set_value("human-7").run()
    assert app.text_area[0].value == corpus.texts[7]
    names = run_cluster_names(encoded, "joint", encoded.comparison.candidates[0].name, 0)
    title = f"{names[labels[7]]} · {labels[7]}"
    assert f"**Cluster: {title}**" in said(app) or f"in cluster {title}," in said(app)
    human, model = (item.value for item in app.dataframe)
    assert "human-7" not in human["id"].tolist()
    assert len(human) == len(model) == probes_items.NEIGHBOURS
    assert set(model["source"]) == {"model"}
    assert human["distance"].is_monotonic_increasing
    place = {text_id: row for row, text_id in enumerate(corpus.ids)}
    assert human["cluster"].tolist() == [
        f"{names[labels[place[text_id]]]} · {labels[place[text_id]]}" for text_id in human["id"]
    ]


def test_an_edited_text_has_other_neighbours_and_knows_where_it_is_from(open_page: OpenPage, encoded: Run) -> None:
    app = lab(open_page(VIEW, part="text"))
    corpus = encoded.corpora[HUMAN]
    app.selectbox(key="lab_id_encoded").set_value("human-7").run()
    before = app.dataframe[0].value["id"].tolist()
    app.text_area[0].set_value(corpus.texts[30]).run()
    assert not app.exception
    after = app.dataframe[0].value
    assert (after["id"][0], round(after["distance"][0], 6)) == ("human-30", 0)
    assert after["id"].tolist() != before
    assert "Edited version of human-7" in said(app)
    app.selectbox(key="lab_id_encoded").set_value("human-8").run()
    assert app.text_area[0].value == corpus.texts[8]


def test_a_link_has_the_text_and_what_is_done_to_it(open_page: OpenPage, encoded: Run) -> None:
    corpus = encoded.corpora["model"]
    app = lab(open_page(VIEW, part="text"))
    app.selectbox(key="lab_source_encoded").set_value("model").run()
    app.selectbox(key="lab_id_encoded").set_value(corpus.ids[5]).run()
    found(app.multiselect, "url_tried").set_value(["lowercase", "typos:rate=0.2", "what"]).run()
    other = open_page(VIEW, **url_of(app))
    assert other.text_area[0].value == app.text_area[0].value == corpus.texts[5]
    assert [item.label for item in other.expander] == [item.label for item in app.expander]
    assert found(other.multiselect, "url_tried").value == ["lowercase", "typos:rate=0.2", "what"]
    assert said(other) == said(app)
    found(app.multiselect, "url_tried").set_value([]).run()
    assert not open_page(VIEW, **url_of(app)).expander
    app.text_area[0].set_value("My own words.").run()
    assert "own" not in str(url_of(app))
    other = open_page(VIEW, part="text", source="nobody", text="99999", tried="\n".join("abcdefghijklmnopqrstuvwxyz"))
    assert not other.exception
    assert other.text_area[0].value == encoded.corpora[HUMAN].texts[0]


def test_markup_in_texts_stays_text(open_page: OpenPage, encoded: Run) -> None:
    app = lab(open_page(VIEW, part="text"))
    assert html_of(app)
    assert not any("<b>" in body for body in html_of(app))
    assert any("&lt;b&gt;" in body for body in html_of(app))


@pytest.mark.usefixtures("run")
def test_an_encoder_that_is_gone_is_said(open_page: OpenPage) -> None:
    app = lab(open_page(VIEW, part="text"))
    assert len(app.error) == 1
    assert "no-such/model" in said(app)
