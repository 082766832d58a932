"""Plain JSON read back into settings and results: what is wrong with it, said as an error of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mauve_core.base.errors import InputError


def check_entries(what: str, values: object, known: set[str], required: set[str]) -> None:
    """InputError unless ``values`` is a mapping with every required entry and no unknown one."""
    if not isinstance(values, Mapping) or not required <= set(values) <= known:
        raise InputError(
            f"This is no description of {what}",
            allowed=f"{', '.join(sorted(known))}; required: {', '.join(sorted(required))}",
            received=_shown(values),
        )


@contextmanager
def described(what: str, values: object) -> Iterator[None]:
    """Turn what goes wrong while plain JSON ``values`` are read into an InputError that says they are no ``what``."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"This is no {what}", received=_shown(values)) from error


def _shown(values: object) -> str:
    return (", ".join(map(str, values)) if isinstance(values, Mapping) else repr(values))[:200]
