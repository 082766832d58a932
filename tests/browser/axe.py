"""axe-core, the accessibility checker: one pinned version from npm, checked by its digest, kept in .cache/.

``python -m tests.browser.axe`` fetches it; ``violations`` asks it about an open page.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

VERSION = "4.14.1"
# Of the package as npm serves it: ``npm view axe-core@VERSION dist.integrity``.
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="

SCRIPT = Path(__file__).resolve().parents[2] / ".cache" / f"axe-core-{VERSION}.min.js"
NO_AXE = "axe-core is not here and npm could not fetch it"
# For page_chrome.js, which follows what is drawn.
PAUSE_MS = 500

SEVERE = ("serious", "critical")

_HELPED = """() => document.querySelector('.st-key-face')
    && !document.querySelector('[data-testid="stSidebarNavItems"] li:not([role])')"""

_RUN = """async only => {
    const rules = only.length ? {runOnly: {type: 'rule', values: only}} : {};
    const {violations} = await axe.run(document, {resultTypes: ['violations'], iframes: false, ...rules});
    return violations.map(({id, impact, nodes}) => ({id, impact, nodes: nodes.map(node => ({
        target: node.target.flat().join(' '), html: node.html, says: node.failureSummary}))}));
}"""


@dataclass(frozen=True)
class Violation:
    """One element that breaks one rule.

    Attributes
    ----------
    rule, impact : str
        As axe names them.
    target : str
        Selector of the element.
    html, says : str
        Its beginning, and what is wrong.
    """

    rule: str
    impact: str
    target: str
    html: str
    says: str

    def __str__(self) -> str:
        return f"{self.rule} ({self.impact}) at {self.target}: {self.html[:200]}\n    {self.says}"


def fetch() -> Path:
    """The script, from the cache or from npm.

    Raises
    ------
    OSError, subprocess.SubprocessError
        npm is not there or did not answer.
    ValueError
        What came is not the pinned package.
    """
    if SCRIPT.is_file():
        return SCRIPT
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", f"axe-core@{VERSION}", "--pack-destination", folder, "--silent"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        (archive,) = Path(folder).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != SHA512:
            raise ValueError(f"axe-core {VERSION} has the digest {found}, not {SHA512}")
        with tarfile.open(archive) as package:
            member = package.extractfile("package/axe.min.js")
            if member is None:
                raise ValueError("the package holds no axe.min.js")
            SCRIPT.parent.mkdir(exist_ok=True)
            beside = SCRIPT.with_suffix(".part")
            beside.write_bytes(member.read())
            beside.replace(SCRIPT)
    return SCRIPT


def script_or_skip() -> Path:
    """The script; without it the test is skipped, in CI it fails."""
    try:
        return fetch()
    except (OSError, subprocess.SubprocessError) as error:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{NO_AXE}: {error}")
        pytest.skip(f"{NO_AXE}: {error}")


def violations(page: Page, *rules: str) -> list[Violation]:
    """What axe finds serious or critical on the page, an entry for each element; by all rules unless some are named."""
    page.wait_for_function(_HELPED)
    page.wait_for_timeout(PAUSE_MS)
    page.evaluate(script_or_skip().read_text())
    found: list[dict[str, Any]] = page.evaluate(_RUN, list(rules))
    return [
        Violation(rule["id"], rule["impact"], node["target"], node["html"], node["says"])
        for rule in found
        if rule["impact"] in SEVERE
        for node in rule["nodes"]
    ]


if __name__ == "__main__":
    fetch()
