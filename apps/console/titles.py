"""What rows and moments are called on pages."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format

from apps.governance.models import Proposal
from apps.memory.models import AgentMemory
from apps.personas.models import Persona


def title_of(row: Any) -> str:
    """A row by the words people use for it; rows that hang on an agent are known by its key."""
    match row:
        case Persona():
            return f"Persona of agent {row.agent}"
        case AgentMemory():
            return f"Memory of agent {row.agent}"
        case Proposal(kind=Proposal.Kind.PERSONA_PATCH):
            return f"{row.get_kind_display()} for agent {row.agent}"
        case _:
            return str(row)


def moment(at: datetime | None) -> str:
    """A time as every page writes it."""
    return date_format(timezone.localtime(at), "j M Y H:i") if at else "never"
