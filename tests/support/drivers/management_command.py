"""A management command as somebody at a terminal sees it."""

from dataclasses import dataclass
from io import StringIO

from django.core.management import CommandError, call_command


@dataclass(frozen=True)
class Seen:
    """What a command printed, and the sentence it failed with."""

    out: str
    err: str
    failure: str = ""


def run(*words: str) -> Seen:
    out, err = StringIO(), StringIO()
    try:
        call_command(*words, stdout=out, stderr=err)
    except CommandError as refusal:
        return Seen(out.getvalue(), err.getvalue(), str(refusal))
    return Seen(out.getvalue(), err.getvalue())
