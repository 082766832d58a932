"""``mauve-lens study``: turn a model and human texts into a scored and measured run of its decoders."""

from __future__ import annotations

import argparse

from mauve_core.analyses.study import ADVERSARIAL, StudyTask
from mauve_core.base.config import CompareConfig
from mauve_core.base.formatting import printable
from mauve_core.cli import measuring, models
from mauve_core.cli.input_files import TEXT_FILE, add_field_options, text_file
from mauve_core.cli.options import (
    add_decoder_options,
    add_encoder_options,
    add_name_option,
    add_output_options,
    add_score_options,
    add_skip_option,
    encoder_config,
    make_run,
    name_default_encoder,
    require_device,
    score_config,
)
from mauve_core.decoding import GenerationSettings
from mauve_core.runs import Run
from mauve_core.texts.text_files import require_there


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "study",
        description="The prompt is the beginning of a human text; both continuations have at most --max-new-tokens "
        f"tokens of the model, or of --tokenizer. The bare decoder {ADVERSARIAL} uses the perplexity of the human "
        "texts. A study that was stopped resumes where it left off when run again.",
    )
    parser.add_argument("--human", required=True, metavar="FILE", help=TEXT_FILE)
    parser.add_argument("--model", required=True, help=models.MODEL)
    add_name_option(parser)
    parser.add_argument(
        "--prompt-tokens", type=int, metavar="N", help="length of the prompt if the file has no prompts"
    )
    add_decoder_options(parser)
    parser.add_argument("--no-measures", action="store_true", help="leave out the text measures")
    group = models.add_server_options(parser)
    group.add_argument(
        "--tokenizer",
        metavar="NAME",
        help="catalog name, hub id, folder or GGUF file of a model in whose tokens the texts of both sides are cut, "
        "because a server does not show its own: best those of the server's model, whose weights are not needed; "
        "required with a server",
    )
    add_output_options(parser, table=True)
    add_field_options(parser)
    add_skip_option(parser)
    add_encoder_options(parser)
    add_score_options(parser)
    parser.set_defaults(run=_study, reads_files=True)


def _study(args: argparse.Namespace) -> int:
    task = task_of(args)
    require_there(task.human.path)
    require_device(args.device)
    name_default_encoder(args)

    def where(run: Run) -> str:
        return (
            f"Stored as run {run.id}; its texts are in {task.folder}\n"
            f"In the browser: mauve-lens app, then http://127.0.0.1:8501/decoders?run={run.id}"
        )

    def measured(run: Run) -> str:
        from mauve_core.analyses.text_measures import stored_measurements

        found = stored_measurements(run)
        if found is None:
            return ""
        notes = [f"  {printable(note)}" for note in found.notes]
        if task.is_served:
            notes.append(f"  To add them under a model of your choice: mauve-lens measure {run.id} --scorer MODEL")
        return "\n".join([measuring.table(found), *notes])

    return make_run(args, task, where, measured, tell=models.teller(args))


def task_of(args: argparse.Namespace) -> StudyTask:
    """The study that the arguments describe; ``--seed`` applies to generation and scoring.

    Raises InputError for a value that is not allowed.
    """
    score = score_config(args)
    return StudyTask(
        name=args.name,
        human=text_file(args, args.human, quiet=args.quiet),
        model=args.model,
        decoders=tuple(args.decoder),
        settings=GenerationSettings(args.max_new_tokens, args.min_new_tokens, score.seed, repeats=args.repeats),
        prompt_tokens=args.prompt_tokens,
        config=CompareConfig(encoder=encoder_config(args), score=score, projection=not args.no_map),
        measures=not args.no_measures,
        skip_unencodable=args.skip_unencodable,
        device=args.device,
        tokenizer=args.tokenizer,
        server=models.server_options(args),
    )
