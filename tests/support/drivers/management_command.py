"""A management command as a person at a terminal sees it."""

from dataclasses import dataclass
from io import StringIO

from django.core.management import CommandError, call_command


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command, and the sentence with which it failed."""

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
