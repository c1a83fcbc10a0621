"""Take over skills in the Agent Skills format as drafts of an agent."""

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.errors import GovernanceError
from apps.governance.policy.table import Act
from apps.skills.import_export.skill_import import Item, Outcome, foreseen, skills_at, take_skills
from apps.tenants.management.command_arguments import actor_named, add_importer, add_names, agent_named

SAID = {
    Outcome.NEW: "would be drafted",
    Outcome.DRAFTED: "drafted",
    Outcome.EXISTS: "here already",
    Outcome.REFUSED: "refused",
}


class Command(BaseCommand):
    """One commit for each skill: an interrupted import is finished by running it again."""

    acts = (Act.SKILL_DRAFT,)
    help = (
        "Read a SKILL.md, a folder of skills or a zip of one as drafts of an agent. Each waits for a person. One whose name"
        " the agent has already, in whatever state, is left alone. Exits 1 if one is refused; the others are taken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to read, for whom, as whom, and whether to look only."""
        parser.add_argument("path", type=Path, metavar="PATH", help="A SKILL.md, a folder or a zip.")
        add_names(parser)
        add_importer(parser)
        parser.add_argument("--check", action="store_true", help="Write nothing. Print what would become of each.")

    def handle(self, *args: Any, **options: Any) -> None:
        """A line for each skill with what is to be known of it, and the count."""
        del args
        actor = actor_named(options["tenant"], options["username"])
        agent = agent_named(options["agent"], actor=actor)
        path: Path = options["path"]
        try:
            found = skills_at(path)
            if options["check"]:
                items = foreseen(found, agent.pk, actor=actor)
            else:
                items = take_skills(found, agent.pk, actor=actor, source=path.resolve().name)
        except OSError as refusal:
            raise CommandError(f"{path} cannot be read: {refusal.strerror}.") from refusal
        except GovernanceError as refusal:
            raise CommandError(f"{path} is not imported. {refusal}") from refusal
        for item in items:
            self._tell(item)
        self._count(items)

    def _tell(self, item: Item) -> None:
        incoming = item.incoming
        files = f" with {', '.join(file.name for file in incoming.files)}" if incoming.files else ""
        self.stdout.write(f"{SAID[item.outcome]}: {incoming.name or 'SKILL.md'}{files}")
        said = [item.reason, *incoming.notes, *(f"Left out: {each}" for each in incoming.left_out)]
        if incoming.findings:
            said.append(f"To confirm by whoever approves it: {', '.join(incoming.findings)}.")
        for line in filter(None, said):
            self.stdout.write(f"    {line}")

    def _count(self, items: list[Item]) -> None:
        counted = Counter(item.outcome for item in items)
        self.stdout.write(", ".join(f"{count} {SAID[outcome]}" for outcome, count in sorted(counted.items())))
        if refused := counted[Outcome.REFUSED]:
            raise CommandError(f"Refused: {refused}. Mend these and run again; the others are not touched by that.")
