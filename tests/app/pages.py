"""What a page says, and where its link leads."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def url_of(app: AppTest) -> dict[str, str]:
    """The query string; AppTest gives a value as it was set, a text or a list of one."""
    return {name: value if isinstance(value, str) else value[0] for name, value in dict(app.query_params).items()}


def said(app: AppTest) -> str:
    """Everything that the page says outside of its tables, without escapes."""
    kinds = (app.header, app.markdown, app.caption, app.info, app.warning, app.success, app.error, app.text)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")
