"""What surrounds the work: the machine, and the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from unmask.results import CompletionScript, Examined
from unmask.verbs.arguments import Location
from unmask.verbs.commands import COMMANDS, verb


@verb
def doctor(*, folder: Location = ".") -> Examined:
    """Examine this machine: what is installed, how fast it is, and what is in the way.

    Versions, cores, memory, disk, GPUs, the speed of matrix products by precision, and the extras with what they bring.
    What cannot work is said with its remedy; a library that is broken is reported, not stumbled over.

    Args:
        folder: Where the work is to be done; its disk is looked at.
    """
    from unmask.planning.examination import examine

    return examine(Path(folder))


@verb
def completion(shell: Literal["bash", "zsh", "fish"], /) -> CompletionScript:
    """Print a script that completes commands, options and their values in a shell.

    For this session: source <(unmask completion bash), source <(unmask completion zsh), or unmask completion fish |
    source. To keep it, put that line into ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.

    Args:
        shell: The shell to complete in.
    """
    from unmask.errors import BadInput
    from unmask.verbs.shells import SCRIPTS

    if shell not in SCRIPTS:
        raise BadInput(f"shell {shell!r}: there is a script for {', '.join(SCRIPTS)}")
    return CompletionScript(shell=shell, script=SCRIPTS[shell](COMMANDS))
