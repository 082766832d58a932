"""Write commands.md, the reference of the command line, from its parsers: ``python docs/make_commands.py``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from mauve_core.__main__ import build_parser

PAGE = Path(__file__).parent / "commands.md"

BEGINNING = """\
# Commands

<!-- made by docs/make_commands.py from the parsers; tests/docs/test_commands_page.py compares them -->

Every command prints this with `--help`. Exit codes: 0 done, 1 a fault or a disk that refuses, 2 wrong input, 130
stopped; `gate` has its own. Results go to standard output, progress and messages to standard error.

Scripts read what `--json` prints: one value, with nothing else on standard output. `mauve-lens schema COMMAND` prints
its JSON Schema (draft 2020-12): types, ranges, what may be null, and what each field means. The output names the schema
and its version in its first field, such as `"schema": "mauve-lens/compare/1"`; `test` prints a list of pairs, or one of
its objects, and has no such field. The number rises with every change of the fields, their types or their ranges, and
the changelog says what changed. Commands that print the same, such as `compare` and `runs show`, share a schema.

Options that you give every time can stand in a TOML file that `MAUVE_LENS_SETTINGS` names: a table for each command,
with the names of its options as keys. The command line overrides it, and each command prints the settings that it took
from the file to standard error.

    [compare]
    encoder = "gpt2-large"
    seeds = 10

Compare files of texts, or continue human texts under several decoders and compare and measure the results; then ask the
stored run, here the demo study:

    mauve-lens compare --human human.jsonl --model greedy=greedy.jsonl --model nucleus=nucleus.jsonl
    mauve-lens study --human human.jsonl --prompt-tokens 35 --model smollm2-135m --name decoders \\
        --decoder greedy --decoder nucleus:p=0.95 --decoder typical:tau=0.95 --decoder contrastive
    mauve-lens test demo --a greedy --b ancestral                   # which is closer; without --a, --b: every pair
    mauve-lens gate --reference human.jsonl --baseline old.jsonl --candidate new.jsonl  # pass or fail in CI
    mauve-lens explain demo --candidate greedy                      # what differs, in tested sentences
    mauve-lens diversity RUN                                        # modes per prompt, of several answers
    mauve-lens clusters demo --candidate greedy                     # where the gap is; --json, --csv
    mauve-lens texts demo --candidate greedy --cluster 44           # the texts of one cluster; --parquet FILE
    mauve-lens measure demo --scorer smollm2-135m                   # perplexity, repetition, self-BLEU ...
    mauve-lens measure demo --neighbors 1-25                        # precision and recall over k neighbors
    mauve-lens measure demo --lengths 32,64,128                     # all texts cut to each length and measured
    mauve-lens methods demo --preset estimators --preset divergences  # other estimators; do they agree?
    mauve-lens encoders demo                                        # several encoders; do they rank alike?
    mauve-lens sweep demo --over k                                  # or length, n, scale, decoder, neighbors ...
    mauve-lens probe demo --perturbation shuffle-words              # or drop-articles@0.5, typos ...
    mauve-lens attributes demo --column title                       # what clusters capture, over k
    mauve-lens ratings rank RUN                                     # human ratings from the Judge page
    mauve-lens published                                            # the papers' correlations, recomputed
    mauve-lens runs --search nucleus --tag final                    # stored runs; tags, notes, bin: `runs --help`
    mauve-lens runs export demo                                     # one file; `runs import FILE` on another machine
    mauve-lens runs again demo --k 100 --leave-out greedy           # the same texts, other settings
    mauve-lens runs compare demo demo-k-100                         # differences; one leaderboard, or why not
    mauve-lens jobs                                                 # the app's jobs; `jobs log|resume ID`
    mauve-lens report demo                                          # demo.html: one file, opens offline
    mauve-lens report demo --format latex                           # or markdown, methods (with BibTeX)
    mauve-lens log demo --to wandb                                  # or mlflow
    mauve-lens mcp                                                  # stored runs for language-model agents
    mauve-lens encode human.jsonl --out human.npy                   # features alone
    mauve-lens generate --model smollm2-135m --prompts human.jsonl \\
        --decoder nucleus:p=0.95 --decoder greedy --max-new-tokens 128 --out texts/  # or --model openai:URL#model
"""


def page() -> str:
    """Return the page: what each command does, and a table of its arguments and options."""
    parser = build_parser()
    parts = [BEGINNING]
    for names, help_line, command in _commands(parser, ()):
        parts.append(f"{'#' * (1 + len(names))} {' '.join(names)}\n")
        described = _line(command.description or "")
        parts += [f"{_sentence(help_line)}\n"] if not described.startswith(_line(help_line)) else []
        parts += [f"{_sentence(described)}\n"] if described else []
        rows = [row for action in command._actions if (row := _row(action))]
        if rows:
            parts.append("\n".join(["| argument | meaning |", "| --- | --- |", *rows]) + "\n")
    return "\n".join(parts)


def _commands(
    parser: argparse.ArgumentParser, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, argparse.ArgumentParser]]:
    """Names, line of help and parser of every command that is not hidden, and of those below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for shown in action._choices_actions:
                command = action.choices[shown.dest]
                names = (*above, shown.dest)
                yield names, shown.help or "", command
                yield from _commands(command, names)


def _row(action: argparse.Action) -> str:
    """One line of the table; empty for help itself, commands below, and what is hidden."""
    if isinstance(action, argparse._SubParsersAction | argparse._HelpAction) or action.help == argparse.SUPPRESS:
        return ""
    values = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    value = action.metavar or values or ("" if action.nargs == 0 else action.dest.upper())
    value = " ".join(value) if isinstance(value, tuple) else value
    names = ", ".join(action.option_strings)
    written = f"{names} {value}".strip() if names else value
    help_text = (
        (action.help or "") % {**vars(action), "prog": "mauve-lens"} if "%(" in (action.help or "") else action.help
    )
    told = [help_text or "", "required" if action.required and names else ""]
    told += [f"one of {', '.join(map(str, action.choices))}"] if action.choices and action.metavar else []
    return f"| `{_cell(written)}` | {_cell(_line('; '.join(filter(None, told))))} |"


def _line(text: str) -> str:
    return " ".join(text.replace("%%", "%").split())


def _sentence(text: str) -> str:
    line = _line(text)
    return f"{line[:1].upper()}{line[1:].rstrip('.')}."


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
