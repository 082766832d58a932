"""A gate's result for people and for pipelines: a summary in Markdown, JSON, JUnit XML, and lines for a terminal.

Texts, names and paths come from files. In Markdown they stand in code spans alone: a backslash before a sign does not
keep a host from making links, mentions or references of it once the Markdown has been read, and in code there are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.formatting import (
    SCORE_DECIMALS,
    as_percent,
    interval,
    printable,
    significant,
    with_plain_spaces,
    written,
)
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.scoring.gate_rule import RULE, GateTest, Verdict
from mauve_core.scoring.tables import TITLES, aligned

if TYPE_CHECKING:
    from mauve_core.analysis.gate import Finding, GateResult

# How the first line begins.
LABELS: dict[Verdict, str] = {"pass": "PASS", "fail": "FAIL", "undecided": "NOT ENOUGH TEXTS TO TELL"}

# Notes of a Markdown summary, so that it stays short; JSON has all.
MOST_NOTES = 5

SUITE = "mauve-lens gate"

# What the files say until it has.
UNFINISHED = "The gate did not finish."

_BACKTICKS = re.compile("`+")


def sentence(result: GateResult) -> str:
    """The verdict in one sentence, without words from files: ``FAIL: the candidate is farther ...``."""
    decisive = [test for test in result.tests if test.verdict == result.verdict]
    first, than = decisive[0], "from the reference than the baseline"
    beyond = f"by more than the margin of {significant(first.margin)}" if first.margin else "beyond chance"
    if result.verdict == "fail":
        named = ", ".join(TITLES[test.measure] for test in decisive)
        return f"{LABELS['fail']}: the candidate is farther {than}, {beyond} ({named})."
    ends = ", ".join(f"{significant(test.margin + test.smallest_effect)} ({TITLES[test.measure]})" for test in decisive)
    told = f"{LABELS[result.verdict]}: the candidate is not shown to be farther {than}, {beyond}"
    if result.verdict == "pass":
        return f"{told}; a difference above {ends} is excluded."
    enough = max(test.enough or 0 for test in decisive)
    return (
        f"{told}, but a difference above {ends} is not excluded either; about {enough:,} texts a side would decide, "
        f"here are {first.n:,}."
    )


def to_json(result: GateResult) -> dict[str, Any]:
    """All of the result as plain JSON values, with the verdicts, the sentence and the rule."""
    values = dataclass_to_json(result)
    for entry, test in zip(values["tests"], result.tests, strict=True):
        entry |= {"verdict": test.verdict, "detectable": test.detectable}
    return {"verdict": result.verdict, "sentence": sentence(result), "rule": RULE, **values}


def to_terminal(result: GateResult) -> str:
    """The same as the Markdown, in aligned columns; text from files is on one line and cannot steer the terminal."""
    lines = [sentence(result), "", aligned([_HEADS, *map(_cells, result.tests)])]
    for finding in result.findings:
        lines += [
            "",
            f"{printable(finding.name)}: {_shares(finding)}",
            f"  {finding.quoted}: {printable(finding.text)}",
        ]
    lines += ["", settings(result), *map(printable, result.notes)]
    return with_plain_spaces("\n".join(lines))


def to_markdown(result: GateResult) -> str:
    """A summary that fits a pull request: fewer than 40 lines."""
    lines = [f"**{sentence(result)}**", "", *_table([_HEADS, *map(_cells, result.tests)])]
    if result.findings:
        lines += ["", "Clusters that cost the candidate most more than the baseline, with a text of each:", ""]
        for finding in result.findings:
            lines += [f"- {code(finding.name)}: {_shares(finding)} A text of the {finding.quoted}:"]
            lines += [f"  {code(finding.text)}"]
    lines += ["", settings(result)]
    if result.notes:
        more = len(result.notes) - MOST_NOTES
        lines += ["", *(f"- {code(note)}" for note in result.notes[:MOST_NOTES])]
        lines += [f"- {more:,} more notes: add --json"] if more > 0 else []
    return with_plain_spaces("\n".join(lines)) + "\n"


def error_markdown(message: str) -> str:
    """The summary of a gate that came to no verdict."""
    return f"**ERROR: the gate came to no verdict.** {code(message)}\n"


def to_junit(result: GateResult) -> bytes:
    """JUnit XML: a suite with a test case per measure; a failure for ``fail``, skipped for ``undecided``."""
    kinds: dict[Verdict, str | None] = {"pass": None, "fail": "failure", "undecided": "skipped"}
    details = to_terminal(result)
    cases = [
        (test.measure, kinds[test.verdict], "farther" if test.verdict == "fail" else "too few texts", sentence(result))
        for test in result.tests
    ]
    return _suite(cases, details)


def error_junit(error: BaseException | None) -> bytes:
    """JUnit XML of a gate that came to no verdict: one test case with an error; None: it has not finished."""
    kind = "wrong input" if isinstance(error, InputError) else "fault"
    message = UNFINISHED if error is None else words_of(error)
    return _suite([("gate", "error", kind, message)], message)


def settings(result: GateResult) -> str:
    """What was compared, and the rule; without words from files."""
    first = result.tests[0]
    pairs = (
        f"texts of one prompt belong together, by {result.paired_by}" if result.paired_by else "no prompts in common"
    )
    return (
        f"Difference: candidate minus baseline, positive if the candidate is farther; one-sided bounds at "
        f"{_percent(1 - first.alpha)} each. {first.n:,} texts a side against {result.texts['reference']:,} of the "
        f"reference, {pairs}; k = {result.k:,}, {result.seeds:,} k-means seeds, joint partition. {RULE}"
    )


def code(text: str) -> str:
    """Untrusted text as one Markdown code span on one line, whatever is in it."""
    line = printable(" ".join(text.split())) or " "
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


_HEADS = ["measure", "baseline", "candidate", "difference", "interval", "margin", "p", "verdict"]


def _cells(test: GateTest) -> list[str]:
    return [
        TITLES[test.measure],
        *(written(value, SCORE_DECIMALS) for value in (test.baseline, test.candidate)),
        written(test.difference, SCORE_DECIMALS, signed=True),
        f"{interval(test.low, test.high, SCORE_DECIMALS)} ({_percent(1 - 2 * test.alpha)})",
        significant(test.margin),
        significant(test.p_value),
        test.verdict,
    ]


def _percent(share: float) -> str:
    """As many decimals as the level of several measures needs."""
    return as_percent(share, 0 if round(100 * share, 6) == round(100 * share) else 1)


def _shares(finding: Finding) -> str:
    more = "more" if finding.adds else "less"
    costs = (significant(cost) for cost in (finding.candidate_cost, finding.baseline_cost))
    return (
        f"{as_percent(finding.candidate)} of the candidate, {as_percent(finding.baseline)} of the baseline, "
        f"{as_percent(finding.reference)} of the reference, so the candidate writes {more} of it than the reference. "
        f"Cost: {' instead of '.join(costs)}."
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of a GitHub table; cells are ours, but for signs that Markdown would take."""
    head, *body = ([cell.replace("*", r"\*") for cell in row] for row in rows)
    for row in (head, [":--"] * len(head), *body):
        yield f"| {' | '.join(row)} |"


def _suite(cases: Sequence[tuple[str, str | None, str, str]], details: str) -> bytes:
    """A document of (name, kind of outcome, type, message) per test case."""
    outcomes = [outcome for _, outcome, *_ in cases]
    counts = {
        "tests": len(cases),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root, "testsuite", {"name": SUITE, **{name: str(count) for name, count in counts.items()}}
    )
    for name, outcome, kind, message in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": SUITE, "name": name})
        attributes = {"message": printable(message)}
        if outcome in ("failure", "error"):
            attributes["type"] = kind
        place = case if outcome is None else ElementTree.SubElement(case, outcome, attributes)
        element = ElementTree.SubElement(place, "system-out") if outcome is None else place
        element.text = "\n".join(map(printable, details.splitlines()))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"
