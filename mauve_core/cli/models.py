"""``mauve-lens encode`` and ``mauve-lens generate``: write a model's features or texts to disk."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mauve_core.base.config import names_server
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, printable, verb
from mauve_core.cli import served
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
from mauve_core.cli.standard_input import file_of
from mauve_core.cli.text_files import TEXT_FILE, add_field_options, say_notes, text_file
from mauve_core.decoding.engines import DECODERS_OF_VLLM
from mauve_core.decoding.generate import Engine
from mauve_core.encoders.catalogue import with_weights
from mauve_core.encoders.external_features import write_features

if TYPE_CHECKING:
    from mauve_core.decoding.engines import ServerOptions


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
    generate.add_argument("--model", required=True, help=served.MODEL)
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
    served.add_server_options(generate)
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
            tell=served.teller(args),
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
            raise served.does_not_apply(given, "behind a server")
    return served.server_options(args)
