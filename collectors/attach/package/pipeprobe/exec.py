"""python -m pipeprobe.exec [OPTIONS --] train.py ARGUMENTS: `pipeprobe exec OPTIONS -- python train.py ARGUMENTS`, for launchers
that start Python themselves: torchrun -m pipeprobe.exec train.py. Of several ranks each records into a file of its own:
with -o run.sqlite they are run.rank0.sqlite, run.rank1.sqlite, ... Within a recording only the script is run."""

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


def of_rank(options: List[str]) -> List[str]:
    """-o FILE becomes a file of this rank, named as `pipeprobe run --ranks` names them."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not rank.isdigit() or not world.isdigit() or int(world) < 2:
        return options
    out = list(options)
    for i, option in enumerate(out):
        if option in ("-o", "--output") and i + 1 < len(out):
            out[i + 1] = _ranked(out[i + 1], rank)
        elif option.startswith("--output="):
            out[i] = "--output=" + _ranked(option[len("--output=") :], rank)
    return out


def _ranked(path: str, rank: str) -> str:
    stem = path[: -len(".sqlite")] if path.endswith(".sqlite") else path
    return "%s.rank%s.sqlite" % (stem, rank)


def interpreter() -> List[str]:
    flags: List[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    if getattr(sys.stdout, "write_through", False):
        flags.append("-u")
    return [sys.executable] + flags


def main() -> None:
    try:
        options, script = split(sys.argv[1:])
        if os.environ.get("PIPEPROBE_SESSION"):
            become(sys.executable, interpreter() + script)
        become(program(), ["pipeprobe", "exec"] + of_rank(options) + ["--"] + interpreter() + script)
    except (Error, OSError) as e:
        sys.stderr.write("pipeprobe.exec: %s\n" % e)
        sys.exit(125)


if __name__ == "__main__":
    main()
