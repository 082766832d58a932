"""An argument parser with our errors, whose commands are imported when they are called."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from mauve_core.base.errors import InputError
from mauve_core.cli.settings import VARIABLE, as_arguments, say, settings_of

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
