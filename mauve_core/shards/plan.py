"""What a comparison over shards is to do, and the folder where its passes leave their results.

The folder must be visible under one path to every machine that works on it. It belongs to one plan: the same shards
under the same settings, so that finished tasks of another comparison are never taken for its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import read_stored, write_atomically
from mauve_core.shards.places import holds_features
from mauve_core.shards.texts import Named

FORMAT = 1
"""Raised when the same plan gives other results, so that no folder mixes two kinds."""

GROUPS = 1024
"""Groups of prompts that are drawn as wholes by the bootstrap: its standard errors are good to 1 in 45."""

SAMPLE_ROWS, SAMPLE_BYTES = 1_000_000, 2**29
"""Rows on which k-means starts, of both sides together, and the memory limit of their coordinates."""

RUN_TEXTS = 10_000
"""Texts of each side in the app, as many as a run with fine differences needs."""

StoredAs = Literal["float16", "float32"]


@dataclass(frozen=True)
class Plan:
    """A comparison over shards.

    Attributes
    ----------
    sides : mapping of str to tuple of str
        Shards of each side in their order, the human side first.
    encoder : EncoderConfig or None
        None if the shards hold features.
    score : ScoreConfig
    named : Named
        Fields of the texts.
    stored_as : {"float16", "float32"}
        Precision of features on disk. float16 halves the disk and the reading time and rounds to three digits.
    sample_rows : int
        Most rows on which k-means starts.
    run_texts : int
        Texts of each side that are kept for a run in the app.
    """

    sides: Mapping[str, tuple[str, ...]]
    encoder: EncoderConfig | None
    score: ScoreConfig = field(default_factory=ScoreConfig)
    named: Named = field(default_factory=Named)
    stored_as: StoredAs = "float32"
    sample_rows: int = SAMPLE_ROWS
    run_texts: int = RUN_TEXTS

    def __post_init__(self) -> None:
        if HUMAN not in self.sides or len(self.sides) < 2:
            raise InputError("There is nothing to compare", allowed=f"{HUMAN!r} and at least one candidate")
        kinds = {holds_features(shards[0]) for shards in self.sides.values()}
        if len(kinds) > 1:
            raise InputError("Sides of texts and sides of features cannot be compared", allowed="one kind of shards")
        if self.encoder is not None and self.encoder.dtype == "auto":
            raise InputError(
                "The precision auto may become another one on each machine",
                allowed="float32, tf32, bfloat16 or float16",
                todo="Name one: --dtype bfloat16",
            )
        if (self.encoder is None) != kinds.pop():
            what = "texts, which need an encoder" if self.encoder is None else "features, which need no encoder"
            raise InputError(f"The shards hold {what}")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates in their order."""
        return tuple(name for name in self.sides if name != HUMAN)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of all sides, the human side first."""
        return (HUMAN, *self.candidates)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "format": FORMAT,
            "sides": {name: list(self.sides[name]) for name in self.sources},
            "encoder": None if self.encoder is None else self.encoder.as_dict(),
            "score": self.score.as_dict(),
            "fields": asdict(self.named),
            "stored_as": self.stored_as,
            "sample_rows": self.sample_rows,
            "run_texts": self.run_texts,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """Return the plan that :meth:`as_dict` wrote."""
        if values.get("format") != FORMAT:
            raise InputError("The work folder is of another version", allowed=f"format {FORMAT}")
        return cls(
            sides={name: tuple(shards) for name, shards in values["sides"].items()},
            encoder=None if values["encoder"] is None else EncoderConfig.from_dict(values["encoder"]),
            score=ScoreConfig.from_dict(values["score"]),
            named=Named(**values["fields"]),
            stored_as=values["stored_as"],
            sample_rows=values["sample_rows"],
            run_texts=values["run_texts"],
        )

    def digest(self) -> str:
        """SHA-256 of the plan."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()


class Work:
    """The folder of a plan.

    Parameters
    ----------
    folder : Path
    plan : Plan
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> Work:
        """Take a new folder, or go on in that of the same plan.

        Raises
        ------
        InputError
            The folder belongs to another plan, or holds other things.
        """
        folder = folder.absolute()
        path = folder / "plan.json"
        if path.exists():
            before = cls.open(folder).plan
            if before.digest() != plan.digest():
                different = [key for key, value in plan.as_dict().items() if before.as_dict()[key] != value]
                raise InputError(
                    f"The folder {folder} belongs to another comparison",
                    allowed="the same shards and settings",
                    received=f"other {', '.join(different)}",
                    todo="Name another folder, or remove this one",
                )
        elif folder.exists() and any(folder.iterdir()):
            raise InputError(f"The folder {folder} holds other things", allowed="a new or empty folder")
        else:
            content = json.dumps(plan.as_dict(), indent=1).encode()
            write_atomically(path, lambda stream: stream.write(content))
        return cls(folder, plan)

    @classmethod
    def open(cls, folder: Path) -> Work:
        """Open the folder of a plan; InputError if it is none."""
        path = folder.absolute() / "plan.json"
        if not path.is_file():
            raise InputError(
                f"{folder} is not the folder of a comparison over shards", allowed="a folder with plan.json"
            )
        try:
            plan = Plan.from_dict(json.loads(read_stored(path)))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"The plan in {path} is damaged", todo="Remove the folder and start again") from error
        return cls(folder.absolute(), plan)

    def number(self, source: str) -> int:
        """The place of a side, which stands for its name in paths."""
        return self.plan.sources.index(source)

    def path(self, *parts: str | int) -> Path:
        """A place in the folder; numbers get five digits, so that names sort as numbers do."""
        return self.folder.joinpath(*(f"{part:05}" if isinstance(part, int) else part for part in parts))

    def arrays(self, path: Path) -> dict[str, Any]:
        """Read the arrays of a finished task."""
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write the arrays of a finished task, all or none."""
    write_atomically(path, lambda stream: np.savez(stream, allow_pickle=False, **arrays))
