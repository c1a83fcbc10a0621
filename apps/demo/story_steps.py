"""How a step of the story is told: whether it held, and what it can show for it."""

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
    """A step of the story turned out otherwise; the message says how."""


def play_steps(steps: Sequence[StoryStep]) -> bool:
    """Take the steps one after the other and print each; after one that does not hold the rest have nothing to stand on."""
    # A terminal that knows no tick shows a question mark instead of ending the story.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a text stream, whatever typeshed allows for
    console = Console(highlight=False, soft_wrap=True)
    for number, (title, take) in enumerate(steps, 1):
        try:
            shown = take()
        except (StepFailed, OSError) as failure:
            console.print(f"[red]✗[/] {number}. ", end="")
            console.print(f"{title}\n     {failure}", markup=False)
            console.print(f"  {len(steps) - number} more steps were not tried.", markup=False)
            return False
        console.print(f"[green]✓[/] {number}. ", end="")
        console.print(title, markup=False)
        for line in shown:
            console.print(f"     {line}", markup=False, style="dim")
    return True


def expect(true: bool, otherwise: str) -> None:
    """Go on only if it is so."""
    if not true:
        raise StepFailed(otherwise)


def quote_line(text: str) -> str:
    """Somebody's words on one line."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= QUOTED_CHARACTERS else f"“{line[:QUOTED_CHARACTERS]}…”"


def tool_call_lines(calls: Sequence[Mapping[str, Any]]) -> Evidence:
    """The tools that were called, with what they were given."""
    return [
        f"tool {call['name']}({json.dumps(call['arguments'], ensure_ascii=False)[:QUOTED_CHARACTERS]})"
        f"{' failed: ' + call['result'] if call['is_error'] else ''}"
        for call in calls
    ]


def usage_summary(reply: Mapping[str, Any]) -> str:
    """The model that answered, and its tokens by billing class."""
    usage = reply["usage"]
    written = usage["cache_write_5m_tokens"] + usage["cache_write_1h_tokens"]
    return (
        f"model {reply['model']}{' (stand-in)' if reply['is_stand_in'] else ''}, model calls: {usage['calls']}, tokens:"
        f" {usage['input_tokens']} new, {written} written to the cache, {usage['cache_read_tokens']} read from the cache"
    )


def changed_lines(before: str, after: str) -> Evidence:
    """The lines of a prompt that one session has and another has not."""
    changes = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in changes if line[:1] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()]
