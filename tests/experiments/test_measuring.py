"""Measures of a stored run: what is kept beside it, and what a report makes of it."""

from __future__ import annotations

import json

import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.measure_terms import Measurements
from mauve_core.analyses.text_measures import MEASURES, decoder_of, measure_run, stored_measurements
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.runs import RunStore
from mauve_core.texts import corpus_from_texts
from tests.synthetic import make_run
from tests.tiny_models import make_gpt2

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2"))


@pytest.fixture(autouse=True)
def tiny_tokenizer(folder, monkeypatch):
    """The packaged model would be converted anew in each test's own home."""
    monkeypatch.setattr("mauve_core.analyses.text_measures.DEFAULT_MODEL", folder)
    monkeypatch.setattr("mauve_core.analyses.measure_inputs.DEFAULT_MODEL", folder)


@pytest.fixture
def run(own_home):
    return make_run(own_home, projection=False)


def test_measures_add_up_beside_the_run(run):
    assert stored_measurements(run) is None
    first = measure_run(run, ["length"])
    assert stored_measurements(run) == first
    both = measure_run(run, ["repetition"])
    assert both.measures == ("repetition", "length")
    assert both.rows[-len(first.rows) :] == first.rows
    names = tuple(candidate.name for candidate in run.comparison.candidates)
    assert both.candidates == names
    assert stored_measurements(RunStore().load(run.id)) == both


def test_damaged_measures_are_replaced_with_a_warning(run):
    RunStore().attach(run.id, "measures", {"rows": [{"measure": "length"}]})
    with pytest.raises(InputError, match="measurements cannot be used"):
        stored_measurements(run)
    with pytest.warns(DamagedEntryWarning, match="are replaced"):
        measure_run(run, ["length"])
    assert stored_measurements(run).measures == ("length",)


def test_the_decoder_is_the_name_or_the_one_value_of_the_column():
    plain = corpus_from_texts(["a", "b"], name="x")
    column = corpus_from_texts(["a", "b"], name="x", metadata={"decoder": ["nucleus:p=0.9"] * 2})
    mixed = corpus_from_texts(["a", "b"], name="x", metadata={"decoder": ["greedy", "ancestral"]})
    assert decoder_of("top-k", plain) == "top-k:k=50"
    assert decoder_of("mine", column) == "nucleus:p=0.9"
    assert decoder_of("nucleus", column) == "nucleus:p=0.9"
    assert decoder_of("mine", mixed) is None
    assert decoder_of("mine", plain) is None


@pytest.mark.parametrize("measures", [["length"], ["length", "repetition", "diversity", "self-bleu", "precision"]])
def test_a_report_follows_whatever_was_measured(measures, own_home, tmp_path, capsys) -> None:
    names = ["close", "shifted"]
    run = make_run(own_home, n=40, seeds=1, projection=False, names=names)
    wanted = [part for name in measures for part in ("--measure", name)]
    assert main(["measure", run.id, *wanted, "--quiet"]) == 0
    page = tmp_path / "report.html"
    assert main(["report", run.id, "--out", str(page)]) == 0
    assert MEASURES["length"].title in page.read_text()
    assert str(page) in capsys.readouterr().out


def test_a_note_says_whose_it_is_unless_all_have_it(own_home, capsys) -> None:
    run = make_run(own_home, n=100, seeds=1, projection=False, names=["close", "collapsed"])
    assert main(["measure", run.id, "--measure", "discriminator", "--measure", "precision", "--quiet"]) == 0
    notes = [line.strip() for line in capsys.readouterr().out.splitlines() if "two random halves" in line]
    assert [note.partition(": ")[0] for note in notes] == [
        "discriminator of close",
        "discriminator of collapsed",
        "precision",
    ]
    assert "p = 0.001" in notes[1]


def test_the_command_measures_files(tmp_path, capsys):
    human, model = tmp_path / "human.txt", tmp_path / "model.txt"
    human.write_text("".join(f"a quick fox {i} ran over the hill\n" for i in range(50)))
    model.write_text("".join(f"a fox {i} ran on and on and on\n" for i in range(50)))
    files = ["--human", str(human), "--model", f"loop={model}", "--quiet", "--json"]
    assert main(["measure", *files]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values.pop("schema") == "mauve-lens/measure/1"
    found = from_json(Measurements, values)
    assert found.row("repetition", "loop").model.value == 1
    assert found.row("repetition", "loop").human.value == 0
    assert any(note.startswith("discriminator: left out") for note in found.notes)
