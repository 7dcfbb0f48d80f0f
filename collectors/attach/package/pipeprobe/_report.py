"""report(): what a recording says."""

import os
from typing import Any, Dict, Optional, Union

from ._program import output_of


def report(path: Union[str, "os.PathLike[str]"]) -> "Report":
    """The report of a recording. Error, with a sentence, when there is none to read."""
    return Report(path)


class Report:
    """str(): the answer on one screen. In Jupyter: the HTML page. json: the document of schema pipeprobe.report/1."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        import json

        self.path = os.fspath(path)
        self.json: Dict[str, Any] = json.loads(self._made("json"))
        self._text: Optional[str] = None
        self._html: Optional[str] = None

    def _made(self, form: str) -> str:
        name = self.path if not self.path.startswith("-") else os.path.join(os.curdir, self.path)
        return output_of(["report", "--color", "never", "--format", form, name])

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self._made("text").rstrip("\n")
        return self._text

    @property
    def html(self) -> str:
        """One self-contained page, without scripts."""
        if self._html is None:
            self._html = self._made("html")
        return self._html

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "<pipeprobe report of %s>" % self.path

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self) if cycle else self.text)

    def _repr_html_(self) -> str:
        """The page with its own styles, in a frame that may neither run scripts nor reach the notebook."""
        from html import escape

        return '<iframe sandbox srcdoc="%s" style="width: 100%%; height: 640px; border: 0"></iframe>' % escape(self.html)
