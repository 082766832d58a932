"""Which pairs come when: balanced, without repeats, the same again; texts matched only where they belong together."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from mauve_core.base.errors import InputError
from mauve_core.runs.ratings import Pair, PairPlan, pair_plan
from mauve_core.texts import Corpus, corpus_from_texts
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

    def test_two_sources_with_fewer_prompts_only_run_out_earlier(self):
        corpora = {**make_corpora(NAMES), "d": make_corpora(("d",))["d"].take(range(3))}
        order = [frozenset((pair.left, pair.right)) for pair in shown(pair_plan(corpora, rater="ann"))]
        assert Counter(order)[frozenset("ad")] == 3
        assert max(index for index, two in enumerate(order) if "d" in two) < 3 * 10
        assert Counter(order)[frozenset("ab")] == 12

    def test_a_prompt_comes_back_late(self):
        # 10 times 2 pairs over 40 prompts: none need come twice.
        first = shown(pair_plan(make_corpora(NAMES, n=40), rater="ann"))[:20]
        assert len({pair.prompt_id for pair in first}) == 20

    def test_sides_are_shuffled(self):
        pairs = shown(pair_plan(make_corpora(NAMES, n=200), rater="ann"))
        met = [pair for pair in pairs if "human" in (pair.left, pair.right)]
        # 800 fair coins: five standard deviations.
        assert sum(pair.left == "human" for pair in met) == pytest.approx(400, abs=5 * 14.2)

    def test_the_same_texts_rater_and_seed_give_the_same_plan(self):
        corpora = make_corpora(NAMES)
        turned = dict(reversed(corpora.items()))
        assert shown(pair_plan(corpora, rater="ann")) == shown(pair_plan(turned, rater="ann"))

    def test_raters_and_seeds_have_plans_of_their_own(self):
        corpora = make_corpora(NAMES)
        plans = [pair_plan(corpora, rater=rater, seed=seed) for rater in ("ann", "ben") for seed in (0, 1)]
        assert len({tuple(pair.key for pair in shown(plan)) for plan in plans}) == 4

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

    def test_line_numbers_do_not_join_texts_of_different_prompts(self):
        corpora = {
            "human": corpus("human", ["h1", "h2", "h3"], None, ["A", "B", "C"]),
            "beam": corpus("beam", ["b2", "b3", "b1"], None, ["B", "C", "A"]),
        }
        pairs = shown(pair_plan(corpora, rater="ann"))
        assert len(pairs) == 3
        assert all(pair.left_text[1] == pair.right_text[1] for pair in pairs)

    def test_a_prompt_that_occurs_twice_joins_first_with_first(self):
        corpora = {
            "human": corpus("human", ["h1", "h2"], ["x1", "x2"], ["A", "A"]),
            "beam": corpus("beam", ["b1", "b2", "b3"], ["y1", "y2", "y3"], ["A", "A", "A"]),
        }
        pairs = shown(pair_plan(corpora, rater="ann"))
        assert sorted(sorted((pair.left_text, pair.right_text)) for pair in pairs) == [["b1", "h1"], ["b2", "h2"]]
        assert len({pair.prompt_id for pair in pairs}) == 2

    def test_without_prompts_ids_alone_and_a_note(self):
        ids = ["x", "y", "z"]
        corpora = {name: corpus(name, [f"{name}{i}" for i in range(3)], ids) for name in ("human", "beam")}
        # Two numbered sides are more texts, but their numbers say nothing of each other.
        corpora |= {name: corpus(name, [f"{name}{i}" for i in range(9)]) for name in ("bare", "plain")}
        plan = pair_plan(corpora, rater="ann")
        assert plan.total == 3
        assert plan[0].prompt == ""
        assert any("no prompts" in note for note in plan.notes)

    def test_the_prompt_of_one_side_serves_both(self):
        corpora = {
            "human": corpus("human", ["h1"], ["1"], ["A"]),
            "beam": corpus("beam", ["b1"], ["1"]),
        }
        assert pair_plan(corpora, rater="ann")[0].prompt == "A"

    def test_equal_texts_are_left_out_and_counted(self):
        corpora = {
            "human": corpus("human", ["same", "h2"], ["1", "2"]),
            "beam": corpus("beam", ["same", "b2"], ["1", "2"]),
        }
        plan = pair_plan(corpora, rater="ann")
        assert plan.total == 1
        assert any(note.startswith("1 pair of identical texts") for note in plan.notes)

    def test_short_texts_are_left_out_and_counted(self):
        corpora = {
            "human": corpus("human", ["one two three", "one two three"], ["1", "2"]),
            "beam": corpus("beam", ["three more words", "two words"], ["1", "2"]),
        }
        plan = pair_plan(corpora, rater="ann", min_words=3)
        assert [pair.prompt_id for pair in shown(plan)] == ["1"]
        assert "1 text of fewer than 3 words was left out." in plan.notes

    def test_without_the_human_side(self):
        plan = pair_plan(make_corpora(NAMES), rater="ann", include_human=False)
        assert plan.sources == ("a", "b", "c", "d")
        assert all("human" not in (pair.left, pair.right) for pair in shown(plan))

    def test_a_source_that_shares_no_prompt_is_named(self):
        corpora = {**make_corpora(), "lost": corpus("lost", ["elsewhere"], ["z"], ["Z"])}
        plan = pair_plan(corpora, rater="ann")
        assert plan.sources == ("human", "nucleus", "beam")
        assert any(note.startswith("No text of lost") for note in plan.notes)

    @pytest.mark.parametrize(
        "corpora",
        [
            {},
            make_corpora(("human",)),
            {"human": corpus("human", ["h"], ["1"], ["A"]), "beam": corpus("beam", ["b"], ["2"], ["B"])},
            {"human": corpus("human", ["h"], ["1"], ["A"]), "beam": corpus("beam", ["b"], ["1"], ["B"])},
            {"human": corpus("human", ["h"], ["1"], [" "]), "beam": corpus("beam", ["b"], ["2"], [" "])},
            {"human": corpus("human", ["h"]), "beam": corpus("beam", ["b"])},
        ],
    )
    def test_nothing_to_compare_is_an_error_that_says_what_to_do(self, corpora):
        with pytest.raises(InputError, match="fewer than two sources have a text for the same prompt") as caught:
            pair_plan(corpora, rater="ann")
        assert "prompt field" in caught.value.todo

    def test_a_rater_has_a_name_and_a_seed_is_a_number(self):
        with pytest.raises(InputError, match="name is empty"):
            pair_plan(make_corpora(), rater=" ")
        for seed in (-1, 1.5, True):
            with pytest.raises(InputError, match="seed"):
                pair_plan(make_corpora(), rater="ann", seed=seed)  # type: ignore[arg-type]


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
