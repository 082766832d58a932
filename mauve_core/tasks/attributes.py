"""Judge what the clusters of a stored run capture of its columns, and keep the table beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

from mauve_core.base.config import ATTRIBUTE_SPLITS as SPLITS
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank, Within
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.attributes_over_k.held_out import attributes_run
from mauve_core.experiments.attributes_over_k.other_clusters import OtherTexts, encoded_texts, texts_of_run
from mauve_core.experiments.attributes_over_k.table import ATTACHMENT, AttributeTable
from mauve_core.runs import Run, RunStore
from mauve_core.tasks.base import RunTask, Splits
from mauve_core.texts.text_files import TextFile


@dataclass(frozen=True)
class AttributesTask(RunTask):
    """What a stored run's clusters capture; the other fields are parameters of ``attributes_over_k.attributes_run``.

    Attributes
    ----------
    other_run : str or None
        Id of a stored run; its human texts give other clusters.
    other_file : TextFile or None
        The same of a file, whose texts are encoded as the run's are.
    device : str
        For encoding the file: ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "attributes"
    titled: ClassVar[str] = "attributes of"

    columns: tuple[str, ...] | None = None
    ks: tuple[Annotated[int, Within(2)], ...] | None = None
    source: NotBlank = HUMAN
    candidate: NotBlank | None = None
    splits: Splits = SPLITS
    other_run: NotBlank | None = None
    other_file: TextFile | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            received = ", ".join(self.columns)
            raise InputError("The columns cannot be used", allowed="no duplicates", received=received)
        if self.ks == ():
            raise InputError("No number of clusters is given", allowed="one or more, or None for the default ones")
        if self.other_run is not None and self.other_file is not None:
            raise InputError("Other clusters come from one corpus", allowed="a run or a file, not both")
        if self.other_file is not None and self.other_file.features is not None:
            raise InputError("The texts of the other corpus are encoded as the run's are", allowed="no features")

    def compute(self, progress: Progress = silent) -> AttributeTable:
        """Judge the run's clusters and keep the table."""
        run = self.load()
        others = self._others(run, progress)
        table = attributes_run(
            run,
            self.ks,
            self.columns,
            source=self.source,
            candidate=self.candidate,
            splits=self.splits,
            others=others,
            progress=progress,
        )
        if others is not None and self.other_file is not None:
            table = replace(table, notes=(*(f"{others.title}: {note}" for note in others.corpus.notes), *table.notes))
        return self.keep(run, ATTACHMENT, table, progress)

    def _others(self, run: Run, progress: Progress) -> OtherTexts | None:
        if self.other_run is not None:
            return texts_of_run(run, RunStore().load(self.other_run))
        if self.other_file is None:
            return None
        path = Path(self.other_file.path)
        corpus = self.other_file.read(path.name)
        return encoded_texts(run, corpus, path.name, device=self.device, progress=progress)
