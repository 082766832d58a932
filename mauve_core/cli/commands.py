"""The commands, by the module that adds them, with what the help says about each."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from mauve_core.cli.parser import Commands, Parser

# What each command does, by module and name. None hides it.
COMMANDS: dict[str, dict[str, str | None]] = {
    "comparing": {"compare": "score model texts against human texts and store the run"},
    "sharding": {
        "shard-run": "encode one part of corpora in shards, on one of several machines",
        "shard-merge": "finish a comparison over shards, score it and store a sample as a run",
    },
    "gating": {"gate": "test in a pipeline whether a candidate is farther from the reference than a baseline"},
    "studying": {
        "study": "continue human texts with a model and several decoders, compare and measure them, store the run"
    },
    "stored": {"runs": "list stored runs; see runs --help for other actions"},
    "models": {
        "encode": "write the features of a file's texts to a .npy file",
        "generate": "generate continuations of prompts with a model, one file per decoder",
    },
    "measuring": {"measure": "compute text measures of a run or of files: T(Q), T(P) and their gap"},
    "methods": {
        "methods": "apply other estimators, divergences and summaries to a stored run, and show how far they agree"
    },
    "encoders": {"encoders": "score a stored run's texts under several encoders, and show how far they agree"},
    "clusters": {
        "clusters": "show a stored run's clusters, those that cost most first",
        "texts": "show the texts of a cluster, or all texts with their clusters",
    },
    "explaining": {"explain": "say what each candidate of a stored run does more or less than people, tested"},
    "diversity": {
        "diversity": "count the modes of a stored run's answers to one prompt, and compare candidates' answers"
    },
    "differences": {"test": "test which of two candidates of a stored run is closer to the human texts"},
    "judging": {"ratings": "export, import or rank human ratings of a run's texts"},
    "probing": {"probe": "measure how a stored run's score responds to deliberately changed texts or images"},
    "attributes": {
        "attributes": "show what a stored run's clusters reveal about metadata, length, stop words and punctuation"
    },
    "published": {"published": "recompute the papers' correlation tables from their figures"},
    "reporting": {"report": "write a stored run as one HTML file that works offline, or as text"},
    "tracking": {"log": "log a stored run to Weights & Biases or MLflow"},
    "sweeping": {"sweep": "show a stored run's scores over one setting, or over one parameter of an estimator"},
    "working": {"jobs": "list background jobs; see jobs --help for other actions"},
    "serving": {
        "app": "start the app, on 127.0.0.1 by default",
        "demo": "the demo study: stored as a run if it does not exist yet, and shown in the browser",
        "password": "hash a password for MAUVE_LENS_PASSWORD_HASH",
        "work": None,
    },
    "agents": {"mcp": "let a language-model agent read stored runs, over the Model Context Protocol"},
    "schemas": {"schema": "print the JSON Schema of what a command prints with --json"},
    "completing": {"completion": "write a script with which a shell completes commands and options"},
    "debugging": {"debug": "write a file to attach to a bug report, without texts, names or keys"},
}


def add_commands(parser: Parser, *, load: bool) -> None:
    """Add all commands to the parser; without ``load``, the module of one is imported when it is called."""
    commands: Commands = parser.add_subparsers(metavar="COMMAND", required=True)  # type: ignore[assignment]
    for module, explained in COMMANDS.items():
        for name, help_line in explained.items():
            commands.announce(name, help_line, partial(_add, module))
    if load:
        for name in list(commands.choices):
            commands.load(name)


def _add(module: str, commands: Commands) -> None:
    import_module(f"mauve_core.cli.{module}").add_commands(commands)
