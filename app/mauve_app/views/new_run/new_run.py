"""New run: upload human and model texts, choose an encoder, start the comparison, and watch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from mauve_app.caching.side_sizes import side_size
from mauve_app.components import (
    job_button,
    job_panel,
    model_picker,
    more_settings,
    normalize_choice,
    page_chrome,
    upload_side,
)
from mauve_app.components.job_button import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.upload_card import ReadFile
from mauve_app.server import access
from mauve_app.views.new_run import format_panel
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.tasks.amounts import Amount
from mauve_core.tasks.comparison import ComparisonTask
from mauve_core.tasks.recompare import changed

_TOKENS_HELP = (
    "Longer texts are cut to this length on both sides. Texts of fewer than 256 tokens show less of what sets a model "
    "apart (JMLR 2023, section 8)."
)
_SEEDS_HELP = (
    "k-means runs once per seed: the score is the mean, shown with its spread. The papers use 5; one seed gives no "
    "spread."
)
_K_HELP = f"{more_settings.K_HELP} Compare only scores with the same k."

_SLOT = JobSlot("new_run_start", ComparisonTask.kind, adopts=True)
_SIDES = {HUMAN: "Human texts", "models": "Model texts"}


@dataclass(frozen=True)
class Settings:
    """The form's settings, apart from the files."""

    config: CompareConfig
    name: str


def main() -> None:
    """Lay out the page."""
    page_chrome.head("New run", "How far are your model texts from your human ones?")
    if not access.may_change():
        st.info(access.READ_ONLY_TEXT, icon=":material/visibility:")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        read = _side(
            HUMAN,
            help_text="The reference, P. One file, which may hold the candidates, too; 1,000 texts or more to trust "
            "small gaps (JMLR 2023, section 8).",
        )
    human, parts = read[:1], read[1:]
    with right:
        models = parts + _side(
            "models",
            help_text="The candidates, Q. Any number of files, one per candidate, each with as many texts as the "
            "human side: scores with different n cannot be compared.",
            parts=parts,
        )
    files = [file for file in (*human, *models) if file is not None]
    checked = st.container()  # filled last, so that Start need not wait for it
    st.header("Settings", anchor=False)
    settings = _settings(files)
    equalize = _equalize(files)
    problems = _problems(human, models)
    _start(files, None if problems else settings, equalize)
    for problem in problems:
        st.caption(escaped(problem))
    job_panel.show()
    if not problems:
        with checked:
            format_panel.show(files)


def _side(side: str, *, help_text: str, parts: Sequence[ReadFile | None] = ()) -> list[ReadFile | None]:
    """Header, uploader and cards of a side; ``parts`` are candidates that the human file holds, too."""
    st.header(_SIDES[side], anchor=False, help=help_text)
    if parts:
        known = (f"**{escaped(part.name)}** ({part.look.texts:,})" for part in parts if part is not None)
        st.markdown(f"From the file of the human texts: {', '.join(known)}")
    return upload_side.show(side, _SIDES[side], several=side != HUMAN, split=side == HUMAN)


def _settings(files: Sequence[ReadFile]) -> Settings | None:
    """Encoder, lengths, seeds, clusters, name of the run; None, with a message, if they are not usable."""
    first, second = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with first:
        model = model_picker.show(
            "Encoder",
            key="encoder_model",
            help_text="Turns texts into features. The papers use GPT-2 large; good encoders agree on rankings, but "
            "scores from different encoders cannot be compared.",
        )
    prompts = bool(files) and all(file.look.prompted for file in files)
    with_prompt = second.toggle(
        "Encode prompt and text together",
        key="with_prompt",
        persist_state="session",
        disabled=not prompts,
        help="Needs prompts in every file."
        if not prompts
        else "The encoder reads the prompt before each text, so it sees when a text does not fit its prompt.",
    )
    tokens, seeds, clusters, name = st.columns([1, 1, 1, 2])
    max_tokens = tokens.number_input(
        "Max tokens", 1, 1_000_000, 1024, key="max_tokens", persist_state="session", help=_TOKENS_HELP
    )
    seed_count = seeds.number_input("k-means seeds", 1, 1000, 5, key="seeds", persist_state="session", help=_SEEDS_HELP)
    k = clusters.number_input(
        "Clusters k", 2, 1_000_000, None, key="k", placeholder="n / 10", persist_state="session", help=_K_HELP
    )  # fmt: skip
    drawn = st.toggle(more_settings.MAP, True, key="draw_map", persist_state="session", help=more_settings.MAP_HELP)
    more = more_settings.show("more", CompareConfig(), model, persist=True)
    suggested = _suggested_name(files)
    run_name = name.text_input("Name of the run", key="run_name", placeholder=suggested, persist_state="session")
    try:
        encoder = EncoderConfig(model=model, max_tokens=int(max_tokens), with_prompt=with_prompt and prompts)
        score = ScoreConfig(seeds=int(seed_count), k=None if k is None else int(k))
        config = changed(CompareConfig(encoder=encoder, score=score), {**more, "projection": drawn})
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return None
    return Settings(config, (run_name or "").strip() or suggested)


def _equalize(files: Sequence[ReadFile]) -> bool:
    """Whether to draw equal numbers of texts, which is asked only if the sides differ in size."""
    sizes = {file.look.scored for file in files}
    if len(sizes) < 2:
        return False
    return st.toggle(
        f"Draw {min(sizes):,} texts of every side",
        key="equalize",
        persist_state="session",
        help="The sides differ in size, and scores of different sizes cannot be compared. Draws as many texts of each "
        "as the smallest has, at random, of the same prompts where sides share them.",
    )


def _suggested_name(files: Sequence[ReadFile]) -> str:
    names = [file.name for file in files if file.name != HUMAN]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"human vs {', '.join(names[:3])}{more}" if names else "human vs model"


def _problems(human: Sequence[ReadFile | None], models: Sequence[ReadFile | None]) -> list[str]:
    problems = []
    if not human:
        problems.append("Add the human texts.")
    if not models:
        problems.append("Add the texts of at least one model.")
    if None in (*human, *models):
        problems.append("Correct or remove the file that cannot be used.")
    names = [file.name for file in models if file is not None]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        problems.append(f"Give each model its own name; used more than once: {', '.join(map(repr, repeated))}.")
    if "" in names or HUMAN in names:
        problems.append(f"Name every model; {HUMAN!r} is taken.")
    return problems


def _start(files: Sequence[ReadFile], settings: Settings | None, equalize: bool) -> None:
    """The button; ``settings`` are None while the form is not filled in."""
    if settings is None or settings.config.encoder is None:
        job_button.show(_SLOT, "Start", _no_task, filled=False)
        return
    name, config, encoder = settings.name, settings.config, settings.config.encoder
    human, *models = files
    steps = normalize_choice.ticked(format_panel.STEPS)

    def task() -> ComparisonTask:
        candidates = {model.name: model.file for model in models}
        return ComparisonTask(name, human.file, candidates, config, normalize=steps or None, equalize=equalize)

    def amount() -> Amount:
        described = task()
        return described.amount({side: side_size(file, encoder) for side, file in described.files.items()})

    models_needed = [(encoder.model, encoder.revision)]
    job_button.show(_SLOT, "Start", task, amount=amount, models=models_needed)


def _no_task() -> ComparisonTask:
    raise InputError("The form is not filled in")


main()
