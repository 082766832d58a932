"""Every page of a run of images, with all that can be found out about one, and the pages that are about texts alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core import compare, read_corpus
from mauve_core.analyses.attributes_over_k import AttributesTask
from mauve_core.analyses.measures_over_neighbours import NeighboursTask
from mauve_core.analyses.method_scores import CompareMethodsTask
from mauve_core.analyses.probe_results import ATTACHMENT as PROBES
from mauve_core.analyses.probes import probe_run
from mauve_core.analyses.sweeps import attachment_name, sweep_run
from mauve_core.analyses.text_measures import measure_run
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import RunStore
from mauve_core.texts.kinds import parse_perturbation
from tests.images.made import draw_images
from tests.synthetic import with_map

pytestmark = [pytest.mark.slow, pytest.mark.trial]

OpenPage = Callable[..., AppTest]

WALK: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("compare", {"tour": "1"}),
    ("clusters", {"cluster": "0", "detail": "why"}),
    ("clusters", {"form": "table"}),
    ("gap", {"cluster": "0", "chosen": "0", "below": "what-if"}),
    ("map", {"lasso": "-100,-100;100,-100;100,100;-100,100"}),
    ("texts", {"find": "dark"}),
    ("findings", {"candidate": "dark"}),
    ("decoders", {"section": "measures", "measure": "recall"}),
    ("decoders", {"section": "sweeps", "axis": "k"}),
    ("methods", {"vary": "encoders"}),
    ("probes", {"perturbation": "blur-3"}),
    ("probes", {"part": "flow", "moves": "largest"}),
    ("runs", {}),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run of real, darker and other real images."""
    folder = tmp_path_factory.mktemp("photos")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(folder / "home"))
        sides = {HUMAN: (60, 0.5), "dark": (60, 0.3), "same": (54, 0.5)}
        corpora = {
            name: read_corpus(draw_images(folder / f"side-{seed}", n, seed=seed, light=light), name=name)
            for seed, (name, (n, light)) in enumerate(sides.items())
        }
        models = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
        kept = FeatureStore()
        found = compare(corpora[HUMAN], models, encoder="pixels", seeds=2, k=4, draw_map=False, feature_store=kept)
        features = {source.name: kept.get(source.features_key).array for source in found.sources}
        store = RunStore()
        run = with_map(store.save("photos", found, corpora, features))
        measure_run(run, ("recall", "precision", "vendi"))
        NeighboursTask(run.id, (1, 5), ("recall",)).compute()
        CompareMethodsTask(run.id, ("kmeans", "frechet"), 2).compute()
        AttributesTask(run.id, ks=(3, 6), splits=2).compute()
        store.attach(run.id, attachment_name("k"), dataclass_to_json(sweep_run(run, "k", (2, 4))))
        probes = probe_run(run, [parse_perturbation(spec) for spec in ("blur-3", "flip@0.5", "flip")], splits=2)
        store.attach(run.id, PROBES, dataclass_to_json(probes))
    return folder / "home"


@pytest.mark.parametrize(("view", "query"), WALK)
def test_a_page_of_images_opens(
    open_page: OpenPage, home: Path, monkeypatch: pytest.MonkeyPatch, view: str, query: Mapping[str, str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    app = open_page(f"views/{view}.py", run="photos", **query)
    assert not app.exception
    assert not app.error


def test_a_page_about_texts_alone_says_so(open_page: OpenPage, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    (info,) = open_page("views/judge.py", run="photos").info
    assert info.value.startswith("This page is about texts, and this run compares images.")
