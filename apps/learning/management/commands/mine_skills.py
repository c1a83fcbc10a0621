"""Runs extraction on imported conversations now, in the foreground."""

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conversations.management.progress import CommandProgress
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.pipeline import extract_conversation, learning_backend
from apps.llm.model_backend import BackendError
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.management.command_arguments import add_agent_arguments, command_actor, get_agent

MAX_CONSECUTIVE_FAILURES = 3


class Command(BaseCommand):
    """The command, which gives each conversation one verdict; a second run processes only conversations without a verdict."""

    acts = (Act.SKILL_DRAFT,)
    help = (
        "Draft skills from imported, resolved conversations that have no verdict yet. Drafts wait for approval. If the model"
        " could not be called for some conversations, the command exits 1; run it again to finish them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: the agent, and a limit."""
        add_agent_arguments(parser)
        parser.add_argument("--limit", type=int, metavar="N", help="Process at most N conversations.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run extraction. Progress goes to stderr, the verdicts to stdout."""
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be a whole number from 1.")
        actor = system_actor(command_actor(options["tenant"]).tenant_id, "extractor")
        agent = get_agent(options["agent"], actor=actor)
        waiting = _pending_conversation_ids(agent.pk, actor)[: options["limit"]]
        if not waiting:
            self.stdout.write("Nothing to do: no imported conversation of this agent lacks a verdict.")
            return
        mined = MiningRun(actor, CommandProgress(self.stderr, "conversations processed", len(waiting)))
        mined.look_at(waiting)
        for verdict, count in mined.verdicts.most_common():
            self.stdout.write(f"{count:>5}  {Extraction.Verdict(verdict).label}")
        if mined.is_stand_in:
            self.stdout.write(
                "A stand-in model answered: these figures show that the command works, not how well the product learns."
            )
        if mined.left:
            raise CommandError(
                f"{mined.failure} Left without a verdict: {len(mined.left)} of {len(waiting)} conversations"
                f" ({', '.join(map(str, mined.left[:20]))}{', …' * (len(mined.left) > 20)}). Run the command again."
            )


class MiningRun:
    """The verdicts of one run, and the conversations that could not be processed."""

    def __init__(self, actor: Actor, progress: CommandProgress) -> None:
        self._actor = actor
        self._progress = progress
        self.verdicts: Counter[str] = Counter()
        self.is_stand_in = False
        self.left: list[int] = []
        self.failure = ""

    def look_at(self, conversation_ids: list[int]) -> None:
        """Process the conversations. A single failure does not stop the run; several failures in a row do."""
        failed_in_a_row = 0
        for at, conversation_id in enumerate(conversation_ids):
            try:
                self._extract_conversation(conversation_id)
                failed_in_a_row = 0
            except BackendError as failure:
                self.failure = f"The model could not be called: {failure}"
                self.left.append(conversation_id)
                failed_in_a_row += 1
                self._progress.interrupt(f"Conversation {conversation_id}: {failure}")
            self._progress.advance()
            if failed_in_a_row == MAX_CONSECUTIVE_FAILURES:
                self.left += conversation_ids[at + 1 :]
                break
        self._progress.finish()

    def _extract_conversation(self, conversation_id: int) -> None:
        found = extract_conversation(conversation_id, actor=self._actor, backend=learning_backend(), at_once=True)
        if found:
            self.verdicts[found.verdict] += 1
            self.is_stand_in |= found.is_stand_in


def _pending_conversation_ids(agent_id: int, actor: Actor) -> list[int]:
    with acting_as(actor):
        resolved = Conversation.objects.visible_to(actor).filter(
            agent_id=agent_id,
            origin=Conversation.Origin.IMPORTED,
            status=Conversation.Status.RESOLVED,
            extraction__isnull=True,
        )
        return list(resolved.order_by("id").values_list("pk", flat=True))
