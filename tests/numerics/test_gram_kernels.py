"""String kernels against every subsequence there is, hand values, and what a Gram matrix must be."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.estimators import string_kernels
from mauve_core.estimators.ratio_estimators import knn_ratios_from_gram
from mauve_core.estimators.string_kernels import ngram_gram, subsequence_gram

short_texts = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=9), min_size=1, max_size=6)


def every_subsequence(text, n, decay):
    found = {}
    for places in combinations(range(len(text)), n):
        key = tuple(text[place] for place in places)
        found[key] = found.get(key, 0) + decay ** (places[-1] - places[0] + 1)
    return found


def enumerated(texts, n, decay):
    features = [every_subsequence(text, n, decay) for text in texts]
    raw = np.array([[sum(weight * b.get(key, 0) for key, weight in a.items()) for b in features] for a in features])
    return raw / np.sqrt(np.outer(np.diag(raw), np.diag(raw)))


def enumerated_jaccard(texts, n):
    sets = [{tuple(text[i : i + n]) for i in range(len(text) - n + 1)} for text in texts]
    return np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])


def prose(count, seed, *, length=60, words=400):
    """Texts whose words are as unequally frequent as those of prose."""
    chances = 1 / np.arange(1, words + 1)
    rng = np.random.default_rng(seed)
    return [rng.choice(words, size=rng.integers(length // 2, length), p=chances / chances.sum()) for _ in range(count)]


@given(short_texts, st.integers(1, 4), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_every_subsequence_counted_one_by_one(texts, n, decay):
    found = subsequence_gram(texts, n, decay).kernel
    np.testing.assert_allclose(found, enumerated(texts, n, decay), rtol=1e-12, atol=1e-13)  # a hundred roundings


@given(short_texts, st.lists(st.integers(1, 4), min_size=1, max_size=4, unique=True))
def test_sets_of_ngrams(texts, orders):
    expected = np.mean([enumerated_jaccard(texts, n) for n in orders], axis=0)
    np.testing.assert_allclose(ngram_gram(texts, orders).kernel, expected, rtol=1e-14)


def test_hand_values_of_subsequences():
    # Lodhi et al., section 2: "cat" and "car" share only c-a, of span 2 in both: decay^4. Each has itself three pairs:
    # c-a and a-t of span 2, c-t of span 3, so 2 decay^4 + decay^6.
    c, a, t, r = range(4)
    found = subsequence_gram([[c, a, t], [c, a, r]], 2, 0.7).kernel
    assert found[0, 1] == pytest.approx(0.7**4 / (2 * 0.7**4 + 0.7**6), rel=1e-14)
    # Without decay, texts of one repeated token share all pairs: the vectors are parallel whatever the lengths.
    assert subsequence_gram([[5] * 3, [5] * 8], 2, 1.0).kernel[0, 1] == pytest.approx(1, rel=1e-14)


def test_hand_values_of_ngrams():
    # Bigrams {01, 12} and {12, 20}: one of three. Trigrams {012} and {120}: none of two.
    texts = [[0, 1, 2], [1, 2, 0]]
    assert ngram_gram(texts, 2).kernel[0, 1] == pytest.approx(1 / 3)
    assert ngram_gram(texts, 3).kernel[0, 1] == 0
    assert ngram_gram(texts, [2, 3]).kernel[0, 1] == pytest.approx(1 / 6)
    assert ngram_gram([[7, 7, 7, 7], [7, 7]], 2).kernel[0, 1] == 1  # a set knows no counts


@pytest.mark.parametrize("gram", [ngram_gram, subsequence_gram, lambda texts: subsequence_gram(texts, 3, 0.1)])
def test_it_is_a_gram_matrix_of_unit_vectors(gram):
    texts = prose(40, 1)
    texts.append(texts[0].copy())
    kernel = gram(texts).kernel
    assert kernel.dtype == np.float64
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_array_equal(np.diag(kernel), 1)
    assert kernel.min() >= 0
    assert kernel.max() <= 1
    assert kernel[0, -1] == pytest.approx(1, abs=1e-14)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12  # rounding of 41 eigenvalues that sum to 41


@pytest.mark.parametrize("state", [1, 5000, 1 << 20])
@pytest.mark.parametrize("rows", [1, 7, 256])
def test_blocks_change_nothing(monkeypatch, state, rows):
    texts = prose(11, 2)
    plain = subsequence_gram(texts, 4, 0.6).kernel, ngram_gram(texts, 2).kernel
    monkeypatch.setattr(string_kernels, "STATE_NUMBERS", state)
    monkeypatch.setattr(string_kernels, "_ROWS", rows)
    np.testing.assert_allclose(subsequence_gram(texts, 4, 0.6).kernel, plain[0], rtol=1e-12)
    np.testing.assert_array_equal(ngram_gram(texts, 2).kernel, plain[1])


@pytest.mark.parametrize(("decay", "reach"), [(0.05, 1e100), (0.5, 1e3), (0.5, 1e100), (0.99, 1e3), (1.0, 1e100)])
def test_long_gaps_do_not_leave_the_range_of_numbers(monkeypatch, decay, reach):
    """Two texts share two tokens, far apart in the first and also close by in the second: 0.05^252 is 0 in float64."""
    monkeypatch.setattr(string_kernels, "_REACH", reach)
    texts = [[900, *range(250), 901], [900, *range(2000, 2240), 901, 999, 900, 998, 998, 901]]
    found = subsequence_gram(texts, 2, decay).kernel[0, 1]
    pairs = [every_subsequence(text, 2, decay) for text in texts]
    sizes = [math.fsum(weight * weight for weight in features.values()) for features in pairs]
    shared = math.fsum(weight * pairs[1].get(key, 0) for key, weight in pairs[0].items())
    assert found == pytest.approx(shared / math.sqrt(sizes[0] * sizes[1]), rel=1e-11, abs=1e-300)


def test_texts_are_read_up_to_a_limit_and_those_cut_are_counted():
    texts = prose(6, 3)
    cut = subsequence_gram(texts, 3, max_tokens=31)
    beginnings = subsequence_gram([text[:31] for text in texts], 3)
    np.testing.assert_array_equal(cut.kernel, beginnings.kernel)
    longer = [len(text) > 31 for text in texts]
    assert cut.cut.tolist() == longer
    assert cut.notes == (f"{sum(longer)} of 6 texts truncated at 31 tokens",)
    assert beginnings.notes == ()
    assert ngram_gram(texts, 3, max_tokens=31).notes == cut.notes


def test_the_cost_is_the_number_of_equal_tokens():
    texts = prose(5, 4)
    pairs = sum(
        int((np.asarray(texts[i])[:, None] == np.asarray(texts[j])).sum()) for i in range(5) for j in range(i, 5)
    )
    assert subsequence_gram(texts, 4).steps == 3 * pairs


@pytest.mark.parametrize("gram", [ngram_gram, subsequence_gram])
def test_progress_runs_to_the_end(monkeypatch, gram):
    monkeypatch.setattr(string_kernels, "STATE_NUMBERS", 1000)
    monkeypatch.setattr(string_kernels, "_ROWS", 3)
    seen = []
    gram(prose(8, 5), progress=lambda *told: seen.append(told))
    assert {told[0] for told in seen} == {string_kernels.STAGE}
    done, total = [told[1] for told in seen], seen[0][2]
    assert done == sorted(done)
    assert seen[-1][1:] == (total, total)
    assert total == {ngram_gram: 8, subsequence_gram: 36}[gram]


def test_neighbours_by_strings_tell_sides_apart():
    rng = np.random.default_rng(6)
    human, model = prose(40, 7), [rng.permutation(np.arange(400))[:60] for _ in range(40)]
    ratios = knn_ratios_from_gram(ngram_gram([*human, *model], [1, 2]).kernel, 40, k=10)
    assert np.median(ratios.at_p) > np.median(ratios.at_q)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match=r"too short to be compared by 3 tokens.*fewer in row 1"):
        ngram_gram([[0, 1, 2], [0, 1]], 3)
    with pytest.raises(InputError, match="fewer in 2 rows"):
        subsequence_gram([[0, 1], [0, 1], [1, 1, 1]], 3)
    with pytest.raises(InputError, match="There are no texts"):
        ngram_gram([])
    for n in (0, [], [2, 2], [1, 0], 1.5):
        with pytest.raises(InputError, match="n-grams"):
            ngram_gram([[0, 1, 2]], n)
    for decay in (0, -1, 1.1, math.nan):
        with pytest.raises(InputError, match="decay"):
            subsequence_gram([[0, 1, 2]], 2, decay)
    with pytest.raises(InputError, match="at least 5"):
        subsequence_gram([[0] * 9], 5, max_tokens=4)


def test_numbers_too_large_or_too_small_are_refused():
    with pytest.raises(InputError, match="exceeds the range of float64 in row 0"):
        subsequence_gram([[0] * 3], 3, 1e-60)
