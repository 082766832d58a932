"""A run in sentences: exact ones for comparisons put together by hand, and no claim beyond the tests of any."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.analyses.attached_results import verdict
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.findings.clusters import GapTest
from mauve_core.findings.copied import CopiedTexts
from mauve_core.findings.format_checks import FormatDifference, Preflight
from mauve_core.findings.sentences import Name
from mauve_core.findings.verdicts import Elsewhere, Verdict, verdict_of
from mauve_core.findings.why_cards import Reason
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Candidate, Comparison, Difference, Estimate, LikeForLike
from mauve_core.scoring.tables import standings
from mauve_core.stats.scores import SCORES
from mauve_core.texts import corpus_from_texts
from tests.handmade import make_comparison
from tests.synthetic import make_comparison_inputs

GAP, NO_GAP = GapTest(0.2, 0, 499), GapTest(0.01, 104, 499)

REASON = Reason("", 3, 0.3, 0.2, 0.4, 0.1, 0.3, "adds", "all", "distinct", 0.46, 0.95)


def of(
    means: Mapping[str, float],
    *,
    apart: Collection[tuple[str, str]] = (),
    n: int = 200,
    k: int = 20,
    generations: int = 1,
    prompts: bool = True,
) -> Comparison:
    """A comparison with these scores, +- 0.02; ``apart`` are the pairs told apart."""
    template = make_comparison()
    base, candidates = template.candidates[0], []
    for name, mean in means.items():
        several = tuple(np.full(generations, mean).tolist()) if generations > 1 else None
        own = Estimate(mean, 0.01, mean - 0.02, mean + 0.02, (mean, mean), several)
        source = dataclasses.replace(base.source, name=name, n=n * generations, generations=generations)
        if generations > 1:
            source = dataclasses.replace(source, n_smallest=n)
        parts = tuple(dataclasses.replace(part, k=k) for part in base.partitions)
        scores = dict.fromkeys(SCORES, own)
        candidates.append(Candidate(source, scores, scores, parts))
    human = dataclasses.replace(template.human, n=n)
    told = {frozenset(pair) for pair in apart}
    found = tuple(
        _difference(score, one, other, means, frozenset((one, other)) in told)
        for one, other in combinations(means, 2)
        for score in SCORES
    )
    counts = {HUMAN: 1} | dict.fromkeys(means, generations)
    shared = {name: np.tile(np.arange(n, dtype=np.int32), own) for name, own in counts.items()} if prompts else None
    return dataclasses.replace(
        template,
        human=human,
        candidates=tuple(candidates),
        halves=None,
        like_for_like=(),
        differences=found,
        prompts=shared,
        prompts_by="prompts" if prompts else None,
    )


def _difference(score: str, one: str, other: str, means: Mapping[str, float], apart: bool) -> Difference:
    value = means[one] - means[other]
    p, half = (0.004, min(0.03, abs(value) / 2)) if apart else (0.3, 0.03)
    return Difference(score, one, other, value, value - half, value + half, value, p, p, True, 200)


def said(
    comparison: Comparison,
    tested: GapTest = GAP,
    reasons: Mapping[str, Reason] | None = None,
    checked: Preflight | None = None,
) -> tuple[Verdict, list[str]]:
    found = verdict_of(comparison, lambda _: tested, (reasons or {}).get, checked or Preflight(()))
    return found, [with_plain_spaces(str(each)) for each in found.sentences]


def checked(*flagged: tuple[str, str, float]) -> Preflight:
    """A preflight with these flags: kind, candidate, AUC; and one kind that is flagged for nobody."""
    rows = [
        FormatDifference(kind, name, "", "median", 200, 0.0, 200, 1.0, auc, auc, auc, 0.001, kind != "casing", "")
        for kind, name, auc in (*flagged, ("casing", "a", 0.99))
    ]
    return Preflight(tuple(rows))


def reason_of(candidate: str) -> Reason:
    return dataclasses.replace(REASON, candidate=candidate)


def test_one_clear_winner() -> None:
    comparison = of({"b": 0.7, "a": 0.9, "c": 0.5}, apart=[("a", "b"), ("a", "c")])
    found, sentences = said(comparison, reasons={name: reason_of(name) for name in "abc"})
    assert sentences == [
        "b, a and c (200 texts each) compared with 200 human texts: 200 prompts shared with the human texts, matched "
        "by equal prompts.",
        "Under the features given, a is closest to the human texts, told apart from every other candidate: MAUVE 0.900 "
        "± 0.010 (0.880 to 0.920), ahead of b, the next, by 0.200 (0.170 to 0.230; adjusted p = 0.004).",
        "Main difference of c: it repeats itself (distinct-4 46% per text against 95%).",
    ]
    assert found.leaders == ("a",)
    assert found.few is None


def test_two_that_tie() -> None:
    found, sentences = said(of({"a": 0.71, "b": 0.72}), reasons={"b": reason_of("b"), "a": reason_of("a")})
    assert sentences[1:] == [
        "Under the features given, whether b or a is closer to the human texts cannot be told with 200 texts each: "
        "MAUVE 0.720 ± 0.010 (0.700 to 0.740) and 0.710 ± 0.010 (0.690 to 0.730) differ by 0.010 (−0.020 to 0.040; "
        "adjusted p = 0.3).",
        "Main difference of b: it repeats itself (distinct-4 46% per text against 95%).",
    ]
    assert found.leaders == ("b", "a")


def test_all_tie() -> None:
    _, sentences = said(of({"a": 0.71, "b": 0.72, "c": 0.7}))
    assert sentences[1:] == [
        "Under the features given, one of b, a and c is closest to the human texts, but 200 texts each do not tell "
        "which: b has the highest "
        "MAUVE, 0.720 ± 0.010 (0.700 to 0.740)."
    ]
    many = {f"m{number}": 0.7 - number / 1000 for number in range(7)}
    found, sentences = said(of(many))
    assert sentences[0].startswith("7 candidates (200 texts each) compared with 200 human texts: ")
    assert sentences[1].startswith(
        "Under the features given, one of the 7 candidates is closest to the human texts, but 200 texts each "
    )
    assert found.leaders == tuple(many)


@pytest.mark.parametrize(
    ("tied", "which"),
    [(1, "m0 and m1"), (2, "m0, m1 and m2"), (3, "m0, m1, m2 and m3"), (5, "m0, m1, m2 and 3 more")],
)
def test_a_group_leads(tied: int, which: str) -> None:
    means = {f"m{number}": 0.7 - number / 10 for number in range(8)}
    _, sentences = said(of(means, apart=[("m0", f"m{number}") for number in range(tied + 1, 8)]))
    first = f"m{tied + 1}"
    behind = f"0.{tied + 1}00 (0.{tied}70 to 0.{tied + 1}30; adjusted p = 0.004)"
    assert sentences[1:] == [
        f"Under the features given, one of {which} is closest to the human texts, but 200 texts each do not tell "
        f"which: m0 has the highest "
        f"MAUVE, 0.700 ± 0.010 (0.680 to 0.720). It is ahead of {first}, the best of the {7 - tied} that are told "
        f"apart, by {behind}."
    ]


def test_one_behind_a_group_of_two() -> None:
    _, sentences = said(of({"a": 0.8, "b": 0.79, "c": 0.5}, apart=[("a", "c")]))
    assert sentences[1].endswith(
        "(0.780 to 0.820). It is ahead of c, which is told apart, by 0.300 (0.270 to 0.330; adjusted p = 0.004)."
    )


def test_a_candidate_below_the_next_rank_may_be_tied_with_the_first() -> None:
    """b opens a second group, in which c is; but c is not told apart from a, so that it could be the closest."""
    comparison = of({"a": 0.8, "b": 0.79, "c": 0.78}, apart=[("a", "b")])
    assert [(each.candidate.name, each.rank) for each in standings(comparison)] == [("a", 1), ("b", 2), ("c", 2)]
    found, sentences = said(comparison)
    assert found.leaders == ("a", "c")
    assert sentences[1].startswith(
        "Under the features given, one of a and c is closest to the human texts, but 200 texts each do not tell"
    )
    assert "It is ahead of b, which is told apart, by 0.010" in sentences[1]


def test_one_candidate() -> None:
    comparison = of({"a": 0.9})
    found, sentences = said(comparison, reasons={"a": reason_of("a")})
    assert sentences == [
        "a (200 texts) compared with 200 human texts: 200 prompts shared with the human texts, matched by equal "
        "prompts.",
        "Under the features given, the texts of a differ from the human texts (p = 0.002): MAUVE 0.900 ± 0.010 "
        "(0.880 to 0.920).",
        "Main difference: it repeats itself (distinct-4 46% per text against 95%).",
    ]
    assert found.leaders == ("a",)
    _, sentences = said(comparison, NO_GAP)
    assert sentences[1:] == [
        "Under the features given, the texts of a are not told apart from the human texts (p = 0.21): MAUVE 0.900 ± "
        "0.010 (0.880 to 0.920)."
    ]


def test_a_leader_that_is_not_told_apart_from_people() -> None:
    _, sentences = said(of({"a": 0.9, "b": 0.7}, apart=[("a", "b")]), NO_GAP)
    assert sentences[1].endswith(" The gap between a and the human texts could be one between human texts (p = 0.21).")


def test_a_gap_that_is_not_tested_is_called_neither_a_difference_nor_none() -> None:
    untested = GapTest(0.0, 0, 0, "one unit has 60 of 200 texts of a side")
    _, sentences = said(of({"a": 0.9}), untested)
    assert sentences[1].startswith(
        f"Under the features given, the texts of a are not tested against the human texts ({untested.why}): MAUVE "
    )
    _, sentences = said(of({"a": 0.9, "b": 0.7}, apart=[("a", "b")]), untested)
    assert sentences[1].endswith(f" The gap between a and the human texts is not tested: {untested.why}.")


def test_a_p_value_that_looks_small_comes_with_the_limit() -> None:
    near = GapTest(0.02, 17, 499)
    _, sentences = said(of({"a": 0.9, "b": 0.7}, apart=[("a", "b")]), near)
    assert sentences[1].endswith(" could be one between human texts (p = 0.036, above the limit of 0.01).")
    _, sentences = said(of({"a": 0.9}), near)
    assert "not told apart from the human texts (p = 0.036, above the limit of 0.01)" in sentences[1]


@pytest.mark.parametrize(("alike", "reaches"), [(0.7, True), (0.6, True), (0.59, False)])
def test_human_vs_human_counts_like_for_like_only(alike: float, reaches: bool) -> None:
    """Human vs. human has 0.6 at 3 texts; the candidate's 0.9 with all its texts does not count."""
    own = Estimate(alike, 0.01, alike - 0.02, alike + 0.02, (alike, alike))
    comparison = dataclasses.replace(
        of({"a": 0.9}),
        halves=make_comparison().halves,
        like_for_like=(LikeForLike("a", 3, 2, dict.fromkeys(SCORES, own)),),
    )
    _, sentences = said(comparison)
    ends = f"{alike - 0.02:.3f} to {alike + 0.02:.3f}"
    clause = (
        f" Like for like, a reaches human vs. human: {alike:.3f} ± 0.010 ({ends}) against 0.600 ± 0.010 (0.550 to "
        "0.650) at n = 3."
    )
    assert sentences[1].endswith(clause) == reaches
    assert ("reaches" in sentences[1]) == reaches
    assert "reaches" not in said(dataclasses.replace(comparison, like_for_like=()))[1][1]


def copies(name: str, *, score: float | None = 0.6, all_of_them: bool = False, flagged: bool = True) -> CopiedTexts:
    copied, left = (200, 0) if all_of_them else (60, 140)
    return CopiedTexts(
        name, 200, 200, 0, 0, 1, copied, None, 0.3, 0.2, 0.4, flagged, 90, ("1", "2"), score, left if flagged else 0
    )


def test_a_candidate_that_copies_is_never_the_closest() -> None:
    comparison = of({"a": 0.95, "b": 0.9, "c": 0.8, "d": 0.79}, apart=[("b", "c"), ("b", "d")])
    reasons = {name: reason_of(name) for name in "ab"}
    found, sentences = said(
        comparison, reasons=reasons, checked=Preflight((), copied=(copies("a"), copies("d", flagged=False)))
    )
    assert sentences[1:] == [
        "a copies 60 of 200 texts from the human file; without them its MAUVE is 0.600 (140 texts).",
        "Among the others, under the features given, b is closest to the human texts, told apart from every other "
        "candidate: MAUVE 0.900 ± 0.010 (0.880 to 0.920), ahead of c, the next, by 0.100 (0.070 to 0.130; adjusted "
        "p = 0.004).",
        "Main difference of b: it repeats itself (distinct-4 46% per text against 95%).",
    ]
    assert found.leaders == ("b",)
    assert found.caution == sentences[1]
    _, sentences = said(comparison, checked=Preflight((), copied=(copies("b", score=None),)))
    assert sentences[1].endswith("from the human file; too few are left to score without them.")
    assert sentences[2].startswith("Among the others, under the features given, one of a, c and d is closest to ")


def test_where_one_is_left_or_all_copy_nobody_is_called_the_closest() -> None:
    comparison = of({"a": 0.95, "b": 0.9}, apart=[("a", "b")])
    found, sentences = said(comparison, checked=Preflight((), copied=(copies("a", score=None, all_of_them=True),)))
    assert sentences[1:] == [
        "a copies all 200 texts from the human file.",
        "Under the features given, the texts of b differ from the human texts (p = 0.002): MAUVE 0.900 ± 0.010 "
        "(0.880 to 0.920).",
    ]
    assert found.leaders == ("b",)
    found, sentences = said(comparison, checked=Preflight((), copied=(copies("a"), copies("b"))))
    assert sentences[3:] == ["All candidates copy human texts, so none is called the closest."]
    assert found.leaders == ()
    found, sentences = said(of({"a": 0.9}), NO_GAP, checked=Preflight((), copied=(copies("a"),)))
    assert sentences[2] == (
        "Under the features given, the texts of a are not told apart from the human texts (p = 0.21): MAUVE 0.900 ± "
        "0.010 (0.880 to 0.920)."
    )
    assert found.leaders == ()


FOUR = {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.4}
ALL_APART = [("a", name) for name in "bcd"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([("quotes", "d", 0.7)], None),
        (
            [("quotes", "a", 0.7)],
            "a differs from the human texts in format (quotes), which its score may partly reflect.",
        ),
        (
            [("quotes", "c", 0.7), ("length", "d", 0.9)],
            "c and d differ from the human texts in format (most: length of d), which the scores may partly reflect.",
        ),
        (
            [("length", name, 0.4) for name in FOUR],
            "All 4 candidates differ from the human texts in format (length), which the scores may partly reflect.",
        ),
    ],
)
def test_named_candidates_that_differ_in_format(flags: list[tuple[str, str, float]], sentence: str | None) -> None:
    """The verdict names a, the closest, b, the next, and c, which has the main difference; nothing is said of d."""
    reasons = {"c": reason_of("c")}
    found, sentences = said(of(FOUR, apart=ALL_APART), reasons=reasons, checked=checked(*flags))
    assert found.caution == found.as_dict()["caution"] == sentence
    assert sentences[2:-1] == ([sentence] if sentence else []), "below who is closest, above the main difference"
    assert sentences[-1].startswith("Main difference of c: ")


def test_names_in_the_sentence_on_formats_are_marked() -> None:
    names = ("<b>x</b>", "*y*", "z")
    flags = [("length", names[0], 0.3), ("quotes", names[1], 0.7), ("quotes", names[0], 0.6)]
    comparison = of(dict(zip(names, (0.9, 0.8, 0.7), strict=True)))
    caution = said(comparison, checked=checked(*flags))[0].format
    assert caution is not None
    assert caution.written(lambda name: f"[{name}]", str.upper) == (
        "[<b>x</b>] AND [*y*] DIFFER FROM THE HUMAN TEXTS IN FORMAT (MOST: LENGTH OF [<b>x</b>]), WHICH THE SCORES MAY "
        "PARTLY REFLECT."
    )


def test_too_few_texts_a_cluster() -> None:
    found, sentences = said(of({"a": 0.9}, n=100, k=50), reasons={"a": reason_of("a")})
    assert sentences[1] == ("Too few texts: 2 per side and cluster, so the scores are mostly noise; take 5 or more.")
    assert found.reason is None
    assert said(of({"a": 0.9}, n=100, k=20))[0].few is None
    assert said(of({"a": 0.9}, n=199, k=40))[0].few is not None


UNSUPPORTED = {
    "too few": "b has 99 texts: too few for a score, which needs 100.",
    "few units": "b has 19 independent units, such as prompts: too few for a score, which needs 20.",
    "given twice": "b has 200 texts, the same as the human side: there is nothing to compare.",
    "equal": "b has 200 equal texts: they cannot support a score.",
}


def unsupported(name: str, how: str) -> Comparison:
    """Two candidates, a and b, of which one, or the human side, supports no score."""
    made = of({"b": 0.9, "a": 0.7}, apart=[("a", "b")], prompts=False)
    contents = {each: number * 200 + np.arange(200, dtype=np.int32) for number, each in enumerate((HUMAN, "b", "a"))}
    groups = dict(contents)
    if how == "too few":
        few = {each.source.name: dataclasses.replace(each.source, n=99) for each in made.candidates}
        made = dataclasses.replace(
            made,
            human=dataclasses.replace(made.human, n=99) if name == HUMAN else made.human,
            candidates=tuple(
                dataclasses.replace(each, source=few[name]) if each.name == name else each for each in made.candidates
            ),
        )
        contents[name], groups[name] = contents[name][:99], groups[name][:99]
    if how == "few units":
        groups[name] = groups[name][0] + np.arange(200, dtype=np.int32) % 19
    if how == "given twice":
        contents[name] = contents[HUMAN][::-1]
    if how == "equal":
        contents[name] = np.full(200, contents[name][0])
    return dataclasses.replace(made, contents=contents, groups=groups)


@pytest.mark.parametrize("how", UNSUPPORTED)
def test_no_verdict_of_what_supports_no_score_and_one_of_the_other_candidate(how: str) -> None:
    found, sentences = said(unsupported("b", how), reasons={name: reason_of(name) for name in "ab"})
    assert (sentences[1], found.few.names) == (UNSUPPORTED[how], ["b"])  # type: ignore[union-attr]
    assert sentences[2].startswith(
        "Under the features given, the texts of a differ from the human texts (p = 0.002): MAUVE 0.700"
    )
    assert sentences[3].startswith("Main difference: it repeats itself")
    assert found.leaders == ("a",)


@pytest.mark.parametrize("how", ["too few", "few units", "equal"])
def test_no_verdict_at_all_where_the_human_side_supports_no_score(how: str) -> None:
    found, sentences = said(unsupported(HUMAN, how))
    assert sentences[0].startswith("Under the features given, b and a (")
    assert sentences[1:] == [UNSUPPORTED[how].replace("b has", "The human side has")]
    assert found.leaders == ()


def test_a_reason_is_said_once_of_all_that_it_holds_of_and_a_model_is_not_called_human() -> None:
    made = of({"a": 0.9, "b": 0.8, "c": 0.7}, n=40, prompts=False)
    assert said(made)[1][1:] == ["The human side, a, b and c have 40 texts each: too few for a score, which needs 100."]
    written = dataclasses.replace(made, human=dataclasses.replace(made.human, source="gpt", n=60), contents={})
    assert said(written)[1][1].startswith("The reference side, a, b and c have 40 to 60 texts each: too few ")


def test_what_supports_no_score_is_none_of_those_that_the_closest_is_told_apart_from() -> None:
    made = of({"a": 0.9, "b": 0.7, "c": 0.95}, apart=[("a", "b")], prompts=False)
    (few,) = (dataclasses.replace(each.source, n=60) for each in made.candidates if each.name == "c")
    candidates = tuple(dataclasses.replace(each, source=few) if each.name == "c" else each for each in made.candidates)
    found, sentences = said(dataclasses.replace(made, candidates=candidates))
    assert sentences[1] == "c has 60 texts: too few for a score, which needs 100."
    assert sentences[2].startswith("Among the others, under the features given, a is closer to the human texts than b:")
    assert found.leaders == ("a",)


def under(encoder: EncoderConfig | None, features_from: str | None = None) -> str:
    made = of({"a": 0.9, "b": 0.7}, apart=[("a", "b")])
    config = dataclasses.replace(made.config, encoder=encoder, features_from=features_from)
    return said(dataclasses.replace(made, config=config))[1][1]


def test_who_is_closest_is_said_with_what_made_the_features() -> None:
    assert under(EncoderConfig("minilm")).startswith("Under minilm (all-MiniLM-L6-v2), a is closer to the human texts")
    assert under(EncoderConfig("./human texts")).startswith("Under ./human texts, a is closer to ")
    assert under(None, "human texts of ours").startswith("Under the features of human texts of ours, a is closer to ")
    comparison = of({"a": 0.95, "b": 0.9}, apart=[("a", "b")])
    _, sentences = said(comparison, checked=Preflight((), copied=(copies("a"), copies("b"))))
    assert sentences[0].startswith("Under the features given, a and b ("), "where no other sentence names it"


def test_the_words_for_an_encoder_are_not_those_for_items_of_another_kind() -> None:
    made = of({"a": 0.9, "b": 0.7}, apart=[("a", "b")])
    config = dataclasses.replace(made.config, encoder=EncoderConfig("./human texts"))
    images = dataclasses.replace(made, config=config, human=dataclasses.replace(made.human, kind="image"))
    assert said(images)[1][1].startswith("Under ./human texts, a is closer to the real images than b")


def elsewhere(*order: str, apart: Collection[tuple[str, str]]) -> Elsewhere:
    return Elsewhere("minilm", order, frozenset(map(frozenset, apart)))


@pytest.mark.parametrize(
    ("order", "apart", "sentence"),
    [
        ("abc", ["ab", "ac"], "Under minilm, too, a is closest."),
        ("bac", ["ba", "bc"], "Under minilm, b is closest instead."),
        ("bac", ["bc"], "Under minilm, b and a are tied for closest."),
        ("acb", ["bc"], "Under minilm, a, c and b are tied for closest."),
    ],
)
def test_another_encoder_agrees_as_far_as_its_tests_say(order: str, apart: list[str], sentence: str) -> None:
    comparison = of({"a": 0.9, "b": 0.7, "c": 0.5}, apart=[("a", "b"), ("a", "c")])
    found = elsewhere(*order, apart=[(one, other) for one, other in apart])
    result = verdict_of(comparison, lambda _: GAP, lambda _: None, Preflight(()), [found])
    assert str(result.encoders) == result.as_dict()["encoders"] == sentence
    assert result.sentences[2] is result.encoders, "below who is closest"


def test_another_encoder_is_asked_about_those_that_are_ranked() -> None:
    def told(comparison: Comparison, checked: Preflight, order: str, apart: list[tuple[str, str]]) -> str | None:
        found = [elsewhere(*order, apart=apart)]
        return verdict_of(comparison, lambda _: GAP, lambda _: None, checked, found).as_dict()["encoders"]  # type: ignore[return-value]

    tie = of({"a": 0.9, "b": 0.89, "c": 0.5}, apart=[("a", "c")])
    copying = Preflight((), copied=(copies("a"),))
    assert told(tie, Preflight(()), "bac", [("b", "c")]) == "Under minilm, too, b and a are tied for closest."
    assert told(tie, copying, "abc", [("b", "c")]) == "Under minilm, b is closest of the others instead."
    assert told(of({"a": 0.9}), Preflight(()), "a", []) is None
    assert told(unsupported("b", "too few"), Preflight(()), "ba", [("a", "b")]) is None


def test_generations_are_counted_and_both_spreads_are_named() -> None:
    _, sentences = said(of({"a": 0.9, "b": 0.7}, apart=[("a", "b")], generations=5))
    assert sentences[0].startswith("a and b (200 × 5 texts each) compared with 200 human texts: ")
    assert "MAUVE 0.900 ± 0.010 (seeds) ± 0.000 (5 generations) (0.880 to 0.920)" in sentences[1]


def test_the_reason_is_that_of_the_farthest_told_apart_that_has_one() -> None:
    comparison = of({"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.4}, apart=[("a", "b"), ("a", "c")])

    def whose(*names: str) -> str | None:
        reason = said(comparison, reasons={name: reason_of(name) for name in names})[0].reason
        return None if reason is None else next(part for part in reason.parts if isinstance(part, Name))

    assert whose("a", "b", "c", "d") == "c", "d is not told apart from a"
    assert whose("a", "b") == "b"
    assert whose("a", "d") == "a"
    assert whose("d") is None


def test_names_are_marked_and_all_else_is_escaped_by_the_page() -> None:
    names = ("<b>x</b>", "*y*")
    comparison = of(dict(zip(names, (0.9, 0.7), strict=True)), apart=[names])
    words = dataclasses.replace(reason_of(names[1]), where="words", property_name="", words=("a_b", "c"))
    found, _ = said(comparison, reasons={names[1]: words})
    assert str(found.closest).startswith("Under the features given, <b>x</b> is closer to the human texts than *y*")
    marked = found.closest.written(lambda name: f"[{name}]", str.upper)
    assert marked.startswith("UNDER THE FEATURES GIVEN, [<b>x</b>] IS CLOSER TO THE HUMAN TEXTS THAN [*y*]: MAUVE ")
    assert found.reason is not None
    assert "“A_B”" in found.reason.written(str, str.upper)
    assert [part for part in found.subject.parts if isinstance(part, Name)] == list(names)


@settings(max_examples=50)
@given(st.data())
def test_no_sentence_claims_more_than_the_tests(data: st.DataObject) -> None:
    names = [f"m{number}" for number in range(data.draw(st.integers(1, 6)))]
    means = {name: data.draw(st.integers(10, 90), name) / 100 for name in names}
    apart = [pair for pair in combinations(names, 2) if data.draw(st.booleans())]
    comparison = of(means, apart=apart)
    found, sentences = said(comparison, data.draw(st.sampled_from([GAP, NO_GAP])))
    leader, *others = [each.candidate.name for each in standings(comparison)]
    claim = sentences[1]
    assert found.leaders[0] == leader
    for other in others:
        difference = comparison.difference("mauve", leader, other)
        assert difference is not None
        assert (other in found.leaders) != difference.told_apart
    alone = f"{leader} is close" in claim
    assert alone == (len(names) > 1 and len(found.leaders) == 1)
    if len(found.leaders) > 1:
        assert "cannot be told" in claim or "do not tell which" in claim
        assert claim.startswith(
            tuple(f"Under the features given, {each} " for each in ("one of", "which of", "whether"))
        )
    first_rank = [each.candidate.name for each in standings(comparison) if each.rank == 1]
    assert set(first_rank) <= set(found.leaders)


def test_one_half_of_the_human_texts_as_a_candidate_is_not_told_apart(tmp_path: Path) -> None:
    human, candidates, features = make_comparison_inputs(240)
    rows = np.random.default_rng(1).permutation(240)
    sides = {HUMAN: rows[:120], "others": rows[120:]}
    corpora = {
        name: corpus_from_texts([human.texts[row] for row in own], name=name, prompts=[f"{row}" for row in own])
        for name, own in sides.items()
    } | {"collapsed": candidates["collapsed"].take(range(120))}
    arrays = {name: features[HUMAN][own] for name, own in sides.items()} | {"collapsed": features["collapsed"][:120]}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    others = {name: corpora[name] for name in ("others", "collapsed")}
    comparison = compare(corpora[HUMAN], others, config, features=arrays)
    found = str(verdict(RunStore(tmp_path / "runs").save("halves", comparison, corpora, arrays)).closest)
    assert found.startswith("Under the features given, others is closer to the human texts than collapsed")
    assert " The gap between others and the human texts could be one between human texts (p = " in found


def test_what_is_not_found_is_said_with_what_could_have_been() -> None:
    comparison = of({"a": 0.9, "b": 0.88})
    differences = tuple(dataclasses.replace(each, detectable=0.21) for each in comparison.differences)
    gap = dataclasses.replace(NO_GAP, detectable=0.0123)
    _, sentences = said(dataclasses.replace(comparison, differences=differences), gap)
    assert "adjusted p = 0.3). A true difference of 0.210 would be found 8 times in 10. The gap" in sentences[1]
    assert "A true gap of 0.012 (bias-reduced frontier integral) would be found 8 times in 10." in sentences[1]
