"""Kneser-Ney models against hand values, dictionaries and KenLM; divergences over strings against known sides."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS
from mauve_core.numerics.ratios.log_ratios import LogRatios
from mauve_core.numerics.strings.kneser_ney import FALLBACK, KneserNey, estimated_discounts
from mauve_core.numerics.strings.string_models import PUBLISHED, five_divergences, string_divergences, string_ratios

texts_of_few_tokens = st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=8)


class Dictionaries:
    """The same model, one n-gram at a time."""

    def __init__(self, texts, vocabulary, order):
        self.vocabulary, self.order = vocabulary, order
        occurrences = Counter()
        for text in texts:
            symbols = ("<s>", *text, "</s>")
            for n in range(1, order + 1):
                occurrences.update(symbols[i : i + n] for i in range(len(symbols) - n + 1))
        before = defaultdict(set)
        for gram in occurrences:
            before[gram[1:]].add(gram[0])
        self.adjusted = {
            gram: count if len(gram) == order or gram[0] == "<s>" else len(before[gram])
            for gram, count in occurrences.items()
            if gram != ("<s>",)
        }
        self.discounts = [self.discount(n) for n in range(1, order + 1)]
        self.following = defaultdict(list)
        for gram, count in self.adjusted.items():
            self.following[gram[:-1]].append(count)

    def discount(self, n):
        t = Counter(count for gram, count in self.adjusted.items() if len(gram) == n)
        if not (t[1] and t[2] and t[3]):
            return FALLBACK
        y = t[1] / (t[1] + 2 * t[2])
        found = [k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3)]
        return found if min(found) >= 0 else FALLBACK

    def taken(self, count, n):
        return self.discounts[n - 1][min(count, 3) - 1]

    def probability(self, context, token):
        if context is None:
            return 1 / (self.vocabulary + 1)
        counts = self.following.get(context)
        shorter = context[1:] if context else None
        if not counts:
            return self.probability(shorter, token)
        n, count = len(context) + 1, self.adjusted.get((*context, token), 0)
        own = (count - self.taken(count, n)) / sum(counts) if count else 0.0
        weight = sum(self.taken(other, n) for other in counts) / sum(counts)
        return own + weight * self.probability(shorter, token)

    def token_log_probabilities(self, texts):
        found = []
        for text in texts:
            symbols = ("<s>", *text, "</s>")
            for i in range(1, len(symbols)):
                found.append(math.log(self.probability(symbols[max(0, i - self.order + 1) : i], symbols[i])))
        return found


def made_texts(count, *, state, longest=24, vocabulary=600):
    """Texts from a linear congruence: small tokens are frequent, and a token often follows from the one before."""

    def draw():
        nonlocal state
        state = (1103515245 * state + 12345) % 2**31
        return state / 2**31

    texts = []
    for _ in range(count):
        text = []
        for _ in range(int(draw() * longest)):
            last = text[-1] if text else 0
            text.append((int(vocabulary * draw() ** 4) + (last if draw() < 0.5 else 0)) % vocabulary)
        texts.append(text)
    return texts


def test_a_bigram_model_by_hand():
    # Texts "0 1" and "0 2": starts s, ends e; few counts, so the discounts are 1/2, 1 and 3/2.
    model = KneserNey.fit([[0, 1], [0, 2]], vocabulary=4, order=2)
    assert model.discounts.tolist() == [list(FALLBACK)] * 2
    assert len(model.notes) == 2
    # Different tokens before: 0 (s), 1 (0), 2 (0), e (1, 2); 5 in all. Of 1, 1, 1, 2 the discounts take 2.5.
    base = 2.5 / 5 / 5  # half of the mass, shared by four tokens and the end
    alone = {0: 0.5 / 5 + base, 1: 0.5 / 5 + base, 2: 0.5 / 5 + base, 3: base, "e": 1 / 5 + base}
    assert sum(alone.values()) == pytest.approx(1, abs=1e-15)
    # After s: 0 twice, so (2 - 1) / 2, weight 1/2. After 0: 1 and 2 once each, (1 - 1/2) / 2, weight 1/2.
    # After 1: e once, 1/2, weight 1/2. After 3, never seen: all from the lower order.
    expected = {
        (0, 1): [0.5 + alone[0] / 2, 0.25 + alone[1] / 2, 0.5 + alone["e"] / 2],
        (1, 0): [alone[1] / 2, alone[0] / 2, alone["e"] / 2],
        (3,): [alone[3] / 2, alone["e"]],
        (): [alone["e"] / 2],
    }
    found = np.exp(model.token_log_probabilities(list(expected)))
    np.testing.assert_allclose(found, np.concatenate(list(expected.values())), rtol=1e-14)  # a few roundings
    products = [math.log(math.prod(values)) for values in expected.values()]
    np.testing.assert_allclose(model.log_probabilities(list(expected)), products, rtol=1e-13)


def test_discounts_by_hand():
    # t = 10, 4, 2, 1: t_1 / (t_1 + 2 t_2) = 5/9; 1 - 2 (5/9) (4/10), 2 - 3 (5/9) (2/4), 3 - 4 (5/9) (1/2).
    adjusted = np.repeat([0, 1, 2, 3, 4, 5, 90], [3, 10, 4, 2, 1, 7, 1])
    np.testing.assert_allclose(estimated_discounts(adjusted), [5 / 9, 7 / 6, 17 / 9], rtol=1e-14)
    assert estimated_discounts([1, 2, 4]) is None  # t_3 = 0
    assert estimated_discounts([1] * 10 + [2] + [3] * 30) is None  # D_2 = 2 - 3 (10/12) 30 < 0


@settings(deadline=None, max_examples=60)
@given(texts_of_few_tokens, texts_of_few_tokens, st.integers(1, 5))
def test_dictionaries_say_the_same(fitted, scored, order):
    model, twin = KneserNey.fit(fitted, 5, order), Dictionaries(fitted, 5, order)
    found, expected = model.token_log_probabilities(scored), twin.token_log_probabilities(scored)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_dictionaries_say_the_same_where_discounts_are_estimated(order):
    fitted, scored = made_texts(150, state=1), made_texts(20, state=2)
    model, twin = KneserNey.fit(fitted, 600, order), Dictionaries(fitted, 600, order)
    assert any(values != list(FALLBACK) for values in model.discounts.tolist())
    np.testing.assert_allclose(model.discounts, twin.discounts, rtol=1e-14)
    found, expected = model.token_log_probabilities(scored), twin.token_log_probabilities(scored)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("context", [[], [0], [5], [3, 7], [49], [0, 1, 2, 3, 4, 5], [49, 48, 3, 3], None])
def test_what_may_come_next_sums_to_one(context):
    fitted = made_texts(100, state=3, vocabulary=40)
    context = fitted[2][:4] if context is None else context  # one that was seen; 40 to 49 never were
    model = KneserNey.fit(fitted, 50)
    longer = [[*context, token] for token in range(50)]
    next_token = model.token_log_probabilities(longer).reshape(50, -1)[:, len(context)]
    the_end = model.token_log_probabilities([context])[-1]
    assert np.exp(next_token).sum() + np.exp(the_end) == pytest.approx(1, abs=1e-13)  # 51 roundings


def test_all_short_texts_together_have_less_than_all_probability():
    model = KneserNey.fit([[0, 1], [1], [], [0, 0, 1]], 2, order=3)
    short = [[], *([a] for a in (0, 1)), *([a, b] for a in (0, 1) for b in (0, 1))]
    total = np.exp(model.log_probabilities(short)).sum()
    assert 0.5 < total < 1  # three of the four texts that it was fitted to are among them


def test_kenlm_says_the_same():
    """Reference: KenLM 0.3.0, ``lmplz -o 4 --discount_fallback``, log10 of whole texts; it prints seven digits."""
    fitted = made_texts(300, state=1)
    ids = {token: place for place, token in enumerate(sorted({token for text in fitted for token in text}))}
    unknown = len(ids)

    def renamed(texts):
        return [[ids.get(token, unknown) for token in text] for text in texts]

    model = KneserNey.fit(renamed(fitted), len(ids) + 1, order=4)
    expected = [[0.239437, 1.38146, 2.14524], [0.866626, 1.36501, 1.49567], [0.980365, 1.32775, 3], FALLBACK]
    np.testing.assert_allclose(model.discounts, expected, rtol=5e-6)
    scored = renamed([*made_texts(6, state=99), [], [600, 3, 600]])
    expected = [-52.28089, -1.23821, -45.5241, -58.95091, -50.63455, -55.71383, -1.23821, -10.23121]
    np.testing.assert_allclose(model.log_probabilities(scored) / math.log(10), expected, atol=6e-6)


def test_texts_that_no_model_can_read_are_refused():
    with pytest.raises(InputError, match="lies outside the vocabulary"):
        KneserNey.fit([[0, 3]], 3)
    with pytest.raises(InputError, match="negative"):
        KneserNey.fit([[0, -1]], 3)
    with pytest.raises(InputError, match="something else in row 1"):
        KneserNey.fit([[0], [0.5]], 3)
    with pytest.raises(InputError, match="There are no texts"):
        KneserNey.fit([], 3)
    with pytest.raises(InputError, match="order"):
        KneserNey.fit([[0]], 3, order=0)


def chain(count, seed, *, tokens=12, length=15, favour=2.0):
    """Texts of a Markov chain whose next token is any, with chances that depend on the last."""
    rng = np.random.default_rng(seed)
    chances = np.random.default_rng(0).dirichlet(np.full(tokens, favour), size=tokens).cumsum(axis=1)
    texts = np.zeros((count, length), dtype=np.int64)
    for place in range(1, length):
        drawn = rng.random(count)[:, None] > chances[texts[:, place - 1]]
        texts[:, place] = np.minimum(drawn.sum(axis=1), tokens - 1)
    return list(texts)


def repetitive(count, seed, *, tokens=12, length=15):
    rng = np.random.default_rng(seed)
    return [np.repeat(token, length) for token in rng.integers(0, tokens, size=count)]


@pytest.mark.parametrize("per", ["text", "token"])
def test_sides_of_one_source_are_near_and_a_repetitive_one_is_far(per):
    human = chain(2000, 1)
    near = string_divergences(human, chain(2000, 2), order=2, per=per, seed=5)
    far = string_divergences(human, repetitive(2000, 3), order=2, per=per, seed=5)
    # Two models of a thousand texts each differ a little; forward and backward KL are means of that difference.
    for name in ("forward-kl", "backward-kl"):
        assert abs(near.values[name]) < 4 * near.sd[name]
        assert far.values[name] > (10 if per == "text" else 0.7) + 4 * far.sd[name]
    # log(2 / (1 + exp(-r))) lies between r / 2 - r^2 / 8 and r / 2, and here r is small.
    at_p, at_q = near.strings.ratios.at_p, near.strings.ratios.at_q
    most = (at_p.mean() - at_q.mean()) / 4
    assert most - (np.mean(at_p**2) + np.mean(at_q**2)) / 16 <= near.values["jensen-shannon"] <= most
    assert abs(near.values["jensen-shannon"]) < 0.05
    assert near.values["auc"] < 0.01
    assert far.values["jensen-shannon"] > 0.2
    if per == "text":
        # Hardly a text is likely under both: JS near log 2, and the frontier near that of disjoint sides, whose area
        # under ((1 - l)^s, l^s) is s B(1 + s, s); the published 25 weights are a coarse rule for it.
        assert far.values["jensen-shannon"] == pytest.approx(math.log(2), abs=0.01)
        disjoint = 1 - 0.2 * math.gamma(1.2) * math.gamma(0.2) / math.gamma(1.4)
        assert far.values["auc"] == pytest.approx(disjoint, abs=0.01)


def test_a_void_bound_is_told():
    """Whole texts of a large vocabulary and few to fit to: log ratios are far off, and the means fall below 0."""
    human, model = chain(100, 1, tokens=300, length=60), chain(100, 2, tokens=300, length=60)
    whole = string_divergences(human, model, per="text")
    assert whole.values["jensen-shannon"] < 0
    assert whole.values["auc"] < 0.01
    assert [note for note in whole.notes if "is below 0; the frontier has 0" in note]
    assert abs(string_divergences(human, model, per="token").values["jensen-shannon"]) < 0.02


def test_texts_a_model_was_fitted_to_look_likelier_to_it():
    human, model = chain(300, 1, tokens=50), chain(300, 2, tokens=50)
    held_out, own = (string_divergences(human, model, evaluate=part, per="text") for part in ("held-out", "own"))
    assert own.values["forward-kl"] > 10
    assert abs(held_out.values["forward-kl"]) < 2
    assert own.strings.rows_p.tolist() == list(range(300))


def test_per_token_is_per_text_over_the_number_of_tokens_and_the_end():
    human, model = made_texts(60, state=1), made_texts(50, state=8)
    whole = string_ratios(human, model, per="text", seed=3)
    token = string_ratios(human, model, per="token", seed=3)
    lengths = np.array([len(human[row]) + 1 for row in whole.rows_p])
    np.testing.assert_allclose(token.ratios.at_p * lengths, whole.ratios.at_p, rtol=1e-12, atol=1e-12)


def test_ratios_are_those_of_models_of_the_other_texts():
    human, model = made_texts(30, state=1), made_texts(22, state=8)
    found = string_ratios(human, model, order=3, per="text", held_out=0.3, vocabulary=700, seed=4)
    assert found.rows_p.size == 9
    assert found.rows_q.size == 7
    rest_p = [text for row, text in enumerate(human) if row not in found.rows_p]
    rest_q = [text for row, text in enumerate(model) if row not in found.rows_q]
    scored = [model[row] for row in found.rows_q]
    p, q = (KneserNey.fit(rest, 700, 3).log_probabilities(scored) for rest in (rest_p, rest_q))
    np.testing.assert_allclose(found.ratios.at_q, p - q, rtol=1e-12, atol=1e-12)
    assert found.ratios.notes[0] == "3-gram models of 21 human and 15 candidate texts over 700 tokens"


def test_both_sides_are_treated_alike():
    human, model = chain(80, 1), chain(80, 2, length=9)
    there, back = string_divergences(human, model, seed=6), string_divergences(model, human, seed=6)
    np.testing.assert_array_equal(there.strings.rows_p, there.strings.rows_q)  # equally many texts: the same rows
    np.testing.assert_array_equal(there.strings.ratios.at_p, -back.strings.ratios.at_q)
    assert there.values["forward-kl"] == back.values["backward-kl"]
    assert there.values["auc"] == pytest.approx(back.values["auc"], abs=1e-14)
    np.testing.assert_allclose(there.frontier.type1, back.frontier.type2[::-1], atol=1e-12)


def test_the_seed_decides_which_texts_are_held_out():
    human, model = made_texts(40, state=1), made_texts(40, state=8)
    first, again, other = (string_ratios(human, model, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.ratios.at_p, again.ratios.at_p)
    assert first.rows_p.tolist() != other.rows_p.tolist()


def test_five_divergences_by_hand():
    ratios = LogRatios([math.log(4), math.log(2)], [-math.log(3)])
    found = five_divergences(ratios, scale=1.0)
    assert found["forward-kl"] == pytest.approx(math.log(8) / 2)
    assert found["backward-kl"] == pytest.approx(math.log(3))
    assert found["exponentiated-kl"] == pytest.approx(math.sqrt(8))
    # log(p / (p/2 + q/2)) = log(2 r / (1 + r)) at r = 4 and 2; log(2 / (1 + r)) at r = 1/3.
    js = ((math.log(8 / 5) + math.log(4 / 3)) / 2 + math.log(3 / 2)) / 2
    assert found["jensen-shannon"] == pytest.approx(js)
    weights = REFERENCE_WEIGHTS
    y = [math.exp(-(-math.log(w + (1 - w) / 4) - math.log(w + (1 - w) / 2)) / 2) for w in weights]
    x = [(1 - w) + w / 3 for w in weights]
    area = sum((a - b) * (c + d) / 2 for a, b, c, d in zip([1, *x], [*x, 0], [0, *y], [*y, 1], strict=True))
    assert found["auc"] == pytest.approx(1 - area, abs=1e-12)


def test_an_exponential_beyond_float64_is_infinite_and_so_is_its_spread():
    human = [np.full(400, 7)] * 10
    model = [np.arange(400) % 97 + 10] * 10
    found = string_divergences(human, model, **PUBLISHED)
    assert found.values["forward-kl"] > 710
    assert found.values["exponentiated-kl"] == math.inf
    assert found.sd["exponentiated-kl"] == math.inf


def test_the_spread_of_a_mean_is_that_of_means():
    # Texts are scored one by one, so the jackknife by groups must come near s / sqrt(n) of the log ratios.
    found = string_divergences(chain(1500, 1), chain(1500, 2), order=2)
    at_p = found.strings.ratios.at_p
    expected = at_p.std(ddof=1) / math.sqrt(at_p.size)
    assert found.sd["forward-kl"] == pytest.approx(expected, rel=0.5)  # 20 groups: a standard error of 16 %


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"evaluate": "all"}, "held-out, own"),
        ({"per": "word"}, "text, token"),
        ({"held_out": 1.0}, r"in \(0, 1\)"),
        ({"held_out": 0.01}, "too few texts"),
        ({"vocabulary": 2}, "outside the vocabulary"),
        ({"seed": -1}, "seed"),
        ({"scale": 0}, "scale"),
    ],
)
def test_arguments_that_are_refused(arguments, match):
    with pytest.raises(InputError, match=match):
        string_divergences([[0, 1, 2]] * 6, [[2, 1]] * 6, **arguments)


def test_sides_that_are_refused():
    with pytest.raises(InputError, match="no candidate's texts"):
        string_ratios([[0]], [])
    with pytest.raises(InputError, match="too few texts"):
        string_ratios([[0]], [[0], [1]])
    with pytest.raises(InputError, match="spread"):
        string_divergences([[0]], [[0]], evaluate="own")
