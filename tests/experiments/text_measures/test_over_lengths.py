"""Measures of cut texts: the papers' formulas on texts cut here, and the stored measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.analyses.measures_over_lengths import (
    LONGEST,
    MOST_LENGTHS,
    OVER_LENGTH,
    lengths_in,
    lengths_run,
    over_lengths,
)
from mauve_core.analyses.method_scores import methods_run
from mauve_core.analyses.methods import Method
from mauve_core.analyses.text_measures import MEASURES, measure, measure_run
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.decoding.decoders import parse_decoder
from mauve_core.encoders import Encoder
from mauve_core.encoders.models import load_model
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from tests.synthetic import make_run
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

N = 48
CANDIDATES = ("nucleus:p=0.8", "other")
PAPERS = ("frechet", "perplexity", "sparsemax")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return str(make_gpt2(tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(scope="module")
def home(tmp_path_factory, gpt2):
    """A home with a run of a tiny encoder, whose texts have 4 to 40 tokens after their prompts."""
    home, words = tmp_path_factory.mktemp("lengths"), " ".join(SENTENCES[:5]).split()
    rng, corpora = np.random.default_rng(5), {}
    for name in (HUMAN, *CANDIDATES):
        pool = words if name == HUMAN else words[: len(words) // (1 + CANDIDATES.index(name))]
        texts = [" " + " ".join(rng.choice(pool, size=rng.integers(3, 10))) for _ in range(N)]
        prompts = [f"The {words[i % len(words)]}" for i in range(N)]
        corpora[name] = corpus_from_texts(texts, name=name, ids=[f"t{i}" for i in range(N)], prompts=prompts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        human = corpora.pop(HUMAN)
        score = ScoreConfig(k=4, seeds=1, restarts=1, bootstrap=100)
        config = CompareConfig(encoder=EncoderConfig(gpt2, max_tokens=60), score=score, projection=False)
        comparison = compare(human, corpora, config, device="cpu")
        texts = {HUMAN: human, **corpora}
        features = {
            name: Encoder(config.encoder, device="cpu").encode(corpus.encoder_inputs(False)).array
            for name, corpus in texts.items()
        }
        RunStore(home / "runs").save("cut", comparison, texts, features)
    return home


@pytest.fixture
def run(home, own_home, monkeypatch):
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    run = RunStore().load("cut")
    (run.path / "attached" / "lengths.json").unlink(missing_ok=True)
    return run


def frechet(x, y):
    """Heusel et al. 2017: |difference of means|^2 + trace(C + D - 2 (C D)^(1/2)), by the eigenvalues of C D."""
    c, d = (np.cov(side.astype(float), rowvar=False) for side in (x, y))
    roots = np.sqrt(np.maximum(np.linalg.eigvals(c @ d).real, 0)).sum()
    return float(((x.mean(0, dtype=float) - y.mean(0, dtype=float)) ** 2).sum() + np.trace(c) + np.trace(d) - 2 * roots)


def scored(loaded, prompt, text, length):
    """Logits before each of the first ``length`` tokens of the text, and these tokens; nothing after them is read."""
    encoded = loaded.tokenizer(prompt + text, return_offsets_mapping=True)
    ids = encoded["input_ids"]
    first = next(i for i, (_, end) in enumerate(encoded["offset_mapping"]) if end > len(prompt))
    ids = ids[: first + length]
    with torch.inference_mode():
        logits = loaded.model(input_ids=torch.tensor([ids])).logits[0].double().numpy()
    return logits[first - 1 : len(ids) - 1], np.array(ids[first:])


def plain(run, gpt2, name, length):
    """Fréchet distance, perplexities and sparsemax score from the papers' formulas, of texts cut here."""
    loaded = load_model(gpt2, device="cpu", with_head=True)
    corpora = {side: run.corpora[side] for side in (HUMAN, name)}
    x = {}
    for side, corpus in corpora.items():
        ids = [loaded.tokenizer(text)["input_ids"][:length] for text in corpus.texts]
        with torch.inference_mode():
            hidden = [
                loaded.model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states[-1][0, -1]
                for row in ids
            ]
        x[side] = torch.stack(hidden).double().numpy()
    losses, scores = {HUMAN: [], name: []}, []
    warpers = parse_decoder(CANDIDATES[0]).warpers()
    for side, corpus in corpora.items():
        for prompt, text in zip(corpus.prompts, corpus.texts, strict=True):
            logits, ids = scored(loaded, prompt, text, length)
            log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
            losses[side] += (-log_p[np.arange(len(ids)), ids]).tolist()
            if side == HUMAN:
                scores += [_sparsemax(row, token, warpers) for row, token in zip(log_p, ids, strict=True)]
    return frechet(x[HUMAN], x[name]), {side: math.exp(np.mean(each)) for side, each in losses.items()}, np.mean(scores)


def _sparsemax(log_p, token, warpers, p=0.8):
    """1 - L of Martins et al. 2020: p(x) + (1 - sum of p squared) / 2, of the smallest nucleus that reaches 0.8."""
    assert len(warpers) == 1
    order = np.argsort(-log_p)
    probabilities = np.exp(log_p[order])
    kept = order[: 1 + int(np.searchsorted(np.cumsum(probabilities), p))]
    q = np.zeros(len(log_p))
    q[kept] = np.exp(log_p[kept]) / np.exp(log_p[kept]).sum()
    return q[token] + (1 - (q**2).sum()) / 2


@pytest.mark.parametrize("length", [3, 7])
def test_the_papers_measures_are_their_formulas_on_cut_texts(run, gpt2, length):
    name = CANDIDATES[0]
    table = lengths_run(run, [length], PAPERS, model=gpt2, device="cpu")
    distance, perplexity, score = plain(run, gpt2, name, length)
    found = {row.measure: row for row in table.rows if row.candidate == name}
    assert found["frechet"].model.value == pytest.approx(distance, rel=1e-3)  # the encoder's rounding is float32
    assert found["perplexity"].model.value == pytest.approx(perplexity[name], rel=1e-4)
    assert found["perplexity"].human.value == pytest.approx(perplexity[HUMAN], rel=1e-4)
    gap = abs(perplexity[name] - perplexity[HUMAN])
    assert found["perplexity"].gap.value == pytest.approx(gap, rel=1e-3)
    assert found["sparsemax"].model.value == pytest.approx(score, rel=1e-4)
    assert [found[each].human for each in ("frechet", "sparsemax")] == [None, None]


def test_where_nothing_is_cut_they_are_the_stored_measures_to_the_digit(run, gpt2):
    table = lengths_run(run, [5, 64], model=gpt2, device="cpu")
    assert table.measures == tuple(OVER_LENGTH)
    stored = measure_run(run, model=gpt2, device="cpu")
    whole = {(row.measure, row.candidate): row for row in table.rows if row.length == 64}
    for row in stored.rows:
        found = whole[row.measure, row.candidate]
        assert (found.model, found.human, found.gap, found.note) == (row.model, row.human, row.gap, row.note)
    for order in table.orders:
        of = "gap" if table.has_gaps(order.measure) else "value"
        tests = {(each.first, each.second): each for each in stored.tests(order.measure, of)}
        if order.measure in MEASURES and tests:
            test = tests[order.first, order.second]
            signs = (64 in order.larger, 64 in order.smaller)
            assert signs == (test.told_apart and test.difference > 0, test.told_apart and test.difference < 0)
    method = methods_run(run, [Method("frechet")], seeds=1).results[0]
    for name in CANDIDATES:
        value, score = whole["frechet", name].model, method.scores[name]
        assert (value.value, value.sd) == pytest.approx((score.value, score.sd_texts), rel=1e-9)


def test_words_and_tokens_end_with_the_last_token(run):
    table = lengths_run(run, [1, 4, 64], ["length", "distinct"])
    lengths = [row.model.value for row in table.line("length", "other")]
    assert lengths == sorted(lengths)
    assert 0 < lengths[0] <= 1
    assert table.line("distinct", "other")[0].model is None  # no 4-gram in a single token
    assert any(note.startswith("Distinct-4 of") and "at length 1: not defined" in note for note in table.notes)


def test_a_run_without_an_encoder_has_what_needs_no_features(own_home, gpt2, monkeypatch):
    monkeypatch.setattr("mauve_core.analyses.text_measures.DEFAULT_MODEL", gpt2)
    run = make_run(own_home, n=40, seeds=1, projection=False, names=("close",))
    table = lengths_run(run, [4])
    assert "length" in table.measures
    assert not {"frechet", "precision", "perplexity"} & set(table.measures)
    assert any(note.startswith("frechet: left out because texts cannot be cut") for note in table.notes)
    with pytest.raises(InputError, match="cannot be cut and encoded"):
        lengths_run(run, [4], ["frechet"])
    with pytest.raises(InputError, match="scoring model"):
        lengths_run(run, [4], ["perplexity"])


def test_the_default_lengths_end_with_all_tokens(run):
    table = lengths_run(run, names=["length"])
    longest = table.lengths[-1]
    assert table.lengths[-2] == round(longest / 2)
    assert [row.model for row in table.rows if row.length == longest] == [
        row.model for row in measure_run(run, ["length"]).rows if row.measure == "length"
    ]


@pytest.mark.parametrize("wrong", [[0], [-1], [], [2.0], [True], ["8"], [LONGEST + 1], [10**30]])
def test_lengths_that_cannot_be_used_are_refused(run, wrong):
    with pytest.raises(InputError, match="cut at these lengths"):
        lengths_run(run, wrong, ["length"])


def test_what_is_written_is_read_or_refused(run):
    assert lengths_in("128, 32,64,32") == (32, 64, 128)
    for wrong in ("", "a", "0", "-4", "1,,2", "1-3", "1.5", "\u00b2", "9" * 5000):
        with pytest.raises(InputError):
            lengths_in(wrong)
    with pytest.raises(InputError, match="at most"):
        lengths_run(run, range(1, MOST_LENGTHS + 2), ["length"])
    for names in (["nonsense"], []):
        with pytest.raises(InputError):
            lengths_run(run, [4], names)


def test_generations_are_cut_apart_and_meet_the_measures_where_whole(run, gpt2):
    texts = {name: run.corpora[name].texts for name in (HUMAN, "other")}
    human = Collection(HUMAN, tuple(f"t{i}" for i in range(N)), texts[HUMAN])
    half = N // 2
    twice = Collection("q", tuple(f"t{i // 2}" for i in range(N)), texts["other"], generations=(0, 1) * half)
    context = MeasureContext(tokenizer=gpt2)
    table = over_lengths(human, {"q": twice}, [3, 64], ["distinct", "length"], context=context)
    whole = measure(human, {"q": twice}, ["distinct", "length"], context=context)
    for name in table.measures:
        found, own = table.line(name, "q")[1], whole.row(name, "q")
        assert (found.model, found.human, found.gap, found.note) == (own.model, own.human, own.gap, own.note)
    first, second = (np.mean([len(text.split()) for text in texts["other"][part::2]]) for part in (0, 1))
    assert table.line("length", "q")[1].model.generations == pytest.approx((first, second))
