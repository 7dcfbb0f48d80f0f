"""Finds out what a PyTorch training job waits for.

    pipeprobe exec -- python train.py          in a terminal
    torchrun -m pipeprobe.exec train.py        under a launcher

    import pipeprobe                           in code or a notebook
    with pipeprobe.record("run.sqlite"):
        for batch in loader:
            train(batch)
    pipeprobe.report("run.sqlite")

    pipeprobe.autotune()                       tries settings of the DataLoader while it runs, keeps what gains

    %load_ext pipeprobe                        in Jupyter: the cell magic %%pipeprobe [FILE] [--force]
"""

from typing import Any

from ._program import Error, PipeprobeWarning
from ._recording import Recording, autotune, record
from ._report import Report, report

try:
    from ._version import version as __version__  # type: ignore[import-not-found]
except ImportError:  # the source tree
    __version__ = "0+source"

__all__ = ["Error", "PipeprobeWarning", "Recording", "Report", "autotune", "record", "report"]


def load_ipython_extension(ipython: Any) -> None:
    from ._magic import load

    load(ipython)
