"""Molecules as a kind of item: files of SMILES, one a line, and after white space a name.

A molecule's text is its SMILES in RDKit's canonical form, because ChemNet sees how a molecule is written; its id is its
name, or the number of its line. Features are those of ChemNet, as in the Fréchet ChemNet Distance (Preuer et al.,
Journal of Chemical Information and Modeling, 2018). The packages rdkit and fcd are imported when they are needed.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError, is_of_library, library_errors, words_of
from mauve_core.base.extras import MissingPackageError
from mauve_core.base.formatting import short
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.base.words import Words
from mauve_core.encoders.by_content import ContentEncoder, ItemModel
from mauve_core.encoders.catalogue import ModelIdentity, PackagedModel, identity_of_package
from mauve_core.encoders.loading import reading_weights
from mauve_core.images.decoding import thumbnail
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.entries import EMPTY, exclusions_by_reason, repeats_among
from mauve_core.texts.kinds import AvailableModel, Offer, Unperturbed, require_no_fields
from mauve_core.texts.media import SIDES, Media, Thumbnails
from mauve_core.texts.metadata import frame_of, numbers_in
from mauve_core.texts.properties import Property, comparative
from mauve_core.texts.reading import title_of
from mauve_core.texts.streams import lines_of, packing_of, spelled_out

CHEMNET, BATCH = "chemnet", 128
PACKAGE = PackagedModel("fcd", "fcd", "ChemNet_v0.13_pretrained.pt", "ChemNet", "an encoder of molecules")
RECIPE = "canonical SMILES, one-hot in 350 places; state of the last LSTM"

# Of files of molecules; one of ``mauve_core.texts.streams.PACKINGS`` may follow.
SUFFIXES = (".smi", ".smiles")

# Characters of a SMILES: ChemNet reads 350 with the end mark, and longer ones would change the others of a batch.
LONGEST, TOO_LONG = 349, "longer than 349 characters"

# Why a molecule is left out at which RDKit itself fails.
FAILED = "refused by RDKit"

# By name, in display order.
PROPERTIES: Mapping[str, Property] = {
    name: comparative("molecules", name, *rest)
    for name, *rest in (
        ("molecular weight", "Molecular weight", "Da", "Mean over isotopes.", "heavier", "lighter", "{} Da"),
        ("logP", "logP", "log10", "Octanol-water partition (Crippen).", "more lipophilic", "less lipophilic"),
        ("rings", "Rings", "rings", "Number of rings.", "richer in rings", "poorer in rings", "{} rings"),
        ("heavy atoms", "Heavy atoms", "atoms", "Atoms but hydrogen.", "larger", "smaller", "{} heavy atoms"),
        ("fraction sp3", "Fraction sp3", "", "Share of carbons in sp3.", "richer in sp3", "poorer in sp3", "{} sp3"),
        ("QED", "QED", "", "Drug-likeness (Bickerton et al. 2012).", "more drug-like", "less drug-like"),
    )
}

# Metadata column of the functional groups that a molecule has: words that name clusters.
GROUPS = "groups"

# Of the groups that are looked for.
NAMES = (
    "aldehyde amide amidine aniline azide benzene epoxide ester ether furan halogen imidazole imide ketone lactone "
    "methoxy morpholine nitrile nitro oxazole oxime phenol piperidine piperazine pyridine sulfide sulfonamide sulfone "
    "tetrazole thiazole thiophene urea"
)

RENAMED = {"piperidine": "piperdine", "piperazine": "piperzine", "sulfonamide": "sulfonamd"}
# RDKit's names of groups, where they differ, and of the properties.
DESCRIPTORS = ("MolWt", "MolLogP", "RingCount", "HeavyAtomCount", "FractionCSP3", "qed")


@dataclass(frozen=True)
class MoleculeKind(Unperturbed):
    """Molecules; see :class:`mauve_core.texts.kinds.Kind`."""

    name: str = "molecule"
    words: Words = field(default_factory=lambda: Words("molecule", "molecules", "real", "real molecules", "id"))
    model: str = CHEMNET
    offer: Offer = field(default_factory=lambda: _offer())
    suffixes: tuple[str, ...] = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)
    has_words: bool = False
    libraries: tuple[str, ...] = ("rdkit", "fcd")
    properties: Mapping[str, Property] = field(default_factory=lambda: PROPERTIES)

    def measure(self, corpus: Corpus) -> dict[str, NDArray[np.float64]]:
        return numbers_in(corpus.metadata, PROPERTIES)

    def described(self, corpus: Corpus) -> tuple[str, ...]:
        return tuple(corpus.metadata[GROUPS]) if GROUPS in corpus.metadata else ("",) * len(corpus)

    def recognizes(self, path: Path, field: str | None = None) -> bool:  # noqa: ARG002 (molecules have no fields)
        return (path.with_suffix("") if packing_of(path) else path).suffix.lower() in SUFFIXES

    def columns(self, path: Path) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def read(
        self, path: str | Path, *, name: str | None, fields: Mapping[str, Any], progress: Progress = silent
    ) -> Corpus:
        """Read all molecules that are chemically possible; the others are counted with their reasons.

        Raises
        ------
        InputError
            As :func:`mauve_core.texts.streams.lines_of`; a field was named; rdkit is not installed; names occur more
            than once; or none of the molecules can be used.
        """
        require_no_fields(path, self.words.items, fields)
        if find_spec("rdkit") is None:
            raise MissingPackageError("Molecules need the package rdkit", todo="Install it: pip install rdkit")
        thumbnails = Thumbnails()
        molecules, refused = _read_lines(lines_of(Path(path)), thumbnails, progress)
        exclusions = exclusions_by_reason(refused)
        if not molecules:
            raise InputError(f"No molecule of {path} can be used", received=str(exclusions[0]))
        ids, digests = [each.id for each in molecules], [each.digest for each in molecules]
        notes = [f"{exclusion}." for exclusion in exclusions]
        rewritten = sum(each.smiles != each.written for each in molecules)
        if rewritten:
            notes.append(f"{rewritten:,} of {len(ids):,} SMILES were rewritten in canonical form.")
        columns = {of: [each.known[of] for each in molecules] for of in (GROUPS, *PROPERTIES)}
        return Corpus(
            name=name or title_of(Path(path), SUFFIXES),
            texts=tuple(each.smiles for each in molecules),
            ids=tuple(ids),
            prompts=None,
            metadata=frame_of(columns, len(ids), typed=True),
            origin=spelled_out(path),
            notes=(*notes, *repeats_among(ids, digests, "molecules")),
            exclusions=exclusions,
            numbered=not any(each.named for each in molecules),
            kind=self.name,
            media=Media(tuple(digests), thumbnails),
        )

    def encoder(self, config: EncoderConfig, device: str) -> MoleculeEncoder:
        return MoleculeEncoder(config, device)


class MoleculeEncoder(ContentEncoder[str]):
    """ChemNet; parameters and errors as those of :class:`ContentEncoder`."""

    kind = "molecule"
    fixed = {"pooling": "auto", "dtype": "float32"}

    def identify(self) -> tuple[ModelIdentity, str]:
        return _identity(self.config.model), RECIPE

    def open(self, identity: ModelIdentity, device: str) -> ItemModel[str]:
        import fcd

        with reading_weights(identity.location):
            network = fcd.load_ref_model(identity.location)

        def fails(error: BaseException) -> ModelUnavailableError:
            return ModelUnavailableError(f"ChemNet ({identity.location}) cannot encode molecules: {words_of(error)}")

        def run(smiles: Sequence[str]) -> NDArray[np.float32]:
            with library_errors(fails), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # fcd stacks rows by an old name of NumPy's
                return np.asarray(fcd.get_predictions(network, list(smiles), BATCH, 0, device), np.float32)

        return ItemModel(lambda corpus: corpus.texts.__getitem__, run, device, BATCH)


def _identity(name: str) -> ModelIdentity:
    """Return what ChemNet is; ModelUnavailableError for another name, or if its package is not installed."""
    if name != CHEMNET:
        wrong = f"The model {name} does not encode molecules"
        raise ModelUnavailableError(wrong, allowed=CHEMNET, todo="Name it, or leave out the encoder")
    return identity_of_package(CHEMNET, PACKAGE)


def _check(name: str) -> None:
    _identity(name)


def _models() -> tuple[AvailableModel, ...]:
    return (AvailableModel(CHEMNET, PACKAGE.description, PACKAGE.locate() is not None, causal=False),)


def _offer() -> Offer:
    """ChemNet alone, in one way."""
    return Offer(_models, "", lambda _: frozenset(), fetched=lambda *_: False, check=lambda name, _: _check(name))


class Molecule(NamedTuple):
    """A usable molecule: ``id`` is its name, if it is ``named``, or the number of its line; ``smiles`` is canonical."""

    id: str
    named: bool
    written: str
    smiles: str
    digest: str
    known: dict[str, Any]


def _read_lines(
    lines: Sequence[tuple[int, str]], thumbnails: Thumbnails, progress: Progress
) -> tuple[list[Molecule], list[tuple[str, str]]]:
    """Return the usable molecules, and of each other line the reason and what names it; add a picture of each."""
    from rdkit import rdBase

    done = counted(progress, "Reading molecules", len(lines))
    molecules, refused, drawn = list[Molecule](), list[tuple[str, str]](), set[str]()
    with rdBase.BlockLogs():  # exclusions say what is wrong
        for number, line in lines:
            written, own, *_ = *line.split(maxsplit=1), "", ""
            try:
                found = _described(written, drawn)
            except BaseException as error:
                if not is_of_library(error):
                    raise
                found = FAILED
            if isinstance(found, str):
                refused.append((found, f"line {number}: {short(written)}" if written else f"line {number}"))
            else:
                smiles, digest, known, pictures = found
                molecules.append(Molecule(own.strip() or str(number), bool(own), written, smiles, digest, known))
                if pictures:
                    drawn.add(digest)
                    thumbnails.add(digest, pictures)
            done()
    return molecules, refused


def _described(written: str, drawn: Set[str]) -> tuple[str, str, dict[str, Any], tuple[bytes, ...]] | str:
    """Return the canonical SMILES, its digest, what is known and, unless drawn before, pictures; or why there is none.

    RDKit raises errors of its own, such as a RuntimeError for an element that it does not know.
    """
    parsed = _parsed(written)
    if isinstance(parsed, str):
        return parsed
    smiles, found = parsed
    digest = hashlib.sha256(smiles.encode()).hexdigest()
    return smiles, digest, _known_of(found), () if digest in drawn else _pictures(found)


def _parsed(written: str) -> tuple[str, Any] | str:
    """Return the canonical SMILES and RDKit's molecule, or why there is none."""
    from rdkit import Chem

    if not written:
        return EMPTY
    if len(written) > LONGEST:
        return TOO_LONG
    found = Chem.MolFromSmiles(written)
    if found is not None:
        smiles = Chem.MolToSmiles(found)
        return (smiles, found) if len(smiles) <= LONGEST else TOO_LONG
    raw = Chem.MolFromSmiles(written, sanitize=False)
    problems = () if raw is None else Chem.DetectChemistryProblems(raw)
    if not problems:
        return "no SMILES"
    return "impossible valence" if "Valence" in problems[0].GetType() else "impossible aromatic atoms"


def _known_of(molecule: Any) -> dict[str, Any]:
    from rdkit.Chem import Descriptors, Fragments

    numbers = (float(getattr(Descriptors, name)(molecule)) for name in DESCRIPTORS)
    groups = ", ".join(name for name in NAMES.split() if getattr(Fragments, f"fr_{RENAMED.get(name, name)}")(molecule))
    return {GROUPS: groups, **dict(zip(PROPERTIES, numbers, strict=True))}


def _pictures(molecule: Any) -> tuple[bytes, ...]:
    from rdkit.Chem.Draw.rdMolDraw2D import MolDraw2DCairo

    drawing = MolDraw2DCairo(max(SIDES), max(SIDES))
    drawing.DrawMolecule(molecule)
    drawing.FinishDrawing()
    pixels = Image.open(io.BytesIO(drawing.GetDrawingText())).convert("RGB")
    return tuple(thumbnail(pixels, side) for side in SIDES)


MOLECULE = MoleculeKind()
