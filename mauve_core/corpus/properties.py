"""A property of items: a number that each item has, and the words for having more or less of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mauve_core.base.formatting import as_percent, written

# Decimals of two means that are written together.
MOST_DECIMALS = 2


@dataclass(frozen=True)
class Property:
    """Description of a property.

    Attributes
    ----------
    name, title, unit : str
    description : str
    more, less : str
        What is said of a writer whose texts have clearly more of it than others, and clearly less.
    texts_more, texts_less : str
        The same of the texts.
    counted : str
        What a mean is of, around ``{}``: ``{} words``, ``distinct-4 {} per text``.
    binary : bool
        Whether a text either has it or not.
    cluster_more, cluster_less : str
        What is said of a cluster whose items have more of it than all others, and less; as of a writer if empty.
    has : str
        What items with an amount of it do, around ``{}``: ``are {} pixels wide``; empty for texts.
    """

    name: str
    title: str
    unit: str
    description: str
    more: str
    less: str
    texts_more: str
    texts_less: str
    counted: str
    binary: bool = False
    cluster_more: str = ""
    cluster_less: str = ""
    has: str = ""

    def of_cluster(self, *, more: bool) -> str:
        """What a cluster does that has more, or less, of the property than all others: ``repeats itself``."""
        return (self.cluster_more or self.more) if more else (self.cluster_less or self.less)

    def cluster_name(self, *, more: bool) -> str:
        """The name of such a cluster: what it does, or what it is."""
        return self.of_cluster(more=more).removeprefix("is ")

    def means(self, first: float, second: float) -> str:
        """Write two means: ``distinct-4 46% per text against 95%``, with the decimals of :func:`apart`.

        Shares are percentages, lengths have their unit.
        """
        shown = apart(first, second, written if self.unit else as_percent)
        return f"{self.counted.format(shown[0])} against {shown[1]}"


def comparative(
    items: str,
    name: str,
    title: str,
    unit: str,
    description: str,
    more: str,
    less: str,
    counted: str = "",
    has: str = "",
) -> Property:
    """Return a property of items that nobody writes, whose comparatives are ``more`` and ``less``.

    Parameters
    ----------
    items : str
        "images".
    more, less : str
        "wider", "richer in contrast".
    counted : str
        As in :class:`Property`; the name before the mean if empty.
    has : str
        As in :class:`Property`; to have what is counted if empty.
    """
    makes_more, makes_less = (
        f"makes {items} {each}" if " " in each else f"makes {each} {items}" for each in (more, less)
    )
    return Property(
        name,
        title,
        unit,
        description,
        more=makes_more,
        less=makes_less,
        texts_more=f"are {more}",
        texts_less=f"are {less}",
        counted=counted or f"{name} {{}}",
        cluster_more=f"is {more}",
        cluster_less=f"is {less}",
        has=has or (f"have {counted}" if counted else f"have a {name} of {{}}"),
    )


def apart(first: float, second: float, write: Callable[[float, int], str]) -> tuple[str, str]:
    """Write two numbers without decimals, or with as many as show that they differ, at most two."""
    for decimals in range(MOST_DECIMALS + 1):
        shown = write(first, decimals), write(second, decimals)
        if shown[0] != shown[1]:
            break
    return shown
