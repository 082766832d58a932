"""Two people change what is said of one run: each began from what stood there then, and neither loses anything."""

from __future__ import annotations

from typing import Any

import pytest

from mauve_core.base.errors import InputError
from mauve_core.runs import About, ChangedMeanwhileError, RunStore
from mauve_core.runs.folder import MAX_TAGS, read_about
from tests.handmade import make_comparison, make_corpora

NAME = "A name"


@pytest.fixture
def seen(store: RunStore) -> About:
    """What both saw of the run ``a-name``; its name is the one that it was saved under."""
    store.save(NAME, make_comparison(), make_corpora())
    store.describe("a-name", tags=["old", "kept"], notes="first line")
    return About(NAME, ("kept", "old"), "first line")


def said(store: RunStore) -> About:
    (line,) = store.list()
    return About(line.name, line.tags, line.notes)


def test_what_was_left_as_it_was_seen_is_not_written(store: RunStore, seen: About) -> None:
    store.describe("a-name", name="Theirs", notes="their notes")
    store.describe("a-name", name=NAME, tags=["old", "kept"], notes=" first line\n", seen=seen)
    assert said(store) == About("Theirs", ("kept", "old"), "their notes")


def test_each_keeps_the_part_that_the_other_left_alone(store: RunStore, seen: About) -> None:
    store.describe("a-name", name="Theirs", tags=seen.tags, notes=seen.notes, seen=seen)
    store.describe("a-name", name=NAME, tags=seen.tags, notes="mine", seen=seen)
    assert said(store) == About("Theirs", ("kept", "old"), "mine")


def test_a_name_that_nobody_gave_is_still_that_of_saving(store: RunStore, seen: About) -> None:
    store.describe("a-name", name=NAME, notes="mine", seen=seen)
    assert read_about(store.root / "a-name").name is None


@pytest.mark.parametrize(
    ("theirs", "mine", "together"),
    [
        (["old", "kept", "b"], ["old", "kept", "a"], ("a", "b", "kept", "old")),
        (["kept"], ["old", "kept", "a"], ("a", "kept")),  # what they took away stays away
        (["kept"], ["kept"], ("kept",)),
        ([], ["old"], ()),
        (["old", "kept", "a"], ["a"], ("a",)),
    ],
)
def test_tags_are_added_and_taken_away_one_by_one(
    store: RunStore, seen: About, theirs: list[str], mine: list[str], together: tuple[str, ...]
) -> None:
    store.describe("a-name", tags=theirs, seen=seen)
    assert store.describe("a-name", tags=mine, seen=seen).tags == together
    assert said(store) == About(NAME, together, "first line")


def test_together_there_may_be_too_many_tags(store: RunStore, seen: About) -> None:
    store.describe("a-name", tags=[f"b{number}" for number in range(MAX_TAGS)])
    before = said(store)
    with pytest.raises(InputError, match="too many tags"):
        store.describe("a-name", tags=[*seen.tags, "mine"], notes="mine", seen=seen)
    assert said(store) == before


@pytest.mark.parametrize(
    ("mine", "now"),
    [
        ({"notes": "mine"}, {"notes": "theirs"}),
        ({"name": "Mine", "tags": ["mine"]}, {"name": "Theirs"}),
        ({"name": "Mine", "notes": "mine"}, {"name": "Theirs", "notes": "theirs"}),
        ({"name": "Theirs", "notes": "mine"}, {"notes": "theirs"}),  # the same name is no conflict
    ],
)
def test_one_text_changed_by_both_is_not_overwritten(
    store: RunStore, seen: About, mine: dict[str, Any], now: dict[str, str]
) -> None:
    store.describe("a-name", name="Theirs", notes="theirs")
    before = said(store)
    with pytest.raises(
        ChangedMeanwhileError, match=r"Someone else has since changed .*Received: .*[Tt]heirs"
    ) as caught:
        store.describe("a-name", **mine, seen=seen)
    assert caught.value.now == now
    assert said(store) == before, "nothing of it is written, the tags neither"
    known: dict[str, Any] = dict(caught.value.now)
    store.describe("a-name", **mine, seen=About(**{**vars(seen), **known}))
    (line,) = store.list()
    assert {part: getattr(line, part) for part in now} == {part: mine[part] for part in now}
