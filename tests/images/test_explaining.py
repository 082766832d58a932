"""``mauve-lens explain`` of images: a run, folders without a run, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mauve_core.__main__ import main
from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.cli.outputs import schema_of, shape_of
from mauve_core.store import Run
from tests.images.made import draw_images, make_dark_run

N = 60


@pytest.fixture
def dark_run(own_home: Path, tmp_path: Path) -> Run:
    del own_home
    return make_dark_run(tmp_path)


def test_a_run_of_images_is_explained_in_its_words(dark_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", dark_run.id]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "dark 1. makes darker images: " in printed
    assert "of 100 images have a brightness of at most " in printed
    assert "same No difference was found" in printed
    assert "text" not in printed
    assert "human" not in printed


def test_its_json_has_the_means_and_the_images(dark_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", dark_run.id, "--candidate", "dark", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema_of(shape_of("explain"))).validate(output)
    first, expected = output["findings"][0], run_findings(dark_run, "dark")[0]
    assert (first["kind"], first["direction"], first["shown_by"]) == ("brightness", "less", "model")
    assert first["mean_model"] == expected.means.model < 0.4 < first["mean_human"]
    light = dict(zip(dark_run.corpora["dark"].ids, dark_run.corpora["dark"].metadata["brightness"], strict=True))
    shown, others = [light[each] for each in first["text_ids"]], set(light) - set(first["text_ids"])
    assert max(shown) < min((light[each] for each in others), default=1)


def test_folders_are_compared_without_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Darker colored noise is more saturated; what is largely of the same images is said behind that."""
    v1, v2 = draw_images(tmp_path / "v1", N), draw_images(tmp_path / "v2", N, seed=1, light=0.3)
    assert main(["explain", "--reference", f"v1={v1}", "--model", f"v2={v2}"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "v2 1. makes images more saturated: " in printed
    assert "of 100 images of v1" in printed
    assert "; largely the same images: makes darker images)" in printed
