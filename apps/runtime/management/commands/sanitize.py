"""Runs the sanitizer and the injection scanner on the lines of a file."""

import json
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.prompt.injection_scanner.scanner import scan
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import EVENT_CHARACTERS


class Command(BaseCommand):
    """Prints one JSON line for each line of the file; uses no database."""

    help = (
        "Sanitize each line of a file like a customer's message, and report what a reviewer would see. If a line is a JSON"
        " string, or a JSON object with a text, that text is used. Prints one JSON object per line: line, text, changes,"
        " findings."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The file, and the maximum length of a text."""
        parser.add_argument("file", help="The file to read, in UTF-8; - is standard input.")
        parser.add_argument(
            "--cap",
            type=int,
            default=EVENT_CHARACTERS,
            metavar="N",
            help="Keep at most N characters of a text (default: %(default)s).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Lines are read and written one by one, so that the file may be of any length."""
        if options["cap"] < 1:
            raise CommandError("--cap must be a whole number from 1.")
        try:
            for number, line in enumerate(_lines(options["file"]), start=1):
                self.stdout.write(json.dumps({"line": number, **_review_text(_text(line), options["cap"])}))
            self.stdout.flush()
        except BrokenPipeError:
            # The reader of the pipe has closed it (`| head`). The interpreter flushes once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lines(file: str) -> Iterator[str]:
    """The lines of the file; only read errors are reported as errors of the file."""
    try:
        with closing(_open_file(file)) as lines:
            for number, line in enumerate(lines, start=1):
                yield _decode_line(line.removeprefix(BOM_UTF8) if number == 1 else line, file, number)
    except OSError as refusal:
        raise CommandError(f"{file} cannot be read: {refusal.strerror}.") from refusal


def _open_file(file: str) -> BinaryIO:
    return sys.stdin.buffer if file == "-" else Path(file).open("rb")


def _decode_line(line: bytes, file: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as refusal:
        raise CommandError(
            f"{file}, line {number} is not UTF-8. Save the file in that encoding and run the command again."
        ) from refusal


def _text(line: str) -> str:
    plain = line.removesuffix("\n").removesuffix("\r")
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        return plain
    text = value.get("text") if isinstance(value, dict) else value
    return text if isinstance(text, str) else plain


def _review_text(text: str, cap: int) -> dict[str, Any]:  # Any: it is JSON from here on
    sanitized = sanitize(text, cap)
    return {"text": sanitized.text, "changes": list(sanitized.notes), "findings": list(_findings(text))}


def _findings(text: str) -> Iterator[dict[str, str | int]]:
    for found in scan(text):
        yield {"rule": found.rule, "start": found.start, "end": found.end, "text": text[found.start : found.end]}
