"""A gate's summary: what it says of each verdict, read by parsers of Markdown and XML; hostile text stays text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from mauve_core.analyses.gate import Finding, GateResult
from mauve_core.base.errors import InputError
from mauve_core.cli.gating import (
    MOST_NOTES,
    UNFINISHED,
    code_span,
    error_junit,
    error_markdown,
    to_json,
    to_junit,
    to_markdown,
    to_terminal,
    verdict_sentence,
)
from mauve_core.scoring.gate_rule import RULE, GateTest
from tests.payloads import PAYLOADS

PINGS = "@octocat @org/team #12 org/repo#12 GH-12 https://example.org/x www.example.org :smile: ` `` ```"

FAIL = GateTest("frontier_integral", 0.06, 0.13, 0.07, 0.045, 0.095, 0.015, 1e-5, 0.05, 0.02, 0.05, 500, 200, None)
PASS = dataclasses.replace(FAIL, candidate=0.07, difference=0.01, low=-0.01, high=0.03, p_value=0.7, margin=0.0)
UNDECIDED = dataclasses.replace(PASS, high=0.09, n=100, enough=312)


def finding(text: str, name: str = "river, boat") -> Finding:
    return Finding(3, name, True, 0.02, 0.03, 0.25, 0.001, 0.04, "candidate", "t1", text)


def result_of(
    *tests: GateTest, findings: Sequence[Finding] = (), notes: Sequence[str] = (), origin: str = "a.jsonl"
) -> GateResult:
    files = dict.fromkeys(("reference", "baseline", "candidate"), origin)
    texts = dict.fromkeys(files, 500)
    return GateResult(tests, texts, files, 50, 5, "minilm", "prompts", tuple(notes), tuple(findings))


def tokens(markdown: str) -> Iterator[Token]:
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    for token in parsed:
        yield token
        yield from token.children or ()


@pytest.mark.parametrize(
    ("test", "told"),
    [
        (FAIL, "FAIL: the candidate is farther from the reference than the baseline, by more than the margin of 0.02 "
               "(Frontier integral)."),
        (PASS, "PASS: the candidate is not shown to be farther from the reference than the baseline, beyond chance; a "
               "difference above 0.05 (Frontier integral) is excluded."),
        (UNDECIDED, "NOT ENOUGH TEXTS TO TELL: the candidate is not shown to be farther from the reference than the "
                    "baseline, beyond chance, but a difference above 0.05 (Frontier integral) is not excluded either; "
                    "about 312 texts a side would decide, here are 100."),
    ],
)  # fmt: skip
def test_the_verdict_comes_first(test, told):
    result = result_of(test)
    assert verdict_sentence(result) == told
    assert to_markdown(result).startswith(f"**{told}**\n")
    assert to_terminal(result).splitlines()[0] == told
    assert to_json(result)["sentence"] == told


def test_one_measure_that_fails_decides_and_is_named():
    mauve = dataclasses.replace(PASS, measure="mauve")
    assert verdict_sentence(result_of(mauve, FAIL)).endswith("margin of 0.02 (Frontier integral).")
    assert result_of(mauve, UNDECIDED).verdict == "undecided"
    assert result_of(mauve, PASS).verdict == "pass"
    assert "0.05 (MAUVE), 0.05 (Frontier integral)" in verdict_sentence(result_of(mauve, PASS))


def test_the_table_has_the_numbers():
    rows = [token.content for token in tokens(to_markdown(result_of(FAIL))) if token.type == "inline"]
    cells = ["Frontier integral", "0.060", "0.130", "+0.070", "0.045 to 0.095 (90%)", "0.02", "1e−5", "fail"]
    assert [cell for cell in rows if cell in cells] == cells
    assert RULE in to_markdown(result_of(FAIL))


@pytest.mark.parametrize("hostile", [*PAYLOADS.values(), PINGS], ids=[*PAYLOADS, "pings"])
def test_text_from_files_stands_in_code_alone(hostile):
    result = result_of(FAIL, findings=[finding(hostile, hostile)] * 3, notes=[hostile] * 9, origin=hostile)
    innocent = result_of(FAIL, findings=[finding("x", "x")] * 3, notes=["x"] * 9)
    shown, usual = list(tokens(to_markdown(result))), list(tokens(to_markdown(innocent)))
    assert [token.type for token in shown] == [token.type for token in usual]
    for token, other in zip(shown, usual, strict=True):
        if token.type in ("text", "html_inline", "html_block"):
            assert token.content == other.content
    spans = [token.content for token in shown if token.type == "code_inline"]
    assert len(spans) == 6 + MOST_NOTES
    assert len(set(spans)) == 1
    assert all(character.isprintable() for character in spans[0])
    assert to_markdown(result).count("\n") < 40


@pytest.mark.parametrize("hostile", [*PAYLOADS.values(), PINGS, "\ud800 \ufffe"], ids=[*PAYLOADS, "pings", "no XML"])
def test_junit_is_read_by_a_parser(hostile):
    result = result_of(FAIL, findings=[finding(hostile, hostile)], notes=[hostile])
    root = ElementTree.fromstring(to_junit(result))
    (suite,) = root
    (case,) = suite
    (failure,) = case
    assert (root.tag, suite.tag, case.tag, failure.tag) == ("testsuites", "testsuite", "testcase", "failure")
    assert failure.get("message") == verdict_sentence(result)
    assert failure.text is not None
    assert failure.text.startswith("FAIL: ")
    assert len(list(root.iter())) == 4  # no element came out of the text


def test_junit_has_a_case_for_each_measure_and_counts_them():
    mauve, mid = (dataclasses.replace(test, measure=name) for test, name in ((PASS, "mauve"), (UNDECIDED, "mid")))
    (suite,) = ElementTree.fromstring(to_junit(result_of(FAIL, mauve, mid)))
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3", "failures": "1", "errors": "0", "skipped": "1"
    }  # fmt: skip
    outcomes = {case.get("name"): [child.tag for child in case] for case in suite}
    assert outcomes == {"frontier_integral": ["failure"], "mauve": ["system-out"], "mid": ["skipped"]}


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (InputError("No"), "wrong input", "No."),
        (ZeroDivisionError("by <zero>"), "fault", "by <zero>"),
        (None, "fault", UNFINISHED),
    ],
)
def test_no_verdict_is_an_error_and_no_failure(error, kind, message):
    (suite,) = ElementTree.fromstring(error_junit(error))
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    (found,) = suite[0]
    assert (found.tag, found.get("type"), found.get("message")) == ("error", kind, message)
    assert error_markdown("@all").startswith("**ERROR: ")
    assert "`@all`" in error_markdown("@all")


@pytest.mark.parametrize("text", ["", "`", "``", "a`b``c```d", " ` ", "```"])
def test_a_code_span_holds_any_backticks(text):
    (span,) = (token for token in tokens(f"- {code_span(text)} end") if token.type == "code_inline")
    assert span.content.strip() == text.strip()
