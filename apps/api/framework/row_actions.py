"""Helpers for row actions in views: an endpoint that performs one act, and the refusal of unreachable states.

`decision_action` builds the endpoint. It checks the permission before it reads the body, so an actor without the permission
gets that refusal instead of a list of missing fields. `check_transition` serves state machines that take the name of the target
state.
"""

from collections.abc import Callable
from typing import Any

from django_fsm import Transition
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.exceptions import TransitionNotAllowed
from apps.api.protocol.request_bodies import DecisionBody, RequestBody
from apps.api.protocol.serializers import RowSerializer
from apps.governance.governed_write import authorize
from apps.governance.models import Governed
from apps.governance.policy.policy_table import Act

DecisionFunction = Callable[..., object]


def decision_action(
    verb: str,
    act: Act,
    decide: DecisionFunction,
    shown: type[RowSerializer[Any]],
    says: str,
    body: type[RequestBody] = DecisionBody,
) -> Callable[..., Response]:
    """Build the view action that performs one act with a request body."""
    takes_reason = "reason" in body().fields

    def handler(self: RowViewSet[Any], request: Request, pk: str) -> Response:
        row = self.get_object()
        authorize(self.actor, act, row.tenant_id, agent_id=row.agent_concerned)
        sent = body.read(request, self.actor, row)
        values = {name: value for name, value in sent.values.items() if name != "version"}
        if takes_reason:
            values["reason"] = sent.reason
        decide(row, actor=self.actor, read_at=sent.read_at, **values)
        return self.answer(row.pk, sent.ignored)

    # The router reads one of these attributes, the OpenAPI document the other.
    handler.__name__, handler.__doc__ = verb.replace("-", "_"), says
    named: Callable[..., Response] = action(detail=True, methods=["post"], url_path=verb)(handler)
    return extend_schema(request=body, responses=shown)(named)


def check_transition(row: Governed, field: str, to: str) -> None:
    """Refuse, before a row is locked, a state that cannot be reached, and name the states that can be."""
    moves: list[Transition] = list(getattr(row, f"get_available_{field}_transitions")())
    allowed = sorted({str(move.target) for move in moves if move.custom.get("by_name", True)})
    if to not in allowed:
        name = row._meta.verbose_name
        instead = f"It can become {' or '.join(allowed)}." if allowed else "That state is final."
        raise TransitionNotAllowed(f"A {name} that is {getattr(row, field)} cannot become {to}. {instead}", allowed)
