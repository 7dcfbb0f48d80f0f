"""python -m pipeprobe.exec [OPTIONS --] train.py ARGUMENTS: `pipeprobe exec OPTIONS -- python train.py ARGUMENTS`, for launchers
that start Python themselves: torchrun -m pipeprobe.exec train.py. Of several ranks each records into a file of its own,
as `pipeprobe exec` names it. Within a recording only the script is run."""

import os
import subprocess
import sys
from typing import List, Tuple

from ._program import Error, become, program

_USAGE = "usage: python -m pipeprobe.exec [OPTIONS of pipeprobe exec --] SCRIPT|-m MODULE [ARGUMENTS]"


def split(arguments: List[str]) -> Tuple[List[str], List[str]]:
    """Our options, and what Python is to run."""
    if arguments and (not arguments[0].startswith("-") or arguments[0] == "-m"):
        return [], arguments
    if "--" not in arguments or arguments[-1] == "--":
        raise Error(_USAGE)
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def interpreter() -> List[str]:
    flags: List[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    if getattr(sys.stdout, "write_through", False):
        flags.append("-u")
    return [sys.executable] + flags


def main() -> None:
    try:
        options, script = split(sys.argv[1:])
        if os.path.isdir(os.environ.get("PIPEPROBE_SESSION", "")):
            become(sys.executable, interpreter() + script)
        become(program(), ["pipeprobe", "exec"] + options + ["--"] + interpreter() + script)
    except (Error, OSError) as e:
        sys.stderr.write("pipeprobe.exec: %s\n" % e)
        sys.exit(125)


if __name__ == "__main__":
    main()
