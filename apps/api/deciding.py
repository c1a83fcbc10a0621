"""Decisions on a row that are one act each; who may not is told so before what is missing."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.bodies import Body, Decision
from apps.api.rows import Shown
from apps.api.views import Rows
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act

Decide = Callable[..., object]


def deciding(
    verb: str, act: Act, decide: Decide, shown: type[Shown[Any]], says: str, body: type[Body] = Decision
) -> Callable[..., Response]:
    """The action of a view that carries out one act, with what its body says of it."""
    takes_reason = "reason" in body().fields

    def handler(self: Rows[Any], request: Request, pk: str) -> Response:
        del pk
        row = self.get_object()
        authorize(self.actor, act, row.tenant_id, agent_id=row.agent_concerned)
        sent = body.read(request, self.actor, row)
        said = {name: value for name, value in sent.values.items() if name != "version"}
        if takes_reason:
            said["reason"] = sent.reason
        decide(row, actor=self.actor, read_at=sent.read_at, **said)
        return self.answer(row.pk, sent.ignored)

    # The router goes by the one, the OpenAPI document says the other.
    handler.__name__, handler.__doc__ = verb.replace("-", "_"), says
    named: Callable[..., Response] = action(detail=True, methods=["post"], url_path=verb)(handler)
    return extend_schema(request=body, responses=shown)(named)
