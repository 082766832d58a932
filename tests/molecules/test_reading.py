"""Files of SMILES become corpora: what is read, excluded, measured and drawn."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mauve_core import molecules, read_corpus
from mauve_core.base.errors import InputError
from mauve_core.molecules import LONGEST, PROPERTIES
from mauve_core.texts import Corpus, limits
from mauve_core.texts.kinds import kind_at
from mauve_core.texts.media import SIDES

LINES = """\
OCC ethanol
CC(=O)Oc1ccccc1C(=O)O\taspirin, 500 mg

C(C
c1cccc1
CC(C)(C)(C)C
c1C=Cccc1
CCO
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "drugs.smi"
    path.write_text(LINES, encoding="utf-8")
    return path


@pytest.fixture
def corpus(path: Path) -> Corpus:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    return read_corpus(path)


@pytest.mark.parametrize(("name", "found"), [("a.smi", "molecule"), ("a.smi.gz", "molecule"), ("smi", "text")])
def test_molecules_are_recognized_by_the_suffix(name: str, found: str) -> None:
    assert kind_at(name).name == found


def test_molecules_have_no_fields(path: Path) -> None:
    with pytest.raises(InputError, match=r"which have no fields.*text_field"):
        read_corpus(path, text_field="smiles")


def test_usable_molecules_have_names_and_canonical_smiles(corpus: Corpus) -> None:
    assert (corpus.name, corpus.kind, corpus.numbered) == ("drugs", "molecule", False)
    assert corpus.ids == ("ethanol", "aspirin, 500 mg", "7", "8")
    assert corpus.texts == ("CCO", "CC(=O)Oc1ccccc1C(=O)O", "c1ccccc1", "CCO")


def test_the_others_are_counted_by_reason(corpus: Corpus) -> None:
    assert {each.reason: each.examples for each in corpus.exclusions} == {
        "empty or only whitespace": ("line 3",),
        "no SMILES": ("line 4: 'C(C'",),
        "impossible aromatic atoms": ("line 5: 'c1cccc1'",),
        "impossible valence": ("line 6: 'CC(C)(C)(C)C'",),
    }
    assert "2 of 4 SMILES were rewritten in canonical form." in corpus.notes
    assert "1 of 4 molecules repeats another one exactly; it is kept: 8 is ethanol." in corpus.notes


@pytest.mark.parametrize(("longer", "n"), [(0, 2), (1, 1)])
def test_what_chemnet_cannot_read_is_left_out(tmp_path: Path, longer: int, n: int) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    path = tmp_path / "long.smi.gz"
    path.write_bytes(gzip.compress(f"C\n{'C' * (LONGEST + longer)}\n".encode()))
    corpus = read_corpus(path)
    assert (len(corpus), corpus.numbered, corpus.name) == (n, True, "long")


def test_a_file_without_usable_molecules_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    path = tmp_path / "words.smi"
    path.write_text("once upon a time\n")
    with pytest.raises(InputError, match=r"words\.smi can be used.*1 left out \(no SMILES\): line 1: 'once'"):
        read_corpus(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "does not exist"),
        (b"", "is empty"),
        ("CCO\n".encode("utf-16"), "not UTF-8"),
        (b"CCO\n" * 4, "too many rows.*at most 3"),
    ],
)
def test_files_are_read_within_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, words: str
) -> None:
    monkeypatch.setattr(molecules, "find_spec", lambda name: True)
    monkeypatch.setenv(limits.ROWS_VARIABLE, "3")
    path = tmp_path / "a.smi"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_corpus(path)


def test_properties_are_those_of_the_molecules(corpus: Corpus) -> None:
    """Aspirin's from PubChem and Bickerton et al. 2012, the others by counting."""
    found = molecules.MOLECULE.measure(corpus)
    assert list(found) == list(PROPERTIES) == list(corpus.metadata)[1:]
    np.testing.assert_allclose(found["molecular weight"][:3], [46.07, 180.16, 78.11], atol=0.01)
    np.testing.assert_array_equal(found["rings"], [0, 1, 1, 0])
    np.testing.assert_array_equal(found["heavy atoms"], [3, 13, 6, 3])
    np.testing.assert_allclose(found["fraction sp3"], [1, 1 / 9, 0, 1])
    assert found["QED"][1] == pytest.approx(0.55, abs=0.01)
    assert found["logP"].argmin() in (0, 3)


def test_molecules_are_drawn(corpus: Corpus) -> None:
    assert corpus.media is not None
    for side in SIDES:
        with Image.open(BytesIO(corpus.media.picture(1, side)), formats=("WEBP",)) as picture:
            assert picture.size == (side, side)
            light = np.asarray(picture.convert("L"))
        assert light.min() < 128 < 250 < np.median(light)  # lines on white
    assert corpus.media.picture(0, 96) == corpus.media.picture(3, 96) != corpus.media.picture(1, 96)
