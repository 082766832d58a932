"""``mauve-lens study``: turn a model and human texts into a scored and measured run of its decoders."""

from __future__ import annotations

import argparse

from mauve_core.base.config import CompareConfig
from mauve_core.cli import measuring
from mauve_core.cli.options import (
    TEXT_FILE,
    add_decoder_options,
    add_encoder_options,
    add_field_options,
    add_output_options,
    add_score_options,
    encoder_config,
    make_run,
    name_default_encoder,
    score_config,
)
from mauve_core.decoding import GenerationSettings
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.store import Run
from mauve_core.tasks.comparison import TextFile
from mauve_core.tasks.study import ADVERSARIAL, StudyTask


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "study",
        description="The prompt is the beginning of a human text; both continuations have at most --max-new-tokens "
        f"tokens of the model. The bare decoder {ADVERSARIAL} uses the perplexity of the human texts. A study that "
        "was stopped resumes where it left off when run again.",
    )
    parser.add_argument("--human", required=True, metavar="FILE", help=TEXT_FILE)
    parser.add_argument(
        "--model", required=True, help="a causal model: catalog name, hub id, folder, GGUF file or LoRA adapter"
    )
    parser.add_argument("--out", required=True, metavar="RUN", help="name of the stored run")
    parser.add_argument(
        "--prompt-tokens", type=int, metavar="N", help="length of the prompt if the file has no prompts"
    )
    add_decoder_options(parser)
    parser.add_argument("--no-measures", action="store_true", help="leave out the text measures")
    add_output_options(parser, table=True)
    add_field_options(parser)
    add_encoder_options(parser)
    add_score_options(parser)
    parser.set_defaults(run=_study)


def _study(args: argparse.Namespace) -> int:
    task = task_of(args)
    name_default_encoder(args)

    def where(run: Run) -> str:
        return (
            f"Stored as run {run.id}; its texts are in {task.folder}\n"
            f"In the browser: mauve-lens app, then http://127.0.0.1:8501/decoders?run={run.id}"
        )

    def measured(run: Run) -> str:
        found = stored_measurements(run)
        return "" if found is None else measuring.table(found)

    return make_run(args, task, where, measured)


def task_of(args: argparse.Namespace) -> StudyTask:
    """The study that the arguments describe; ``--seed`` applies to generation and scoring.

    Raises InputError for a value that is not allowed.
    """
    score = score_config(args)
    metadata = None if args.metadata_field is None else tuple(args.metadata_field)
    return StudyTask(
        name=args.out,
        human=TextFile(args.human, args.text_field, args.prompt_field, args.id_field, metadata),
        model=args.model,
        decoders=tuple(args.decoder),
        settings=GenerationSettings(args.max_new_tokens, args.min_new_tokens, score.seed, repeats=args.repeats),
        prompt_tokens=args.prompt_tokens,
        config=CompareConfig(encoder=encoder_config(args), score=score, projection=not args.no_map),
        measures=not args.no_measures,
        device=args.device,
    )
