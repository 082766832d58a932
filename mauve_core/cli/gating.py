"""``mauve-lens gate``: is a candidate farther from the reference than a baseline, beyond chance and a margin?

Exit codes: 0 pass, 1 fail, 3 not enough texts to tell, 2 wrong input. A fault ends with 1, too, as in every command;
its line on standard error begins with ``mauve-lens:``, where a fail writes its verdict to standard output, and the
JUnit file then has an error in place of a failure. The files are written before the work begins, with an error, so that
a gate that is killed does not leave the result of an earlier one.

The names of a TOML file of settings are those of the options, and the command line overrides them. The result is
written as Markdown, JSON, JUnit XML and lines for a terminal. Texts, names and paths come from files: in Markdown they
stand in code spans alone, because a backslash before a sign does not keep a host from making links, mentions or
references of it once the Markdown has been read, and in code there are none.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import read_toml, write_atomically
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
from mauve_core.cli.input_files import TEXT_FILE, add_field_options, named, read, text_files
from mauve_core.cli.options import (
    ENCODER_OPTIONS,
    add_encoder_options,
    add_normalize_option,
    add_output_options,
    add_skip_option,
    encoder_config,
    name_default_encoder,
    normalize_steps,
    progress_of,
    require_device,
    results_only,
    write,
    write_json,
)
from mauve_core.encoders.features import FeatureStore
from mauve_core.scoring.gate_rule import MEASURE, RULE, GateRule, GateTest, Verdict, require_measures
from mauve_core.scoring.tables import aligned
from mauve_core.stats.scores import SCORES
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing import normalize

if TYPE_CHECKING:
    from mauve_core.analyses.gate import Finding, GateResult


# What each key holds.
_KINDS = {
    **dict.fromkeys(("alpha", "margin", "smallest-effect", "scale"), "a number"),
    **dict.fromkeys(("k", "seeds", "seed", "layer", "max-tokens"), "a whole number"),
    **dict.fromkeys(("encoder", "revision", "pooling", "dtype", "device", "normalize"), "text"),
    **dict.fromkeys(("reference", "baseline", "candidate", "junit", "markdown"), "text"),
    "with-prompt": "true",
    **dict.fromkeys(("measure", "text-field", "prompt-field", "id-field"), "text or a list of texts"),
    "features": "a table of texts",
}


def apply_settings(args: argparse.Namespace, path: Path) -> None:
    """Set every option that the command line leaves out and the file has.

    Raises
    ------
    InputError
        The file cannot be read, or has an unknown key or a value of another kind. Ranges are checked where they are
        used, as those of options are.
    """
    for key, value in read_toml(path).items():
        kind = _KINDS.get(key)
        if kind is None:
            near = difflib.get_close_matches(key, _KINDS, n=1)
            todo = f"Did you mean {near[0]}?" if near else ""
            raise InputError(f"{path} has an unknown key", allowed=", ".join(sorted(_KINDS)), received=key, todo=todo)
        if not _fits(kind, value):
            raise InputError(f"The key {key} of {path} cannot be used", allowed=kind, received=repr(value))
        name = key.replace("-", "_")
        if getattr(args, name) is None:
            setattr(args, name, _as_option(kind, value))


def _fits(kind: str, value: Any) -> bool:
    if kind == "a number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "a whole number":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "true":
        return value is True
    if kind == "a table of texts":
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    texts = value if kind == "text or a list of texts" and isinstance(value, list) else [value]
    return all(isinstance(each, str) for each in texts)


def _as_option(kind: str, value: Any) -> Any:
    """The value as the command line would give it."""
    if kind == "a number":
        return float(value)
    if kind == "a table of texts":
        return [f"{name}={file}" for name, file in value.items()]
    return [value] if kind == "text or a list of texts" and isinstance(value, str) else value


# How the first line begins.
LABELS: dict[Verdict, str] = {"pass": "PASS", "fail": "FAIL", "undecided": "NOT ENOUGH TEXTS TO TELL"}

# Notes of a Markdown summary, so that it stays short; JSON has all.
MOST_NOTES = 5

SUITE = "mauve-lens gate"

# What the files say until it has.
UNFINISHED = "The gate did not finish."

_BACKTICKS = re.compile("`+")


def verdict_sentence(result: GateResult) -> str:
    """The verdict in one sentence, without words from files: ``FAIL: the candidate is farther ...``."""
    decisive = [test for test in result.tests if test.verdict == result.verdict]
    first, than = decisive[0], "from the reference than the baseline"
    beyond = f"by more than the margin of {significant(first.margin)}" if first.margin else "beyond chance"
    if result.verdict == "fail":
        named = ", ".join(SCORES[test.measure].title for test in decisive)
        return f"{LABELS['fail']}: the candidate is farther {than}, {beyond} ({named})."
    ends = ", ".join(
        f"{significant(test.margin + test.smallest_effect)} ({SCORES[test.measure].title})" for test in decisive
    )
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
    return {"verdict": result.verdict, "sentence": verdict_sentence(result), "rule": RULE, **values}


def to_terminal(result: GateResult) -> str:
    """The same as the Markdown, in aligned columns; text from files is on one line and cannot steer the terminal."""
    lines = [verdict_sentence(result), "", aligned([_HEADS, *map(_test_cells, result.tests)])]
    for finding in result.findings:
        lines += [
            "",
            f"{printable(finding.name)}: {_shares(finding)}",
            f"  {finding.quoted}: {printable(finding.text)}",
        ]
    lines += ["", settings_compared(result), *map(printable, result.notes)]
    return with_plain_spaces("\n".join(lines))


def to_markdown(result: GateResult) -> str:
    """A summary that fits a pull request: fewer than 40 lines."""
    lines = [f"**{verdict_sentence(result)}**", "", *_markdown_table([_HEADS, *map(_test_cells, result.tests)])]
    if result.findings:
        lines += ["", "Clusters that cost the candidate most more than the baseline, with a text of each:", ""]
        for finding in result.findings:
            lines += [f"- {code_span(finding.name)}: {_shares(finding)} A text of the {finding.quoted}:"]
            lines += [f"  {code_span(finding.text)}"]
    lines += ["", settings_compared(result)]
    if result.notes:
        more = len(result.notes) - MOST_NOTES
        lines += ["", *(f"- {code_span(note)}" for note in result.notes[:MOST_NOTES])]
        lines += [f"- {more:,} more notes: add --json"] if more > 0 else []
    return with_plain_spaces("\n".join(lines)) + "\n"


def error_markdown(message: str) -> str:
    """The summary of a gate that came to no verdict."""
    return f"**ERROR: the gate came to no verdict.** {code_span(message)}\n"


def to_junit(result: GateResult) -> bytes:
    """JUnit XML: a suite with a test case per measure; a failure for ``fail``, skipped for ``undecided``."""
    kinds: dict[Verdict, str | None] = {"pass": None, "fail": "failure", "undecided": "skipped"}
    details = to_terminal(result)
    cases = [
        (
            test.measure,
            kinds[test.verdict],
            "farther" if test.verdict == "fail" else "too few texts",
            verdict_sentence(result),
        )
        for test in result.tests
    ]
    return _junit_suite(cases, details)


def error_junit(error: BaseException | None) -> bytes:
    """JUnit XML of a gate that came to no verdict: one test case with an error; None: it has not finished."""
    kind = "wrong input" if isinstance(error, InputError) else "fault"
    message = UNFINISHED if error is None else words_of(error)
    return _junit_suite([("gate", "error", kind, message)], message)


def settings_compared(result: GateResult) -> str:
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


def code_span(text: str) -> str:
    """Untrusted text as one Markdown code span on one line, whatever is in it."""
    line = printable(" ".join(text.split())) or " "
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


_HEADS = ["measure", "baseline", "candidate", "difference", "interval", "margin", "p", "verdict"]


def _test_cells(test: GateTest) -> list[str]:
    return [
        SCORES[test.measure].title,
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


def _markdown_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of a GitHub table; cells are ours, but for signs that Markdown would take."""
    head, *body = ([cell.replace("*", r"\*") for cell in row] for row in rows)
    for row in (head, [":--"] * len(head), *body):
        yield f"| {' | '.join(row)} |"


def _junit_suite(cases: Sequence[tuple[str, str | None, str, str]], details: str) -> bytes:
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


EXIT_CODES: dict[Verdict, int] = {"pass": 0, "fail": 1, "undecided": 3}

FILES = ("reference", "baseline", "candidate")

_SCORE_OPTIONS = ("k", "seeds", "seed", "scale")


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "gate",
        description="Test in a pipeline whether a candidate is farther from the reference than a baseline is. "
        f"{RULE} Exit codes: 0 pass, 1 fail, 3 not enough texts to tell, 2 wrong input. A fault is 1, too, with a line "
        "on standard error that begins with mauve-lens: and an error in the JUnit file.",
    )
    for name in FILES:
        parser.add_argument(f"--{name}", metavar="FILE", help=TEXT_FILE)
    parser.add_argument("--config", metavar="FILE.toml", help="settings by the names of the options, which override it")
    _add_rule_options(parser)
    parser.add_argument("--junit", metavar="FILE.xml", help="write JUnit XML, a test case for each measure")
    parser.add_argument("--markdown", metavar="FILE.md", help="write a summary for a pull request")
    add_output_options(parser, table=True)
    add_field_options(parser, per_source=True, names=", ".join(FILES))
    add_normalize_option(parser)
    add_skip_option(parser)
    add_encoder_options(parser)
    parser.add_argument(
        "--features",
        action="append",
        metavar="NAME=FILE.npy",
        help=f"use these features instead of an encoder; one for each of {', '.join(FILES)}",
    )
    _add_score_options(parser)
    parser.set_defaults(run=_gate, device=None, reads_files=True)


def _add_rule_options(parser: argparse.ArgumentParser) -> None:
    rule, group = GateRule(), parser.add_argument_group("rule")
    group.add_argument(
        "--measure",
        action="append",
        choices=SCORES,
        help=f"may be repeated; each is then tested at an equal part of alpha; default: {MEASURE}",
    )
    group.add_argument("--alpha", type=float, help=f"level of the gate; default: {rule.alpha:g}")
    group.add_argument(
        "--margin", type=float, metavar="D", help=f"difference that is accepted; default: {rule.margin:g}"
    )
    effects = ", ".join(f"{each.smallest_effect:g} of {name}" for name, each in SCORES.items())
    group.add_argument(
        "--smallest-effect",
        type=float,
        metavar="D",
        help=f"difference beyond the margin that a pass must exclude; default: {effects}",
    )


def _add_score_options(parser: argparse.ArgumentParser) -> None:
    score, group = ScoreConfig(), parser.add_argument_group("scores")
    group.add_argument("--k", type=int, metavar="N", help="number of clusters; default: a tenth of the smallest side")
    group.add_argument("--seeds", type=int, metavar="N", help=f"number of k-means seeds; default: {score.seeds}")
    group.add_argument("--seed", type=int, metavar="N", help=f"seed of all random numbers; default: {score.seed}")
    group.add_argument("--scale", type=float, metavar="C", help=f"scaling constant of MAUVE; default: {score.scale:g}")


@dataclass(frozen=True)
class _Outputs:
    """The files that are asked for."""

    junit: Path | None
    markdown: Path | None

    @classmethod
    def of(cls, args: argparse.Namespace) -> _Outputs:
        return cls(*(None if name is None else Path(name) for name in (args.junit, args.markdown)))

    def begin(self) -> None:
        """Say that the gate has not finished; a path that cannot be written is told before the work."""
        self._write(error_junit(None), error_markdown(UNFINISHED))

    def finish(self, result: GateResult) -> None:
        self._write(to_junit(result), to_markdown(result))

    def fail(self, error: Exception) -> None:
        self._write(error_junit(error), error_markdown(words_of(error)))

    def _write(self, junit: bytes, markdown: str) -> None:
        for path, content in ((self.junit, junit), (self.markdown, markdown.encode())):
            if path is not None:
                write_atomically(path, lambda stream, content=content: stream.write(content))  # type: ignore[misc]


def _gate(args: argparse.Namespace) -> int:
    outputs = _Outputs.of(args)
    outputs.begin()
    try:
        if args.config is not None:
            apply_settings(args, Path(args.config))
            outputs = _Outputs.of(args)
            outputs.begin()
        with results_only():
            result = _result(args)
    except Exception as error:
        outputs.fail(error)
        raise
    outputs.finish(result)
    if args.json:
        write_json(to_json(result), "gate")
    else:
        write(to_terminal(result))
    return EXIT_CODES[result.verdict]


def _result(args: argparse.Namespace) -> GateResult:
    rule, measures = _rule(args), args.measure or [MEASURE]
    require_measures(measures)
    features = _features(args)
    settings = {name: getattr(args, name) for name in _SCORE_OPTIONS if getattr(args, name) is not None}
    encoder = None if features else encoder_config(args)
    config = CompareConfig(encoder=encoder, score=ScoreConfig(**settings), projection=False)
    corpora = _corpora(args, bool(features))
    if args.device is not None:
        require_device(args.device)
    if not features:
        name_default_encoder(args)
    from mauve_core.analyses.gate import run_gate

    return run_gate(
        corpora["reference"],
        corpora["baseline"],
        corpora["candidate"],
        config,
        rule,
        measures=measures,
        features=features or None,
        feature_store=FeatureStore(),
        skip_unencodable=args.skip_unencodable,
        device=args.device or "auto",
        progress=progress_of(args),
    )


def _rule(args: argparse.Namespace) -> GateRule:
    given = {field.name: getattr(args, field.name) for field in dataclasses.fields(GateRule)}
    return GateRule(**{name: value for name, value in given.items() if value is not None})


def _features(args: argparse.Namespace) -> dict[str, str]:
    """Files of features by side; empty without any."""
    features = named(args.features or [], "--features")
    if not features:
        return {}
    if set(features) != set(FILES):
        raise InputError(
            "Features are needed for each of the three files and for nothing else",
            allowed=", ".join(f"{name}=FILE.npy" for name in FILES),
            received=", ".join(features),
        )
    given = [name.replace("_", "-") for name in ENCODER_OPTIONS if getattr(args, name) is not None]
    given += ["normalize"] if args.normalize is not None else []
    if given:
        raise InputError(f"--features and --{given[0]} cannot be combined", todo="Leave one of them out")
    return {HUMAN if name == "reference" else name: path for name, path in features.items()}


def _corpora(args: argparse.Namespace, with_features: bool) -> Mapping[str, Corpus]:
    missing = [name for name in FILES if getattr(args, name) is None]
    if missing:
        raise InputError(f"--{missing[0]} is missing", todo=f"Give --{missing[0]} FILE, or {missing[0]} in --config")
    files = text_files(args, {name: getattr(args, name) for name in FILES}, quiet=args.quiet)
    corpora = read(files)
    steps = None if with_features else normalize_steps(args)
    return normalize(corpora, steps, progress_of(args)) if steps else corpora
