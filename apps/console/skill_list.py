"""The list of skills, and of the agent one has chosen the index as its next session reads it."""

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.console.lists import TabbedList
from apps.console.previews import slot_text
from apps.console.requests import actor_of
from apps.governance.governed_write import may
from apps.governance.policy.table import Act
from apps.governance.row_ids import number_of_row
from apps.prompt.prompt_input import Slot
from apps.skills.models import Skill
from apps.tenants.models import Agent

AGENT: Final = "agent__id__exact"


@dataclass(frozen=True, slots=True)
class Index:
    """What the model is told of an agent's skills before it reads one."""

    agent: Agent
    text: str

    @property
    def size(self) -> int:
        """Bytes of the prompt."""
        return len(self.text.encode())


class SkillList(TabbedList):
    """Skills by their state."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Whoever looks is kept: the index is read by their right, and only where it is shown."""
        self.actor = actor_of(request)
        return super().get_queryset(request, exclude_parameters)

    def index(self) -> Index | None:
        """None where no agent is chosen, or none that is there."""
        chosen = self._chosen()
        agent = Agent.objects.visible_to(self.actor).filter(pk=int(chosen)).first() if chosen else None
        return Index(agent, slot_text(agent, Slot.SKILLS, self.actor)) if agent else None

    def of_agent(self) -> str:
        """What an export is narrowed by."""
        chosen = self._chosen()
        return f"?agent={chosen}" if chosen else ""

    def has_any_to_export(self) -> bool:
        """A search does not narrow what is exported, so of what it left out nothing is known here."""
        return bool(self.query) or self.tallies[Skill.Status.APPROVED].found > 0

    def may_import(self) -> bool:
        """Whether drafts may come in by whoever looks."""
        return may(self.actor, Act.SKILL_DRAFT)

    def _chosen(self) -> str:
        chosen = str(self.params.get(AGENT, ""))
        return "" if number_of_row(chosen) is None else chosen
