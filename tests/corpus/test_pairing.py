"""Which texts share a prompt or a unit: the rules, case by case, with the numbers written out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.texts import Corpus, corpus_from_texts, read_corpus
from mauve_core.texts.building import split_by
from mauve_core.texts.pairing import (
    LEAST_PROMPTS,
    SharedPrompts,
    content_codes,
    group_codes,
    keys_of,
    prompt_names,
    prompts_of,
    shared_prompts,
    unit_names,
    units_among,
)
from mauve_core.texts.tables import Table


def corpus(
    name: str, *, prompts: Sequence[str | None] | None = None, ids: Sequence[str] | None = None, n: int = 0
) -> Corpus:
    texts = [f"{name} {i}" for i in range(n or len(prompts or ids or ()))]
    return corpus_from_texts(texts, name=name, prompts=prompts, ids=ids)


def matched(*corpora: Corpus) -> SharedPrompts | None:
    return shared_prompts({each.name: each for each in corpora})


def codes(found: SharedPrompts | None) -> dict[str, list[int]]:
    assert found is not None
    assert all(each.dtype == np.int32 for each in found.codes.values())
    return {name: each.tolist() for name, each in found.codes.items()}


def test_equal_prompts_have_equal_numbers() -> None:
    found = matched(
        corpus("human", prompts=["a", "b", "c"], ids=["1", "2", "3"]),
        corpus("model", prompts=["c", "d", "a"], ids=["3", "4", "1"]),
    )
    assert found is not None
    assert found.by == "prompts"
    assert codes(found) == {"human": [0, 1, 2], "model": [2, 3, 0]}
    assert found.shared("human", "model") == found.shared("model", "human") == 2


def test_equal_prompts_decide_whatever_the_ids() -> None:
    found = matched(
        corpus("human", prompts=["a", "b"], ids=["h1", "h2"]), corpus("model", prompts=["b", "a"], ids=["m1", "m2"])
    )
    assert found is not None
    assert (found.by, codes(found)) == ("prompts", {"human": [0, 1], "model": [1, 0]})


def test_equal_ids_of_different_prompts_do_not_match_if_any_prompt_does() -> None:
    ids = ["1", "2", "3"]
    found = matched(
        corpus("human", prompts=["a", "b", "c"], ids=ids), corpus("model", prompts=["x", "y", "c"], ids=ids)
    )
    assert found is not None
    assert (found.by, codes(found)) == ("prompts", {"human": [0, 1, 2], "model": [3, 4, 2]})
    assert found.shared("human", "model") == 1


def test_equal_ids_decide_if_no_prompt_is_shared() -> None:
    found = matched(
        corpus("human", prompts=["a", "b"], ids=["1", "2"]), corpus("model", prompts=["x", "y"], ids=["2", "3"])
    )
    assert found is not None
    assert (found.by, codes(found)) == ("ids", {"human": [0, 1], "model": [1, 2]})


def test_how_one_is_matched_with_the_first_says_nothing_of_another() -> None:
    found = matched(
        corpus("human", prompts=["a", "b"], ids=["1", "2"]),
        corpus("model", prompts=["b", "a"], ids=["1", "2"]),
        corpus("other", ids=["2", "9"]),
    )
    assert found is not None
    assert found.by == "prompts"
    assert codes(found) == {"human": [0, 1], "model": [1, 0], "other": [1, 2]}


def test_two_candidates_may_share_prompts_that_the_human_side_lacks() -> None:
    found = matched(corpus("human", prompts=["h"]), corpus("one", prompts=["a"]), corpus("two", prompts=["a"]))
    assert found is not None
    assert (found.by, codes(found)) == ("prompts", {"human": [0], "one": [1], "two": [1]})
    assert [found.shared("human", "one"), found.shared("one", "two")] == [0, 1]


def test_blank_prompts_equal_nothing() -> None:
    found = matched(
        corpus("human", prompts=["a", "", " \n", ""]), corpus("model", prompts=["", None, "a", " \n"])
    )  # fmt: skip
    assert found is not None
    assert (found.by, codes(found)) == ("prompts", {"human": [0, 1, 2, 3], "model": [4, 5, 0, 6]})
    assert found.shared("human", "model") == 1


def test_prompts_that_are_all_blank_leave_it_to_the_ids() -> None:
    found = matched(
        corpus("human", prompts=["", ""], ids=["1", "2"]), corpus("model", prompts=["", ""], ids=["2", "3"])
    )
    assert found is not None
    assert (found.by, codes(found)) == ("ids", {"human": [0, 1], "model": [1, 2]})


def test_prompts_are_compared_letter_for_letter() -> None:
    found = matched(corpus("human", prompts=["a", "e\u0301"]), corpus("model", prompts=["a", "\u00e9"]))
    assert codes(found) == {"human": [0, 1], "model": [0, 2]}
    found = matched(corpus("human", prompts=["a", "b"]), corpus("model", prompts=["a", "b "]))
    assert codes(found) == {"human": [0, 1], "model": [0, 2]}


def test_a_repeated_prompt_has_one_number() -> None:
    found = matched(corpus("human", prompts=["a", "a", "b"]), corpus("model", prompts=["b", "a", "b", "c", "c"]))
    assert found is not None
    assert codes(found) == {"human": [0, 0, 1], "model": [1, 0, 1, 2, 2]}
    assert found.shared("human", "model") == 2  # prompts, not texts


def test_a_prompt_repeated_in_one_corpus_alone_is_not_shared() -> None:
    one = corpus("human", prompts=["a", "a"], ids=["1", "2"])
    assert matched(one, corpus("model", prompts=["b", "b"], ids=["3", "4"])) is None


def test_nothing_in_common() -> None:
    assert matched(corpus("human", ids=["1", "2"]), corpus("model", ids=["3", "4"])) is None
    one, other = corpus("human", prompts=["a"], ids=["1"]), corpus("model", prompts=["b"], ids=["2"])
    assert matched(one, other) is None


def test_lines_of_two_files_and_positions_in_memory_are_no_prompts(tmp_path: Path) -> None:
    (tmp_path / "human.txt").write_text("one\n\nthree\nfour\n")
    (tmp_path / "model.txt").write_text("eins\nzwei\ndrei\n")
    files = [read_corpus(tmp_path / f"{name}.txt") for name in ("human", "model")]
    memory = [corpus("a", n=3), corpus("b", n=2)]
    for sides in (files, memory, [*files, *memory]):
        assert matched(*sides) is None
        found = names(*sides)
        assert len({name for side in found for name in side}) == sum(map(len, sides))


def test_columns_of_one_file_are_matched_by_row(tmp_path: Path) -> None:
    rows = [{"people": f"one {i}", "model": f"eins {i}", "other": f"uno {i}"} for i in range(4)]
    path = tmp_path / "table.jsonl"
    path.write_text("".join(json.dumps(row | ({"model": ""} if not i else {})) + "\n" for i, row in enumerate(rows)))

    def column(field: str) -> Corpus:
        return read_corpus(path, name=field, text_field=field, metadata_fields=())

    found = matched(column("people"), column("model"))
    assert found is not None
    assert (found.by, codes(found)) == ("rows", {"people": [0, 1, 2, 3], "model": [1, 2, 3]})
    assert matched(column("people"), replace(column("people"), name="again")) is None  # rows may be told apart by field
    with_ids = corpus("own", ids=["1", "2"])
    assert matched(column("people"), with_ids) is None
    both = matched(column("people"), column("model"), with_ids, corpus("more", ids=["2", "3"]))
    assert both is not None
    assert both.by == "rows"
    assert both.shared("own", "more") == 1


def test_the_parts_of_one_file_are_not_matched_by_row() -> None:
    rows = [(i, {"who": "ab"[i % 2], "text": f"text {i}"}) for i in range(1, 9)]
    parts = split_by(Table(rows, ("who", "text"), Path("t.jsonl"), "jsonl"), "who")
    assert shared_prompts(parts) is None


def test_generations_of_one_numbered_corpus_still_belong_together() -> None:
    texts = [f"text {i}" for i in range(6)]
    ids = ["1", "2", "3", "1#1", "2#1", "3#1"]
    one = corpus_from_texts(texts, name="model", ids=ids, metadata={"generation": [0] * 3 + [1] * 3})
    one = replace(one, generation="generation", numbered=True)
    found = matched(corpus("human", n=3), one)
    assert found is not None
    assert codes(found) == {"human": [0, 1, 2], "model": [3, 4, 5, 3, 4, 5]}
    assert found.shared("human", "model") == 0


def names(*corpora: Corpus) -> list[list[str]]:
    return [list(own) for own in prompt_names(keys_of({each.name: each for each in corpora})).values()]


def test_a_prompt_has_the_id_of_the_first_text_that_answers_it() -> None:
    human = corpus("human", prompts=["a", "b", "c"], ids=["1", "2", "3"])
    assert names(human, corpus("model", prompts=["c", "a", "b"], ids=["x", "y", "z"])) == [["1", "2", "3"], list("312")]
    twice = [*map(str, range(LEAST_PROMPTS)), "1"]
    found = names(
        corpus("human", prompts=twice, ids=[f"h{i}" for i in range(11)]), corpus("model", prompts=twice[::-1])
    )
    own = [*(f"h{i}" for i in range(10)), "h1"]
    assert found == [own, own[::-1]]


def test_different_prompts_have_different_names_whatever_the_ids() -> None:
    human = corpus("human", prompts=["a", "b", "c"], ids=["1", "2", "3"])
    permuted = corpus("model", prompts=["c", "d", "a"], ids=["1", "2", "3"])
    third = corpus("third", prompts=["e", "d", "a"], ids=["2", "1", "3"])
    assert names(human, permuted, third) == [["1", "2", "3"], ["3", "2'", "1"], ["2''", "2'", "1"]]
    assert names(human, permuted) == names(human, permuted, third)[:2], "sides that follow change no name"


def test_without_a_common_prompt_ids_are_the_names() -> None:
    human = corpus("human", n=2, ids=["1", "2"])
    assert names(human, corpus("model", prompts=["a", "b"], ids=["2", "3"])) == [["1", "2"], ["2", "3"]]
    assert names(corpus("human", prompts=["a"], ids=["1"]), corpus("model", prompts=["b"], ids=["2"])) == [["1"], ["2"]]


def test_a_line_number_equals_no_id_that_a_text_came_with(tmp_path: Path) -> None:
    human = corpus("human", ids=["0", "1", "2"])
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"text": f"A text of line {line}."}) + "\n" for line in (1, 2, 3)))
    numbered = read_corpus(lines, name="numbered")
    assert numbered.ids == ("1", "2", "3")
    for one in (numbered, corpus("positions", n=3)):
        assert one.numbered
        assert matched(human, one) is None
        assert len({name for side in names(human, one) for name in side}) == 6
    assert matched(numbered, corpus("positions", n=3)) is None
    assert prompts_of({"human": corpus("h", prompts=["a", "b"], ids=["1", "2"]), "numbered": numbered})["numbered"] == (
        "",
        "",
        "",
    )
    numbered.to_parquet(tmp_path / "stored.parquet")
    assert Corpus.from_parquet(tmp_path / "stored.parquet").numbered


def test_of_few_prompts_the_texts_are_matched_one_by_one() -> None:
    """One instruction for all texts, as people have it, leaves no group of texts without it."""
    human = corpus("human", prompts=["go", "go", "stop", "go"], ids=["1", "2", "3", "4"])
    model = corpus("model", prompts=["go", "stop", "go"], ids=["a", "b", "c"])
    assert names(human, model) == [["1", "2", "3", "4"], ["1", "3", "2"]]
    many = [f"prompt {number // 2}" for number in range(2 * LEAST_PROMPTS)]
    found = names(corpus("human", prompts=many), corpus("model", prompts=many))
    assert found[0] == found[1]
    assert len(set(found[0])) == LEAST_PROMPTS


def listed(codes: Mapping[str, NDArray[np.integer]]) -> dict[str, list[int]]:
    return {name: own.tolist() for name, own in codes.items()}


def of(*corpora: Corpus) -> dict[str, Corpus]:
    return {each.name: each for each in corpora}


def grouped(name: str, values: Sequence[object], prompts: Sequence[str] | None = None) -> Corpus:
    texts = [f"{name} {i}" for i in range(len(values))]
    return replace(corpus_from_texts(texts, name=name, prompts=prompts, metadata={"author": values}), group="author")


def test_texts_of_a_prompt_are_a_group_whether_or_not_another_side_has_it() -> None:
    sides = of(
        corpus("human", prompts=["a", "a", " ", " "]), corpus("model", prompts=["b", "b", "a"]), corpus("c", n=2)
    )
    assert listed(group_codes(sides)) == {"human": [0, 0, 1, 2], "model": [3, 3, 0], "c": [4, 5]}
    assert listed(group_codes(of(sides["human"], sides["c"]))) == {"human": [0, 0, 1, 2], "c": [3, 4]}


def test_texts_of_a_prompt_are_a_group_where_ids_match_the_sides() -> None:
    human, model = corpus("human", ids=list("12345")), corpus("model", prompts=["a", "a", "b", "c"], ids=list("1239"))
    assert matched(human, model) is not None
    expected = {"human": [0, 0, 1, 2, 3], "model": [0, 0, 1, 4]}
    assert listed(group_codes(of(human, model))) == expected
    backwards = listed(group_codes(of(model, human)))
    assert backwards == {"model": [0, 0, 1, 2], "human": [0, 0, 1, 3, 4]}


def test_a_field_groups_texts_in_place_of_the_prompt(tmp_path: Path) -> None:
    human = grouped("human", ["Ann", "Bo", "Ann", None, ""], prompts=["p", "p", "q", "q", "q"])
    model = grouped("model", ["Bo", "Cy", "Cy"])
    assert listed(group_codes(of(human, model))) == {"human": [0, 1, 0, 2, 3], "model": [1, 4, 4]}
    assert listed(group_codes(of(grouped("years", [7, 8, 7])))) == {"years": [0, 1, 0]}
    human.to_parquet(tmp_path / "stored.parquet")
    assert Corpus.from_parquet(tmp_path / "stored.parquet").groups == ("Ann", "Bo", "Ann", "", "")
    with pytest.raises(InputError, match="no metadata field 'year' to group texts by"):
        replace(human, group="year")


def test_equal_texts_and_texts_of_one_group_are_one_unit() -> None:
    human = corpus_from_texts(["x", "y", "z", "w"], name="human", prompts=["a", "a", "b", "c"], ids=list("1234"))
    model = corpus_from_texts(["y", "v", "z", "u"], name="model", prompts=["d", "b", "e", "f"], ids=list("5678"))
    assert listed(content_codes(of(human, model))) == {"human": [0, 1, 2, 3], "model": [1, 4, 2, 5]}
    assert listed(units_among(of(human, model))) == {"human": [0, 0, 1, 2], "model": [0, 1, 1, 3]}
    named = unit_names(keys_of(of(*(spread(side) for side in (human, model)))))
    assert [own[:4] for own in named.values()] == [("1", "1", "3", "4"), ("1", "3", "3", "8")]


def spread(side: Corpus) -> Corpus:
    """The same with 30 texts more, so that its units support an interval."""
    more = [f"{side.name} more {i}" for i in range(30)]
    return corpus_from_texts(
        [*side.texts, *more], name=side.name, prompts=[*(side.prompts or ()), *more], ids=[*side.ids, *more]
    )


def test_a_side_that_repeats_itself_joins_no_units() -> None:
    many = [f"text {i}" for i in range(30)]
    human = corpus_from_texts([*many, "no"], name="human", ids=[f"h{i}" for i in range(31)])
    model = corpus_from_texts([*many[:10], *["no"] * 21], name="model", ids=[f"m{i}" for i in range(31)])
    found = unit_names(keys_of(of(human, model)))
    assert found == {"human": human.ids, "model": model.ids}
    other = corpus_from_texts([*many[:29], "no", "no"], name="other", ids=[f"o{i}" for i in range(31)])
    found = unit_names(keys_of(of(human, other)))
    assert found["other"] == (*human.ids[:29], "h30", "h30")
