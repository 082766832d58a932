"""``mauve-lens explain``: what each candidate's texts have more or less of than the human ones, in tested sentences."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mauve_core.base.config import FDR, HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable, significant, with_plain_spaces
from mauve_core.base.progress import ConsoleProgress
from mauve_core.base.words import Words
from mauve_core.cli import models
from mauve_core.cli.input_files import add_field_options, named, notes_of, read, refuse_fields, say_notes, text_files
from mauve_core.cli.options import results_only, write, write_json
from mauve_core.runs import RunStore
from mauve_core.scoring.streams import stream
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of

if TYPE_CHECKING:
    from mauve_core.findings.finding import Finding, More

    # The texts by name, and by candidate what finds.
    _Explain = tuple[Mapping[str, Corpus], Mapping[str, Callable[[], Sequence[Finding]]]]

# Findings of a candidate that are printed; JSON has all.
SHOWN = 10

OVERLAP = "Shares of the gap overlap: each is that of one finding by itself."

NOTHING = "No difference was found that holds for {items} that did not suggest it."


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        description="Some prompts' texts suggest statements, such as 'ends in a loop' or 'says x'; the other prompts' "
        "texts test them by exchanging prompts between the sides. p-values are adjusted over all statements of a "
        "candidate (Benjamini and Yekutieli). Of images and molecules, properties such as brightness are tested.",
    )
    parser.add_argument("id", metavar="RUN", nargs="?", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--candidate", metavar="NAME", help="of the run; default: every candidate")
    parser.add_argument(
        "--reference",
        metavar="NAME[=FILE]",
        help="candidate of the run that takes the place of the human texts; without a run, the texts that --model is "
        "compared with, such as those of an earlier version",
    )
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME=FILE", help="texts to explain, without a run"
    )
    parser.add_argument(
        "--q",
        type=float,
        default=FDR,
        metavar="SHARE",
        help=f"expected share of false findings, at most; default: {FDR}",
    )
    add_field_options(parser, per_source=True, names="the reference's or a model's")
    models.add_asking_options(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object with the ids of the texts")
    form.add_argument("--markdown", action="store_true", help="lists in Markdown")
    parser.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    if (args.id is None) != bool(args.model) or (args.model and args.candidate is not None):
        raise InputError(
            "Give either a run or files to explain",
            allowed="RUN [--candidate NAME] [--reference NAME], or --reference NAME=FILE with --model NAME=FILE",
        )
    if args.id is not None:
        refuse_fields(args)
    corpora, explain = _of_files(args) if args.model else _of_run(args)
    notes = notes_of(corpora) if args.model else []
    if not args.json:
        say_notes(notes)
    found: dict[str, Sequence[Finding]] = {}
    shows_count = sys.stderr.isatty() and args.ask is None  # a judge shows more
    for done, (name, find) in enumerate(explain.items()):
        if shows_count:
            sys.stderr.write(f"\r{done} of {len(explain)} candidates explained")
        found[name] = find()
    if shows_count:
        sys.stderr.write("\r\033[K")
    if args.json:
        from mauve_core.findings.finding import as_row

        findings = [as_row(corpora, each) for own in found.values() for each in own]
        write_json({"run": args.id or "", "q": args.q, "findings": findings, "notes": notes}, "explain")
    elif args.markdown:
        write(_markdown(found, _words(corpora)))
    else:
        write(_plain(found, _words(corpora)))
    return 0


def _of_run(args: argparse.Namespace) -> _Explain:
    run, reference = RunStore().load(args.id), args.reference or HUMAN
    from mauve_core.findings.finding import run_findings

    names = [each.name for each in run.comparison.candidates if each.name != reference]
    if args.candidate is not None:
        names = [run.comparison.candidate(args.candidate).name]  # raises InputError if unknown
    judge = _judge(args, run.comparison.config.score.seed)
    return run.corpora, {name: partial(run_findings, run, name, args.q, reference, judge) for name in names}


def _of_files(args: argparse.Namespace) -> _Explain:
    reference, models = named([args.reference or ""], "--reference"), named(args.model, "--model")
    (first,) = reference
    if first in models:
        raise InputError("The reference and a model have one name", received=first)
    with results_only():
        files = text_files(args, {**reference, **models}, quiet=True)
        corpora = read(files)
    from mauve_core.findings.finding import findings_between

    judge = _judge(args, seed=0)
    return corpora, {
        name: partial(findings_between, corpora[first], corpora[name], args.q, 0, judge) for name in models
    }


def _judge(args: argparse.Namespace, seed: int) -> More | None:
    """The model of ``--ask``, which tells on standard error what it does."""
    options = models.asking_options(args)
    if options is None:
        return None
    from mauve_core.findings.llm_judge import Judge

    def tell(line: str) -> None:
        sys.stderr.write(f"{printable(line)}\n")

    (own,) = stream(seed, "findings").spawn(1)
    return Judge(args.ask, options, own, progress=ConsoleProgress(), tell=tell)


def _words(corpora: Mapping[str, Corpus]) -> Words:
    reference = next(iter(corpora.values()))
    return kind_of(reference.kind).words.against(reference.source)


def _plain(found: Mapping[str, Sequence[Finding]], words: Words) -> str:
    blocks = []
    for name, findings in found.items():
        lines = [printable(name)]
        for number, each in enumerate(findings[:SHOWN], start=1):
            said = printable(f"{each.statement} ({_remarks(each)})")
            lines += textwrap.wrap(said, 106, initial_indent=f"  {number:>2}. ", subsequent_indent="      ")
        blocks.append("\n".join([*lines, *_rest(findings, "  ", words)]))
    return "\n\n".join(blocks)


def _markdown(found: Mapping[str, Sequence[Finding]], words: Words) -> str:
    from mauve_core.reporting.paper import markdown_escaped

    blocks = []
    for name, findings in found.items():
        lines = [
            f"{number}. {markdown_escaped(printable(each.statement))} "
            f"({markdown_escaped(printable(_remarks(each)))}; adjusted p {significant(each.p_adjusted)})"
            for number, each in enumerate(findings[:SHOWN], start=1)
        ]
        parts = (f"## {markdown_escaped(printable(name))}", "\n".join(lines), "\n".join(_rest(findings, "", words)))
        blocks.append("\n\n".join(filter(None, parts)))
    return "\n\n".join(blocks)


def _remarks(finding: Finding) -> str:
    """The remarks with plain blanks, which a terminal may break.

    Findings about almost the same items are named where they are properties, none of which stands for another.
    """
    others = ", ".join(each.does for each in finding.also if each.means is not None)
    same = (f"largely the same {finding.words.items}: {others}",) if others else ()
    return with_plain_spaces("; ".join((*finding.remarks, *same)))


def _rest(findings: Sequence[Finding], indent: str, words: Words) -> list[str]:
    """What is said below a candidate's findings."""
    if not findings:
        return [f"{indent}{words.fill(NOTHING)}"]
    more = [f"{indent}and {len(findings) - SHOWN} more (see --json)"] if len(findings) > SHOWN else []
    overlap = sum(each.held_equal is not None for each in findings[:SHOWN]) > 1
    return [*more, *([f"{indent}{OVERLAP}"] if overlap else [])]
