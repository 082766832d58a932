"""Settings keep their digits in a browser, which counts in doubles."""

from __future__ import annotations

import json

from mauve_app.components.comparison_settings import exact


def test_digits_survive_a_browser() -> None:
    settings = {"seed": 2**53 + 1, "several": [-(2**60) - 1, 3], "inner": {"k": 2**53 - 1}, "on": True, "rate": 0.1}
    doubles = json.loads(json.dumps(exact(settings)), parse_int=float)
    assert doubles["seed"] == "9007199254740993"
    assert doubles["several"] == ["-1152921504606846977", 3.0]
    assert doubles["inner"] == {"k": 9007199254740991.0}
    assert (doubles["on"], doubles["rate"]) == (True, 0.1)
