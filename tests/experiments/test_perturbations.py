"""Perturbations: what becomes of texts by hand, and what must hold for every text."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.corpus.perturbations import PERTURBATIONS, dropping, parse_perturbation, perturb
from mauve_core.corpus.perturbations.wording import pieces_of

SPECS = [name for name in PERTURBATIONS if name != "replace"] + [r"replace:/(\w)e/\1E/", "typos:rate=0.5"]

texts_of_words = st.lists(
    st.sampled_from(["The", "cat", "sat.", "a", "Dr.", "So", "it's", "“that”", "Ünï", "e\u0301t", "好。", "3.5", "—",
                     "I", " ", "\n", "\n\n", "\u2028", "!", "didn’t", "A/B", "😀", "(the"]),
    min_size=1,
).map(" ".join).filter(str.strip)  # fmt: skip
any_text = st.one_of(texts_of_words, st.text(min_size=1, max_size=40).filter(lambda text: text.strip()))


def after(spec: str, *texts: str, seed: int = 0) -> tuple[str, ...]:
    return perturb(texts, [f"t{i}" for i in range(len(texts))], parse_perturbation(spec), seed=seed).texts


@pytest.mark.parametrize(
    ("spec", "before", "expected"),
    [
        ("none", " As it  is.\n", " As it  is.\n"),
        ("first-third", " one two\nthree  four five", " one two"),
        ("drop-articles", "The cat saw an  owl, a dog\nand the\nsun.", "cat saw owl, dog\nand\nsun."),
        ("drop-articles", 'said "the end" and "so the"', 'said "end" and "so"'),
        ("drop-stop-words", "I know that. He doesn’t see it's\n\nRaining there!", "know.\n\nRaining!"),
        ("drop-stop-words", "to be or not to be", "to be or not to be"),
        ("shuffle-words", " a\tb\n", " b\ta\n"),
        ("shuffle-beginning", " a\tb\nc", " b\ta\nc"),
        ("shuffle-sentences", "\nIt rains. So what?\n", "\nSo what? It rains.\n"),
        ("lowercase", "ÉTÉ  McX\nΟΔΟΣ", "été  mcx\nοδος"),
        ("drop-punctuation", "“Well-known,” he said… yes—no;\ndon't!", "Well-known he said yes no\ndon't"),
        ("repeat-last-sentence", "Go on.\nWhy not? ", "Go on.\nWhy not?\nWhy not? "),
        ("repeat-last-sentence:times=2", "word", "word word word"),
        ("replace:/colou?r/hue/", "Color the colour.", "Color the hue."),
        (r"replace:/(\w+)\/(\w+)/\2 or \1/", "him/her", "her or him"),
        ("replace:/.+//", "all", "all"),
    ],
)
def test_by_hand(spec, before, expected):
    # "οδος": the final sigma of a word in small letters has a form of its own.
    assert after(spec, before) == (expected.replace("οδος", "οδο\u03c2"),)


@given(st.lists(any_text, min_size=1, max_size=6), st.sampled_from(SPECS), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_every_text_has_a_text(texts, spec, seed):
    ids = [f"t{i}" for i in range(len(texts))]
    result = perturb(texts, ids, parse_perturbation(spec), seed=seed)
    assert len(result.texts) == len(texts)
    assert all(text.strip() for text in result.texts)
    assert result.changed.tolist() == [a != b for a, b in zip(texts, result.texts, strict=True)]
    assert perturb(texts, ids, parse_perturbation(spec), seed=seed).texts == result.texts
    if spec != "none":
        assert perturb(texts, ids, parse_perturbation(f"{spec}@0"), seed=seed).texts == tuple(texts)


@given(st.lists(any_text, min_size=1, max_size=6), st.sampled_from(SPECS), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_neighbours_and_order_do_not_matter(texts, spec, random):
    ids = [f"t{i}" for i in range(len(texts))]
    perturbation = parse_perturbation(spec)
    together = dict(zip(ids, perturb(texts, ids, perturbation, seed=1).texts, strict=True))
    order = list(range(len(texts)))
    random.shuffle(order)
    turned = perturb([texts[i] for i in order], [ids[i] for i in order], perturbation, seed=1).texts
    assert dict(zip([ids[i] for i in order], turned, strict=True)) == together
    if spec != "swap-halves":
        assert perturb(texts[:1], ids[:1], perturbation, seed=1).texts == (together["t0"],)


@given(any_text, st.sampled_from(["shuffle-words", "shuffle-words:words=0.5", "shuffle-sentences"]))
def test_shuffles_keep_the_words_and_the_space(text, spec):
    (shuffled,) = after(spec, text)
    assert Counter(shuffled.split()) == Counter(text.split())
    assert [c for c in shuffled if c.isspace()] == [c for c in text if c.isspace()] or spec == "shuffle-sentences"
    if spec == "shuffle-words":
        assert (shuffled != text) == (len(set(text.split())) > 1)


@given(any_text, st.sampled_from(["shuffle-beginning", "shuffle-end"]), st.sampled_from([0, 0.1, 0.3, 0.5, 0.7, 1]))
def test_plain_twin_of_the_shuffles_of_one_part(text, name, share):
    (shuffled,) = after(f"{name}:words={share}", text)
    words, moved = text.split(), shuffled.split()
    count = 0
    while count + 1 <= share * len(words) + 0.5:  # to the nearest whole number, a half up
        count += 1
    inside = range(count) if name == "shuffle-beginning" else range(len(words) - count, len(words))
    assert [c for c in shuffled if c.isspace()] == [c for c in text if c.isspace()]
    assert all(moved[place] == words[place] for place in range(len(words)) if place not in inside)
    assert Counter(moved[place] for place in inside) == Counter(words[place] for place in inside)
    assert (shuffled != text) == (len({words[place] for place in inside}) > 1)


@given(any_text, st.sampled_from(["drop-articles", "drop-stop-words", "drop-punctuation", "lowercase"]))
def test_dropping_twice_is_dropping_once(text, spec):
    (once,) = after(spec, text)
    if spec == "drop-punctuation" or not after(spec, once)[0].strip():
        return
    words = [p.text for p in pieces_of(once) if p.kind == "word"]
    assert len(words) <= len([p for p in pieces_of(text) if p.kind == "word"]) or spec == "lowercase"
    if spec == "lowercase":
        assert after(spec, once) == (once,)


def test_doses_are_nested_and_near_their_share():
    texts = [f"The text number {i} has the article twice." for i in range(400)]
    ids = [f"n{i}" for i in range(400)]
    full = perturb(texts, ids, parse_perturbation("drop-articles"), seed=5)
    assert full.changed.all()
    before = np.zeros(400, dtype=bool)
    for dose in (0.2, 0.5, 0.8):
        some = perturb(texts, ids, parse_perturbation(f"drop-articles@{dose}"), seed=5)
        assert all(some.texts[i] == full.texts[i] for i in np.flatnonzero(some.changed))
        assert not (before & ~some.changed).any()
        # Five standard deviations of a binomial share.
        assert some.changed.mean() == pytest.approx(dose, abs=5 * np.sqrt(dose * (1 - dose) / 400))
        before = some.changed
    other = perturb(texts, ids, parse_perturbation("lowercase@0.8"), seed=5)
    assert (other.changed == before).all()
    assert (perturb(texts, ids, parse_perturbation("lowercase@0.8"), seed=6).changed != before).any()


def test_typos_hit_letters_at_their_rate():
    text = "abcdefgh " * 1000
    (some,) = after("typos:rate=0.05", text)
    changed = sum(a != "abcdefgh" for a in some.split())
    expected = 1 - 0.95**8
    assert changed == pytest.approx(1000 * expected, abs=5 * np.sqrt(1000 * expected * (1 - expected)))
    assert len(some.split()) == 1000
    assert after("typos:rate=1", "123 -- 好") == ("123 -- 好好",)
    (marked,) = after("typos:rate=1", "e\u0301" * 50)
    assert "\u0301\u0301" not in marked
    assert not marked.startswith("\u0301")


@pytest.mark.parametrize(
    "spec",
    [
        "nothing",
        "drop-articles:words=2",
        "drop-articles@1.5",
        "typos:rate=0.1,rate=0.2",
        "replace:/(/x/",
        r"replace:/a/\2/",
        "replace:/((a{999}){999}){999}/x/",
        "repeat-last-sentence:times=1.5",
    ],
)
def test_what_cannot_be_read_is_refused(spec):
    with pytest.raises(InputError):
        after(spec, "a b. a c.")


def test_a_pattern_that_backtracks_is_stopped(monkeypatch):
    monkeypatch.setattr(dropping, "SECONDS", 0.2)
    started = time.monotonic()
    with pytest.raises(InputError, match=r"takes more than .* on the text 't1'"):
        after("replace:/(?:x+x+)+y/z/", "short", "x" * 5000)
    assert time.monotonic() - started < 10
