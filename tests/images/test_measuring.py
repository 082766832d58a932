"""Measures of runs of images: those that read features apply."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mauve_core import compare, read_corpus
from mauve_core.__main__ import main
from mauve_core.analyses.measures_over_lengths import lengths_run
from mauve_core.analyses.sweeps import sweep_run
from mauve_core.analyses.text_measures import MEASURES, measure_run
from mauve_core.base.errors import InputError
from mauve_core.clusters.neighbours import coverage_over_k
from mauve_core.runs import Run, RunStore
from tests.images.made import draw_images

pytestmark = pytest.mark.integration

N = 24
OF_FEATURES = {"discriminator", "precision", "recall", "density", "coverage", "vendi"}


@pytest.fixture
def run(own_home: Path, tmp_path: Path) -> Run:
    del own_home
    human = read_corpus(draw_images(tmp_path / "human", N), name="human")
    dark = read_corpus(draw_images(tmp_path / "dark", N, seed=1, light=0.3), name="dark")
    rng = np.random.default_rng(0)
    features = {"human": rng.normal(size=(N, 4)), "dark": rng.normal(1, size=(N, 4))}
    comparison = compare(human, {"dark": dark}, features=features, k=3, seeds=2, draw_map=False)
    return RunStore().save("images", comparison, {"human": human, "dark": dark}, features)


def test_only_measures_of_features_are_taken_and_no_note_tells_of_the_others(run: Run) -> None:
    found = measure_run(run)
    assert set(found.measures) == OF_FEATURES == {name for name, each in MEASURES.items() if "words" not in each.needs}
    assert not [note for note in found.notes if "left out" in note]
    row = found.row("precision", "dark")
    sides = [np.asarray(run.features(name)) for name in ("dark", "human")]
    every = np.ones(N, dtype=np.bool_)
    assert row.model.value == pytest.approx(coverage_over_k(*sides, (5,), [(every, every)])[0, 0])


def test_a_measure_of_texts_is_refused_by_name(run: Run) -> None:
    with pytest.raises(InputError, match="The measure zipf cannot be computed: texts are needed"):
        measure_run(run, ["zipf"])


@pytest.mark.parametrize(
    "cut", [lambda run: lengths_run(run, [4]), lambda run: sweep_run(run, "length")], ids=["measures", "sweep"]
)
def test_images_are_not_cut_to_a_length(run: Run, cut) -> None:
    with pytest.raises(InputError, match=r"is about texts.*a run of images"):
        cut(run)


def test_files_of_images_are_not_measured_by_their_descriptions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(draw_images(tmp_path / name, 4)) for name in ("real", "made")]
    assert main(["measure", "--human", folders[0], "--model", f"made={folders[1]}", "--quiet"]) != 0
    assert "Measuring files is about texts" in capsys.readouterr().err
