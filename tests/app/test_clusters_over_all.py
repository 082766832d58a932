"""The Clusters page of a sample of shards: clusters over all texts above those of the sample."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.markup import escaped
from mauve_app.server import access
from mauve_app.views import clusters_over_shards
from mauve_core.analyses.over_shards import ATTACHMENT as OVER_SHARDS
from mauve_core.analyses.over_shards import (
    CLUSTERS_ATTACHMENT,
    ClusterOverAll,
    ClustersOverAll,
    clusters_over_all,
    share_label,
    share_table,
    store_sample,
    stored_clusters_over_all,
)
from mauve_core.base import sharing
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import RefusedError
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.runs import Run, RunStore
from mauve_core.shards.cluster_texts import KeptText, texts_of_cluster
from mauve_core.shards.plan import Work, plan_of
from tests.mutations import clusters_over_shards_example, over_shards_example
from tests.payloads import PAYLOADS
from tests.sharded import SCORE, carried_out, made_texts, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/clusters.py"
SAMPLE = "Clusters of the run"


@pytest.fixture
def run(run: Run) -> Run:
    """That copy, as a sample of shards."""
    RunStore().attach(run.id, OVER_SHARDS, dataclass_to_json(over_shards_example(run)))
    return run


def told(run: Run) -> ClustersOverAll:
    """Clusters whose texts say of which side, cluster and way they are."""

    def of(text: KeptText, what: str) -> KeptText:
        return dataclasses.replace(text, id=f"id of {what}", text=f"text of {what}")

    whole = clusters_over_shards_example(run)
    candidates = []
    for candidate in whole.candidates:
        clusters = []
        for cluster in candidate.clusters:
            sides = {}
            for name, side in (("human", cluster.human), ("model", cluster.model)):
                kept = {
                    way: tuple(
                        of(each, f"{candidate.name} {cluster.number} {name} {way}") for each in getattr(side, way)
                    )
                    for way in ("nearest", "random")
                }
                sides[name] = dataclasses.replace(side, **kept)
            clusters.append(dataclasses.replace(cluster, **sides))
        candidates.append(dataclasses.replace(candidate, clusters=tuple(clusters)))
    return ClustersOverAll(tuple(candidates))


def attach(run: Run, clusters: ClustersOverAll) -> None:
    RunStore().attach(run.id, CLUSTERS_ATTACHMENT, dataclass_to_json(clusters))


def headers(app: AppTest) -> list[str]:
    return [header.value for header in app.header]


def texts(app: AppTest) -> list[str]:
    return [text.value for text in app.text if text.value.startswith("text of")]


def test_the_sentence_says_what_is_over_and_under_produced(open_page: OpenPage, run: Run) -> None:
    attach(run, told(run))
    app = open_page(VIEW, candidate="shifted")
    assert not app.exception
    assert headers(app).index("Clusters over all texts") < headers(app).index(SAMPLE)
    table = share_table(over_shards_example(run), told(run)["shifted"])
    adds, misses = table.iloc[0], table.iloc[1]
    assert (adds["q"], adds["p"]) == (12 / 60, 2 / 60)
    sentence = next(each.value for each in app.markdown if "over-produces" in each.value)
    overlap = "(these intervals overlap)"
    assert sentence == (
        f"**shifted** over-produces “rain\\, cloud” most: {share_label(adds, 'q')} of its texts against "
        f"{share_label(adds, 'p')} of the human texts {overlap}; it under-produces “bread\\, milk” most: "
        f"{share_label(misses, 'q')} of its texts against {share_label(misses, 'p')} of the human texts {overlap}."
    )


def test_texts_are_those_of_the_chosen_cluster_side_and_way(open_page: OpenPage, run: Run) -> None:
    attach(run, told(run))
    app = open_page(VIEW, candidate="close")
    assert texts(app) == [f"text of close 3 {side} random …" for side in ("human", "model") for _ in range(2)]
    app.selectbox(key="url_of_all").set_value(0).run()
    assert texts(app)[0] == "text of close 0 human random …"
    app.segmented_control(key="url_drawn").set_value("nearest").run()
    assert texts(app) == [f"text of close 0 {side} nearest …" for side in ("human", "model") for _ in range(2)]
    assert (app.query_params["of_all"], app.query_params["drawn"]) in (("0", "nearest"), (["0"], ["nearest"]))
    app.selectbox(key="candidate_of_all").set_value("shifted").run()
    assert not app.exception
    assert texts(app)[0] == "text of shifted 3 human nearest …"
    assert "of_all" not in app.query_params


def test_damaged_clusters_leave_the_page(open_page: OpenPage, run: Run) -> None:
    whole = told(run)
    attach(run, dataclasses.replace(whole, candidates=whole.candidates[:1]))
    app = open_page(VIEW)
    assert not app.exception
    assert "do not belong to the run" in app.error[0].value
    assert SAMPLE not in headers(app)


@pytest.mark.parametrize("payload", [PAYLOADS[key] for key in ("script", "markdown-image")])
def test_names_phrases_and_texts_from_files_are_shown_as_they_are(open_page: OpenPage, run: Run, payload: str) -> None:
    whole = told(run)
    text = KeptText(payload, payload, payload, False)
    clusters = []
    for place, cluster in enumerate(whole["close"].clusters):
        sides = [
            dataclasses.replace(
                side,
                random=(text,) * 2,
                nearest=(text,) * 2,
                phrases=(dataclasses.replace(side.phrases[0], text=payload),),
            )
            for side in (cluster.human, cluster.model)
        ]
        clusters.append(dataclasses.replace(cluster, name=f"{payload} {place}", human=sides[0], model=sides[1]))
    attach(
        run,
        ClustersOverAll(
            tuple(
                dataclasses.replace(each, clusters=tuple(clusters)) if each.name == "close" else each
                for each in whole.candidates
            )
        ),
    )
    app = open_page(VIEW, candidate="close")
    assert not app.exception
    shown = [each.value for each in app.markdown]
    assert any(escaped(f"{payload} 0") in each for each in shown)
    assert not any(payload in each for each in shown if "over-produces" in each or "More often" in each)
    assert sum(each.value == payload for each in app.text) == 12


PAYLOAD = PAYLOADS["script"]


@pytest.fixture
def sampled(own_home: Path, tmp_path: Path) -> Run:
    """A run that was stored with its work folder, in whose clusters there are more texts than it keeps."""
    sides = made_texts()
    for row in sides["model"]:
        row["text"] += f" {PAYLOAD}"
    sides["model"] += sides["model"][:60]
    places = written_texts(tmp_path / "in", sides, 3)
    encoder, score = EncoderConfig(str(by_topic(tmp_path / "words.txt"))), dataclasses.replace(SCORE, k=4)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=score, run_texts=60)
    found = carried_out(plan, tmp_path / "work")
    work = Work.open(tmp_path / "work")
    return store_sample("over shards", work, found, clusters_over_all(work), projection=False)


def largest(run: Run) -> list[ClusterOverAll]:
    """Those with most of the model's texts first."""
    found = stored_clusters_over_all(run)
    assert found is not None
    return sorted(found["model"].clusters, key=lambda each: -each.model.n)


def buttons(app: AppTest) -> list[str]:
    return [button.key for button in app.button if button.key and button.key.startswith("read_")]


def counts(app: AppTest) -> list[str]:
    """How many texts of each side are shown."""
    return [caption.value for caption in app.caption if re.match(r"[\d,]+ of [\d,]+ texts?\b", caption.value)]


def read_of(app: AppTest, ids: set[str]) -> list[str]:
    return [text.value for text in app.text if text.value in ids]


def test_more_texts_are_read_until_there_are_none(open_page: OpenPage, sampled: Run, tmp_path: Path) -> None:
    cluster, work = largest(sampled)[0], Work.open(tmp_path / "work")
    every = texts_of_cluster(work, "model", "model", cluster.number, 0, 10**6)
    assert 40 < len(every) < cluster.model.n
    app = open_page(VIEW, of_all=f"{cluster.number}")
    assert buttons(app) == ["read_p", "read_q"]
    assert counts(app) == [f"20 of {side.n:,} texts" for side in (cluster.human, cluster.model)]
    ids = {text.id for text in every}
    while "read_q" in buttons(app):
        before = read_of(app, ids)
        app.button(key="read_q").click().run()
        assert not app.exception
        assert len(read_of(app, ids)) > len(before) or "read_q" not in buttons(app)
    assert read_of(app, ids) == [text.id for text in every]
    assert all(text.text in [shown.value for shown in app.text] for text in every)
    assert not any(PAYLOAD in shown.value for shown in (*app.markdown, *app.caption))
    assert (
        counts(app)[1]
        == f"{len(every):,} of {cluster.model.n:,} texts; those with equal ids and prompts are shown once"
    )
    assert counts(app)[0] == f"20 of {cluster.human.n:,} texts"
    app.segmented_control(key="url_drawn").set_value("nearest").run()
    assert not buttons(app)
    app.segmented_control(key="url_drawn").set_value("random").run()
    assert len(read_of(app, ids)) == len(every)


def test_a_shard_that_is_gone_is_named_and_may_come_back(open_page: OpenPage, sampled: Run, tmp_path: Path) -> None:
    app = open_page(VIEW, of_all=f"{largest(sampled)[0].number}")
    for shard in (tmp_path / "in/human").iterdir():
        shard.rename(tmp_path / shard.name)
    app.button(key="read_p").click().run()
    assert not app.exception
    assert "cannot be read" in app.error[0].value
    assert counts(app)[0].startswith("20 of ")
    for shard in tmp_path.glob("*.jsonl"):
        shard.rename(tmp_path / "in/human" / shard.name)
    app.button(key="read_p").click().run()
    assert not app.error
    assert counts(app)[0].startswith("40 of ")


def test_who_may_change_nothing_reads_what_the_run_keeps(
    open_page: OpenPage, sampled: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is shared does not hand out a whole corpus, nor where it lies."""
    monkeypatch.setenv(sharing.READ_ONLY, sampled.id)
    access.sign_in.cache_clear()
    app = open_page(VIEW, of_all=f"{largest(sampled)[0].number}")
    assert not app.exception
    assert counts(app)[1].startswith("20 of ")
    assert not buttons(app)
    shutil.rmtree(tmp_path / "work")
    assert not any("All other texts" in caption.value for caption in app.run().caption)
    with pytest.raises(RefusedError):
        clusters_over_shards._read_more(
            sampled.id, Work(tmp_path / "a/b/c", None), "model", HUMAN, largest(sampled)[0], 20
        )  # type: ignore[arg-type]
