"""Which pairs come when: balanced, without repeats, the same again; texts matched only where they belong together."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from mauve_core.base.errors import InputError
from mauve_core.corpus import Corpus, corpus_from_texts
from mauve_core.judgments import Pair, PairPlan, pair_plan
from tests.judgments.made_up import make_corpora

NAMES = ("human", "a", "b", "c", "d")


def shown(plan: PairPlan) -> list[Pair]:
    return [plan[index] for index in range(len(plan))]


def corpus(name: str, texts: list[str], ids: list[str] | None = None, prompts: list[str] | None = None) -> Corpus:
    return corpus_from_texts(texts, name=name, ids=ids, prompts=prompts)


class TestOrder:
    def test_every_pair_of_texts_comes_once(self):
        plan = pair_plan(make_corpora(NAMES), rater="ann")
        assert len(plan) == plan.total == 10 * 12
        assert len({pair.key for pair in shown(plan)}) == plan.total
        assert [pair.index for pair in shown(plan)] == list(range(plan.total))

    def test_what_is_shown_belongs_together(self):
        corpora = make_corpora(NAMES)
        for pair in shown(pair_plan(corpora, rater="ann")):
            number = int(pair.prompt_id.removeprefix("id"))
            assert pair.prompt == f"prompt {number}"
            assert pair.left_text == corpora[pair.left].texts[number]
            assert pair.right_text == corpora[pair.right].texts[number]

    def test_every_prefix_is_balanced(self):
        counts: Counter[frozenset[str]] = Counter({frozenset(two): 0 for two in combinations(NAMES, 2)})
        for pair in shown(pair_plan(make_corpora(NAMES), rater="ann")):
            counts[frozenset((pair.left, pair.right))] += 1
            assert max(counts.values()) - min(counts.values()) <= 1

    def test_sides_are_shuffled(self):
        pairs = shown(pair_plan(make_corpora(NAMES, n=200), rater="ann"))
        met = [pair for pair in pairs if "human" in (pair.left, pair.right)]
        # 800 fair coins: five standard deviations.
        assert sum(pair.left == "human" for pair in met) == pytest.approx(400, abs=5 * 14.2)

    def test_the_same_texts_rater_and_seed_give_the_same_plan(self):
        corpora = make_corpora(NAMES)
        turned = dict(reversed(corpora.items()))
        assert shown(pair_plan(corpora, rater="ann")) == shown(pair_plan(turned, rater="ann"))

    def test_resuming_skips_what_was_seen(self):
        plan = pair_plan(make_corpora(), rater="ann")
        seen = {plan[0].key, plan[1].key, plan[5].key}
        assert plan.next_pair(set()) == plan[0]
        assert plan.next_pair(seen) == plan[2]
        assert plan.next_pair({pair.key for pair in shown(plan)}) is None

    def test_a_text_that_was_replaced_is_shown_again(self):
        corpora = make_corpora()
        seen = {pair.key for pair in shown(pair_plan(corpora, rater="ann"))}
        texts = ["another text", *corpora["beam"].texts[1:]]
        corpora["beam"] = corpus("beam", texts, list(corpora["beam"].ids), list(corpora["beam"].prompts or ()))
        again = [pair for pair in shown(pair_plan(corpora, rater="ann")) if pair.key not in seen]
        assert len(again) == 2
        assert all("another text" in (pair.left_text, pair.right_text) for pair in again)


class TestMatching:
    def test_by_prompts_where_ids_do_not_match(self):
        corpora = {
            "human": corpus("human", ["h1", "h2", "h3"], ["x1", "x2", "x3"], ["A", "B", "C"]),
            "beam": corpus("beam", ["b2", "b1", "b4"], ["y1", "y2", "y3"], ["B", "A", "D"]),
        }
        plan = pair_plan(corpora, rater="ann")
        assert {frozenset((pair.left_text, pair.right_text)) for pair in shown(plan)} == {
            frozenset(("h1", "b1")),
            frozenset(("h2", "b2")),
        }
        assert "matched by their prompts" in plan.notes[0]

    def test_equal_texts_are_left_out_and_counted(self):
        corpora = {
            "human": corpus("human", ["same", "h2"], ["1", "2"]),
            "beam": corpus("beam", ["same", "b2"], ["1", "2"]),
        }
        plan = pair_plan(corpora, rater="ann")
        assert plan.total == 1
        assert any(note.startswith("1 pairs of identical texts") for note in plan.notes)


def test_answers_become_ratings_of_what_was_shown():
    pair = pair_plan(make_corpora(), rater="ann")[3]
    first, second = pair.ratings("ann", {"sensible": "tie", "human-like": "definitely B"}, 12.5)
    assert (first.question, first.option, second.question, second.option) == (
        "sensible",
        "tie",
        "human-like",
        "definitely B",
    )
    assert first.key == second.key == pair.key
    assert (first.left, first.right, first.seconds, first.rater) == (pair.left, pair.right, 12.5, "ann")
    assert first.created.endswith("+00:00")
    with pytest.raises(InputError, match="unknown option"):
        pair.ratings("ann", {"sensible": "A"})
