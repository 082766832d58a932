"""``mauve-lens explain``: what each candidate's texts have more or less of than the human ones, in tested sentences."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from mauve_core.analysis.findings.finding import Finding, More
from mauve_core.analysis.findings.of_run import Q, run_findings
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, interval, printable, significant
from mauve_core.base.progress import ConsoleProgress
from mauve_core.base.validation import Share, Within
from mauve_core.cli import served
from mauve_core.cli.options import write, write_json
from mauve_core.reporting.written import markdown_escaped
from mauve_core.scoring.streams import stream
from mauve_core.store import Run, RunStore

SHOWN = 10
"""Findings of a candidate that are printed; JSON has all."""

NOTHING = "No difference was found that holds for texts that did not suggest it."


class _FindingJson(TypedDict):
    """Something that a candidate's texts have more often than the human ones, or less often.

    Attributes
    ----------
    candidate : str
        Its name.
    sentence : str
        What it does, with numbers; may quote texts, which are untrusted.
    direction : {"more", "less"}
        Than the human texts.
    kind : str
        What it is about, such as ``loop``, ``length`` or ``phrase``.
    share_model, share_human : float
        Shares of the tested texts of either side, 0 to 1.
    low, high : float
        95% interval of share_model - share_human.
    p_adjusted : float
        By Benjamini and Yekutieli, over all tested statements of the candidate.
    shown_by : {"model", "human"}
        The side of the texts that show it.
    text_ids : list of str
        Ids of those texts, tested or not.
    also : list of str
        Sentences of findings that are less clear and about almost the same texts.
    agreement : float or None
        If a language model judged the texts, the share of equal answers where it was asked twice.
    kappa : float or None
        Cohen's kappa of these answers; None also if it gave one answer alone.
    """

    candidate: str
    sentence: str
    direction: Literal["more", "less"]
    kind: str
    share_model: Share
    share_human: Share
    low: Annotated[float, Within(-1, 1)]
    high: Annotated[float, Within(-1, 1)]
    p_adjusted: Share
    shown_by: Literal["model", "human"]
    text_ids: list[str]
    also: list[str]
    agreement: Share | None
    kappa: Annotated[float, Within(-1, 1)] | None


class ExplainJson(TypedDict):
    """Findings about the candidates of a stored run.

    Attributes
    ----------
    run : str
        Id of the stored run.
    q : float
        Expected share of false findings of a candidate, at most.
    findings : list of _FindingJson
        By candidate, the largest difference first.
    """

    run: str
    q: Annotated[float, Within(0, 1)]
    findings: list[_FindingJson]


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
        "--q", type=float, default=Q, metavar="SHARE", help=f"expected share of false findings, at most; default: {Q}"
    )
    served.add_asking_options(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object with the ids of the texts")
    form.add_argument("--markdown", action="store_true", help="lists in Markdown")
    parser.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    names = [each.name for each in run.comparison.candidates]
    if args.candidate is not None:
        names = [run.comparison.candidate(args.candidate).name]  # raises InputError if unknown
    judge = _judge(args, run)
    found: dict[str, Sequence[Finding]] = {}
    shows_count = sys.stderr.isatty() and judge is None  # a judge shows more
    for done, name in enumerate(names):
        if shows_count:
            sys.stderr.write(f"\r{done} of {len(names)} candidates explained")
        found[name] = run_findings(run, name, args.q, judge)
    if shows_count:
        sys.stderr.write("\r\033[K")
    if args.json:
        findings = [_as_json(run, each) for own in found.values() for each in own]
        write_json({"run": run.id, "q": args.q, "findings": findings}, "explain")
    elif args.markdown:
        write(_markdown(found))
    else:
        write(_plain(found))
    return 0


def _judge(args: argparse.Namespace, run: Run) -> More | None:
    """The model of ``--ask``, which tells on standard error what it does."""
    options = served.asking_options(args)
    if options is None:
        return None
    from mauve_core.analysis.findings.judged import Judge

    def tell(line: str) -> None:
        sys.stderr.write(f"{printable(line)}\n")

    (seed,) = stream(run.comparison.config.score.seed, "findings").spawn(1)
    return Judge(args.ask, options, seed, progress=ConsoleProgress(), tell=tell)


def _as_json(run: Run, finding: Finding) -> _FindingJson:
    side = HUMAN if finding.shown_by == "human" else finding.candidate
    ids = run.corpora[side].ids
    return {
        "candidate": finding.candidate,
        "sentence": finding.sentence,
        "direction": finding.direction,
        "kind": finding.kind,
        "share_model": finding.share_model,
        "share_human": finding.share_human,
        "low": finding.low,
        "high": finding.high,
        "p_adjusted": finding.p_adjusted,
        "shown_by": finding.shown_by,
        "text_ids": [ids[index] for index in finding.texts],
        "also": [each.sentence for each in finding.also],
        "agreement": None if finding.agreement is None else finding.agreement.share,
        "kappa": None if finding.agreement is None else finding.agreement.kappa,
    }


def _plain(found: Mapping[str, Sequence[Finding]]) -> str:
    blocks = []
    for name, findings in found.items():
        lines = [printable(name)]
        for number, each in enumerate(findings[:SHOWN], start=1):
            said = f"{printable(each.statement)} (difference {_points(each)}{_judged(each)})"
            lines += textwrap.wrap(said, 106, initial_indent=f"  {number:>2}. ", subsequent_indent="      ")
        blocks.append("\n".join([*lines, *_rest(findings, "  ")]))
    return "\n\n".join(blocks)


def _markdown(found: Mapping[str, Sequence[Finding]]) -> str:
    blocks = []
    for name, findings in found.items():
        lines = [
            f"{number}. {markdown_escaped(printable(each.statement))} "
            f"(difference {_points(each)}, adjusted p {significant(each.p_adjusted)}{_judged(each)})"
            for number, each in enumerate(findings[:SHOWN], start=1)
        ]
        blocks.append("\n".join([f"## {markdown_escaped(printable(name))}", "", *lines, *_rest(findings, "")]))
    return "\n\n".join(blocks)


def _points(finding: Finding) -> str:
    """The interval of the difference, in texts of 100."""
    return f"{interval(100 * finding.low, 100 * finding.high, 0)} points"


def _judged(finding: Finding) -> str:
    """How far the judge agrees with itself, if there is one."""
    if finding.agreement is None:
        return ""
    kappa = finding.agreement.kappa
    beyond = "" if kappa is None else f", kappa {kappa:.2f}"
    return f"; asked twice, the model answers alike for {as_percent(finding.agreement.share)} of texts{beyond}"


def _rest(findings: Sequence[Finding], indent: str) -> list[str]:
    """What is said below a candidate's findings."""
    if not findings:
        return [f"{indent}{NOTHING}"]
    return [f"{indent}and {len(findings) - SHOWN} more (see --json)"] if len(findings) > SHOWN else []
