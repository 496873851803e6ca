"""Settings that keep git from running anything that a repository names. Given to every git that reads a
repository, and to programs that start git themselves.

A repository's settings can name programs: filters for each file that is read, a monitor of files, hooks,
pagers, transports. All that have a fixed name are overruled. Filters have names of their own, so git is
asked first which there are, wherever they are set (also in files that the settings include). They are
overruled by variables and not by `-c`, which cannot tell a `=` in a name from its end. An empty program is
none.

What follows from it: a file that a filter would change on its way in (as Git LFS does) counts as changed when
its time has changed, though its bytes have not. The settings of submodules are not reached from here, so that
nobody may be asked about the inside of one.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from moot.processes import find_program

_FIXED = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    # A folder of the repository that looks like a repository has settings, too.
    "safe.bareRepository": "explicit",
}
_OF_A_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}
_SECONDS = 20


def harmless(root: Path, env: Mapping[str, str], git: str) -> dict[str, str]:
    """Variables for a git that looks at this repository. `env` is the environment of that git."""
    fixed = as_variables(_FIXED)
    listed = subprocess.run(
        [git, "-C", str(root), "config", "-z", "--name-only", "--get-regexp", r"^filter\."],
        env={**env, **fixed},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_SECONDS,
    )
    keys = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
    drivers = dict.fromkeys(key.rpartition(".")[0] for key in keys if key.count(".") > 1)
    filters = {f"{driver}.{way}": value for driver in drivers for way, value in _OF_A_FILTER.items()}
    return as_variables({**_FIXED, **filters})


def with_harmless_git(env: Mapping[str, str], root: Path) -> dict[str, str]:
    """The environment, for a program that asks git about a repository by itself."""
    program = find_program("git", env)
    return {**env, **(harmless(root, env, program) if program else as_variables(_FIXED))}


def as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    variables = {
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for number, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
