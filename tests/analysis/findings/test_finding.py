"""Findings: what is planted is named with its direction, nothing is found in halves of one source, and the split."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.findings import finding
from mauve_core.findings.finding import Finding, find
from mauve_core.findings.statements import MARKS, Sides, amounts_of, sentences, syllables, valences

pytestmark = pytest.mark.integration

WORDS = re.findall(
    r"\w+",
    "river stone walker garden winter letter candle harbor silver market window thunder valley copper meadow lantern "
    "the of and a to in was that for with it as on by from which at or an were are his her this had not but also one "
    "two some city small large long new first year house road music water story voice paper light",
)


def texts_of(n: int, seed: int) -> list[str]:
    """Texts of a few sentences; no two sources differ but by their seed."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(
            " ".join(rng.choice(WORDS, size=rng.integers(6, 14))).capitalize() + "." for _ in range(rng.integers(3, 6))
        )
        for _ in range(n)
    ]


def between(human: list[str], model: list[str], **more: object) -> tuple[Finding, ...]:
    return find(Sides("the model", (*human, *model), len(human), np.arange(len(human) + len(model))), **more)


def every(found: tuple[Finding, ...]) -> list[Finding]:
    return [each for one in found for each in (one, *one.also)]


PLANTED = {
    ("loop", "more"): lambda text: f"{text} and on and on",
    ("cut off", "more"): lambda text: text[:-1],
    ("list", "more"): lambda text: "- " + text.replace(". ", ".\n- "),
    ("articles", "less"): lambda text: text.replace(" the ", " ").replace(" a ", " ").replace(" an ", " "),
    ("length", "more"): lambda text: f"{text} {text[::-1]}",
}


@pytest.mark.parametrize(
    ("kind", "direction", "share"), [*((*planted, 1.0) for planted in PLANTED), ("loop", "more", 0.35)]
)
def test_what_is_planted_is_found_and_named(kind, direction, share):
    human, model = texts_of(200, 1), texts_of(200, 2)
    rng = np.random.default_rng(0)
    changed = [PLANTED[kind, direction](text) if rng.random() < share else text for text in model]
    named = [each for each in every(between(human, changed)) if (each.kind, each.direction) == (kind, direction)]
    assert named
    assert named[0].p_adjusted <= 0.05
    assert named[0].low <= named[0].share_model - named[0].share_human <= named[0].high
    assert named[0].sentence.startswith("the model ")


@pytest.mark.trial
def test_halves_of_one_source_hardly_ever_differ():
    wrong = sum(bool(between(texts_of(60, 2 * seed), texts_of(60, 2 * seed + 1), seed=seed)) for seed in range(40))
    assert wrong <= 5  # at q = 0.05 about 2; 6 or more have a chance of 1.4%


def test_the_texts_shown_meet_the_condition():
    human, model = texts_of(120, 1), [f"{text} and on and on" for text in texts_of(120, 2)]
    model[7] = human[0]
    (loop,) = [each for each in every(between(human, model)) if each.kind == "loop"]
    assert (loop.shown_by, loop.direction) == ("model", "more")
    assert loop.texts == tuple(index for index in range(120) if index != 7)
    (lack,) = [each for each in every(between(model, human)) if each.kind == "loop"]
    assert (lack.shown_by, lack.direction) == ("human", "less")
    assert lack.texts == loop.texts


def test_of_amounts_the_texts_that_show_the_difference_are_counted():
    human, model = texts_of(150, 1), [text.replace(" the ", " ").replace(" a ", " ") for text in texts_of(150, 2)]
    model = [text.replace("The ", "").replace("A ", "").replace(" an ", " ") for text in model]
    (articles,) = [each for each in every(between(human, model)) if each.kind == "articles"]
    assert (articles.direction, articles.shown_by) == ("less", "model")
    assert articles.share_model > 0.8 > 0.5 > articles.share_human
    assert "have at most" in articles.sentence


def test_what_suggests_is_not_tested(monkeypatch):
    """A difference that only the suggesting texts have is no finding, however clear it is there."""
    human, model = texts_of(150, 1), texts_of(150, 2)
    sides = Sides("the model", (*human, *model), 150, np.arange(300))
    suggesting = finding._split(sides, 0)
    changed = [
        f"{text} Planted words here." if use and index >= 150 else text
        for index, (text, use) in enumerate(zip(sides.texts, suggesting, strict=True))
    ]
    assert not [each for each in every(find(replace(sides, texts=tuple(changed)))) if "planted" in each.sentence]
    tested = [f"{text} Planted words here." if index >= 150 else text for index, text in enumerate(sides.texts)]
    assert [each for each in every(find(replace(sides, texts=tuple(tested)))) if "planted" in each.sentence]


def test_all_texts_of_a_unit_are_on_one_part_of_the_split():
    units = np.concatenate([np.arange(100), np.repeat(np.arange(50), 2)])
    texts = tuple(texts_of(200, 3))
    suggesting = finding._split(Sides("m", texts, 100, units), 0)
    assert suggesting[:100].sum() == 40
    for unit in range(100):
        assert len(set(suggesting[units == unit].tolist())) == 1


def test_texts_of_a_unit_count_once():
    """A fifth of the model's documents end in a loop, in all of their eight texts: too few documents, many texts."""
    document = np.repeat(np.arange(50), 8)
    texts = [f"{text} and on and on" if at >= 45 else text for text, at in zip(texts_of(400, 1), document, strict=True)]
    sides = Sides("m", tuple(texts), 200, document)
    assert not [each for each in every(find(sides)) if each.kind == "loop"]
    assert [each for each in every(find(replace(sides, units=np.arange(400)))) if each.kind == "loop"]


def test_clusters_that_one_side_prefers_are_told():
    human, model = texts_of(150, 1), texts_of(150, 2)
    labels = np.concatenate([np.arange(150) % 3, np.where(np.arange(150) % 4, 0, 2)])
    sides = Sides("m", (*human, *model), 150, np.arange(300), labels, ("rivers", "stones", "gardens"))
    told = {(each.condition, each.direction) for each in every(find(sides)) if each.kind == "topic"}
    assert told == {("are in cluster rivers · 0", "more"), ("are in cluster stones · 1", "less")}


@pytest.mark.parametrize("q", [0.0, 1.0, -1, 2])
def test_a_rate_out_of_range_is_refused(q):
    with pytest.raises(InputError, match="false discovery rate"):
        between(texts_of(30, 1), texts_of(30, 2), q=q)


def test_too_few_units_are_refused():
    with pytest.raises(
        InputError, match=r"Texts of the model support no test.*Allowed: 20 or more.*19 indep.*--prompt-f"
    ):
        between(texts_of(30, 1), texts_of(19, 2))


MARKED = {
    "loop": ("on and on and on and on", "on and on"),
    "passage repetition": (
        "One two three four five six seven, eight. ONE two three four five six seven eight",
        "one two three four five six seven",
    ),
    "sentence repetition": ("We went home again. It rained. We went home again.", "No. No. Well."),
    "line repetition": ("one two three four\nx\none two three four", "one\none"),
    "cut off": ("It was the", "It was the end.” "),
    "list": ("Items:\n- one\n- two", "a - b"),
    "heading": ("## Title\ntext", "number #1"),
    "code": ("```x```", "plain; text here"),
    "link": ("see www.x.org", "see x"),
    "emoji": ("ok \U0001f600", "ok :)"),
    "question": ("Who?", "Who."),
    "exclamation": ("Oh!", "Oh."),
    "quotation": ("He said “no”.", "It's his."),
    "number": ("in 1999", "in May"),
    "year": ("in 1999.", "1,999 or 19990 at 12:1999"),
    "money": ("for 5 million dollars", "a dollar"),
    "percentage": ("by 5 %", "% of 5"),
    "date": ("on 5 May", "in May 1999"),
    "title": ("with Dr. No", "the president said"),
    "reported speech": ("he said so", "a saying, retold"),
    "passive": ("it was not formally recognized", "it was indeed speed; he used it; is a bed"),
    "connective": ("Moreover, it rained", "more over there"),
    "assistant": ("Sure, here is it", "he is sure, and here they are"),
    "dash": ("so—or not", "well-known, 1990–1999, a -b"),
    "emphasis": ("a **bold** word", "2 * 3 * 4 and a*b*c"),
    "parenthesis": ("a (b)", "a b"),
    "first person": ("I went", "It is iron"),
    "second person": ("as you say", "as young men"),
    "hedge": ("it seems so", "mightily"),
    "apology": ("Sorry, no", "sorrow"),
    "refusal": ("I cannot do that", "He can do that"),
    "British spelling": ("the colour and the organisation", "the color of promises and exercises"),
    "capitals": ("a HUGE one", "a BIG one"),
    "inner capitals": ("the splashDry", "MacDonald and McKay, a TV"),
    "lower-case start": ("“and then", "“And then"),
    "leading space": (" a", "a "),
    "trailing space": ("a\n", " a"),
    "blank lines": ("a\n\nb", "a\nb\n\n"),
    "white space": ("a    b", "a   b"),
    "other letters": ("naïve", "naive"),
}


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.kind)
def test_marks_are_where_they_are_and_nowhere_else(mark):
    with_it, without = MARKED[mark.kind]
    assert mark.is_in(with_it)
    assert not mark.is_in(without)


def test_amounts_are_those_counted_by_hand():
    found = {
        key: values.tolist() for key, values in amounts_of(["The cat sat, in 1999. Don't Go home", "A dog"]).items()
    }
    assert found["words"] == [8, 2]
    assert found["sentence"] == [4, 2]
    assert found["articles"] == [1 / 8, 1 / 2]
    assert found["digits"] == [1 / 8, 0]
    assert found["names"] == [2 / 7, 0]
    assert found["contractions"] == [1 / 8, 0]
    assert np.isnan(found["past"]).all()
    assert found["ease"] == pytest.approx([206.835 - 1.015 * 4 - 84.6, 206.835 - 1.015 * 2 - 84.6])


def test_words_of_tone_and_tense_and_adverbs_are_counted():
    (text,) = ["She was happily wrong, and he is a terrible, lovely, ugly fly."]
    found = {key: values[0] for key, values in amounts_of([text]).items()}
    assert valences()["lovely"] > 0 > valences()["terrible"]
    assert found["positive"] == 2 / 12  # happily, lovely
    assert found["negative"] == 3 / 12  # wrong, terrible, ugly
    assert found["past"] == 1 / 2
    assert found["adverbs"] == 2 / 12


@pytest.mark.parametrize(
    ("word", "count"), [("the", 1), ("table", 2), ("made", 1), ("reality", 3), ("rhythm", 1), ("1999", 1), ("agree", 2)]
)
def test_syllables_are_groups_of_vowels(word, count):
    assert syllables(word) == count


def test_sentences_are_told_by_their_ends_and_lines():
    assert sentences("One two.  Three\nfour? (Five!)") == ["one two.", "three", "four?", "(five!", ")"]


def test_a_finding_that_a_larger_one_explains_says_so():
    """Most of the model's texts hedge, and some of those also ask; a list that comes by itself is not explained."""
    rng = np.random.default_rng(0)
    human, model = texts_of(400, 1), texts_of(400, 2)
    for texts, share in ((human, 0.1), (model, 0.8)):
        for index, text in enumerate(texts):
            if rng.random() < share:
                texts[index] = f"{text} Perhaps so."
                if rng.random() < 0.5:
                    texts[index] = f"{text} Is it? Perhaps so."
    model = [f"- a\n- b\n{text}" if rng.random() < 0.4 else text for text in model]
    found = {each.kind: each for each in every(between(human, model)) if each.kind in ("question", "list", "hedge")}
    assert found["question"].explained_by
    assert found["question"].left_low <= 0 <= found["question"].left_high < found["question"].low
    assert "are left among texts alike in that" in found["question"].explained
    assert not found["list"].explained_by
    assert not found["list"].explained


def test_masks_are_of_the_texts_that_meet_the_condition():
    human, model = texts_of(120, 1), [f"{text} and on and on" for text in texts_of(120, 2)]
    model[7] = human[0]
    (loop,) = [each for each in every(between(human, model)) if each.kind == "loop"]
    of_human, of_model = finding.masks(loop, 120, 120)
    assert not of_human.any()
    assert np.flatnonzero(~of_model).tolist() == [7]


def test_the_tested_texts_are_counted():
    human, model = texts_of(120, 1), [f"{text} and on and on" for text in texts_of(150, 2)]
    (loop,) = [each for each in every(between(human, model)) if each.kind == "loop"]
    assert (loop.tested_human, loop.tested_model) == (72, 90)  # 60% of either side


def test_texts_that_are_all_alike_differ_in_nothing():
    assert between(["The same."] * 40, ["The same."] * 40) == ()
