"""A study from human texts to a stored run: prompts cut, decoders written, compared, measured, and resumed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mauve_core.__main__ import build_parser, main
from mauve_core.analyses.human_ranking import run_indicators
from mauve_core.analyses.study import StudyTask, cut_texts, resolve_decoders
from mauve_core.analyses.task_registry import read_task
from mauve_core.analyses.text_measures import stored_measurements
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.cli import studying
from mauve_core.decoding import GenerationSettings
from mauve_core.encoders.models import load_model
from mauve_core.jobs import queue
from mauve_core.runs import RunStore
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.text_files import TextFile
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2"))


@pytest.fixture(scope="module")
def loaded(folder):
    return load_model(folder, with_head=True, device="cpu")


@pytest.fixture
def task(folder, tmp_path):
    rows = [{"id": f"t{i}", "text": f"{SENTENCES[i % 6]} Number {i}."} for i in range(24)]
    path = tmp_path / "human.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    config = CompareConfig(EncoderConfig(folder), ScoreConfig(k=4, seeds=2, bootstrap=100), projection=False)
    return StudyTask(
        "My study",
        TextFile(str(path)),
        folder,
        ("greedy", "nucleus:p=0.9"),
        GenerationSettings(max_new_tokens=8, min_new_tokens=4),
        prompt_tokens=5,
        config=config,
    )


def tokens(loaded, text):
    return loaded.tokenizer(text, add_special_tokens=False)["input_ids"]


def test_what_the_model_asks_for_is_a_note_of_every_candidate(task, folder, tmp_path):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    (copy / "generation_config.json").write_text('{"repetition_penalty": 5.0}')
    run = replace(task, model=str(copy), measures=False).make()
    for candidate in run.comparison.candidates:
        (note,) = [note for note in candidate.source.notes if "passed over" in note]
        assert note.endswith("parameters alone: repetition_penalty = 5.0.")


def test_prompts_and_texts_are_cut_in_tokens(loaded):
    corpus = corpus_from_texts([f"{text} Number {i}." for i, text in enumerate(SENTENCES)], name=HUMAN)
    cut = cut_texts(corpus, loaded.tokenizer, 5, 8)
    for whole, prompt, text in zip(corpus.texts, cut.prompts, cut.texts, strict=True):
        assert whole.startswith(prompt + text)
        ids = tokens(loaded, whole)
        assert tokens(loaded, prompt + text) == ids[:13]
        assert tokens(loaded, prompt) == ids[:5]


def test_given_prompts_stay_and_texts_are_cut_behind_them(loaded):
    corpus = corpus_from_texts([f" {text}" for text in SENTENCES], name=HUMAN, prompts=["A prompt."] * 6)
    cut = cut_texts(corpus, loaded.tokenizer, None, 8)
    assert cut.prompts == corpus.prompts
    for whole, text in zip(corpus.texts, cut.texts, strict=True):
        assert whole.startswith(text)
        assert len(tokens(loaded, "A prompt." + text)) == len(tokens(loaded, "A prompt.")) + 8


def test_texts_that_are_all_prompt_are_left_out_and_counted(loaded):
    corpus = corpus_from_texts(["short", SENTENCES[0]], name=HUMAN)
    cut = cut_texts(corpus, loaded.tokenizer, 10, 8)
    assert (len(cut), cut.ids) == (1, corpus.ids[1:])
    assert any("1 text with nothing after" in note for note in cut.notes)
    with pytest.raises(InputError, match="Every text ends within"):
        cut_texts(corpus.take([0]), loaded.tokenizer, 10, 8)
    with pytest.raises(InputError, match="have no prompts"):
        cut_texts(corpus, loaded.tokenizer, None, 8)


@pytest.mark.parametrize("field", [None, "prompt"])
def test_a_length_of_prompts_goes_before_a_guessed_field_but_not_before_a_named_one(task, loaded, tmp_path, field):
    path = tmp_path / "prompted.jsonl"
    path.write_text(
        "\n".join(json.dumps({"prompt": "Say:", "text": f"{text} {i}."}) for i, text in enumerate(SENTENCES * 4))
    )
    study = replace(task, human=TextFile(str(path), prompt_field=field), decoders=("greedy",), measures=False)
    if field is not None:
        with pytest.raises(InputError, match=r"The prompts are given twice.*Leave one of them out"):
            study.make()
        return
    human = study.make().corpora[HUMAN]
    assert human.prompts == tuple(loaded.tokenizer.decode(tokens(loaded, text)[:5]) for text in corpus_texts(path))
    assert not any("prompt" in note for note in human.notes)


def corpus_texts(path):
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def test_the_adversarial_decoder_takes_the_human_perplexity(loaded):
    import numpy as np

    from mauve_core.encoders.likelihood import negative_log_likelihoods

    human = corpus_from_texts([f" {text}" for text in SENTENCES], name=HUMAN, prompts=["A prompt."] * 6)
    specs = resolve_decoders(["greedy", "adversarial"], human, loaded)
    perplexity = np.exp(np.concatenate(negative_log_likelihoods(loaded, human.texts, human.prompts)).mean())
    assert specs[0] == "greedy"
    assert float(specs[1].removeprefix("adversarial:ppl=")) == pytest.approx(perplexity, rel=1e-3)


@pytest.mark.slow
def test_a_study_ends_as_a_measured_run_and_keeps_what_it_wrote(task, folder):
    assert StudyTask.from_json(json.loads(json.dumps(task.to_json()))) == task
    run = RunStore().load(task.perform())
    assert [candidate.name for candidate in run.comparison.candidates] == ["greedy", "nucleus:p=0.9"]
    assert run.corpora["greedy"].prompts == run.corpora[HUMAN].prompts
    found = stored_measurements(run)
    assert found.row("perplexity", "greedy").model.value > 1
    assert found.row("sparsemax", "nucleus:p=0.9").model is not None
    stages = []
    task.perform(lambda stage, done, total: stages.append((stage, done, total)))
    assert ("writing greedy", 24, 24) in stages
    assert not any(stage == "writing greedy" and done < total for stage, done, total in stages)


def test_options_become_the_study(task, folder):
    command = ["study", "--human", task.human.path, "--model", folder, "--out", "My study", "--encoder", folder]
    command += ["--decoder", "greedy", "--decoder", "nucleus:p=0.9", "--max-new-tokens", "8", "--min-new-tokens", "4"]
    command += ["--prompt-tokens", "5", "--k", "4", "--seeds", "2", "--bootstrap", "100", "--no-map"]
    found = studying.task_of(build_parser().parse_args(command))
    assert found == replace(task, settings=replace(task.settings, seed=ScoreConfig().seed))
    seeded = studying.task_of(build_parser().parse_args([*command, "--seed", "7", "--no-measures"]))
    assert (seeded.settings.seed, seeded.config.score.seed, seeded.measures) == (7, 7, False)
    repeated = studying.task_of(build_parser().parse_args([*command, "--repeats", "3"]))
    assert repeated.settings.repeats == 3
    assert repeated.folder != found.folder


@pytest.mark.slow
def test_a_study_with_repeats_gives_both_spreads(task, folder, capsys):
    command = ["study", "--human", task.human.path, "--model", folder, "--out", "repeated", "--encoder", folder]
    command += ["--decoder", "greedy", "--decoder", "ancestral", "--max-new-tokens", "8", "--min-new-tokens", "4"]
    command += ["--prompt-tokens", "5", "--k", "4", "--seeds", "2", "--bootstrap", "100", "--no-map", "--repeats", "3"]
    assert main([*command, "--device", "cpu", "--quiet"]) == 0
    said = capsys.readouterr().out
    run = RunStore().load("repeated")
    greedy, ancestral = run.comparison.candidates
    assert (greedy.source.n, greedy.source.generations) == (24, 1)
    assert any("Written once" in note for note in greedy.source.notes)
    assert (ancestral.source.generations, ancestral.partitions[0].k) == (3, 4)
    assert run.corpora["ancestral"].generations == tuple(str(g) for g in range(3) for _ in range(24))
    assert ancestral.scores["mauve"].generations_sd is not None
    assert "(3 generations)" in said
    assert "± (generations)" in " ".join(said.split())
    (difference,) = [each for each in run.comparison.differences if each.score == "mauve"]
    assert (difference.paired, difference.n) == (True, 6)  # the texts begin with six prompts
    measures = stored_measurements(run)
    assert len(measures.row("length", "ancestral").model.generations) == 3
    assert measures.row("length", "greedy").model.generations is None
    assert {each.over for each in run_indicators(run)[0].values()} == {"generations"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoders": ["greedy", "greedy"]}, "no duplicates"),
        ({"decoders": ["nucleus:p=2"]}, "Invalid setting for the decoder nucleus"),
        ({"settings": {"nonsense": 1}}, "entry settings of the study task .*Received: 'nonsense'"),
    ],
)
def test_a_bad_study_starts_nothing(task, change, message):
    with pytest.raises(InputError, match=message):
        queue.start(read_task("study", {**task.to_json(), **change}))
    assert queue.list() == ()
