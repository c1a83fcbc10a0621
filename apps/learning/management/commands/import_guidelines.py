"""Imports a support team's written guidelines as draft runbooks."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.conversations.management.progress import CommandProgress
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, GovernanceError, Invalid
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.learning.guideline_import import Guideline, MalformedGuideline, NotGuidelines, parse_guidelines
from apps.skills.actions import draft_skill
from apps.skills.models import Skill
from apps.tenants.management.command_arguments import (
    add_agent_arguments,
    add_importer_argument,
    command_actor,
    get_agent,
)
from apps.text_analysis.contradictions.detection import NamedText, TextKind, detect_contradictions

FILE_BYTES = 4_000_000
DRAFTED, HERE, MALFORMED = "drafted", "here already", "malformed"


class Command(BaseCommand):
    """The command, which commits each guideline separately, so that running it again finishes an interrupted import."""

    acts = (Act.SKILL_DRAFT,)
    help = (
        "Import a support team's guidelines, one JSON object of flows with subflows, as draft runbooks of an agent. Each"
        " draft waits for approval. A guideline is skipped if the agent has a skill of that name in any state. If one is"
        " malformed, the others are imported and the command exits 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: the file, the agent, the importing member, and whether only to check for contradictions."""
        parser.add_argument("file", type=Path, metavar="FILE", help="The guidelines, as JSON.")
        add_agent_arguments(parser)
        add_importer_argument(parser)
        parser.add_argument(
            "--check",
            action="store_true",
            help="Write nothing. Print contradictions within the file and with the agent's runbooks.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the guidelines. Progress and errors go to stderr, the totals or the contradictions to stdout."""
        actor = command_actor(options["tenant"], options["username"])
        agent = get_agent(options["agent"], actor=actor)
        found = _read_guidelines(options["file"])
        if options["check"]:
            self._report_contradictions([each for each in found if isinstance(each, Guideline)], agent.pk, actor)
            return
        progress = CommandProgress(self.stderr, "guidelines read", len(found))
        counted: Counter[str] = Counter()
        for each in found:
            counted[self._import_guideline(each, agent.pk, actor, progress)] += 1
            progress.advance()
        progress.finish()
        self.stdout.write(", ".join(f"{counted[what]} {what}" for what in (DRAFTED, HERE, MALFORMED)))
        if counted[MALFORMED]:
            raise CommandError(
                f"Malformed guidelines: {counted[MALFORMED]}. The others were imported. Correct these and run the command again."
            )

    def _import_guideline(
        self, found: Guideline | MalformedGuideline, agent_id: int, actor: Actor, progress: CommandProgress
    ) -> str:
        if isinstance(found, MalformedGuideline):
            progress.interrupt(f"{found.where} is malformed. {found.reason}")
            return MALFORMED
        try:
            draft_skill(agent_id, actor=actor, values=asdict(found), taint=Taint.IMPORT)
        except Conflict:
            return HERE
        except Invalid as refusal:
            progress.interrupt(f"{found.title} is malformed. {refusal}")
            return MALFORMED
        except GovernanceError as refusal:
            raise CommandError(f"{found.title}: {refusal}") from refusal
        return DRAFTED

    def _report_contradictions(self, found: list[Guideline], agent_id: int, actor: Actor) -> None:
        with acting_as(actor):
            rows = Skill.objects.visible_to(actor).for_agent(agent_id).exclude(status=Skill.Status.DEPRECATED)
            standing = [
                NamedText(name, TextKind.SKILL, body)
                for name, body in rows.order_by("name").values_list("name", "body")
            ]
        new = [NamedText(each.name, TextKind.SKILL, each.body) for each in found]
        # A guideline that was already imported unchanged would only be compared with itself.
        checked = detect_contradictions(new, [each for each in standing if each not in new])
        for finding in checked.findings:
            self.stdout.write(finding.sentence)
            for place in filter(None, (finding.place, finding.other)):
                self.stdout.write(f"    {place.record}: {place.text}")
        whole = "" if checked.is_whole else " There may be more: the check reached its limit."
        self.stdout.write(f"Contradictions: {len(checked.findings)}. Guidelines checked: {len(new)}.{whole}")


def _read_guidelines(file: Path) -> list[Guideline | MalformedGuideline]:
    try:
        if file.stat().st_size > FILE_BYTES:
            raise CommandError(f"{file} is larger than {FILE_BYTES:,} bytes. Import it in parts.")
        return list(parse_guidelines(json.loads(file.read_text("utf-8"))))
    except OSError as refusal:
        raise CommandError(f"{file} cannot be read: {refusal.strerror}.") from refusal
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as refusal:
        raise CommandError(f"{file} is not JSON in UTF-8: {refusal}.") from refusal
    except NotGuidelines as refusal:
        raise CommandError(f"{file} has no guidelines. {refusal}") from refusal
