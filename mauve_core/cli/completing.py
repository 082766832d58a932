"""``mauve-lens completion``: a script with which a shell completes commands, options and their values.

The script holds all of them, so that the shell starts no Python when the Tab key is pressed; it is written anew after
an update. shtab writes it from the parsers.
"""

from __future__ import annotations

import argparse

from mauve_core.base.extras import require
from mauve_core.cli.options import write

SHELLS = ("bash", "zsh", "fish")


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "completion",
        description="Bash: mauve-lens completion bash > ~/.local/share/bash-completion/completions/mauve-lens. "
        "Zsh: mauve-lens completion zsh > FOLDER/_mauve-lens, with a folder of $fpath. "
        "Fish: mauve-lens completion fish > ~/.config/fish/completions/mauve-lens.fish.",
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    require("shtab")
    import shtab

    from mauve_core.__main__ import build_parser  # which lists this command

    write(shtab.complete(build_parser(), args.shell).rstrip("\n"))
    return 0
