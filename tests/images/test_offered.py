"""Which encoders a form offers for images, their settings, and what is refused before a job starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.errors import ModelUnavailableError
from mauve_core.corpus.kinds import KINDS, kind_of
from mauve_core.encoders import hub
from mauve_core.images.kind import IMAGE
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


def test_a_model_of_texts_is_refused_before_a_job_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("minilm", str(make_gpt2(tmp_path / "tiny"))):
        with pytest.raises(ModelUnavailableError, match="does not encode images"):
            IMAGE.offer.check(name, None)
    monkeypatch.setattr(hub, "_by_environment", False)
    IMAGE.offer.check("some/model-of-the-hub", None)  # which only the job can know
