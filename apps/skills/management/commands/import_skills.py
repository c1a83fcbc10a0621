"""Imports skills in the Agent Skills format as drafts of an agent."""

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.skills.import_export.skill_import import (
    ImportOutcome,
    SkillImportItem,
    draft_imported_skills,
    preview_import,
    read_skills_path,
)
from apps.tenants.management.command_arguments import (
    add_agent_arguments,
    add_importer_argument,
    command_actor,
    get_agent,
)

OUTCOME_LABELS = {
    ImportOutcome.NEW: "would be drafted",
    ImportOutcome.DRAFTED: "drafted",
    ImportOutcome.EXISTS: "here already",
    ImportOutcome.REFUSED: "refused",
}


class Command(BaseCommand):
    """One commit for each skill: an interrupted import is finished by running it again."""

    acts = (Act.SKILL_DRAFT,)
    help = (
        "Import a SKILL.md, a folder of skills or a zip of one as drafts of an agent. Each draft waits for approval. A skill"
        " is skipped if the agent has one of that name in any state. If one is refused, the others are imported and the"
        " command exits 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The path, the agent, the importing member, and whether only to check."""
        parser.add_argument("path", type=Path, metavar="PATH", help="A SKILL.md, a folder or a zip.")
        add_agent_arguments(parser)
        add_importer_argument(parser)
        parser.add_argument(
            "--check", action="store_true", help="Write nothing. Print the result that each skill would have."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each skill with its notes, and the totals."""
        actor = command_actor(options["tenant"], options["username"])
        agent = get_agent(options["agent"], actor=actor)
        path: Path = options["path"]
        try:
            found = read_skills_path(path)
            if options["check"]:
                items = preview_import(found, agent.pk, actor=actor)
            else:
                items = draft_imported_skills(found, agent.pk, actor=actor, source=path.resolve().name)
        except OSError as refusal:
            raise CommandError(f"{path} cannot be read: {refusal.strerror}.") from refusal
        except GovernanceError as refusal:
            raise CommandError(f"{path} was not imported. {refusal}") from refusal
        for item in items:
            self._print_item(item)
        self._print_totals(items)

    def _print_item(self, item: SkillImportItem) -> None:
        incoming = item.incoming
        files = f" with {', '.join(file.name for file in incoming.files)}" if incoming.files else ""
        self.stdout.write(f"{OUTCOME_LABELS[item.outcome]}: {incoming.name or 'SKILL.md'}{files}")
        lines = [item.reason, *incoming.notes, *(f"Left out: {each}" for each in incoming.left_out)]
        if incoming.findings:
            lines.append(f"The approver must confirm: {', '.join(incoming.findings)}.")
        for line in filter(None, lines):
            self.stdout.write(f"    {line}")

    def _print_totals(self, items: list[SkillImportItem]) -> None:
        counted = Counter(item.outcome for item in items)
        self.stdout.write(", ".join(f"{count} {OUTCOME_LABELS[outcome]}" for outcome, count in sorted(counted.items())))
        if refused := counted[ImportOutcome.REFUSED]:
            raise CommandError(
                f"Refused: {refused}. Correct these and run the command again; the others stay unchanged."
            )
