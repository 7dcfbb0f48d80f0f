"""python -m pipeprobe, and the console script: the program itself."""

import sys

from ._program import Error, become, program


def main() -> None:
    try:
        become(program(), ["pipeprobe"] + sys.argv[1:])
    except (Error, OSError) as e:
        sys.stderr.write("pipeprobe: %s\n" % e)
        sys.exit(125)


if __name__ == "__main__":
    main()
