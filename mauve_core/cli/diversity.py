"""``mauve-lens diversity``: how different a candidate's answers to one prompt are, and whether candidates agree."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mauve_core.base.formatting import printable, with_plain_spaces
from mauve_core.cli.options import LINE, of_run, write, write_json
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import aligned

if TYPE_CHECKING:
    from mauve_core.analyses.diversity import RunDiversity

Rows = Sequence[Sequence[str]]
# Writes names and words of texts, which are untrusted.
Quote = Callable[[str], str]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "diversity",
        description="Where candidates have several answers to a prompt: how many modes these have, how far they are "
        "apart compared with answers to different prompts, which human clusters they do not reach, and whether two "
        "candidates say the same.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--candidate", metavar="NAME", help="default: every candidate with several answers to a prompt")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object with all clusters")
    form.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.set_defaults(run=of_run(_diversity))


def _diversity(args: argparse.Namespace) -> int:
    from mauve_core.analyses.diversity import diversity_of_run
    from mauve_core.cli.shapes import diversity_json

    run = RunStore().load(args.id)
    found = diversity_of_run(run, args.candidate)
    if args.json:
        write_json(diversity_json(run, found), "diversity")
    elif args.markdown:
        write(_text(run, found, _escaped, _markdown_table, lambda said: said, "## "))
    else:
        write(_text(run, found, printable, lambda rows: textwrap.indent(aligned(rows), "  "), _filled, ""))
    return 0


def _text(
    run: Run, found: RunDiversity, quote: Quote, table: Callable[[Rows], str], filled: Quote, heading: str
) -> str:
    from mauve_core.analyses import diversity

    parts = []
    for name, own in found.candidates.items():
        if heading:
            parts.append(f"{heading}{quote(name)}")
        parts += [
            filled(diversity.sentence(quote(name), own, found.gap)),
            table([diversity.MEASURED_COLUMNS, *diversity.measured_rows(own)]),
        ]
        parts.append("\n".join(map(filled, _below(run, name, found, quote))))
    if found.pairs:
        pairs = [diversity.AGREEMENT_COLUMNS, *(diversity.agreement_cells(each, quote) for each in found.pairs)]
        parts += [f"{heading}Do candidates say the same?", table(pairs), filled(diversity.ABOUT_AGREEMENT)]
    if found.single:
        names = ", ".join(map(quote, found.single))
        parts.append(filled(f"One answer to a prompt, so not measured: {names}."))
    parts.append(filled(diversity.gap_sentence(found.gap)))
    return with_plain_spaces("\n\n".join(parts))


def _below(run: Run, name: str, found: RunDiversity, quote: Quote) -> Iterable[str]:
    """What is said below a candidate's table."""
    from mauve_core.analyses import diversity

    own, missed = found.candidates[name], found.missed.get(name)
    yield diversity.measured_sentence(own)
    if missed is None:
        return
    yield diversity.missed_sentence(missed, run.comparison.words)
    never = diversity.never_reached(run, missed)
    if never:
        yield diversity.never_sentence(never, quote, run.comparison.words)


def _filled(text: str) -> str:
    return textwrap.fill(text, LINE, break_long_words=False, break_on_hyphens=False)


def _escaped(text: str) -> str:
    from mauve_core.reporting.paper import markdown_escaped

    return markdown_escaped(printable(text))


def _markdown_table(rows: Rows) -> str:
    lines = [rows[0], ["---", *["--:"] * (len(rows[0]) - 1)], *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
