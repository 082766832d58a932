"""Which encoders a form offers for images, their settings, and what is refused before a job starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.corpus.kinds import KINDS, kind_at, kind_of
from mauve_core.encoders import checkpoints, hub
from mauve_core.encoders.catalogue import IMAGE_ENCODERS
from mauve_core.experiments.encoders import offered_encoders, usual_encoders
from mauve_core.images.kind import IMAGE
from mauve_core.images.offered import available_encoders
from tests.images.made import draw_images
from tests.tiny_models import make_gpt2


@pytest.mark.parametrize("name", KINDS)
def test_the_default_is_offered_and_passes_its_check(name: str) -> None:
    kind = kind_of(name)
    offered = {model.name: model for model in kind.offer.models()}
    assert kind.model in offered
    assert not kind.offer.fetched(kind.model, None)
    if offered[kind.model].ready:
        kind.offer.check(kind.model, None)
    else:
        with pytest.raises(ModelUnavailableError, match="install"):
            kind.offer.check(kind.model, None)


def test_every_named_encoder_of_images_has_a_line() -> None:
    lines = {model.name: model.description for model in available_encoders()}
    assert set(IMAGE_ENCODERS) < set(lines)
    assert all(lines.values())
    assert not any(model.causal for model in available_encoders())


def test_weights_that_lie_where_torch_keeps_them_are_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    of_name = lambda: {model.name: model.ready for model in available_encoders()}[checkpoints.INCEPTION_FID]  # noqa: E731
    assert not of_name()
    path = checkpoints.inception_weights()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    assert of_name()


def test_only_models_of_transformers_have_settings() -> None:
    assert all(not IMAGE.offer.settings(name) for name in IMAGE_ENCODERS)
    assert IMAGE.offer.settings("facebook/dinov2-small") == {"dtype", "revision"}


def test_a_model_of_texts_is_refused_before_a_job_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("minilm", str(make_gpt2(tmp_path / "tiny"))):
        with pytest.raises(ModelUnavailableError, match="does not encode images"):
            IMAGE.offer.check(name, None)
    monkeypatch.setattr(hub, "_by_environment", False)
    IMAGE.offer.check("some/model-of-the-hub", None)  # which only the job can know


def test_molecules_have_one_encoder() -> None:
    with pytest.raises(ModelUnavailableError, match="does not encode molecules"):
        kind_of("molecule").offer.check("pixels", None)


def test_an_archive_without_images_says_so(tmp_path: Path) -> None:
    path = tmp_path / "texts.zip"
    path.write_bytes(b"PK nothing")
    assert kind_at(path) == IMAGE
    with pytest.raises(InputError, match="no zip archive that can be read"):
        IMAGE.read(path, name=None, fields={})


def test_columns_are_those_of_tables(tmp_path: Path) -> None:
    folder = draw_images(tmp_path / "a", 3)
    assert IMAGE.columns(folder) == ()
    table = folder / "paths.csv"
    table.write_text("n,file\n1,even/0000.png\n2,odd/0001.png\n")
    assert IMAGE.columns(table) == ("file",)
    assert kind_of("text").columns(table) == ()


def test_encoders_compared_by_default_are_those_of_the_kind_on_this_machine() -> None:
    assert usual_encoders(IMAGE) == tuple(model.name for model in available_encoders() if model.ready)
    assert set(usual_encoders(IMAGE)) <= set(offered_encoders(IMAGE))
    assert usual_encoders(kind_of("text")) == usual_encoders()
