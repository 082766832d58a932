"""Each measure against values worked out by hand, a plain twin, or the published definition."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from mauve_core.analyses.lexical_measures import SMOOTHING, sentence_scores, word_ids
from mauve_core.analyses.likelihood_measures import EpsilonPerplexity, Sparsemax, TokenJS
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Tokens
from mauve_core.analyses.measure_terms import Measurements, NotDefinedError
from mauve_core.analyses.text_measures import MEASURES, measure
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.estimators.token_sequences import Overlap
from mauve_core.stats.diversity import vendi_score
from tests.tiny_models import SENTENCES, make_gpt2


class Words(MeasureContext):
    """A token is a white-space word, so that values can be worked out by hand."""

    def tokens(self, texts, progress=None) -> Tokens:
        return self.words(texts)


def collection(texts, name="q", **more):
    return Collection(name=name, ids=tuple(str(i) for i in range(len(texts))), texts=tuple(texts), **more)


def value(name, texts, human=("x y",), **more):
    return MEASURES[name].terms(collection(texts, **more), collection(human, "human"), Words()).value()


@pytest.mark.parametrize(
    ("text", "ends_in_copies"),
    [
        ("a b a b", 1),
        ("a b c", 0),
        ("a a", 1),
        ("x a b c a b c", 1),
        ("a b a b x", 0),
        ("a", 0),
        ("b a b a c a b a c", 1),
    ],
)
def test_repetition_is_two_copies_at_the_end(text, ends_in_copies):
    assert value("repetition", [text]) == ends_in_copies


def test_repetition_against_a_plain_search():
    rng = np.random.default_rng(0)
    for _ in range(300):
        words = rng.choice(list("ab"), size=rng.integers(1, 9)).tolist()
        plain = any(words[-n:] == words[-2 * n : -n] for n in range(1, len(words) // 2 + 1))
        assert value("repetition", [" ".join(words)]) == plain


def test_copied_is_the_share_of_texts_in_human_ones_and_of_human_texts_in_the_others():
    human = ["a b c d e f g h i", "A b c, d e f g h", "one two three four five six seven eight nine ten"]
    assert value("copied", [f"{human[0]} x", "b " * 8, "short"], human) == 0.5
    own = MEASURES["copied"].human_terms(collection(human, "human"), Words())
    assert own.value() == pytest.approx(2 / 3)
    assert own.value(np.array([2])) == 0
    with pytest.raises(NotDefinedError, match="no text has 8 words"):
        value("copied", ["short"], human)


def test_distinct_counts_over_all_texts():
    # 4-grams: abcd, bcde of the first, abcd of the second: 2 different of 3.
    assert value("distinct", ["a b c d e", "a b c d"]) == pytest.approx(2 / 3, abs=1e-15)
    with pytest.raises(NotDefinedError):
        value("distinct", ["a b c"])


def test_diversity_is_the_product_of_shares_within_texts():
    # Text 1, a a a a a: 1 of 4, 1 of 3, 1 of 2; text 2, a b c d: 3 of 3, 2 of 2, 1 of 1.
    expected = (4 / 7) * (3 / 5) * (2 / 3)
    assert value("diversity", ["a a a a a", "a b c d"]) == pytest.approx(expected, abs=1e-15)


def test_length_counts_words():
    assert value("length", ["a b c", "d"]) == 2


def test_zipf_is_one_for_frequencies_that_are():
    words = [f"w{rank}" for rank in range(1, 7) for _ in range(60 // rank)]
    assert value("zipf", [" ".join(words)]) == pytest.approx(1, abs=1e-12)


def test_self_bleu_is_sacrebleus_with_all_other_texts_as_references():
    from sacrebleu.metrics.bleu import BLEU

    rng = np.random.default_rng(3)
    vocabulary = ["the", "a", "cat", "sat,", "on", "mat.", "dog"]
    texts = [" ".join(rng.choice(vocabulary, size=rng.integers(1, 15))) for _ in range(40)]
    texts += ["same words here now", "same words here now", "one", "a b", "a b c"]
    rows = np.arange(len(texts))
    found = sentence_scores(Overlap(*word_ids(tuple(texts)), 4), rows)
    plain = BLEU(**SMOOTHING, effective_order=False)
    for row in rows:
        others = [[text] for place, text in enumerate(texts) if place != row]
        assert found[row] * 100 == pytest.approx(plain.corpus_score([texts[row]], others).score, abs=1e-9)


@pytest.mark.parametrize(
    ("sp", "js", "perplexity"),
    [(0.431, 0.394, 1049.589), (0.465, 0.371, 708.057), (0.483, 0.359, 580.020), (0.496, 0.349, 497.696)],
)
def test_the_published_figures_of_greedy_decoding_pin_the_definitions(sp, js, perplexity):
    """JMLR 2023, table 15, the rows "Greedy" of four sizes; GPT-2 has 50,257 words. A greedy p is 1 or 0."""
    n = 100_000
    p = np.zeros(n)
    p[: round(sp * n)] = 1
    ones, words = np.ones(n), np.full(n, 50_257.0)
    assert Sparsemax().of_tokens(p, ones, words) == pytest.approx(sp, abs=1e-9)
    assert TokenJS().of_tokens(p, ones, words) == pytest.approx(
        js, abs=0.0005 + 0.0005 * math.log(2)
    )  # rounding of both
    low, high = (
        EpsilonPerplexity().of_tokens(np.repeat([1.0, 0.0], [k, n - k]), ones, words)
        for k in (round((sp + 0.0005) * n), round((sp - 0.0005) * n))
    )
    assert low <= perplexity <= high


def test_token_js_by_its_definition():
    p = np.array([0.5, 0.2, 0.3])
    one_hot = np.array([0.0, 1.0, 0.0])
    mean = (p + one_hot) / 2
    by_hand = 0.5 * (p * np.log(p / mean)).sum() + 0.5 * math.log(1 / mean[1])
    assert TokenJS().of_tokens(p[1:2], np.array([0.38]), np.array([3.0])) == pytest.approx(by_hand, abs=1e-12)


def features(rng, shift, n=120, d=5):
    return (rng.normal(size=(n, d)) + shift).astype(np.float32)


def sides(shift, n=120):
    rng = np.random.default_rng(0)
    human = Collection("human", tuple(map(str, range(n))), ("a b",) * n, features=features(rng, 0, n))
    model = Collection("q", tuple(map(str, range(n))), ("a b",) * n, features=features(rng, shift, n))
    return human, model


def test_a_discriminator_knows_far_sides_and_guesses_at_equal_ones():
    human, model = sides(8)
    assert MEASURES["discriminator"].terms(model, human, MeasureContext()).value() == 1
    human, model = sides(0)
    # 60 test texts at chance: six standard deviations are 0.39.
    assert MEASURES["discriminator"].terms(model, human, MeasureContext()).value() == pytest.approx(0.5, abs=0.39)


@pytest.mark.parametrize("shift", [0, 1, 8])
def test_precision_and_recall_against_plain_loops(shift):
    human, model = sides(shift, 60)

    def within(points, manifold, k=5):
        distances = np.linalg.norm(manifold[:, None] - manifold[None], axis=-1)
        radii = np.sort(distances, axis=1)[:, k]  # the first is the point itself
        reached = np.linalg.norm(points[:, None] - manifold[None], axis=-1) <= radii
        return reached.any(axis=1).mean()

    p, q = human.features.astype(float), model.features.astype(float)
    assert MEASURES["precision"].terms(model, human, MeasureContext()).value() == pytest.approx(within(q, p), abs=1e-12)
    assert MEASURES["recall"].terms(model, human, MeasureContext()).value() == pytest.approx(within(p, q), abs=1e-12)


@pytest.mark.parametrize("shift", [0, 1, 8])
def test_density_and_coverage_against_plain_loops(shift):
    human, model = sides(shift, 60)
    p, q = human.features.astype(float), model.features.astype(float)
    radii = [sorted(np.linalg.norm(z - p, axis=1))[5] for z in p]  # the first is the point itself
    inside = [[np.linalg.norm(y - z) <= r for z, r in zip(p, radii, strict=True)] for y in q]
    density = sum(map(sum, inside)) / (5 * len(q))
    coverage = sum(any(row[i] for row in inside) for i in range(len(p))) / len(p)
    assert MEASURES["density"].terms(model, human, MeasureContext()).value() == pytest.approx(density, abs=1e-12)
    assert MEASURES["coverage"].terms(model, human, MeasureContext()).value() == pytest.approx(coverage, abs=1e-12)


def test_the_vendi_score_is_that_of_the_kept_texts_alone():
    human, model = sides(1, 60)
    terms = MEASURES["vendi"].terms(model, human, MeasureContext())
    rows = np.arange(0, 60, 3)
    assert terms.value() == vendi_score(model.features)
    assert terms.value(rows, None) == vendi_score(model.features[rows])
    assert MEASURES["vendi"].human_terms(human, MeasureContext()).value() == vendi_score(human.features)


def test_a_text_without_direction_has_no_vendi_score():
    human, model = sides(1, 60)
    flat = np.array(model.features)
    flat[7] = 0
    found = measure(human, {"q": dataclasses.replace(model, features=flat)}, ["vendi"], context=MeasureContext())
    assert found.rows[0].model is None
    assert "no direction" in found.rows[0].note
    assert found.rows[0].human is not None


@pytest.mark.parametrize("name", ["precision", "recall", "density", "coverage", "vendi"])
def test_measures_of_features_need_them(name):
    texts = collection(["a b"] * 50)
    with pytest.raises(InputError, match="features"):
        MEASURES[name].terms(texts, texts, MeasureContext())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2"))


def written(name, decoder=None, n=45):
    pairs = itertools.islice(itertools.cycle(itertools.permutations(SENTENCES, 2)), n)
    texts, prompts = zip(*[(f" {text} {i}", prompt[:10]) for i, (text, prompt) in enumerate(pairs)], strict=True)
    return Collection(name, tuple(map(str, range(n))), texts, prompts, decoder=decoder)


@pytest.mark.slow
def test_measures_of_a_model_against_plain_loops(folder):
    import torch

    from mauve_core.encoders.models import load_model

    human, model = written("human"), written("q", "top-k:k=3")
    found = measure(human, {"q": model}, ["perplexity", "sparsemax"], context=MeasureContext(folder, device="cpu"))
    loaded = load_model(folder, with_head=True, device="cpu")
    losses, scores = [], []
    for text, prompt in zip(human.texts, human.prompts, strict=True):
        ids = loaded.tokenizer(prompt + text)["input_ids"]
        ends = [end for _, end in loaded.tokenizer(prompt + text, return_offsets_mapping=True)["offset_mapping"]]
        with torch.inference_mode():
            p = loaded.model(torch.tensor([ids])).logits[0].double().softmax(-1)
        for place in range(1, len(ids)):
            if ends[place] > len(prompt):
                row = p[place - 1]
                losses.append(-math.log(row[ids[place]]))
                top = torch.where(row >= row.topk(3).values[-1], row, 0)
                top = top / top.sum()
                scores.append(float(top[ids[place]] + (1 - top.square().sum()) / 2))
    row = found.row("perplexity", "q")
    assert row.human.value == pytest.approx(math.exp(np.mean(losses)), rel=1e-5)  # float32 logits
    assert row.gap.value == pytest.approx(abs(row.model.value - row.human.value), abs=1e-9)
    assert found.row("sparsemax", "q").model.value == pytest.approx(np.mean(scores), rel=1e-4)
    assert found.row("sparsemax", "q").human is None


@pytest.mark.trial
def test_the_model_reads_the_human_text_once_for_all_decoders(folder, tmp_path, monkeypatch):
    from mauve_core.encoders import likelihood

    specs = ["greedy", "nucleus:p=0.5", "temperature:t=2", "beam:b=4", "top-k:k=3"]
    human, sides = written("human"), {spec: written(spec, spec) for spec in specs}
    alone = {}
    for spec, texts in sides.items():
        monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path / texts.name.replace(":", "-")))
        alone[spec] = measure(human, {spec: texts}, ["sparsemax"], context=MeasureContext(folder, device="cpu")).rows[0]
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path / "together"))
    passes = []
    reading = likelihood.over_positions
    monkeypatch.setattr(likelihood, "over_positions", lambda *a, **k: passes.append(1) or reading(*a, **k))
    together = measure(human, sides, ["sparsemax", "token-js"], context=MeasureContext(folder, device="cpu"))
    assert len(passes) == 1
    for spec, row in alone.items():
        found = together.row("sparsemax", spec)
        assert (found.model, found.note) == (row.model, row.note)


def test_a_decoder_without_a_distribution_has_no_sparsemax_score(folder):
    found = measure(
        written("human"), {"q": written("q", "beam:b=4")}, ["sparsemax"], context=MeasureContext(folder, device="cpu")
    )
    row = found.row("sparsemax", "q")
    assert row.model is None
    assert "beam:b=4 has no distribution" in row.note


def test_equal_sides_have_no_gap_and_every_value_a_spread():
    human = collection([f"the cat {i} sat on mat {i % 7} and slept" for i in range(100)], "human")
    found = measure(human, {"q": human}, ["zipf", "distinct", "self-bleu"], context=Words())
    assert all(row.gap.value == 0 for row in found.rows)
    assert all(row.model.sd > 0 and row.model.low <= row.model.value <= row.model.high for row in found.rows)
    assert from_json(Measurements, dataclass_to_json(found)) == found


def test_shared_prompts_make_the_gap_surer_than_its_parts():
    """Texts of one id stand in one group on both sides, so that what prompts have in common cancels."""
    lengths = np.random.default_rng(0).integers(5, 60, size=200)
    human = collection([" ".join(["w"] * n) for n in lengths], "human")
    model = collection([" ".join(["w"] * (n + 2)) for n in lengths])
    row = measure(human, {"q": model}, ["length"], context=Words()).row("length", "q")
    assert row.gap.value == pytest.approx(2)
    assert row.model.sd > 0.5
    assert row.gap.sd is None or row.gap.sd < 1e-9


def test_few_texts_have_no_spread_and_say_so():
    row = measure(collection(["a b"] * 3, "human"), {"q": collection(["a"] * 3)}, ["length"], context=Words()).rows[0]
    assert (row.model.sd, row.gap.low) == (None, None)
    assert "n is under 40" in row.note


def test_what_is_missing_is_noted_or_refused():
    human, model = collection(["a b c d"] * 3, "human"), collection(["a b c d"] * 3)
    found = measure(human, {"q": model}, context=Words())
    assert set(found.measures) == {"zipf", "repetition", "distinct", "diversity", "self-bleu", "copied", "length"}
    assert any(note.startswith("perplexity: left out") for note in found.notes)
    with pytest.raises(InputError, match="a scoring model is needed"):
        measure(human, {"q": model}, ["perplexity"], context=Words())
    with pytest.raises(InputError, match="No measure is named"):
        measure(human, {"q": model}, ["nonsense"], context=Words())
