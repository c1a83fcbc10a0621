"""Runs the steps of the story, and prints for each step whether it passed, with its evidence."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final, TypeAlias

from rich.console import Console

Evidence: TypeAlias = "list[str]"
StoryStep: TypeAlias = "tuple[str, Callable[[], Evidence]]"

QUOTED_CHARACTERS: Final = 400


class StepFailed(Exception):
    """A step of the story failed; the message says how."""


def play_steps(steps: Sequence[StoryStep]) -> bool:
    """Run the steps in order and print each result. After a failure the remaining steps are skipped."""
    # A terminal that cannot print a tick shows a question mark instead of ending the story.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a text stream, whatever typeshed allows for
    console = Console(highlight=False, soft_wrap=True)
    for number, (title, take) in enumerate(steps, 1):
        try:
            shown = take()
        except (StepFailed, OSError) as failure:
            console.print(f"[red]✗[/] {number}. ", end="")
            console.print(f"{title}\n     {failure}", markup=False)
            console.print(f"  {len(steps) - number} more steps were skipped.", markup=False)
            return False
        console.print(f"[green]✓[/] {number}. ", end="")
        console.print(title, markup=False)
        for line in shown:
            console.print(f"     {line}", markup=False, style="dim")
    return True


def expect(true: bool, otherwise: str) -> None:
    """Raise StepFailed unless the condition is true."""
    if not true:
        raise StepFailed(otherwise)


def quote_line(text: str) -> str:
    """Return a quotation as one line."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= QUOTED_CHARACTERS else f"“{line[:QUOTED_CHARACTERS]}…”"


def tool_call_lines(calls: Sequence[Mapping[str, Any]]) -> Evidence:
    """Return the tools that were called, with their arguments."""
    return [
        f"tool {call['name']}({json.dumps(call['arguments'], ensure_ascii=False)[:QUOTED_CHARACTERS]})"
        f"{' failed: ' + call['result'] if call['is_error'] else ''}"
        for call in calls
    ]


def usage_summary(reply: Mapping[str, Any]) -> str:
    """Return the model that answered, and its tokens by billing class."""
    usage = reply["usage"]
    written = usage["cache_write_5m_tokens"] + usage["cache_write_1h_tokens"]
    return (
        f"model {reply['model']}{' (stand-in)' if reply['is_stand_in'] else ''}, model calls: {usage['calls']}, tokens:"
        f" {usage['input_tokens']} new, {written} written to the cache, {usage['cache_read_tokens']} read from the cache"
    )


def changed_lines(before: str, after: str) -> Evidence:
    """Return the lines that only one of two prompts contains."""
    changes = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in changes if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()]
