"""An argument parser with our errors, its file of settings, and the commands, which are imported when they are called.

``MAUVE_LENS_SETTINGS`` names a file with a table for each command, whose keys are the names of its options, so that no
file is read that nobody named. The command line overrides it, and what a command takes from it is said on standard
error. The file is TOML::

    [compare]
    encoder = "gpt2-large"
    seeds = 10
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable

VARIABLE = "MAUVE_LENS_SETTINGS"


def settings_of(command: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a command; empty without a file, or where the file has none.

    Parameters
    ----------
    known : sequence of str
        All commands; a table of another name is an error.

    Raises
    ------
    InputError
        The file cannot be read, is not TOML, or holds something else than tables of known commands.
    """
    named = os.environ.get(VARIABLE, "")
    if not named.strip():
        return {}
    from mauve_core.base.files import read_toml

    tables: dict[str, Any] = read_toml(Path(named))
    for name, table in tables.items():
        if not isinstance(table, dict) or name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise InputError(
                f"{named} ({VARIABLE}) has a key that is not the table of a command",
                allowed="tables such as [compare], with the names of its options as keys",
                received=name,
                todo=f"Did you mean [{near[0]}]?" if near and isinstance(table, dict) else "",
            )
    own: dict[str, Any] = tables.get(command, {})
    return own


def as_arguments(action: argparse.Action, value: Any, where: str) -> list[str] | None:
    """Return a setting as the arguments that an option takes; None for a switch that is off.

    Raises
    ------
    InputError
        The value is of another kind than the option's.
    """
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise InputError(f"{where} cannot be used", allowed="true or false", received=repr(value))
        return [] if value else None
    several = isinstance(action, argparse._AppendAction) and isinstance(value, list)
    values = value if several else [value]
    if any(isinstance(each, bool) or not isinstance(each, str | int | float) for each in values):
        listed = ", or a list of them" if isinstance(action, argparse._AppendAction) else ""
        allowed = f"text or a number{listed}"
        raise InputError(f"{where} cannot be used", allowed=allowed, received=repr(value))
    return [str(each) for each in values]


def say(settings: Mapping[str, Any]) -> None:
    """Say what a command takes from the file."""
    if settings:
        written = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items())
        sys.stderr.write(f"Settings from {printable(os.environ[VARIABLE])}: {written}\n")


# Before a command, it asks for that command's help; alone, for the list of commands.
HELP = "help"

# What to do where the shell has put the names of files in place of a pattern.
QUOTE_PATTERNS = "To read several files as one side, quote their pattern: --human 'out/*.jsonl'"


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations; raises InputError instead of printing its usage and exiting.

    Repeating an option with one value is an error; argparse would silently drop the first value.

    Attributes
    ----------
    given : dict of str to str
        Values of options on the command line, by destination.
    takes_settings : bool
        Whether a file of settings may have a table for each of its commands.
    """

    takes_settings = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self.given: dict[str, str] = {}
        self.register("action", None, Store)
        self.register("action", "store", Store)
        self.register("action", "append", _Append)
        self.register("action", "parsers", Commands)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, after forgetting earlier options.

        An option that does not exist is named first: argparse would miss what the misspelled one should have given.
        """
        self.given = {}
        for argument in args if args is not None else sys.argv[1:]:
            if argument == "--" or (self._subparsers is not None and not argument.startswith("-")):
                break
            option = argument.partition("=")[0]
            if option.startswith("--") and " " not in option and option not in self._option_string_actions:
                near = difflib.get_close_matches(option, self._option_string_actions, n=1, cutoff=0.5)
                todo = f"Did you mean {near[0]}?" if near else f"See: {self.prog} --help"
                raise InputError(f"{self.prog} has no option {option}", todo=todo)
        return super().parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print as argparse does, which would say nothing of output that a full device refuses."""
        out = file or sys.stderr
        out.write(message)
        out.flush()

    def error(self, message: str) -> NoReturn:
        raise InputError(message, todo=f"See: {self.prog} --help")

    def take_settings(self, settings: Mapping[str, Any], where: str) -> None:
        """Let settings, by the names of options, stand for what the command line leaves out.

        Raises
        ------
        InputError
            An option does not exist, or cannot have that value.
        """
        for key, value in settings.items():
            action = self._option_string_actions.get(f"--{key}")
            if action is None or action.default is argparse.SUPPRESS:
                options = [name.removeprefix("--") for name in self._option_string_actions if name.startswith("--")]
                near = difflib.get_close_matches(key, options, n=1)
                todo = f"Did you mean {near[0]}?" if near else f"See: {self.prog} --help"
                raise InputError(f"{where} sets {key!r}, which is not an option of {self.prog}", todo=todo)
            arguments = as_arguments(action, value, f"The key {key} of {where}")
            if arguments is not None:
                action.default = self._setting(action, arguments, f"The key {key} of {where}")
                action.required = False

    def _setting(self, action: argparse.Action, arguments: list[str], where: str) -> Any:
        """Return what the option gives for these arguments."""
        found = argparse.Namespace()
        try:
            for argument in [[each] for each in arguments] or [[]]:
                action(self, found, self._get_values(action, argument), None)
        except argparse.ArgumentError as error:
            raise InputError(f"{where} cannot be used", received=", ".join(arguments), todo=error.message) from error
        return getattr(found, action.dest)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown command; those without a line in the help are hidden, and are not named."""
        if isinstance(action, Commands) and value not in action.choices:
            known = [shown.dest for shown in action._choices_actions]
            near = difflib.get_close_matches(value, [HELP, *known], n=1, cutoff=0.5)
            todo = f"Did you mean {near[0]}?" if near else f"See: {self.prog} --help"
            raise InputError(f"No command is named {value!r}", allowed=", ".join(known), todo=todo)
        super()._check_value(action, value)


class Store(argparse._StoreAction):
    """One value; a second one is an error."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if option_string is not None:
            if self.dest in parser.given:
                raise _given_twice(option_string, parser.given[self.dest], _written(values))
            parser.given[self.dest] = _written(values)
        super().__call__(parser, namespace, values, option_string)


class _Append(argparse._AppendAction):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if option_string is not None and self.dest not in parser.given:
            setattr(namespace, self.dest, None)  # what a file of settings has is replaced, not added to
        if option_string is not None:
            parser.given[self.dest] = " ".join(filter(None, (parser.given.get(self.dest), _written(values))))
        super().__call__(parser, namespace, values, option_string)


class Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Commands, listed by their names and lines of help, and imported when they are called.

    An error arises for what a command cannot take, and if its options would override earlier options of the same name.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._to_come: dict[str, Callable[[Commands], None]] = {}

    def announce(self, name: str, explained: str | None, add: Callable[[Commands], None]) -> None:
        """List a command that ``add`` adds when it is called; without an explanation it is hidden."""
        self._to_come[name] = add
        self._name_parser_map[name] = None
        if explained is not None:
            self._choices_actions.append(self._ChoicesPseudoAction(name, (), explained))

    def load(self, name: str) -> Parser:
        """Return the parser of a command, which is imported unless it was before."""
        if name in self._to_come:
            self._to_come[name](self)
        parser: Parser = self.choices[name]
        return parser

    def add_parser(self, name: str, **kwargs: Any) -> Any:
        """Add a command as argparse does; one that was announced keeps the help that it was announced with."""
        if self._to_come.pop(name, None) is not None:
            del self._name_parser_map[name]
        return super().add_parser(name, **kwargs)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        own = self.load(values[0])
        shown = [command.dest for command in self._choices_actions]
        settings: Mapping[str, Any] = {}
        if parser.takes_settings and values[0] in shown:  # a worker does what its job says, whatever the file says now
            settings = settings_of(values[0], shown)
            own.take_settings(settings, f"[{values[0]}] in {os.environ.get(VARIABLE)}")
        super().__call__(parser, namespace, values, option_string)
        if not getattr(namespace, "quiet", False):
            say({key: value for key, value in settings.items() if key.replace("-", "_") not in own.given})
        for argument in getattr(namespace, argparse._UNRECOGNIZED_ARGS_ATTR, ()):
            todo = QUOTE_PATTERNS if Path(argument).exists() else f"See: {own.prog} --help"
            raise InputError("Unexpected argument", received=repr(argument), todo=todo)
        for dest in parser.given.keys() & own.given.keys():
            raise _given_twice(f"--{dest.replace('_', '-')}", parser.given[dest], own.given[dest])


def _written(values: Any) -> str:
    return " ".join(map(str, values)) if isinstance(values, list) else str(values)


def _given_twice(option: str, first: str, second: str) -> InputError:
    return InputError(f"{option} is given twice", allowed="once", received=f"{first!r} and {second!r}")


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
        "methods": "apply other estimators, divergences and summaries to a stored run, and show how far they agree",
        "encoders": "score a stored run's texts under several encoders, and show how far they agree",
    },
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
    "reporting": {
        "report": "write a stored run as one HTML file that works offline, or as text",
        "log": "log a stored run to Weights & Biases or MLflow",
    },
    "sweeping": {"sweep": "show a stored run's scores over one setting, or over one parameter of an estimator"},
    "working": {"jobs": "list background jobs; see jobs --help for other actions"},
    "serving": {
        "app": "start the app, on 127.0.0.1 by default",
        "demo": "the demo study: stored as a run if it does not exist yet, and shown in the browser",
        "password": "hash a password for MAUVE_LENS_PASSWORD_HASH",
        "work": None,
        "mcp": "let a language-model agent read stored runs, over the Model Context Protocol",
    },
    "tooling": {
        "schema": "print the JSON Schema of what a command prints with --json",
        "completion": "write a script with which a shell completes commands and options",
        "debug": "write a file to attach to a bug report, without texts, names or keys",
    },
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
