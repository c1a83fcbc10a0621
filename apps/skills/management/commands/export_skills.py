"""Write approved skills as a zip of folders in the Agent Skills format."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.errors import FindingsUnconfirmed, GovernanceError
from apps.skills.import_export.skill_export import select_approved_skills, write_zip
from apps.tenants.management.command_arguments import command_actor, get_agent


class Command(BaseCommand):
    """The same skills give the same bytes, whenever and wherever it is run."""

    help = (
        "Write the approved skills of a tenant, of one agent or one of them, as a zip of folders with a SKILL.md each and"
        " their files. Nothing that nobody approved is in it, and what looks private has to be confirmed. The same skills give"
        " the same bytes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, which, and where to."""
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--agent", metavar="KEY", help="The key of one of its agents. Without it, all of them.")
        parser.add_argument("--skill", metavar="NAME", help="The name of one skill. Without it, all that are approved.")
        parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="The zip to write, or to replace.")
        parser.add_argument(
            "--confirm-findings", action="store_true", help="Write it although something in it looks like somebody's."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """One line at the end."""
        del args
        actor = command_actor(options["tenant"])
        agent_id = get_agent(options["agent"], actor=actor).pk if options["agent"] else None
        out: Path = options["out"]
        half = out.with_name(f"{out.name}.part")
        try:
            skills = select_approved_skills(agent_id, actor=actor)
            chosen = [skill for skill in skills if options["skill"] in {None, skill.name}]
            if not chosen:
                raise CommandError(f"No approved skill is called {options['skill']}. There is: {_names(skills)}.")
            with half.open("wb") as file:
                write_zip(file, chosen, actor=actor, confirm_findings=options["confirm_findings"])
            half.replace(out)
        except GovernanceError as refusal:
            half.unlink(missing_ok=True)
            way = (
                " With --confirm-findings it is written all the same."
                if isinstance(refusal, FindingsUnconfirmed)
                else ""
            )
            raise CommandError(f"{refusal}{way}") from refusal
        except OSError as refusal:
            half.unlink(missing_ok=True)
            raise CommandError(f"{out} cannot be written: {refusal.strerror}.") from refusal
        self.stdout.write(f"{len(chosen)} in {out}: {_names(chosen)}")


def _names(skills: list[Any]) -> str:
    return ", ".join(sorted({skill.name for skill in skills}))
