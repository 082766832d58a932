"""A PostgreSQL server of the tests' own: made with initdb, started with pg_ctl, reached by a socket, gone afterwards.

initdb refuses root, so as root both run as ``postgres`` or, where there is no such user, as ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

OWNER = "mauve"


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the PATH, else Debian's newest; None when PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


@contextmanager
def server(binaries: Path) -> Iterator[str]:
    """The URL of an empty database on a fresh server."""
    folder = Path(tempfile.mkdtemp(prefix="mauve-pg-", dir="/tmp"))  # short: a socket's path has at most 107 bytes
    prefix = _unprivileged(folder)
    data, log = folder / "data", folder / "log"
    try:
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        _run([*prefix, *initdb, "--locale=C.UTF-8"], folder)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=50"
        control = [*prefix, str(binaries / "pg_ctl"), "-D", str(data)]
        _run([*control, "-w", "-t", "60", "-l", str(log), "-o", options, "start"], folder)
        try:
            yield f"postgresql://{OWNER}@/postgres?host={folder}"
        finally:
            _run([*control, "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> Sequence[str]:
    """What starts a command as a user whom PostgreSQL accepts; the folder becomes that user's."""
    if os.geteuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _run(command: Sequence[str], folder: Path) -> None:
    """pg_ctl's server keeps the output open, so that it goes to a file and not to a pipe that would never end."""
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=120, check=False
        )
        output.seek(0)
        if done.returncode:
            log = folder / "log"
            said = output.read().decode(errors="replace") + (log.read_text(errors="replace") if log.exists() else "")
            raise RuntimeError(f"{' '.join(command)}: {said}")
