"""Agents' tokens: people list them; admins issue, rotate and revoke them. A secret is returned only once."""

from typing import ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.one_time_secrets import SecretOnceField, SecretOnceViewSet
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import IssuedToken, issue_token, revoke_token, rotate_token
from apps.tenants.models import Agent, AgentToken

# The choices of the agent's page in the console.
MAX_VALID_DAYS: Final = 365


class AgentTokenSerializer(RowSerializer[AgentToken]):
    """A token, identified by its first characters. The rest is never shown again."""

    agent_key = agent_key()

    class Meta:
        model = AgentToken
        fields: tuple[str, ...] = (
            *("id", "agent_key", "name", "prefix", "expires_at", "revoked_at", "last_used_at"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class IssuedTokenSerializer(AgentTokenSerializer):
    """A token with its secret, in the response that creates it."""

    secret = SecretOnceField(
        help_text="The whole token, returned only once. A repeated request gets a response without it."
    )

    class Meta(AgentTokenSerializer.Meta):
        fields = (*AgentTokenSerializer.Meta.fields, "secret")
        read_only_fields = fields


class IssueTokenBody(RequestBody):
    """The agent, and a name for the token."""

    acts = (Act.TOKEN_ISSUE,)
    shown = frozenset(AgentTokenSerializer.Meta.fields)

    agent_key = StrictTextField()
    name = StrictTextField(help_text="Purpose of the token.")
    valid_days = StrictIntegerField(
        required=False, max_value=MAX_VALID_DAYS, help_text=f"Up to {MAX_VALID_DAYS}; 90 by default."
    )


class TokenActionBody(RequestBody):
    """No fields are required."""

    bare = True


class TokenFilters(AgentFilters):
    """Filter by agent."""

    search = SearchFilter("name", "prefix")


class TokenView(SecretOnceViewSet[AgentToken]):
    """Tokens of the tenant's agents; admins decide on them."""

    acts: ClassVar = {
        "create": (Act.TOKEN_ISSUE,),
        "revoke": (Act.TOKEN_REVOKE,),
        "rotate": (Act.TOKEN_ROTATE, Act.TOKEN_ISSUE),
    }
    queryset = AgentToken.objects.none()
    serializer_class = AgentTokenSerializer
    filterset_class = TokenFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AgentToken]:
        """Return the rows of the tenant."""
        return AgentToken.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=IssueTokenBody, responses={201: IssuedTokenSerializer})
    def create(self, request: Request) -> Response:
        """Issue a token. `secret` is returned only once: a repeated request under the same key gets a response without it."""
        authorize(self.actor, Act.TOKEN_ISSUE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = IssueTokenBody.read(request, self.actor)
        agent = Agent.objects.visible_to(self.actor).get(pk=agent_id_named(sent.values["agent_key"], self.actor))
        return self._issued_response(
            issue_token(agent, actor=self.actor, **sent.only("name", "valid_days")), sent.ignored
        )

    @extend_schema(request=TokenActionBody, responses={201: IssuedTokenSerializer})
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, pk: str) -> Response:
        """Issue a token that replaces this one; this one stays valid for 24 hours."""
        token = self.get_object()
        sent = TokenActionBody.read(request, self.actor, token)
        return self._issued_response(rotate_token(token, actor=self.actor), sent.ignored)

    @extend_schema(request=TokenActionBody, responses=AgentTokenSerializer)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, pk: str) -> Response:
        """Revoke the token, from the next request on."""
        token = self.get_object()
        sent = TokenActionBody.read(request, self.actor, token)
        revoke_token(token, actor=self.actor)
        return self.answer(token.pk, sent.ignored)

    def _issued_response(self, issued: IssuedToken, ignored: tuple[str, ...]) -> Response:
        return self.tell_once(IssuedTokenSerializer, issued.row.pk, ignored, secret=issued.secret)
