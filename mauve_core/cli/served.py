"""Options for a model behind a server: one that writes texts, of ``generate`` and ``study``, or that is asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mauve_core.base.config import names_server
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable

if TYPE_CHECKING:
    from mauve_core.decoding.engines import ServerOptions

# What ``--model`` may be, for help.
MODEL = (
    "a causal model: catalog name, hub id, folder, GGUF file or LoRA adapter; or behind a server openai:URL#model, "
    "which continues prompts, or openai-chat:URL#model, which answers them"
)


def add_server_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add options for a model behind a server, and return their group."""
    group = parser.add_argument_group("model behind a server")
    _add_limits(group, "ask nothing if more requests are needed")
    group.add_argument(
        "--sampling-fields",
        action="store_true",
        help="also send top_k, min_p and repetition_penalty, which vLLM and llama.cpp take and OpenAI refuses: needed "
        "for top-k, and switches off what the server adds by itself",
    )
    return group


def add_asking_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--ask`` for a model behind a server that answers questions, and the limits of its requests."""
    group = parser.add_argument_group("language model")
    group.add_argument(
        "--ask",
        metavar="MODEL",
        help="openai-chat:URL#model or openai:URL#model: a chat model behind a server, which gets the texts, proposes "
        "further statements and judges them text by text",
    )
    _add_limits(group, "ask nothing about a candidate for which more requests may be needed")


def asking_options(args: argparse.Namespace) -> ServerOptions | None:
    """Return how the model of ``--ask`` is asked; None without one.

    Raises InputError for a value that is not allowed, and for a limit if there is no model to ask.
    """
    if args.ask is not None:
        return _options(args)
    given = _limits_given(args)
    if given:
        raise InputError(f"{', '.join(given)} does not apply without --ask", todo="Leave it out")
    return None


def server_options(args: argparse.Namespace) -> ServerOptions | None:
    """Return how the server that ``--model`` names is asked; None for a model on this machine.

    Raises InputError for a value that is not allowed, and for an option if there is no server.
    """
    if names_server(args.model):
        return _options(args, sampling_fields=args.sampling_fields)
    given = [*_limits_given(args), *(["--sampling-fields"] if args.sampling_fields else [])]
    if given:
        raise does_not_apply(given, "on this machine")
    return None


def does_not_apply(options: list[str], where: str) -> InputError:
    """Return the error for options that do not apply to a model behind a server, or to one on this machine."""
    return InputError(f"{', '.join(options)} does not apply to a model {where}", todo="Leave it out")


def teller(args: argparse.Namespace) -> Callable[[str], None]:
    """Return what writes a line to standard error, unless ``--quiet``."""

    def tell(line: str) -> None:
        if not args.quiet:
            sys.stderr.write(f"{printable(line)}\n")

    return tell


def _add_limits(group: argparse._ArgumentGroup, most: str) -> None:
    group.add_argument("--max-parallel", type=int, metavar="N", help="most requests at a time; default: 4")
    group.add_argument("--max-requests", type=int, metavar="N", help=most)


def _options(args: argparse.Namespace, *, sampling_fields: bool = False) -> ServerOptions:
    from mauve_core.decoding.engines import ServerOptions

    parallel = {} if args.max_parallel is None else {"max_parallel": args.max_parallel}
    return ServerOptions(**parallel, max_requests=args.max_requests, sampling_fields=sampling_fields)


def _limits_given(args: argparse.Namespace) -> list[str]:
    there = {"--max-parallel": args.max_parallel, "--max-requests": args.max_requests}
    return [option for option, value in there.items() if value is not None]
