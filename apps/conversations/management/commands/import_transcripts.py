"""Take over finished conversations of another system."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conversations.actions import import_conversation
from apps.conversations.management.progress import Progress
from apps.conversations.models import Conversation
from apps.conversations.transcript_parsing import LINE_BYTES, Malformed, Transcript, parse_line
from apps.governance.actors import Actor
from apps.governance.errors import Conflicting, GovernanceError, Invalid
from apps.governance.policy.table import Act
from apps.tenants.management.command_arguments import actor_named, add_importer, add_names, agent_named

IMPORTED, HERE, MALFORMED = "imported", "here already", "malformed"


class Command(BaseCommand):
    """One commit for each transcript: an interrupted import is finished by running it again."""

    acts = (
        Act.CONVERSATION_IMPORT,
        Act.CONVERSATION_RESOLVE,
    )
    help = (
        "Read chat transcripts, OpenAI or Anthropic style, one JSON object a line, as resolved conversations of an agent."
        " A transcript that is here already is left alone. Exits 1 if a line is malformed; the others are taken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to read, for whom, and as whom."""
        parser.add_argument("file", type=Path, metavar="FILE", help="The transcripts, as JSONL.")
        add_names(parser)
        add_importer(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Progress and flaws go to stderr, the count to stdout."""
        del args
        actor = actor_named(options["tenant"], options["username"])
        agent = agent_named(options["agent"], actor=actor)
        progress = Progress(self.stderr, "lines read")
        counted: Counter[str] = Counter()
        try:
            for number, raw in lines_of(options["file"]):
                counted[self._take(number, raw, agent.pk, actor, progress)] += 1
                progress.advance()
        except OSError as refusal:
            raise CommandError(f"{options['file']} cannot be read: {refusal.strerror}.") from refusal
        finally:
            progress.finish()
        self._conclude(options["file"], counted)

    def _take(self, number: int, raw: bytes, agent_id: int, actor: Actor, progress: Progress) -> str:
        found = parse_line(raw)
        flaws = found.reasons if isinstance(found, Malformed) else ()
        try:
            if isinstance(found, Transcript):
                return IMPORTED if _import(found, agent_id, actor) else HERE
        except Invalid as refusal:
            flaws = (str(refusal),)
        except GovernanceError as refusal:
            raise CommandError(f"Line {number}: {refusal}") from refusal
        progress.interrupt(f"Line {number} is malformed. {' '.join(flaws)}")
        return MALFORMED

    def _conclude(self, file: Path, counted: Counter[str]) -> None:
        if not counted:
            raise CommandError(f"{file} holds no transcript: it is empty.")
        self.stdout.write(", ".join(f"{counted[what]} {what}" for what in (IMPORTED, HERE, MALFORMED)))
        if counted[MALFORMED]:
            raise CommandError(
                f"Malformed lines: {counted[MALFORMED]}. The others were taken; mend these and run again."
            )


def lines_of(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; never more of one than may be taken is held in memory."""
    with file.open("rb") as handle:
        number = 0
        while raw := handle.readline(LINE_BYTES + 1):
            number += 1
            rest = raw
            while len(rest) > LINE_BYTES and not rest.endswith(b"\n"):
                rest = handle.readline(LINE_BYTES + 1)
            if raw.strip() or len(raw) > LINE_BYTES:
                yield number, raw


def _import(transcript: Transcript, agent_id: int, actor: Actor) -> bool:
    try:
        taken = import_conversation(
            agent_id,
            actor=actor,
            transcript_id=transcript.transcript_id,
            lines=transcript.lines,
            outcome=Conversation.Outcome(transcript.outcome),
        )
    except Conflicting:
        # Another import of the same file was quicker.
        return False
    return taken is not None
