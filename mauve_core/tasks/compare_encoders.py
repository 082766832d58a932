"""Compare encoders on a stored run, and keep a table of their scores beside it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.validation import NotBlank
from mauve_core.experiments.encoders import EncoderTable, encoders_run, parse_encoder, usual_encoders
from mauve_core.experiments.encoders.request import with_absolute_path
from mauve_core.experiments.encoders.table import ATTACHMENT
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class CompareEncodersTask(RunTask):
    """Encoders on a stored run.

    Attributes
    ----------
    encoders : tuple of str or None
        In the format of :func:`mauve_core.experiments.encoders.parse_encoder`; None takes those that are on this
        machine. The run's own encoder is always compared.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "encoders"
    titled: ClassVar[str] = "encoders on"
    kept: ClassVar[str] = "texts already encoded"

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
        own = run.comparison.config.encoder
        specs = usual_encoders() if self.encoders is None else self.encoders
        encoders = dict.fromkeys(parse_encoder(spec, own) for spec in specs)
        return self.keep(ATTACHMENT, encoders_run(run, list(encoders), device=self.device, progress=progress), progress)
