"""``mauve-lens encode`` and ``mauve-lens generate``: write a model's features or texts to disk.

With the options for a model behind a server: one that writes texts, of ``generate`` and ``study``, or that is asked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mauve_core.base.config import names_server
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, printable, verb
from mauve_core.cli.input_files import TEXT_FILE, add_field_options, file_of, say_notes, text_file
from mauve_core.cli.options import (
    add_decoder_options,
    add_device_option,
    add_encoder_options,
    add_output_options,
    encoder_config,
    name_default_encoder,
    progress_of,
    require_device,
    results_only,
    write,
)
from mauve_core.decoding.engines import DECODERS_OF_VLLM
from mauve_core.decoding.generate import Engine
from mauve_core.encoders.catalogue import with_weights
from mauve_core.encoders.external_features import write_features

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


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    encode = commands.add_parser("encode")
    encode.add_argument("file", metavar="FILE", help=TEXT_FILE)
    encode.add_argument("--out", required=True, metavar="FEATURES.npy", help="(n, d) array, one row per text")
    encode.add_argument("--half", action="store_true", help="write float16 instead of float32: half the space")
    add_output_options(encode)
    add_field_options(encode)
    add_encoder_options(encode)
    encode.set_defaults(run=_encode, reads_files=True)

    generate = commands.add_parser("generate")
    generate.add_argument("--model", required=True, help=MODEL)
    generate.add_argument("--prompts", required=True, metavar="FILE", help="file of prompts")
    generate.add_argument("--prompt-field", metavar="FIELD", help="field with the prompt; guessed by default")
    add_decoder_options(generate)
    generate.add_argument("--out", required=True, metavar="FOLDER", help="folder for the files and manifest.json")
    generate.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    batch = "prompts per batch; affects only speed; with vllm, texts submitted at a time, by default 1,000"
    generate.add_argument("--batch-size", type=int, metavar="N", help=batch)
    generate.add_argument(
        "--engine",
        choices=get_args(Engine),
        default="transformers",
        help=f"what runs a model of this machine; vllm has {DECODERS_OF_VLLM} alone and draws texts of its own; "
        "default: transformers",
    )
    generate.add_argument("--revision", help="commit, tag or branch of a hub model")
    add_device_option(generate)
    add_server_options(generate)
    add_output_options(generate)
    generate.set_defaults(run=_generate, reads_files=True)


def _encode(args: argparse.Namespace) -> int:
    out = Path(args.out)
    if out.suffix != ".npy":
        raise InputError("--out is not a .npy file", allowed="a name that ends in .npy", received=args.out)
    file = text_file(args, args.file, quiet=args.quiet)
    with results_only():
        corpus = file.read(Path(args.file).stem)
        require_device(args.device)
        config = encoder_config(args)
        name_default_encoder(args)
        texts = corpus.encoder_inputs(config.with_prompt)
        from mauve_core.encoders import encode
        from mauve_core.encoders.features import FeatureStore

        features = encode(texts, config, store=FeatureStore(), device=args.device, progress=progress_of(args))
        write_features(out, features.array, half=args.half)
    n, dimension = features.array.shape
    write(f"{n} texts, {dimension} dimensions, encoder {with_weights(config.model)} on {features.device} -> {out}")
    cut = int(features.cut.sum())
    write(f"{plural(cut, 'text')} {verb(cut, 'was', 'were')} cut at {features.limit} tokens")
    for note in (*corpus.notes, *features.notes):
        write(printable(note))
    return 0


def _generate(args: argparse.Namespace) -> int:
    from mauve_core.decoding import GenerationSettings, generate_files, parse_decoder, read_prompts
    from mauve_core.decoding.files import notes_of

    lengths = {"max_new_tokens": args.max_new_tokens, "min_new_tokens": args.min_new_tokens}
    if args.batch_size is not None and args.batch_size < 1:
        raise InputError("--batch-size cannot be used", allowed="1 or more", received=str(args.batch_size))
    batch = {} if args.batch_size is None else {"batch_rows": args.batch_size}
    server = _server_options(args)
    settings = GenerationSettings(**lengths, seed=args.seed, repeats=args.repeats, **batch)
    for spec in args.decoder:
        parse_decoder(spec)  # refused before the prompts are read
    with results_only():
        prompts = read_prompts(Path(file_of(args.prompts, quiet=args.quiet)), args.prompt_field)
        require_device(args.device)
        if not args.quiet:
            say_notes(prompts.notes)
        written = generate_files(
            args.model,
            prompts,
            args.decoder,
            Path(args.out),
            settings=settings,
            revision=args.revision,
            device=args.device,
            engine=args.engine,
            progress=progress_of(args),
            server=server,
            tell=teller(args),
        )
    for decoder, path in written.items():
        write(f"{decoder} -> {path}")
    for note in notes_of(Path(args.out)):
        write(printable(note))
    return 0


def _server_options(args: argparse.Namespace) -> ServerOptions | None:
    """The options for a server; InputError where they, or those of this machine's models, do not apply."""
    if names_server(args.model):
        here = {"--revision": args.revision, "--batch-size": args.batch_size}
        given = [option for option, value in here.items() if value is not None]
        given += ["--device"] if args.device != "auto" else []
        given += ["--engine"] if args.engine != "transformers" else []
        if given:
            raise does_not_apply(given, "behind a server")
    return server_options(args)
