"""Kneser-Ney models against hand values, dictionaries and KenLM; divergences over strings against known sides."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from mauve_core.base.errors import InputError
from mauve_core.estimators.string_models import FALLBACK, KneserNey, estimated_discounts, string_ratios

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


@pytest.mark.parametrize("context", [(), (0,), (0, 7), (3, 3, 3)])
def test_symbols_are_drawn_as_often_as_they_are_probable(context):
    model = KneserNey.fit(made_texts(300, state=5, longest=12, vocabulary=20), 20, order=3)
    chance = [model.token_log_probabilities([[*context, token]])[len(context)] for token in range(20)]
    chance.append(model.token_log_probabilities([context])[-1])
    before = [-1, model.vocabulary + 1, *context][-2:]
    drawn, logs = model.draw(np.tile(before, (10_000, 1)), np.random.default_rng(0))
    assert logs == pytest.approx(np.array(chance)[drawn], rel=1e-9)
    counts = np.bincount(drawn, minlength=21)
    assert counts.size == 21
    assert chisquare(counts, 10_000 * np.exp(chance)).pvalue > 0.001


def test_nothing_is_known_from_before_a_token_outside_the_vocabulary():
    model = KneserNey.fit([[0, 1, 2, 0, 1, 2]], 3, order=3)
    chances = []
    for context in ([-1, -1], [0, -1], [-1, 0], [2, 0]):
        drawn, logs = model.draw(np.tile(context, (200, 1)), np.random.default_rng(0))
        chances.append(dict(zip(drawn.tolist(), logs.tolist(), strict=True)))
    nothing, unknown, one, two = chances
    assert nothing == unknown
    assert {*nothing} == {0, 1, 2, 3}
    assert nothing[1] < one[1] < two[1]


@pytest.mark.parametrize("contexts", [[[0]], [0, 1], [[0, 5]], [[-2, 0]], [[0.5, 0]]])
def test_contexts_that_cannot_be_drawn_after_are_refused(contexts):
    model = KneserNey.fit([[0, 1], [1, 2]], 3, order=3)
    with pytest.raises(InputError, match="contexts"):
        model.draw(contexts, np.random.default_rng(0))


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
    with pytest.raises(InputError, match="is outside the vocabulary"):
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


def test_sides_of_one_source_are_near_and_a_repetitive_one_is_far():
    human = chain(2000, 1)
    near = string_ratios(human, chain(2000, 2), order=2, seed=5).ratios
    far = string_ratios(human, repetitive(2000, 3), order=2, seed=5).ratios
    # Two models of a thousand texts each differ a little; forward and backward KL are means of that difference.
    for sign, side in ((1, "at_p"), (-1, "at_q")):
        for ratios, low, high in ((near, -4, 4), (far, 4, math.inf)):
            logs = sign * getattr(ratios, side)
            error = logs.std() / math.sqrt(logs.size)
            least = 0.7 if ratios is far else 0.0
            assert least + low * error < logs.mean() < least + high * error


def test_ratios_are_those_of_models_of_the_other_texts():
    human, model = made_texts(30, state=1), made_texts(22, state=8)
    found = string_ratios(human, model, order=3, seed=4)
    assert found.rows_p.size == 15
    assert found.rows_q.size == 11
    rest_p = [text for row, text in enumerate(human) if row not in found.rows_p]
    rest_q = [text for row, text in enumerate(model) if row not in found.rows_q]
    kinds = sorted({token for text in (*human, *model) for token in text})
    number = {token: index for index, token in enumerate(kinds)}
    rest_p, rest_q, scored = (
        [[number[token] for token in text] for text in texts]
        for texts in (rest_p, rest_q, [model[row] for row in found.rows_q])
    )
    p, q = (KneserNey.fit(rest, len(kinds), 3).log_probabilities(scored) for rest in (rest_p, rest_q))
    lengths = np.array([len(text) + 1 for text in scored])
    np.testing.assert_allclose(found.ratios.at_q * lengths, p - q, rtol=1e-12, atol=1e-12)
    assert found.ratios.notes[0] == f"3-gram models of 15 human and 11 candidate texts over {len(kinds)} tokens"


def test_both_sides_are_treated_alike():
    human, model = chain(80, 1), chain(80, 2, length=9)
    there, back = string_ratios(human, model, seed=6), string_ratios(model, human, seed=6)
    np.testing.assert_array_equal(there.rows_p, there.rows_q)  # equally many texts: the same rows
    np.testing.assert_array_equal(there.ratios.at_p, -back.ratios.at_q)


def test_the_seed_decides_which_texts_are_held_out():
    human, model = made_texts(40, state=1), made_texts(40, state=8)
    first, again, other = (string_ratios(human, model, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.ratios.at_p, again.ratios.at_p)
    assert first.rows_p.tolist() != other.rows_p.tolist()


def test_arguments_that_are_refused():
    with pytest.raises(InputError, match="seed"):
        string_ratios([[0, 1, 2]] * 6, [[2, 1]] * 6, seed=-1)
    with pytest.raises(InputError, match="no candidate texts"):
        string_ratios([[0]], [])
    with pytest.raises(InputError, match="too few texts"):
        string_ratios([[0]], [[0], [1]])
