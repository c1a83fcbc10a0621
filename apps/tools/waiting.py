"""What of other people's tools waits for a person, asked from outside."""

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.tools.models import ToolApproval


def waiting_calls(actor: Actor) -> int:
    """How many calls wait for a yes in the whole tenant."""
    with acting(actor):
        return ToolApproval.objects.visible_to(actor).waiting().count()
