"""Each kind of file that is documented is read as its page says, and holds the same texts as JSONL does."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import corpus_from_texts, read_corpus
from tests.corpus.real_inputs import INPUTS, Input
from tests.layouts import N, text

DIGEST = corpus_from_texts(map(text, range(N)), name="m").digest


@pytest.mark.parametrize("kind", INPUTS, ids=[kind.name for kind in INPUTS])
def test_what_is_read_without_options(kind: Input, tmp_path: Path) -> None:
    path = kind.write(tmp_path)
    if kind.error:
        with pytest.raises(InputError) as caught:
            read_corpus(path)
        assert kind.error in str(caught.value)
        return
    corpus = read_corpus(path)
    assert corpus.fields is not None
    assert (corpus.fields.text, corpus.fields.prompt, corpus.fields.id) == (kind.text, kind.prompt, kind.id)
    assert kind.note in " ".join(corpus.notes)
    assert corpus_from_texts(corpus.texts, name="m").digest == DIGEST
