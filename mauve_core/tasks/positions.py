"""Find where in a text encoders look, on the human texts of a stored run, and keep the table beside it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from mauve_core.base.config import POSITION_TEXTS, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank, Within
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import names_files
from mauve_core.experiments.encoders.positions import (
    ATTACHMENT,
    PositionTable,
    positions_run,
    stored_positions,
)
from mauve_core.experiments.encoders.request import parse_encoder, usual_encoders, with_absolute_path
from mauve_core.runs import Run
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class PositionsTask(RunTask):
    """Encoders on the human texts of a stored run.

    Attributes
    ----------
    encoders : tuple of str or None
        In the format of :func:`mauve_core.experiments.encoders.request.parse_encoder`; None takes those of a stored table, or
        those that are on this machine. The run's own encoder is always among them.
    texts : int
        Human texts to read.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "positions"
    titled: ClassVar[str] = "where encoders look on"
    kept: ClassVar[str] = "features already computed"
    attachment: ClassVar[str] = ATTACHMENT

    encoders: tuple[NotBlank, ...] | None = None
    texts: Annotated[int, Within(2 * MIN_TEXTS, 1_000_000)] = POSITION_TEXTS
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoders is not None and len({parse_encoder(spec) for spec in self.encoders}) < len(self.encoders):
            received = ", ".join(self.encoders)
            raise InputError("The encoders cannot be used", allowed="no duplicates", received=received)

    def absolute(self) -> Self:
        encoders = None if self.encoders is None else tuple(with_absolute_path(spec) for spec in self.encoders)
        return dataclasses.replace(super().absolute(), encoders=encoders)

    def compute(self, progress: Progress = silent) -> PositionTable:
        """Shuffle the beginning and the end of the texts under every encoder, and keep the table."""
        run = self.load()
        found = positions_run(run, self._encoders(run), texts=self.texts, device=self.device, progress=progress)
        return self.keep(run, ATTACHMENT, found, progress)

    def _answer(self, run: Run) -> PositionTable | None:
        """The stored table, if it has every encoder on as many texts; of more, those that are asked for."""
        table, own = stored_positions(run), run.comparison.config.encoder
        asked = self._encoders(run) if self.encoders or table is None else [each.encoder for each in table.results]
        others = [each for each in asked if each != own]
        known = {} if table is None else {each.encoder: each for each in table.results}
        if table is None or own is None or not known.keys() >= {own, *others}:
            return None
        texts = min(self.texts, run.comparison.human.n) // 2 * 2
        if table.settings.get("human_texts") != texts or any(names_files(each.model) for each in others):
            return None
        if len(known) == 1 + len(others):
            return table
        return dataclasses.replace(table, results=tuple(known[each] for each in (own, *others)), notes=())

    def _encoders(self, run: Run) -> list[EncoderConfig]:
        specs = usual_encoders() if self.encoders is None else self.encoders
        return list(dict.fromkeys(parse_encoder(spec, run.comparison.config.encoder) for spec in specs))
