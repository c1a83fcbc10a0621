"""Imports finished conversations from another system."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conversations.actions import import_conversation
from apps.conversations.management.progress import CommandProgress
from apps.conversations.models import Conversation
from apps.conversations.transcript_parsing import LINE_BYTES, ImportedTranscript, MalformedTranscript, parse_line
from apps.governance.actors import Actor
from apps.governance.errors import Conflict, GovernanceError, Invalid
from apps.governance.policy.policy_table import Act
from apps.tenants.management.command_arguments import (
    add_agent_arguments,
    add_importer_argument,
    command_actor,
    get_agent,
)

IMPORTED, HERE, MALFORMED = "imported", "here already", "malformed"


class Command(BaseCommand):
    """Commits each transcript separately: an interrupted import is completed by running it again."""

    acts = (
        Act.CONVERSATION_IMPORT,
        Act.CONVERSATION_RESOLVE,
    )
    help = (
        "Import chat transcripts as resolved conversations of an agent. The file has one JSON object per line, in OpenAI or"
        " Anthropic style. Transcripts that were imported before are skipped. If a line is malformed, the others are"
        " imported and the command exits 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The file, the agent, and the importing member."""
        parser.add_argument("file", type=Path, metavar="FILE", help="The transcripts, as JSONL.")
        add_agent_arguments(parser)
        add_importer_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Progress and errors go to stderr, the totals to stdout."""
        actor = command_actor(options["tenant"], options["username"])
        agent = get_agent(options["agent"], actor=actor)
        progress = CommandProgress(self.stderr, "lines read")
        counted: Counter[str] = Counter()
        try:
            for number, raw in numbered_lines(options["file"]):
                counted[self._import_line(number, raw, agent.pk, actor, progress)] += 1
                progress.advance()
        except OSError as refusal:
            raise CommandError(f"{options['file']} cannot be read: {refusal.strerror}.") from refusal
        finally:
            progress.finish()
        self._report_counts(options["file"], counted)

    def _import_line(self, number: int, raw: bytes, agent_id: int, actor: Actor, progress: CommandProgress) -> str:
        found = parse_line(raw)
        flaws = found.reasons if isinstance(found, MalformedTranscript) else ()
        try:
            if isinstance(found, ImportedTranscript):
                return IMPORTED if _import_transcript(found, agent_id, actor) else HERE
        except Invalid as refusal:
            flaws = (str(refusal),)
        except GovernanceError as refusal:
            raise CommandError(f"Line {number}: {refusal}") from refusal
        progress.interrupt(f"Line {number} is malformed. {' '.join(flaws)}")
        return MALFORMED

    def _report_counts(self, file: Path, counted: Counter[str]) -> None:
        if not counted:
            raise CommandError(f"{file} has no transcript: it is empty.")
        self.stdout.write(", ".join(f"{counted[what]} {what}" for what in (IMPORTED, HERE, MALFORMED)))
        if counted[MALFORMED]:
            raise CommandError(
                f"Malformed lines: {counted[MALFORMED]}. The others were imported. Correct these and run the command again."
            )


def numbered_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers. At most LINE_BYTES of a line are held in memory."""
    with file.open("rb") as handle:
        number = 0
        while raw := handle.readline(LINE_BYTES + 1):
            number += 1
            rest = raw
            while len(rest) > LINE_BYTES and not rest.endswith(b"\n"):
                rest = handle.readline(LINE_BYTES + 1)
            if raw.strip() or len(raw) > LINE_BYTES:
                yield number, raw


def _import_transcript(transcript: ImportedTranscript, agent_id: int, actor: Actor) -> bool:
    try:
        taken = import_conversation(
            agent_id,
            actor=actor,
            transcript_id=transcript.transcript_id,
            lines=transcript.lines,
            outcome=Conversation.Outcome(transcript.outcome),
        )
    except Conflict:
        # Another import of the same file was faster.
        return False
    return taken is not None
