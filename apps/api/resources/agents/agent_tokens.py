"""Agents' tokens: people read which there are, admins issue, rotate and revoke them. A secret stands in one answer alone."""

from typing import ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.one_time_secrets import Once, ToldOnce
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.request_bodies import Body, Number, Text
from apps.api.protocol.serializers import STAMPS, Shown, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.tenants.actions import IssuedToken, issue_token, revoke_token, rotate_token
from apps.tenants.models import Agent, AgentToken

# As an agent's page offers.
LONGEST_DAYS: Final = 365


class TokenRow(Shown[AgentToken]):
    """A token, by what it begins with; nobody sees more of it again."""

    agent_key = agent_key()

    class Meta:
        model = AgentToken
        fields: tuple[str, ...] = (
            *("id", "agent_key", "name", "prefix", "expires_at", "revoked_at", "last_used_at"),
            *(*STAMPS, "ignored_fields"),
        )
        read_only_fields = fields


class IssuedRow(TokenRow):
    """A token in the answer that makes it."""

    secret = Once(help_text="The whole token, this once. Sent again under its key, the answer has none.")

    class Meta(TokenRow.Meta):
        fields = (*TokenRow.Meta.fields, "secret")
        read_only_fields = fields


class NewToken(Body):
    """Whose token, and what it is called."""

    acts = (Act.TOKEN_ISSUE,)
    shown = frozenset(TokenRow.Meta.fields)

    agent_key = Text()
    name = Text(help_text="What it is for.")
    valid_days = Number(
        required=False, max_value=LONGEST_DAYS, help_text=f"Up to {LONGEST_DAYS}; 90 where it is left out."
    )


class TokenDecision(Body):
    """Nothing has to be said."""

    bare = True


class TokenFilters(AgentFilters):
    """By agent."""

    search = SearchFilter("name", "prefix")


class TokenView(ToldOnce[AgentToken]):
    """Tokens of the tenant's agents; admins decide on them."""

    acts: ClassVar = {
        "create": (Act.TOKEN_ISSUE,),
        "revoke": (Act.TOKEN_REVOKE,),
        "rotate": (Act.TOKEN_ROTATE, Act.TOKEN_ISSUE),
    }
    queryset = AgentToken.objects.none()
    serializer_class = TokenRow
    filterset_class = TokenFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AgentToken]:
        """Those of the tenant."""
        return AgentToken.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewToken, responses={201: IssuedRow})
    def create(self, request: Request) -> Response:
        """Issue a token. `secret` is in this answer and in no other; sent again under its key, the answer has none."""
        authorize(self.actor, Act.TOKEN_ISSUE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = NewToken.read(request, self.actor)
        agent = Agent.objects.visible_to(self.actor).get(pk=agent_id_named(sent.values["agent_key"], self.actor))
        return self._issued(issue_token(agent, actor=self.actor, **sent.only("name", "valid_days")), sent.ignored)

    @extend_schema(request=TokenDecision, responses={201: IssuedRow})
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, pk: str) -> Response:
        """Issue the token that takes its place; this one goes on for 24 hours."""
        del pk
        token = self.get_object()
        sent = TokenDecision.read(request, self.actor, token)
        return self._issued(rotate_token(token, actor=self.actor), sent.ignored)

    @extend_schema(request=TokenDecision, responses=TokenRow)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, pk: str) -> Response:
        """End it with the next request."""
        del pk
        token = self.get_object()
        sent = TokenDecision.read(request, self.actor, token)
        revoke_token(token, actor=self.actor)
        return self.answer(token.pk, sent.ignored)

    def _issued(self, issued: IssuedToken, ignored: tuple[str, ...]) -> Response:
        return self.tell_once(IssuedRow, issued.row.pk, ignored, secret=issued.secret)
