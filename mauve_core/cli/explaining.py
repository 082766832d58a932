"""``mauve-lens explain``: what each candidate's texts have more or less of than the human ones, in tested sentences."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from mauve_core.analysis.findings.finding import Finding
from mauve_core.analysis.findings.of_run import Q, run_findings
from mauve_core.analysis.findings.rows import FindingJson, as_row
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import printable, significant
from mauve_core.base.validation import Within
from mauve_core.cli.options import write, write_json
from mauve_core.reporting.written import markdown_escaped
from mauve_core.store import RunStore

SHOWN = 10
"""Findings of a candidate that are printed; JSON has all."""

NOTHING = "No difference was found that holds for texts that did not suggest it."


class ExplainJson(TypedDict):
    """Findings about the candidates of a stored run.

    Attributes
    ----------
    run : str
        Id of the stored run.
    q : float
        Expected share of false findings of a candidate, at most.
    findings : list of FindingJson
        By candidate, the largest difference first.
    """

    run: str
    q: Annotated[float, Within(0, 1)]
    findings: list[FindingJson]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        description="Some prompts' texts suggest statements, such as 'ends in a loop' or 'says x'; the other prompts' "
        "texts test them by exchanging texts between the sides. p-values are adjusted over all statements of a "
        "candidate (Benjamini and Yekutieli).",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--candidate", metavar="NAME", help="default: every candidate")
    parser.add_argument(
        "--reference", metavar="NAME", default=HUMAN, help="candidate that takes the place of the human texts"
    )
    parser.add_argument(
        "--q", type=float, default=Q, metavar="SHARE", help=f"expected share of false findings, at most; default: {Q}"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object with the ids of the texts")
    form.add_argument("--markdown", action="store_true", help="lists in Markdown")
    parser.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    names = [each.name for each in run.comparison.candidates if each.name != args.reference]
    if args.candidate is not None:
        names = [run.comparison.candidate(args.candidate).name]  # raises InputError if unknown
    found: dict[str, Sequence[Finding]] = {}
    for done, name in enumerate(names):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done} of {len(names)} candidates explained")
        found[name] = run_findings(run, name, args.q, args.reference)
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    if args.json:
        findings = [as_row(run, each) for own in found.values() for each in own]
        write_json({"run": run.id, "q": args.q, "findings": findings}, "explain")
    elif args.markdown:
        write(_markdown(found))
    else:
        write(_plain(found))
    return 0


def _plain(found: Mapping[str, Sequence[Finding]]) -> str:
    blocks = []
    for name, findings in found.items():
        lines = [printable(name)]
        for number, each in enumerate(findings[:SHOWN], start=1):
            said = printable(f"{each.statement} ({_remarks(each)})")
            lines += textwrap.wrap(said, 106, initial_indent=f"  {number:>2}. ", subsequent_indent="      ")
        blocks.append("\n".join([*lines, *_rest(findings, "  ")]))
    return "\n\n".join(blocks)


def _markdown(found: Mapping[str, Sequence[Finding]]) -> str:
    blocks = []
    for name, findings in found.items():
        lines = [
            f"{number}. {markdown_escaped(printable(each.statement))} "
            f"({markdown_escaped(printable(_remarks(each)))}; adjusted p {significant(each.p_adjusted)})"
            for number, each in enumerate(findings[:SHOWN], start=1)
        ]
        blocks.append("\n".join([f"## {markdown_escaped(printable(name))}", "", *lines, *_rest(findings, "")]))
    return "\n\n".join(blocks)


def _remarks(finding: Finding) -> str:
    """The remarks with plain blanks, which a terminal may break."""
    return "; ".join(finding.remarks).replace("\xa0", " ")


def _rest(findings: Sequence[Finding], indent: str) -> list[str]:
    """What is said below a candidate's findings."""
    if not findings:
        return [f"{indent}{NOTHING}"]
    return [f"{indent}and {len(findings) - SHOWN} more (see --json)"] if len(findings) > SHOWN else []
