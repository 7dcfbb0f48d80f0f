"""%%pipeprobe [FILE] [--force]: records a cell and shows its report."""

import shlex
from typing import Any, List, Optional

from ._recording import Recording


class CellFailed(Exception):
    """The cell raised an error, which was shown already; ends the cells that follow, as that error would."""

    def _render_traceback_(self) -> List[str]:
        return []


def load(ipython: Any) -> None:
    def pipeprobe(line: str, cell: str) -> None:
        """%%pipeprobe [FILE] [--force]: records the DataLoaders that the cell iterates, and shows the report."""
        path: Optional[str] = None
        force = False
        for word in shlex.split(line):
            if word in ("-f", "--force"):
                force = True
            elif path is None and not word.startswith("-"):
                path = word
            else:
                from IPython.core.error import UsageError  # type: ignore[import-not-found]

                raise UsageError("%%%%pipeprobe [FILE] [--force]: %s is neither" % word)
        recording = Recording(path, force=force)
        with recording:
            recorded = recording.active
            result = ipython.run_cell(cell)
        if recorded:
            from IPython.display import display  # type: ignore[import-not-found]

            display(recording.report())
        if not result.success:
            raise CellFailed

    ipython.register_magic_function(pipeprobe, magic_kind="cell", magic_name="pipeprobe")
