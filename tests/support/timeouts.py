"""Timeouts of tests that wait for other processes."""

from typing import Final

# For a machine that is busy with other work. A wait ends as soon as the result is there, so only a failing test takes so long.
PATIENCE_SECONDS: Final = 120
