"""API keys: from the environment alone, and only for the server that they are meant for.

``OPENAI_API_KEY`` goes to OpenAI's own address alone, so that no other server named in a command gets to know it.
``MAUVE_LENS_API_KEY`` goes to whatever server a person names.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from mauve_core.base.errors import InputError

OWN_VARIABLE, OPENAI_VARIABLE = "MAUVE_LENS_API_KEY", "OPENAI_API_KEY"
OPENAI_HOST = "api.openai.com"


def key_for(url: str) -> str | None:
    """Return the key for the server at ``url``, or None.

    Raises
    ------
    InputError
        The key holds a blank or something other than ASCII; the message names the variable alone.
    """
    parts = urlsplit(url)
    own = os.environ.get(OWN_VARIABLE, "").strip()
    is_openai = parts.scheme == "https" and parts.hostname == OPENAI_HOST
    variable = OPENAI_VARIABLE if is_openai and not own else OWN_VARIABLE
    key = os.environ.get(variable, "").strip() if variable == OPENAI_VARIABLE else own
    if not all("!" <= character <= "~" for character in key):
        raise InputError(f"The key in {variable} cannot be used", allowed="ASCII characters without blanks")
    return key or None
