"""Compare encoders on a stored run, and keep a table of their scores beside it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import names_files
from mauve_core.experiments.encoders.evaluation import encoders_run
from mauve_core.experiments.encoders.request import parse_encoder, usual_encoders, with_absolute_path
from mauve_core.experiments.encoders.table import ATTACHMENT, EncoderTable, stored_encoders
from mauve_core.runs import Run
from mauve_core.tasks.base import RunTask
from mauve_core.texts.kinds import kind_of


@dataclass(frozen=True)
class CompareEncodersTask(RunTask):
    """Encoders on a stored run.

    Attributes
    ----------
    encoders : tuple of str or None
        In the format of :func:`mauve_core.experiments.encoders.request.parse_encoder`; None takes those that are on this
        machine. The run's own encoder is always compared.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "encoders"
    titled: ClassVar[str] = "encoders on"
    attachment: ClassVar[str] = ATTACHMENT
    kept: ClassVar[str] = "features already computed"

    encoders: tuple[NotBlank, ...] | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoders is not None and len({parse_encoder(spec) for spec in self.encoders}) < len(self.encoders):
            received = ", ".join(self.encoders)
            raise InputError("The encoders cannot be used", allowed="no duplicates", received=received)

    def absolute(self) -> Self:
        encoders = None if self.encoders is None else tuple(with_absolute_path(spec) for spec in self.encoders)
        return dataclasses.replace(super().absolute(), encoders=encoders)

    def compute(self, progress: Progress = silent) -> EncoderTable:
        """Score the run's candidates under every encoder and keep the table."""
        run = self.load()
        found = encoders_run(run, self._encoders(run), device=self.device, progress=progress)
        return self.keep(run, ATTACHMENT, found, progress)

    def _answer(self, run: Run) -> EncoderTable | None:
        """The stored table, if it has every encoder; of more, those that are asked for.

        Encoders from files are always compared: the files may have changed.
        """
        table = stored_encoders(run)
        own, encoders = run.comparison.config.encoder, self._encoders(run)
        wanted = [own, *(each for each in encoders if each != own)]
        known = {} if table is None else {each.encoder: each for each in table.results}
        from_files = any(names_files(each.model) for each in wanted[1:] if each is not None)
        if table is None or len(wanted) == 1 or not known.keys() >= set(wanted) or from_files:
            return None
        if len(wanted) == len(known):
            return table
        return dataclasses.replace(table, results=tuple(known[each] for each in wanted), notes=())

    def _encoders(self, run: Run) -> list[EncoderConfig]:
        specs = usual_encoders(kind_of(run.comparison.human.kind)) if self.encoders is None else self.encoders
        return list(dict.fromkeys(parse_encoder(spec, run.comparison.config.encoder) for spec in specs))
