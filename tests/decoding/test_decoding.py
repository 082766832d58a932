"""Decoders against truths worked out by hand, and generation that depends on the prompt and the seed alone."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from mauve_core.base.errors import InputError, StorageError
from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, generate_files, parse_decoder
from mauve_core.decoding.decoders import DECODERS, FiniteLogits, SeededDraw, Writing, stream_key
from mauve_core.encoders.models import load_model
from tests.tiny_models import SENTENCES, make_gpt2, make_roberta

pytestmark = pytest.mark.integration

WORDS = " ".join(SENTENCES[:5]).split()
PROBABILITIES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2"))


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder, with_head=True, device="cpu")


def prompts_of(count):
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(2, 9))) for _ in range(count)]
    return Prompts(tuple(f"p{i}" for i in range(count)), tuple(texts))


def draw(spec, keys, logits):
    """The tokens that a decoder takes, one a key, when every row has these logits."""
    import torch

    scores = torch.log(torch.tensor(logits, dtype=torch.float32)).repeat(len(keys), 1)
    ids = torch.zeros((len(keys), 1), dtype=torch.long)
    for process in parse_decoder(spec).processors(Writing(keys, max_new_tokens=1)):
        scores = process(ids, scores)
    assert (torch.isfinite(scores).sum(dim=1) == 1).all()
    return scores.argmax(dim=1).numpy()


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ("ancestral", 5),
        ("nucleus:p=0.8", 3),  # 0.4 + 0.3 = 0.7 < 0.8 <= 0.85
        ("nucleus:p=0.69", 2),
        ("nucleus:p=0.2", 1),
        ("nucleus:p=1", 5),
        ("top-k:k=1", 1),
        ("top-k:k=4", 4),
        ("top-k:k=50", 5),
        # Entropy 1.393; the surprise is off by 1.393 - 0.916 = 0.477, 0.189, 0.504, 0.909, 1.603: 1, 0, 2, 3, 4.
        ("typical:tau=0.69", 2),
        ("typical:tau=0.8", 3),
        ("typical:tau=0.94", 4),
        ("temperature:t=1", 5),
    ],
)
def test_draws_follow_the_renormalised_truncated_distribution(spec, kept):
    n = 6000  # a share that is wrong by 0.03 lies five standard deviations away
    tokens = draw(spec, [stream_key(0, parse_decoder(spec), str(i)) for i in range(n)], PROBABILITIES)
    counts = np.bincount(tokens, minlength=5)
    assert counts[kept:].sum() == 0
    expected = PROBABILITIES[:kept] / PROBABILITIES[:kept].sum() * n
    # One fixed seed; under the null the p-value is uniform, so a threshold of 1e-4 fails a right decoder that rarely.
    assert kept == 1 or chisquare(counts[:kept], expected).pvalue > 1e-4


def test_a_row_draws_from_its_own_stream():
    together = draw("ancestral", [11, 12, 13], PROBABILITIES)
    alone = [draw("ancestral", [key], PROBABILITIES)[0] for key in (11, 12, 13)]
    assert together.tolist() == alone


def test_a_stream_moves_on_with_each_token():
    import torch

    process = SeededDraw([7])
    flat = torch.zeros((1, 1000))
    tokens = [int(process(torch.zeros((1, 1)), flat).argmax()) for _ in range(20)]
    assert len(set(tokens)) > 15


def test_keys_differ_by_seed_decoder_prompt_and_generation():
    nucleus, other = parse_decoder("nucleus:p=0.95"), parse_decoder("nucleus:p=0.9")
    keys = {stream_key(s, d, i, g) for s in (0, 1) for d in (nucleus, other) for i in ("1", "11") for g in (0, 1, 11)}
    assert len(keys) == 24


SPECS = [
    "greedy",
    "ancestral",
    "temperature:t=0.7",
    "top-k:k=5",
    "nucleus:p=0.9",
    "typical:tau=0.9",
    "beam:b=4",
    "beam:b=8,no-repeat=4",
    "contrastive:alpha=0.6,k=4",
    "adversarial:ppl=20",
]


@pytest.mark.parametrize("spec", SPECS)
def test_a_text_does_not_depend_on_its_batch(model, spec):
    prompts = prompts_of(6)
    assert len({len(text.split()) for text in prompts.texts}) > 3, "so that most rows are padded, each differently"
    settings = GenerationSettings(max_new_tokens=8, seed=3)
    together = continue_prompts(model, prompts, parse_decoder(spec), settings)
    alone = [
        continue_prompts(model, Prompts((i,), (text,)), parse_decoder(spec), settings)[0]
        for i, text in zip(prompts.ids, prompts.texts, strict=True)
    ]
    assert together == alone
    assert len(set(together)) > 1


def test_greedy_takes_the_most_probable_token_at_each_step(model):
    import torch

    prompt = prompts_of(1).texts[0]
    written = continue_prompts(model, prompts_of(1), parse_decoder("greedy"), GenerationSettings(max_new_tokens=6))
    ids = model.tokenizer(prompt, return_tensors="pt")["input_ids"]
    start = ids.shape[1]
    with torch.inference_mode():
        for _ in range(6):
            ids = torch.cat([ids, model.model(ids).logits[:, -1:].argmax(-1)], dim=1)
    assert written == [model.tokenizer.decode(ids[0, start:], skip_special_tokens=True)]


def test_files_are_complete_resumable_and_say_how_they_were_made(folder, tmp_path, monkeypatch):
    from mauve_core.decoding import generate

    prompts = prompts_of(10)
    settings = GenerationSettings(max_new_tokens=8, min_new_tokens=8, seed=1, batch_rows=3)
    specs = ["greedy", "nucleus:p=0.95"]
    calls = []
    real = generate.continue_prompts

    def counted(loaded, batch, decoder, given, generation, shapes):
        if len(calls) == 5:
            calls.append("stopped")
            raise KeyboardInterrupt
        calls.append(batch.ids)
        return real(loaded, batch, decoder, given, generation, shapes)

    monkeypatch.setattr(generate, "continue_prompts", counted)
    with pytest.raises(KeyboardInterrupt):
        generate_files(folder, prompts, specs, tmp_path / "out", settings=settings)
    assert not (tmp_path / "out" / "nucleus-0.95.jsonl").exists()
    paths = generate_files(folder, prompts, specs, tmp_path / "out", settings=settings)
    batches = [call for call in calls if call != "stopped"]
    assert (
        len(batches) == len(set(zip(["g"] * 4 + ["n"] * 4, batches, strict=True))) == 8
    )  # 2 x ceil(10 / 3), none twice
    undisturbed = generate_files(folder, prompts, specs, tmp_path / "again", settings=settings)
    for spec in specs:
        assert paths[spec].read_bytes() == undisturbed[spec].read_bytes()
        rows = [json.loads(line) for line in paths[spec].read_text(encoding="utf-8").splitlines()]
        assert [row["id"] for row in rows] == list(prompts.ids)
        assert [row["prompt"] for row in rows] == list(prompts.texts)
        assert {row["decoder"] for row in rows} == {spec}
        assert {row["seed"] for row in rows} == {1}
        assert all(row["parameters"] == parse_decoder(spec).values for row in rows)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["draw"] == "inverse"
    assert manifest["decoders"] == {"greedy": "greedy.jsonl", "nucleus:p=0.95": "nucleus-0.95.jsonl"}
    assert manifest["settings"] == {"max_new_tokens": 8, "min_new_tokens": 8, "seed": 1, "repeats": 1}
    assert (manifest["generations"], manifest["notes"]) == ({"greedy": 1, "nucleus:p=0.95": 1}, [])
    before = len(calls)
    generate_files(folder, prompts, specs, tmp_path / "out", settings=settings)
    assert len(calls) == before  # complete files are kept
    other = GenerationSettings(max_new_tokens=8, min_new_tokens=8, seed=2, batch_rows=3)
    changed = generate_files(folder, prompts, specs, tmp_path / "out", settings=other)
    assert changed["nucleus:p=0.95"].read_bytes() != undisturbed["nucleus:p=0.95"].read_bytes()


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_generations_have_streams_of_their_own_and_the_first_is_the_text_without_repeats(folder, tmp_path):
    prompts = prompts_of(7)
    settings = GenerationSettings(max_new_tokens=8, min_new_tokens=8, seed=1, batch_rows=3, repeats=3)
    specs = ["greedy", "ancestral", "adversarial:ppl=20"]
    paths = generate_files(folder, prompts, specs, tmp_path / "out", settings=settings)
    once = generate_files(folder, prompts, specs, tmp_path / "once", settings=replace(settings, repeats=1))
    more = generate_files(folder, prompts, specs, tmp_path / "more", settings=replace(settings, repeats=4))
    for spec in specs:
        rows, only = rows_of(paths[spec]), rows_of(once[spec])
        written = 1 if spec == "greedy" else 3
        assert [row["generation"] for row in rows] == [g for g in range(written) for _ in prompts.ids]
        assert [row["id"] for row in rows[:7]] == list(prompts.ids)
        assert len({row["id"] for row in rows}) == 7 * written
        assert [row["prompt"] for row in rows] == list(prompts.texts) * written
        assert not any("generation" in row for row in only)
        assert [row["text"] for row in rows[:7]] == [row["text"] for row in only]
        assert rows == rows_of(more[spec])[: len(rows)]
    texts = [row["text"] for row in rows_of(paths["ancestral"])]
    assert all(len(set(texts[i::7])) == 3 for i in range(7))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["repeats"] == 3
    assert manifest["generations"] == {"greedy": 1, "ancestral": 3, "adversarial:ppl=20": 3}
    assert "Written once" in manifest["notes"][0]
    assert manifest["notes"][0].endswith("same: greedy")


def test_repeats_resume_and_decide_whether_a_file_is_kept(folder, tmp_path, monkeypatch):
    from mauve_core.decoding import generate

    prompts, calls, real = prompts_of(6), [], generate.continue_prompts

    def counted(loaded, batch, decoder, given, generation, shapes):
        if len(calls) == 3:
            calls.append("stopped")
            raise KeyboardInterrupt
        calls.append((batch.ids, generation))
        return real(loaded, batch, decoder, given, generation, shapes)

    monkeypatch.setattr(generate, "continue_prompts", counted)
    settings = GenerationSettings(max_new_tokens=4, batch_rows=3, repeats=2)
    with pytest.raises(KeyboardInterrupt):
        generate_files(folder, prompts, ["ancestral"], tmp_path, settings=settings)
    told = []
    path = generate_files(
        folder, prompts, ["ancestral"], tmp_path, settings=settings, progress=lambda *state: told.append(state)
    )["ancestral"]
    batches = [call for call in calls if call != "stopped"]
    assert len(batches) == len(set(batches)) == 4  # two batches of each generation, none twice
    assert told[-1] == ("writing ancestral", 12, 12)
    assert len(rows_of(path)) == 12
    generate_files(folder, prompts, ["ancestral"], tmp_path, settings=replace(settings, repeats=1))
    assert len(rows_of(path)) == 6
    assert len(calls) == 5 + 2


def test_ids_that_another_generation_would_take_are_refused(folder, tmp_path):
    prompts = Prompts(("a", "a#1"), ("the dog", "the cat"))
    with pytest.raises(InputError, match=r"tell generations apart.*a#1"):
        generate_files(folder, prompts, ["ancestral"], tmp_path, settings=GenerationSettings(repeats=2))


def test_a_full_disk_leaves_the_finished_batches(folder, tmp_path, monkeypatch):
    import errno
    import os

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        generate_files(folder, prompts_of(2), ["greedy"], tmp_path, settings=GenerationSettings(max_new_tokens=2))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("spec", SPECS)
def test_every_decoder_reads_its_own_text_back(spec):
    assert parse_decoder(spec).spec == spec
    assert parse_decoder(parse_decoder(spec).spec) == parse_decoder(spec)


def test_every_decoder_is_tried_here():
    assert {parse_decoder(spec).kind.name for spec in SPECS} == set(DECODERS)


@pytest.mark.parametrize(
    ("spec", "full", "slug"),
    [
        ("nucleus", "nucleus:p=0.95", "nucleus-0.95"),
        ("beam", "beam:b=4", "beam-4"),
        ("beam:no-repeat=4,b=8", "beam:b=8,no-repeat=4", "beam-8-no-repeat-4"),
        ("contrastive: k=4", "contrastive:alpha=0.6,k=4", "contrastive-0.6-4"),
        ("adversarial:ppl=12.5,share=0.2", "adversarial:ppl=12.5,share=0.2", "adversarial-12.5-share-0.2"),
        ("nucleus:p=0.12345678", "nucleus:p=0.12345678", "nucleus-0.12345678"),
    ],
)
def test_what_is_left_out_takes_its_default(spec, full, slug):
    decoder = parse_decoder(spec)
    assert (decoder.spec, decoder.slug) == (full, slug)


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "beem",
        "nucleus:p=0",
        "nucleus:p=1.1",
        "nucleus:p=nan",
        "nucleus:k=3",
        "nucleus:p=x",
        "nucleus:p=0.9,p=0.8",
        "top-k:k=0.5",
        "top-k:k=0",
        "greedy:p=1",
        "temperature:t=0",
        "typical:tau=1",
        "beam:b=1",
        "beam:b=129",
        "beam:b=100000",
        "beam:b=4,no-repeat=-1",
        "contrastive:alpha=1.1",
        "contrastive:k=129",
        pytest.param("top-k:k=1" + "0" * 400, id="top-k with 401 digits"),
        "adversarial",
        "adversarial:ppl=1",
        "adversarial:ppl=10,share=1",
    ],
)
def test_wrong_decoders_are_refused_with_what_is_allowed(spec):
    with pytest.raises(InputError) as caught:
        parse_decoder(spec)
    assert spec[:40] in str(caught.value)


def test_large_whole_numbers_are_written_as_they_are_read():
    assert parse_decoder("top-k:k=1000000").spec == "top-k:k=1000000"


def with_settings(folder, place, **settings):
    """A copy of the model whose generation_config.json holds these settings and nothing else."""
    copy = shutil.copytree(folder, place / "copy", dirs_exist_ok=True)
    (copy / "generation_config.json").write_text(json.dumps(settings))
    return str(copy)


SETTINGS = {
    "repetition_penalty": 5.0,
    "suppress_tokens": list(range(100, 300)),
    "forced_eos_token_id": 0,
    "min_length": 30,
    "bad_words_ids": [[i] for i in range(100, 300)],
    "do_sample": True,
    "watermarking_config": {"greenlist_ratio": 0.5, "no_such_field": 1},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_model_cannot_change_a_decoder(folder, model, tmp_path, name):
    settings = GenerationSettings(max_new_tokens=8)
    asking = load_model(with_settings(folder, tmp_path, **{name: SETTINGS[name]}), with_head=True, device="cpu")
    for spec in ("greedy", "temperature:t=0.7", "beam:b=2", "contrastive"):
        expected = continue_prompts(model, prompts_of(3), parse_decoder(spec), settings)
        assert continue_prompts(asking, prompts_of(3), parse_decoder(spec), settings) == expected
    known = name != "custom_of_theirs"
    assert len(asking.writing_notes) == known
    assert not known or f"parameters alone: {name}" in asking.writing_notes[0]
    assert model.writing_notes == ()


@pytest.mark.parametrize("stated", ["generation_config.json", "config.json", "tokenizer"])
def test_a_text_ends_where_the_model_says(folder, model, tmp_path, stated, monkeypatch):
    settings, outputs, generate = GenerationSettings(max_new_tokens=8), [], model.model.generate
    with monkeypatch.context() as patch:
        patch.setattr(model.model, "generate", lambda **options: outputs.append(generate(**options)) or outputs[0])
        texts = continue_prompts(model, prompts_of(1), parse_decoder("ancestral"), settings)
    ids = outputs[0][0, -8:].tolist()  # not those of the text, whose bytes may make other tokens
    ends = {"generation_config.json": [399, ids[3]], "config.json": ids[3], "tokenizer": 0}[stated]
    copy = Path(
        with_settings(folder, tmp_path, **({"eos_token_id": ends} if stated == "generation_config.json" else {}))
    )
    config = json.loads((copy / "config.json").read_text())
    config["eos_token_id"] = {"generation_config.json": 0, "config.json": ends, "tokenizer": 50256}[stated]
    (copy / "config.json").write_text(json.dumps(config))
    loaded = load_model(str(copy), with_head=True, device="cpu")
    assert loaded.model.generation_config.eos_token_id == (ends if isinstance(ends, list) else [ends])
    if stated != "tokenizer":
        written = continue_prompts(loaded, prompts_of(1), parse_decoder("ancestral"), settings)[0]
        assert texts[0].startswith(written)
        assert len(written) < len(texts[0])


@pytest.mark.parametrize("value", ["x", 10**20, -1, 400, 1.5, True, [], ["x"], [0, 400], {"a": 1}])
@pytest.mark.parametrize("name", ["eos_token_id", "bos_token_id", "pad_token_id"])
def test_ends_that_are_no_tokens_are_refused(folder, tmp_path, name, value):
    with pytest.raises(InputError, match=rf"generation_config\.json cannot be used: {name} = .*0 to 399"):
        load_model(with_settings(folder, tmp_path, **{name: value}), with_head=True, device="cpu")


def test_settings_that_are_no_object_are_refused(folder, tmp_path):
    copy = Path(with_settings(folder, tmp_path))
    (copy / "generation_config.json").write_text("[1]")
    with pytest.raises(InputError, match=r"generation_config\.json"):
        load_model(str(copy), with_head=True, device="cpu")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_model_without_finite_logits_writes_nothing(folder, tmp_path, spec, value):
    import torch

    loaded = load_model(folder, with_head=True, device="cpu")
    with torch.no_grad():
        loaded.model.transformer.ln_f.bias[3] = value
    with pytest.raises(InputError, match="gpt2 give no finite logits"):
        generate_files(loaded, prompts_of(2), [spec], tmp_path, settings=GenerationSettings(max_new_tokens=3))
    assert not list(tmp_path.glob("*.jsonl"))


def test_logits_that_break_later_are_found_and_masked_ones_are_not():
    import torch

    check, ids = FiniteLogits("m"), torch.zeros((1, 1))
    masked = torch.tensor([[0.0, -math.inf]])
    assert check(ids, masked) is masked
    check(ids, torch.tensor([[0.0, math.nan]]))
    check(ids, masked)
    with pytest.raises(InputError, match="the model m give no finite logits"):
        check.check()


def test_wrong_generation_is_refused(folder, model, tmp_path):
    with pytest.raises(InputError, match="without repeats"):
        generate_files(folder, prompts_of(1), ["greedy", "greedy"], tmp_path)
    with pytest.raises(InputError, match="max_new_tokens"):
        GenerationSettings(max_new_tokens=0)
    with pytest.raises(InputError, match="its own id"):
        Prompts(("a", "a"), ("x", "y"))
    too_long = GenerationSettings(max_new_tokens=model.max_positions)
    with pytest.raises(InputError, match="too long for the model"):
        continue_prompts(model, prompts_of(1), parse_decoder("greedy"), too_long)


def test_a_masked_model_cannot_write(tmp_path):
    masked = make_roberta(tmp_path / "roberta")
    with pytest.raises(InputError, match="cannot generate text"):
        load_model(str(masked), with_head=True, device="cpu")
