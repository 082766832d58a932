"""Clusters over all texts in a report: names and phrases do nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mauve_core.analyses.over_shards import ATTACHMENT as OVER_SHARDS
from mauve_core.analyses.over_shards import (
    CLUSTERS_ATTACHMENT,
    ClustersOverAll,
    cluster_rows,
    cluster_sentence,
    share_table,
)
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run, RunStore
from tests.hostile_run import NAMES, make_hostile_run
from tests.mutations import clusters_over_shards_example, over_shards_example
from tests.reporting.report_page import Page
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


def attach(run: Run, clusters: ClustersOverAll) -> None:
    RunStore().attach(run.id, OVER_SHARDS, dataclass_to_json(over_shards_example(run)))
    RunStore().attach(run.id, CLUSTERS_ATTACHMENT, dataclass_to_json(clusters))


def test_a_report_has_the_clusters_of_every_candidate(own_home: Path) -> None:
    run = make_run(own_home, n=40, seeds=2, projection=False)
    clusters, found = clusters_over_shards_example(run), over_shards_example(run)
    attach(run, clusters)
    page = Page(html_report(run, ["close"]))
    for candidate in clusters.candidates:
        assert with_plain_spaces(cluster_sentence(share_table(found, candidate), candidate.name)) in with_plain_spaces(
            page.text
        )
        table = page.tables[f"Clusters over all texts: {candidate.name}"]
        assert [tuple(map(with_plain_spaces, row)) for row in table[1:]] == cluster_rows(found, candidate, 30)
        assert [row[0] for row in table[1:]] == ["rain, cloud", "bread, milk"]
        assert [with_plain_spaces(row[2]).split()[0] for row in table[1:]] == ["5%", "28%"]


def test_names_and_phrases_do_nothing(own_home: Path) -> None:
    run = make_hostile_run(own_home)
    whole = clusters_over_shards_example(run)
    attach(
        run,
        ClustersOverAll(
            tuple(
                dataclasses.replace(
                    candidate,
                    clusters=tuple(
                        dataclasses.replace(
                            cluster,
                            name=f"{name} {cluster.number}",
                            human=dataclasses.replace(
                                cluster.human, phrases=(dataclasses.replace(cluster.human.phrases[0], text=name),)
                            ),
                        )
                        for cluster in candidate.clusters
                    ),
                )
                for candidate, name in zip(whole.candidates, NAMES, strict=True)
            )
        ),
    )
    page = Page(html_report(run, [NAMES[0]]))
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "iframe", "svg", "base", "b", "i"})
    assert [tag for tag, _ in page.elements].count("script") == 3
    for name in NAMES:
        assert " ".join(name.split()) in " ".join(page.text.split())
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
