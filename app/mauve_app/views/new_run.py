"""New run: upload the items of both sides, choose an encoder, start the comparison, and watch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.components import comparison_settings, jobs, page_chrome, upload_cards
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.server import access
from mauve_app.uploaded_files import ReadFile
from mauve_app.uploads import side_size
from mauve_app.views import new_run_format
from mauve_core.analyses.comparison_task import ComparisonTask, changed
from mauve_core.analyses.tasks import Amount
from mauve_core.base.config import HUMAN, KINDS, TEXT, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.clusters.k_means import tenth_of_texts
from mauve_core.scoring.tables import alike
from mauve_core.texts.kinds import Kind, common_kind, kind_of

_TOKENS_HELP = (
    "Longer texts are cut to this length on both sides. Texts of fewer than 256 tokens show less of what sets a model "
    "apart (JMLR 2023, section 8)."
)
_NOT_COMPARED = "Scores from different encoders cannot be compared."
_PAPERS = (
    "The papers use GPT-2 large; good encoders agree on rankings, but scores from different encoders cannot be "
    "compared."
)
_SEEDS_HELP = (
    "k-means runs once per seed: the score is the mean, shown with its spread. The papers use 5; one seed gives no "
    "spread."
)
_K_HELP = f"{comparison_settings.K_HELP} Compare only scores with the same k."

_SLOT = JobSlot("new_run_start", ComparisonTask.kind, adopts=True)
_SIDES = {HUMAN: "{Reference_items}", "models": "Model {items}"}
_SAME_PROMPTS = ", of the same prompts where sides share them"
_SPLIT = ", which may hold the candidates, too"


@dataclass(frozen=True)
class Settings:
    """The form's settings, apart from the files."""

    config: CompareConfig
    name: str


def main() -> None:
    """Lay out the page."""
    kind = upload_cards.kind_of_first(list(_SIDES))
    words = kind.words
    page_chrome.head("New run", f"How far are your model {words.items} from your {words.reference} ones?")
    if not access.may_change():
        st.info(access.READ_ONLY_TEXT, icon=":material/visibility:")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        _uploader(
            HUMAN,
            kind,
            f"The reference, P. One file{_SPLIT if kind.has_words else ''}; "
            + f"1,000 {words.items} or more to trust small gaps (JMLR 2023, section 8).",
        )
    with right:
        _uploader(
            "models",
            kind,
            f"The candidates, Q. Any number of files, one per candidate, each with as many {words.items} as there are "
            f"{words.reference_items}: scores with different n cannot be compared.",
        )
    with left:  # below both uploaders, because reading may take minutes
        read = upload_cards.cards(HUMAN, human=True, split=True, any_kind=True)
    human, parts = read[:1], read[1:]
    with right:
        _say_parts(parts)
        models = parts + upload_cards.cards("models", human=False, any_kind=True)
    files = [file for file in (*human, *models) if file is not None]
    kind = kind_of(files[0].look.kind) if files else kind
    checked = st.container()  # filled last, so that Start need not wait for it
    st.header("Settings", anchor=False)
    settings = _settings(files, kind)
    equalize = _equalize(files, kind)
    problems = _problems(human, models, kind)
    _start(files, kind, None if problems else settings, equalize)
    for problem in problems:
        st.caption(escaped(problem))
    jobs.show_panel()
    if not problems and kind.has_words:
        with checked:
            new_run_format.show(files)


def _uploader(side: str, kind: Kind, help_text: str) -> None:
    title = kind.words.fill(_SIDES[side])
    st.header(title, anchor=False, help=help_text)
    upload_cards.uploader(side, title, [TEXT, *(name for name in KINDS if name != TEXT)], several=side != HUMAN)


def _say_parts(parts: Sequence[ReadFile | None]) -> None:
    """Which candidates the human file holds, too."""
    if parts:
        known = (f"**{escaped(part.name)}** ({part.look.texts:,})" for part in parts if part is not None)
        st.markdown(f"From the file of the human texts: {', '.join(known)}")


def _settings(files: Sequence[ReadFile], kind: Kind) -> Settings | None:
    """Encoder, lengths, seeds, clusters, name of the run; None, with a message, if they are not usable."""
    first, second = st.columns([3, 2], gap="medium", vertical_alignment="center")
    with first:
        model = comparison_settings.pick_model(
            "Encoder",
            key=f"encoder_model_{kind.name}",
            kind=kind,
            help_text=f"Turns {kind.words.items} into features." + f" {_PAPERS if kind.has_words else _NOT_COMPARED}",
        )
    asked = kind.offer.settings(model)
    encoder: dict[str, Any] = {"model": model}
    if "with_prompt" in asked:
        encoder["with_prompt"] = _with_prompt(second, files)
    *tokens, seeds, clusters, name = st.columns([1, 1, 1, 2] if "max_tokens" in asked else [1, 1, 2])
    for place in tokens:
        encoder["max_tokens"] = int(
            place.number_input(
                "Max tokens", 1, 1_000_000, 1024, key="max_tokens", persist_state="session", help=_TOKENS_HELP
            )
        )
    seed_count = seeds.number_input("k-means seeds", 1, 1000, 5, key="seeds", persist_state="session", help=_SEEDS_HELP)
    k = clusters.number_input(
        "Clusters k",
        2,
        1_000_000,
        None,
        key="k",
        placeholder="n / 10",
        persist_state="session",
        help=kind.words.fill(_K_HELP),
    )
    drawn = comparison_settings.map_toggle("draw_map", kind, persist=True)
    more = comparison_settings.show_more("more", CompareConfig(), model, kind, persist=True)
    suggested = _suggested_name(files, kind)
    run_name = name.text_input("Name of the run", key="run_name", placeholder=suggested, persist_state="session")
    try:
        score = ScoreConfig(seeds=int(seed_count), k=None if k is None else int(k))
        config = changed(CompareConfig(encoder=EncoderConfig(**encoder), score=score), {**more, "projection": drawn})
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return None
    return Settings(config, (run_name or "").strip() or suggested)


def _with_prompt(place: DeltaGenerator, files: Sequence[ReadFile]) -> bool:
    prompts = bool(files) and all(file.look.prompted for file in files)
    together = place.toggle(
        "Encode prompt and text together",
        key="with_prompt",
        persist_state="session",
        disabled=not prompts,
        help="Needs prompts in every file."
        if not prompts
        else "The encoder reads the prompt before each text, so it sees when a text does not fit its prompt.",
    )
    return together and prompts


def _equalize(files: Sequence[ReadFile], kind: Kind) -> bool:
    """Whether to draw equal numbers of items, which is asked only if the sides differ too much in size."""
    sizes = {file.look.scored for file in files}
    if not sizes or alike(sizes, tenth_of_texts(min(sizes), min(sizes))):
        return False
    return st.toggle(
        f"Draw {min(sizes):,} {kind.words.items} of every side",
        key="equalize",
        persist_state="session",
        help="The sides differ in size, and scores of different sizes cannot be compared. Draws as many "
        f"{kind.words.items} of each as the smallest has, at random{_SAME_PROMPTS if kind.has_words else ''}.",
    )


def _suggested_name(files: Sequence[ReadFile], kind: Kind) -> str:
    names = [file.name for file in files if file.name != HUMAN]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{kind.words.reference} vs {', '.join(names[:3])}{more}" if names else f"{kind.words.reference} vs model"


def _problems(human: Sequence[ReadFile | None], models: Sequence[ReadFile | None], kind: Kind) -> list[str]:
    problems = []
    if not human:
        problems.append(f"Add the {kind.words.reference_items}.")
    if not models:
        problems.append(f"Add the {kind.words.items} of at least one model.")
    if None in (*human, *models):
        problems.append("Correct or remove the file that cannot be used.")
    read = [file for file in (*human, *models) if file is not None]
    try:
        common_kind({file.name: file.look.kind for file in read} or {HUMAN: kind.name})
    except InputError as error:
        problems.append(str(error))
    names = [file.name for file in models if file is not None]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        problems.append(f"Give each model its own name; used more than once: {', '.join(map(repr, repeated))}.")
    if "" in names or HUMAN in names:
        problems.append(f"Name every model; {HUMAN!r} is taken.")
    return problems


def _start(files: Sequence[ReadFile], kind: Kind, settings: Settings | None, equalize: bool) -> None:
    """The button; ``settings`` are None while the form is not filled in."""
    if settings is None or settings.config.encoder is None:
        jobs.button(_SLOT, "Start", _no_task, filled=False)
        return
    name, config, encoder = settings.name, settings.config, settings.config.encoder
    human, *models = files
    steps = comparison_settings.ticked_steps(new_run_format.STEPS) if kind.has_words else ()

    def task() -> ComparisonTask:
        candidates = {model.name: model.file for model in models}
        return ComparisonTask(name, human.file, candidates, config, normalize=steps or None, equalize=equalize)

    def amount() -> Amount:
        described = task()
        return described.amount({side: side_size(file, encoder) for side, file in described.files.items()})

    models_needed = [(encoder.model, encoder.revision)]
    jobs.button(_SLOT, "Start", task, amount=amount, models=models_needed, check=kind.offer.check)


def _no_task() -> ComparisonTask:
    raise InputError("The form is not filled in")


if __name__ == "__main__":
    main()
