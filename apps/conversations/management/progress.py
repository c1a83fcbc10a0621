"""Progress of a command, for the terminal and for logs."""

from django.core.management.base import OutputWrapper

ITEMS_PER_LINE = 25


class CommandProgress:
    """One updating line on a terminal; elsewhere one line per interval, so that a log stays short."""

    def __init__(self, stderr: OutputWrapper, noun: str, total: int | None = None) -> None:
        self._stderr = stderr
        self._noun = noun
        self._of_total = "" if total is None else f" of {total}"
        self._moves = stderr.isatty()
        self._count = 0

    def advance(self) -> None:
        self._count += 1
        if self._moves:
            self._write(f"\r{self._count_text()}", ending="")
        elif self._count % ITEMS_PER_LINE == 0:
            self._write(self._count_text())

    def interrupt(self, sentence: str) -> None:
        """Print a sentence on a line of its own."""
        self._write(f"\r\x1b[K{sentence}" if self._moves else sentence)

    def finish(self) -> None:
        if self._moves and self._count:
            self._write("")

    def _count_text(self) -> str:
        return f"{self._count}{self._of_total} {self._noun}"

    def _write(self, text: str, ending: str = "\n") -> None:
        # Django prints stderr in red unless a style is given, and progress is no error.
        self._stderr.write(text, style_func=str, ending=ending)
        self._stderr.flush()
