"""Stuck turns: a filter of the list of conversations by the reason why their turn is stuck."""

from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.change_lists import FixedChoicesFilter
from apps.console.framework.request_context import actor_of
from apps.runtime.health.stuck_turns import stuck_turns
from apps.runtime.models import Turn

STUCK_PARAMETER: Final = "stuck"
STUCK_LABELS: Final = {
    "retried": "Tried again and again",
    "lease_expired": "Their worker is gone",
    "blocked": "They wait for a switch, a budget or an endpoint",
}


class StuckFilter(FixedChoicesFilter):
    """Filter by the reason why the turn of a conversation is stuck."""

    title = "stuck"
    parameter_name = STUCK_PARAMETER

    offered = tuple(STUCK_LABELS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The conversations with such a turn."""
        which = stuck_turns(timezone.now()).get(self.value() or "")
        if which is None:
            return queryset
        turns = Turn.objects.filter(which, tenant_id=actor_of(request).tenant_id)
        return queryset.filter(pk__in=turns.values("conversation_id"))
