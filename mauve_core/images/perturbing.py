"""Perturbations of images by name, and a corpus of images perturbed.

Nothing is written: a perturbed corpus says what becomes of its originals, which are changed as they are encoded or
drawn. What is random depends on the seed, the perturbation and the digest of the image alone, so equal images get equal
noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
from PIL import Image, ImageChops

from mauve_core.base.progress import Progress, silent
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.kinds import PerturbedCorpus
from mauve_core.corpus.perturbations.applying import about_unchanged, chosen_items, random_stream
from mauve_core.corpus.perturbations.perturbation import (
    NONE,
    Change,
    Parameter,
    Perturbation,
    PerturbationKind,
    require_of,
)
from mauve_core.images import changes
from mauve_core.images.originals import digests_of, original
from mauve_core.images.tables import place_of
from mauve_core.images.thumbnails import thumbnail

# Part of the keys of features; raise it when the same perturbation gives other pixels.
FORMAT = 1

ITEMS = "images"

# Images that are changed at once.
THREADS = 4

# Of perturbed images that wait to be encoded: 52 photos of 640 by 480 pixels. Larger ones are made again.
KEPT_BYTES, LARGEST_KEPT = 2**26, 2**22

_SHARE = "a share of the image's {} above 0 and below 1"


def _kind(
    name: str, title: str, summary: str, unchanged: str, change: Change[Image.Image], parameter: Parameter | None = None
) -> PerturbationKind[Image.Image]:
    """A perturbation of images, whose parameter, if any, follows its name."""
    parameters = () if parameter is None else (parameter,)
    inline = parameter is not None
    return PerturbationKind(name, title, summary, unchanged, parameters, change, inline=inline, items=ITEMS)


# By name.
PERTURBATIONS: dict[str, PerturbationKind[Image.Image]] = {
    kind.name: kind
    for kind in (
        NONE,
        _kind(
            "jpeg",
            "JPEG",
            "Stored as a JPEG of that quality.",
            "of one color, or stored so before",
            changes.jpeg,
            Parameter("quality", None, int, "a whole number from 1 to 100", lambda q: 1 <= q <= 100, "quality {:g}"),
        ),
        _kind(
            "blur",
            "Blurred",
            "Blurred by a Gaussian of that standard deviation in pixels.",
            "of one color",
            changes.blur,
            Parameter(
                "sigma",
                None,
                float,
                "a standard deviation above 0, up to 100 pixels",
                lambda sigma: 0 < sigma <= 100,
                "{:g} pixels",
            ),
        ),
        _kind(
            "noise",
            "Noise",
            "Normal noise of that standard deviation on each color, which goes from 0 to 255.",
            "whose noise is rounded off",
            changes.noise,
            Parameter(
                "sigma",
                None,
                float,
                "a standard deviation above 0, up to 255 levels",
                lambda sigma: 0 < sigma <= 255,
                "{:g} of 255 levels",
            ),
        ),
        *(
            _kind(
                f"resize-{name}",
                f"Resized, {name}",
                f"Shrunk to half the width and height, and enlarged again ({name}).",
                "without detail to lose",
                changes.resized(filtered),
            )
            for name, filtered in (
                ("nearest", Image.Resampling.NEAREST),
                ("bilinear", Image.Resampling.BILINEAR),
                ("bicubic", Image.Resampling.BICUBIC),
                ("lanczos", Image.Resampling.LANCZOS),
            )
        ),
        _kind(
            "crop",
            "Cropped",
            "The middle, with that share of the width and height.",
            "too small to lose a pixel",
            changes.crop,
            Parameter(
                "share",
                None,
                float,
                _SHARE.format("width and height"),
                lambda share: 0 < share < 1,
                "{:.4g} of each side kept",
            ),
        ),
        _kind("gray", "Gray", "Without colors.", "without color", changes.gray),
        _kind("flip", "Flipped", "Left and right exchanged.", "that are symmetric", changes.flip),
        _kind(
            "hue",
            "Hue turned",
            "Every hue turned by that many degrees on the color wheel.",
            "without color",
            changes.hue,
            Parameter(
                "degrees",
                None,
                float,
                "degrees above 0 and below 360",
                lambda degrees: 0 < degrees < 360,
                "{:g}°",
            ),
        ),
        _kind(
            "occlude",
            "Occluded",
            "A gray square at a random place, with that share of the shorter side.",
            "that are gray there",
            changes.occlude,
            Parameter(
                "share",
                None,
                float,
                _SHARE.format("shorter side"),
                lambda share: 0 < share < 1,
                "{:.4g} of the shorter side",
            ),
        ),
    )
}

# What is probed if nothing is named.
PROBES = ("jpeg-30", "blur-3", "noise-25", "resize-bilinear", "gray", "flip")


@dataclass(frozen=True)
class Alteration:
    """A perturbation of each image of a corpus, whatever its dose; see :class:`mauve_core.corpus.media.Alteration`.

    Attributes
    ----------
    perturbation : Perturbation
    seed : int
    """

    perturbation: Perturbation
    seed: int
    # Perturbed images by their digest, which nobody has to decode and change again.
    kept: dict[str, Image.Image] = field(default_factory=dict, compare=False, repr=False)

    @property
    def key(self) -> str:
        whole = replace(self.perturbation, dose=1.0)
        return f"perturbed {FORMAT} {whole.spec} {self.seed}"

    def made(self, digest: str) -> Image.Image | None:
        """Return the image of that digest after the perturbation, if it is at hand."""
        return self.kept.get(digest)

    def __call__(self, image: Image.Image, digest: str) -> Image.Image:
        change: Change[Image.Image] | None = self.perturbation.kind.change
        if change is None:
            return image
        return change(image, self.perturbation.values, random_stream(self.seed, self.perturbation, digest))


def perturb(corpus: Corpus, perturbation: Perturbation, *, seed: int, progress: Progress = silent) -> PerturbedCorpus:
    """Perturb the images of a corpus; each selected one is read once to see whether it changes.

    What changes is kept up to :data:`KEPT_BYTES` for who encodes it next; the rest is decoded again then.

    Parameters
    ----------
    seed : int
        At least 0.
    progress : callable
        Called for every selected image.

    Raises
    ------
    InputError
        These are no images or the perturbation changes none; or the original of an image has gone or changed.
    """
    require_of(ITEMS, perturbation, PERTURBATIONS)
    digests = digests_of(corpus)
    chosen = np.flatnonzero(chosen_items(corpus.ids, perturbation, seed))
    changed = np.zeros(len(corpus), dtype=np.bool_)
    alteration = Alteration(perturbation, seed)
    if chosen.size:
        place, room = place_of(corpus), _Room(alteration.kept)

        def changes_it(index: int) -> bool:
            with original(place, corpus.ids[index], digests[index]) as image:
                after = alteration(image, digests[index])
                changes = not _are_equal(image, after)
                if changes:
                    room.keep(digests[index], after)
                return changes

        changed[chosen] = _in_threads(changes_it, chosen.tolist(), f"Perturbing: {perturbation.kind.title}", progress)
    note = about_unchanged(perturbation, chosen.size, int(chosen.size - changed.sum()))
    altered = replace(corpus, media=None if corpus.media is None else replace(corpus.media, alteration=alteration))
    return PerturbedCorpus(altered, changed, (note,) if note else ())


def _are_equal(image: Image.Image, other: Image.Image) -> bool:
    return image.size == other.size and ImageChops.difference(image, other).getbbox() is None


class _Room:
    """Keeps images until they take :data:`KEPT_BYTES`; several threads may call."""

    def __init__(self, kept: dict[str, Image.Image]) -> None:
        self._kept, self._bytes, self._lock = kept, 0, Lock()

    def keep(self, digest: str, image: Image.Image) -> None:
        size = 4 * image.width * image.height  # as Pillow keeps RGB
        with self._lock:
            if digest not in self._kept and size <= LARGEST_KEPT and self._bytes + size <= KEPT_BYTES:
                self._kept[digest] = image
                self._bytes += size


def perturbed_picture(corpus: Corpus, index: int, perturbation: Perturbation, seed: int, side: int) -> bytes:
    """Return one image of a corpus after a perturbation, as it is encoded, in WebP; the dose does not count.

    Errors as :func:`perturb`; also if the original is in a data set of the hub, because pages ask no other machine.
    """
    require_of(ITEMS, perturbation, PERTURBATIONS)
    digest = digests_of(corpus)[index]
    with original(place_of(corpus, local=True), corpus.ids[index], digest) as image:
        return thumbnail(Alteration(perturbation, seed)(image, digest), side)


def _in_threads(found: Callable[[int], bool], indices: Sequence[int], stage: str, progress: Progress) -> list[bool]:
    """Call a function for each index, several at once; an error or a cancellation leaves the rest undone."""
    pool, results = ThreadPoolExecutor(THREADS), list[bool]()
    try:
        for done, result in enumerate(pool.map(found, indices)):
            progress(stage, done, len(indices))
            results.append(result)
    finally:
        pool.shutdown(cancel_futures=True)
    progress(stage, len(indices), len(indices))
    return results
