"""Exports approved skills as a zip in the Agent Skills format."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.errors import FindingsUnconfirmed, GovernanceError
from apps.skills.import_export.skill_export import select_approved_skills, write_zip
from apps.tenants.management.command_arguments import command_actor, get_agent


class Command(BaseCommand):
    """The same skills always give the same bytes."""

    help = (
        "Export approved skills of a tenant, of one agent, or a single one, as a zip of folders, each with a SKILL.md and"
        " the skill's files. The zip has approved content only; text that looks like personal data must be confirmed. The"
        " same skills give the same bytes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The tenant, agent and skill, and the file to write."""
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--agent", metavar="KEY", help="The key of one of its agents; without it, all agents.")
        parser.add_argument("--skill", metavar="NAME", help="The name of one skill; without it, all approved skills.")
        parser.add_argument(
            "--out", required=True, type=Path, metavar="FILE", help="The zip to write; an existing file is replaced."
        )
        parser.add_argument(
            "--confirm-findings", action="store_true", help="Export although some text looks like personal data."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the zip and print one line."""
        actor = command_actor(options["tenant"])
        agent_id = get_agent(options["agent"], actor=actor).pk if options["agent"] else None
        out: Path = options["out"]
        half = out.with_name(f"{out.name}.part")
        try:
            skills = select_approved_skills(agent_id, actor=actor)
            chosen = [skill for skill in skills if options["skill"] in {None, skill.name}]
            if not chosen:
                raise CommandError(f"There is no approved skill {options['skill']}. Approved skills: {_names(skills)}.")
            with half.open("wb") as file:
                write_zip(file, chosen, actor=actor, confirm_findings=options["confirm_findings"])
            half.replace(out)
        except GovernanceError as refusal:
            half.unlink(missing_ok=True)
            way = " Pass --confirm-findings to export anyway." if isinstance(refusal, FindingsUnconfirmed) else ""
            raise CommandError(f"{refusal}{way}") from refusal
        except OSError as refusal:
            half.unlink(missing_ok=True)
            raise CommandError(f"{out} cannot be written: {refusal.strerror}.") from refusal
        self.stdout.write(f"{len(chosen)} in {out}: {_names(chosen)}")


def _names(skills: list[Any]) -> str:
    return ", ".join(sorted({skill.name for skill in skills}))
