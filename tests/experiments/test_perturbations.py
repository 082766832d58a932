"""Perturbations: what becomes of texts by hand, and what must hold for every text."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.texts import perturbations
from mauve_core.texts.perturbations import CONTROL, PERTURBATIONS, Perturbation, parse_perturbation, perturb
from mauve_core.texts.words_and_sentences import pieces_of, sentences_of

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
        ("first-third", "word", "word"),
        ("first-third", "one two three", "one"),
        ("drop-articles", "The cat saw an  owl, a dog\nand the\nsun.", "cat saw owl, dog\nand\nsun."),
        ("drop-articles", "“The end” of A/B, at 9 a.m. in #the", "“end” of A/B, at 9 a.m. in #the"),
        ("drop-articles", 'said "the end" and "so the"', 'said "end" and "so"'),
        ("drop-articles", "Plan (the) — a", "Plan () —"),
        ("drop-articles", "The", "The"),
        ("drop-stop-words", "I know that. He doesn’t see it's\n\nRaining there!", "know.\n\nRaining!"),
        ("drop-stop-words", "to be or not to be", "to be or not to be"),
        ("shuffle-words", "one", "one"),
        ("shuffle-words", " a\tb\n", " b\ta\n"),
        ("shuffle-words", "x x  x", "x x  x"),
        ("shuffle-beginning", " a\tb\nc", " b\ta\nc"),
        ("shuffle-end:words=0.5", " a\tb\nc", " a\tc\nb"),
        ("shuffle-end", "a b c", "a b c"),
        ("shuffle-sentences", "\nIt rains. So what?\n", "\nSo what? It rains.\n"),
        ("shuffle-sentences", "No end here", "No end here"),
        ("lowercase", "ÉTÉ  McX\nΟΔΟΣ", "été  mcx\nοδος"),
        ("drop-punctuation", "“Well-known,” he said… yes—no;\ndon't!", "Well-known he said yes no\ndon't"),
        ("drop-punctuation", "(3.5 or\nU.S.)", "3.5 or\nU.S."),
        ("drop-punctuation", "a_b ... c - d", "a b c d"),
        ("drop-punctuation", "?!", "?!"),
        ("repeat-last-sentence", "Go on.\nWhy not? ", "Go on.\nWhy not?\nWhy not? "),
        ("repeat-last-sentence:times=2", "word", "word word word"),
        ("replace:/colou?r/hue/", "Color the colour.", "Color the hue."),
        ("replace:/(?i)colou?r/hue/", "Color the colour.", "hue the hue."),
        (r"replace:/(\w+)\/(\w+)/\2 or \1/", "him/her", "her or him"),
        ("replace:/.+//", "all", "all"),
        ("typos:rate=0", "As it was.", "As it was."),
    ],
)  # fmt: skip
def test_by_hand(spec, before, expected):
    # "οδος": the final sigma of a word in small letters has a form of its own.
    assert after(spec, before) == (expected.replace("οδος", "οδο\u03c2"),)


def test_sentences_by_hand():
    text = " Dr. Lee met J. R. Smith on Jan. 5. He said: “I am here.” Why?\n\nA title\n\nEnd.Start, 3.5 metres. Two. "
    assert [text[a:b] for a, b in sentences_of(text)] == [
        "Dr. Lee met J. R. Smith on Jan. 5.", "He said: “I am here.”", "Why?", "A title",
        "End.Start, 3.5 metres.", "Two.",
    ]  # fmt: skip


def test_half_of_the_sentences_moves_between_two_texts():
    one, two = "\nA one. A two. A three. ", "B one.  B two.\nB three. B four."
    assert after("swap-halves", one, two) == ("\nB one.  B two. A two. A three. ", "A one.\nB three. B four.")


def test_three_texts_make_a_ring_and_a_text_alone_stays():
    given_texts = ("A1. A2.", "B1. B2.", "C1. C2.", "No boundary")
    result = perturb(given_texts, [*"abcd"], parse_perturbation("swap-halves"), seed=3)
    assert {text[-3:] for text in result.texts[:3]} == {"A2.", "B2.", "C2."}
    assert [text[-3] for text in result.texts[:3]] == ["A", "B", "C"]
    assert sorted(text[0] for text in result.texts[:3]) == ["A", "B", "C"]
    assert result.changed.tolist() == [True, True, True, False]
    assert result.notes == (
        "1 of 4 chosen texts is unchanged: texts with one sentence, alone in having more, or with equal first halves.",
    )
    alone = perturb(given_texts[2:], [*"ab"], parse_perturbation("swap-halves"), seed=3)
    assert alone.texts == given_texts[2:]
    assert not alone.changed.any()


def test_what_stayed_is_counted():
    result = perturb(["The cat", "No article", "The", "a an"], [*"abcd"], parse_perturbation("drop-articles"), seed=0)
    assert result.texts == ("cat", "No article", "The", "a an")
    assert result.changed.tolist() == [True, False, False, False]
    assert result.notes == (
        "1 of 4 chosen texts is unchanged: texts without an article to drop.",
        "2 of 4 chosen texts are unchanged: nothing would have been left of them.",
    )
    assert perturb(["x"], ["a"], CONTROL, seed=0).notes == ()


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


def test_the_usual_parts_meet_and_are_named():
    text = " ".join(f"w{place}" for place in range(10))
    beginning, end = (after(name, text)[0].split() for name in ("shuffle-beginning", "shuffle-end"))
    assert (beginning[7:], end[:7]) == (text.split()[7:], text.split()[:7])
    assert beginning[:7] != text.split()[:7]
    assert end[7:] != text.split()[7:]
    assert parse_perturbation("shuffle-end:words=0.3") == parse_perturbation("shuffle-end")
    titles = [parse_perturbation(spec).title for spec in ("shuffle-beginning", "shuffle-end:words=1", "shuffle-words")]
    assert titles == ["Beginning shuffled, 70% of words", "End shuffled", "Words shuffled"]


@given(any_text)
def test_pieces_join_to_the_text_and_sentences_lie_apart(text):
    assert "".join(piece.text for piece in pieces_of(text)) == text
    spans = sentences_of(text)
    assert spans
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    assert not "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)).strip()


@given(st.lists(texts_of_words, min_size=2, max_size=8))
def test_swapping_loses_no_word(texts):
    swapped = after("swap-halves", *texts)
    assert Counter(" ".join(swapped).split()) == Counter(" ".join(texts).split())


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


@pytest.mark.parametrize(
    "spec", ["drop-articles", "drop-stop-words", "lowercase", "drop-punctuation", "replace:/THE/X/"]
)
def test_a_share_of_the_words(spec):
    name, _, rest = spec.partition(":")
    text = "THE, " * 2000

    def left(share: float) -> int:
        (some,) = after(f"{name}:{rest}words={share}", text)
        return some.count(",") if name == "drop-punctuation" else some.count("THE")

    # Five standard deviations of a binomial count.
    assert left(0.3) == pytest.approx(1400, abs=5 * np.sqrt(2000 * 0.3 * 0.7))
    assert left(0) == 2000
    assert left(0.3) > left(0.6)


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
    ["drop-articles", "typos:rate=0.01@0.25", "drop-stop-words:words=0.1", "repeat-last-sentence:times=3",
     r"replace:/a\/b\\\\/c@d\/e,f=g/words=0.5@0.5", "replace:/x//", "none"],
)  # fmt: skip
def test_written_forms_are_read_back(spec):
    perturbation = parse_perturbation(spec)
    assert perturbation.spec == spec
    assert parse_perturbation(perturbation.spec) == perturbation
    assert hash(parse_perturbation(perturbation.spec)) == hash(perturbation)


@given(st.text(alphabet="ab/\\.,@:= \n", max_size=12), st.text(alphabet="ab/,@:= \n", max_size=12))
def test_any_pattern_is_read_back(pattern, replacement):
    try:
        perturbation = Perturbation(PERTURBATIONS["replace"], {"pattern": pattern, "with": replacement})
    except InputError:
        return
    read = parse_perturbation(perturbation.spec)
    assert read.spec == perturbation.spec
    assert read.values["with"] == replacement
    # "\\/" is the only way to write a slash, and means the same in the pattern itself.
    assert str(read.values["pattern"]) == pattern or "\\/" in pattern


@pytest.mark.parametrize(
    "spec",
    ["nothing", "drop-articles:words=2", "drop-articles:words=x", "drop-articles:rate=1", "drop-articles@1.5",
     "drop-articles@", "drop-articles@nan", "typos:rate=0.1,rate=0.2", "none@0.5", "replace", "replace:/a/",
     "replace:a/b", "replace:/(/x/", r"replace:/a/\2/", r"replace:/a/\g<b>/", "replace:/((a{999}){999}){999}/x/",
     "replace:/a/b/c", "repeat-last-sentence:times=0", "repeat-last-sentence:times=1.5", "first-third:words=1"],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(spec):
    with pytest.raises(InputError):
        after(spec, "a b. a c.")


def test_a_pattern_that_backtracks_is_stopped(monkeypatch):
    monkeypatch.setattr(perturbations, "SECONDS", 0.2)
    started = time.monotonic()
    with pytest.raises(InputError, match=r"takes more than .* on the text 't1'"):
        after("replace:/(?:x+x+)+y/z/", "short", "x" * 5000)
    assert time.monotonic() - started < 10


def test_texts_and_ids_must_go_together():
    for texts, ids in ((["a"], ["1", "2"]), (["a", "b"], ["1", "1"])):
        with pytest.raises(InputError, match="do not match"):
            perturb(texts, ids, CONTROL, seed=0)
