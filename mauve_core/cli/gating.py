"""``mauve-lens gate``: is a candidate farther from the reference than a baseline, beyond chance and a margin?

Exit codes: 0 pass, 1 fail, 3 not enough texts to tell, 2 wrong input. A fault ends with 1, too, as in every command.
It is told from a fail by its line on standard error, which begins with ``mauve-lens:``, where a fail writes its verdict
to standard output; and by the JUnit file, which then has an error in place of a failure. The files are written before
the work begins, with an error, so that a gate that is killed does not leave the result of an earlier one.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mauve_core.base.config import HUMAN, SCORES, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import write_atomically
from mauve_core.cli.gate_settings import apply_settings
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
from mauve_core.cli.text_files import TEXT_FILE, add_field_options, named, read, text_files
from mauve_core.encoders.features import FeatureStore
from mauve_core.reporting.gate_summary import (
    UNFINISHED,
    error_junit,
    error_markdown,
    to_json,
    to_junit,
    to_markdown,
    to_terminal,
)
from mauve_core.scoring.gate_rule import MEASURE, RULE, SMALLEST_EFFECTS, GateRule, Verdict, require_measures
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing import normalize

if TYPE_CHECKING:
    from mauve_core.analysis.gate import GateResult

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
    effects = ", ".join(f"{value:g} of {name}" for name, value in SMALLEST_EFFECTS.items())
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
    from mauve_core.analysis.gate import run_gate

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
