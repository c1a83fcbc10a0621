"""A management command as somebody at a terminal sees it."""

from dataclasses import dataclass
from io import StringIO

from django.core.management import CommandError, call_command


@dataclass(frozen=True)
class CommandOutput:
    """What a command printed, and the sentence it failed with."""

    out: str
    err: str
    failure: str = ""


def run_command(*words: str) -> CommandOutput:
    out, err = StringIO(), StringIO()
    try:
        call_command(*words, stdout=out, stderr=err)
    except CommandError as refusal:
        return CommandOutput(out.getvalue(), err.getvalue(), str(refusal))
    return CommandOutput(out.getvalue(), err.getvalue())
