"""Perturbations of images by name, and a corpus of images perturbed.

Nothing is written: a perturbed corpus says what becomes of its originals, which are changed as they are encoded or
drawn. What is random depends on the seed, the perturbation and the digest of the image alone, so equal images get equal
noise. Sizes are in pixels of the original: on a large photo, a blur of 3 pixels is gone once an encoder has shrunk it.
Colors are changed a few rows at a time, so that an image takes little more memory than it has.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageFilter

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.images.decoding import strips, thumbnail
from mauve_core.images.files import digests_of, original
from mauve_core.images.tables import place_of
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.kinds import PerturbedCorpus
from mauve_core.texts.perturbations import (
    NONE,
    Change,
    Parameter,
    Perturbation,
    PerturbationKind,
    Values,
    about_unchanged,
    chosen_items,
    random_stream,
    require_of,
)

# What an occluded part shows.
MIDDLE_GRAY = (128, 128, 128)

# Pixels of a side that libjpeg writes at most.
_WIDEST_JPEG = 65_500


def jpeg(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Write as JPEG with 4:2:0 chroma subsampling, and read again.

    InputError if a side has more pixels than the format takes.
    """
    if max(image.size) > _WIDEST_JPEG:
        raise InputError(
            "An image is too long for JPEG",
            allowed=f"at most {_WIDEST_JPEG:,} pixels a side",
            received=f"{image.width:,} x {image.height:,}",
            todo="Leave this perturbation out",
        )
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=int(values["quality"]), subsampling="4:2:0")
    with Image.open(stream, formats=("JPEG",)) as written:
        return written.convert("RGB")


def blur(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Blur with a Gaussian, which Pillow approximates by three box filters."""
    return image.filter(ImageFilter.GaussianBlur(float(values["sigma"])))


def noise(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:
    """Add normal noise, independent for each pixel and color, and clip."""
    sigma = np.float32(values["sigma"])

    def noisy(colors: NDArray[np.float32]) -> NDArray[np.float32]:
        return colors + sigma * rng.standard_normal(colors.shape, dtype=np.float32)

    return _recolored(image, noisy)


def resized(filtered: Image.Resampling) -> Callable[[Image.Image, Values, np.random.Generator], Image.Image]:
    """Return the change that shrinks an image to half its width and height and enlarges it again with that filter."""

    def resize(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
        half = max(1, round(image.width / 2)), max(1, round(image.height / 2))
        return image.resize(half, filtered).resize(image.size, filtered)

    return resize


def crop(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Keep the middle: that share of the width and of the height."""
    width, height = (max(1, round(float(values["share"]) * side)) for side in image.size)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def gray(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Take the colors away and keep the brightness (ITU-R BT.601)."""
    return image.convert("L").convert("RGB")


def flip(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Mirror left and right."""
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def hue(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Turn every hue on the color wheel (HSV); saturation and value, so the largest and smallest color, stay."""
    turn = float(values["degrees"]) / 60

    def turned(colors: NDArray[np.float32]) -> NDArray[np.float32]:
        largest = colors.max(axis=-1)
        chroma = largest - colors.min(axis=-1)
        sixth = _sixths(colors, largest, chroma) + turn
        # How far red, green and blue are below the largest color, as a function of the hue.
        places = ((start + sixth) % 6 for start in (5, 3, 1))
        below = [np.clip(np.minimum(place, 4 - place), 0, 1) for place in places]
        return np.asarray(largest[..., None] - chroma[..., None] * np.stack(below, axis=-1))

    return _recolored(image, turned)


def occlude(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:
    """Cover a square at a random place with gray; its side is that share of the image's shorter side."""
    side = max(1, round(float(values["share"]) * min(image.size)))
    left, top = (int(rng.integers(length - side + 1)) for length in image.size)
    covered = image.copy()
    covered.paste(MIDDLE_GRAY, (left, top, left + side, top + side))
    return covered


def _sixths(
    colors: NDArray[np.float32], largest: NDArray[np.float32], chroma: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the hue of each pixel in sixths of the color wheel, from -1 to 5; 0 for gray ones."""
    red, green, blue = np.moveaxis(colors, -1, 0)
    divisor = np.where(chroma > 0, chroma, 1)
    by_largest = [(green - blue) / divisor, 2 + (blue - red) / divisor, 4 + (red - green) / divisor]
    return np.select([largest == red, largest == green], by_largest[:2], by_largest[2])


def _recolored(image: Image.Image, change: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> Image.Image:
    """Change the colors, from 0 to 255, of some rows after others; results are rounded and clipped."""
    changed = Image.new("RGB", image.size)
    for top, part in strips(image):
        colors = np.clip(np.rint(change(np.asarray(part, dtype=np.float32))), 0, 255)
        changed.paste(Image.fromarray(colors.astype(np.uint8)), (0, top))
    return changed


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
            jpeg,
            Parameter("quality", None, int, "a whole number from 1 to 100", lambda q: 1 <= q <= 100, "quality {:g}"),
        ),
        _kind(
            "blur",
            "Blurred",
            "Blurred by a Gaussian of that standard deviation in pixels.",
            "of one color",
            blur,
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
            noise,
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
                resized(filtered),
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
            crop,
            Parameter(
                "share",
                None,
                float,
                _SHARE.format("width and height"),
                lambda share: 0 < share < 1,
                "{:.4g} of each side kept",
            ),
        ),
        _kind("gray", "Gray", "Without colors.", "without color", gray),
        _kind("flip", "Flipped", "Left and right exchanged.", "that are symmetric", flip),
        _kind(
            "hue",
            "Hue turned",
            "Every hue turned by that many degrees on the color wheel.",
            "without color",
            hue,
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
            occlude,
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
    """A perturbation of each image of a corpus, whatever its dose; see :class:`mauve_core.texts.media.Alteration`.

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
