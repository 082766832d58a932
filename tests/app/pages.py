"""What a page says, and where its link leads."""

from __future__ import annotations

import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

MAIN = Path(__file__).resolve().parents[2] / "app/mauve_app/main.py"
# Names of the pages, which are those of their files, in the order of the navigation.
PAGES = tuple(re.findall(r'st\.Page\("views/(\w+)\.py"', MAIN.read_text(encoding="utf-8")))


def url_of(app: AppTest) -> dict[str, str]:
    """The query string; AppTest gives a value as it was set, a text or a list of one."""
    return {name: value if isinstance(value, str) else value[0] for name, value in dict(app.query_params).items()}


def said(app: AppTest) -> str:
    """Everything that the page says outside of its tables, without escapes."""
    kinds = (app.header, app.markdown, app.caption, app.info, app.warning, app.success, app.error, app.text)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")
