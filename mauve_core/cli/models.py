"""``mauve-lens encode`` and ``mauve-lens generate``: write a model's features or texts to disk."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable
from mauve_core.base.server_names import names_server
from mauve_core.cli.options import (
    TEXT_FILE,
    add_decoder_options,
    add_device_option,
    add_encoder_options,
    add_field_options,
    add_output_options,
    encoder_config,
    name_default_encoder,
    progress_of,
    results_only,
    write,
)
from mauve_core.encoders.catalogue import with_weights
from mauve_core.encoders.external_features import write_features
from mauve_core.tasks.comparison import TextFile

if TYPE_CHECKING:
    from mauve_core.decoding.served import ServerOptions


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    encode = commands.add_parser("encode")
    encode.add_argument("file", metavar="FILE", help=TEXT_FILE)
    encode.add_argument("--out", required=True, metavar="FEATURES.npy", help="(n, d) array, one row per text")
    encode.add_argument("--half", action="store_true", help="write float16 instead of float32: half the space")
    add_output_options(encode)
    add_field_options(encode)
    add_encoder_options(encode)
    encode.set_defaults(run=_encode)

    generate = commands.add_parser("generate")
    generate.add_argument(
        "--model",
        required=True,
        help="a causal model: catalog name, hub id, folder, GGUF file or LoRA adapter; or behind a server "
        "openai:URL#model, which "
        "continues prompts, or openai-chat:URL#model, which answers them",
    )
    generate.add_argument("--prompts", required=True, metavar="FILE", help="file of prompts")
    generate.add_argument("--prompt-field", metavar="FIELD", help="field with the prompt; guessed by default")
    add_decoder_options(generate)
    generate.add_argument("--out", required=True, metavar="FOLDER", help="folder for the files and manifest.json")
    generate.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    generate.add_argument("--batch-size", type=int, metavar="N", help="prompts per batch; affects only speed")
    generate.add_argument("--revision", help="commit, tag or branch of a hub model")
    add_device_option(generate)
    server = generate.add_argument_group("model behind a server")
    server.add_argument("--max-parallel", type=int, metavar="N", help="most requests at a time; default: 4")
    server.add_argument("--max-requests", type=int, metavar="N", help="ask nothing if more requests are needed")
    server.add_argument(
        "--sampling-fields",
        action="store_true",
        help="also send top_k, min_p and repetition_penalty, which vLLM and llama.cpp take and OpenAI refuses: needed "
        "for top-k, and switches off what the server adds by itself",
    )
    add_output_options(generate)
    generate.set_defaults(run=_generate)


def _encode(args: argparse.Namespace) -> int:
    out = Path(args.out)
    if out.suffix != ".npy":
        raise InputError("--out is not a .npy file", allowed="a name that ends in .npy", received=args.out)
    metadata = None if args.metadata_field is None else tuple(args.metadata_field)
    file = TextFile(args.file, args.text_field, args.prompt_field, args.id_field, metadata)
    with results_only():
        corpus = file.read(Path(args.file).stem)
        config = encoder_config(args)
        name_default_encoder(args)
        texts = corpus.encoder_inputs(config.with_prompt)
        from mauve_core.encoders import encode
        from mauve_core.encoders.feature_store import FeatureStore

        features = encode(texts, config, store=FeatureStore(), device=args.device, progress=progress_of(args))
        write_features(out, features.array, half=args.half)
    n, dimension = features.array.shape
    write(f"{n} texts, {dimension} dimensions, encoder {with_weights(config.model)} on {features.device} -> {out}")
    write(f"{int(features.cut.sum())} texts were cut at {features.limit} tokens")
    for note in (*corpus.notes, *features.notes):
        write(printable(note))
    return 0


def _generate(args: argparse.Namespace) -> int:
    from mauve_core.decoding import GenerationSettings, generate_files, read_prompts
    from mauve_core.decoding.generate import notes_of

    lengths = {"max_new_tokens": args.max_new_tokens, "min_new_tokens": args.min_new_tokens}
    if args.batch_size is not None and args.batch_size < 1:
        raise InputError("--batch-size cannot be used", allowed="1 or more", received=str(args.batch_size))
    batch = {} if args.batch_size is None else {"batch_rows": args.batch_size}
    server = _server_options(args)
    settings = GenerationSettings(**lengths, seed=args.seed, repeats=args.repeats, **batch)
    with results_only():
        written = generate_files(
            args.model,
            read_prompts(Path(args.prompts), args.prompt_field),
            args.decoder,
            Path(args.out),
            settings=settings,
            revision=args.revision,
            device=args.device,
            progress=progress_of(args),
            server=server,
            tell=lambda line: None if args.quiet else _say(line),
        )
    for decoder, path in written.items():
        write(f"{decoder} -> {path}")
    for note in notes_of(Path(args.out)):
        write(printable(note))
    return 0


def _server_options(args: argparse.Namespace) -> ServerOptions | None:
    """The options for a server; InputError where they, or those of this machine's models, do not apply."""
    from mauve_core.decoding.served import ServerOptions

    if names_server(args.model):
        here = {"--revision": args.revision, "--batch-size": args.batch_size}
        refused = [option for option, value in here.items() if value is not None]
        refused += ["--device"] if args.device != "auto" else []
    else:
        there = {"--max-parallel": args.max_parallel, "--max-requests": args.max_requests}
        refused = [option for option, value in there.items() if value is not None]
        refused += ["--sampling-fields"] if args.sampling_fields else []
    if refused:
        what = "behind a server" if names_server(args.model) else "on this machine"
        raise InputError(f"{', '.join(refused)} does not apply to a model {what}", todo="Leave it out")
    if not names_server(args.model):
        return None
    parallel = {} if args.max_parallel is None else {"max_parallel": args.max_parallel}
    return ServerOptions(**parallel, max_requests=args.max_requests, sampling_fields=args.sampling_fields)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
