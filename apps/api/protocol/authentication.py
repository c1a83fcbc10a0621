"""Authentication: an agent by its bearer token, or a person by the console's session. Either becomes an Actor."""

from dataclasses import dataclass
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from apps.api.protocol.exceptions import CsrfFailed
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import tenant_id_of_key
from apps.telemetry.log_context import add_log_facts
from apps.tenants.accounts.second_factor import awaits_code, requires_second_factor
from apps.tenants.authentication.actor_resolution import agent_of_token, memberships_of, person_actor

SCHEMES = frozenset({b"bearer", b"token"})
TENANT_HEADER = "X-Preceptor-Tenant"


@dataclass(frozen=True, slots=True)
class Principal:
    """REST framework's user object, which holds the actor and has no Django permissions."""

    actor: Actor
    is_authenticated: ClassVar[bool] = True
    is_active: ClassVar[bool] = True


class ActorAuthentication(BaseAuthentication):
    """Resolves `Authorization: Bearer pcp_...` to an agent; without that header the signed-in person is the actor."""

    def authenticate(self, request: Request) -> tuple[Principal, Actor] | None:
        """Return the principal and the actor. An invalid header is refused, without falling back to the session."""
        header = get_authorization_header(request).split()
        # Only `apps.api.framework.in_process_requests` sets this, on its own requests. Nothing in an HTTP request can become an
        # attribute.
        known: Actor | None = getattr(request._request, "known_actor", None)
        actor = known or (_agent_actor(header) if header else _person_actor(request))
        if actor is None:
            return None
        add_log_facts(tenant_id=actor.tenant_id, actor=actor.role.value)
        return Principal(actor), actor

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge for a 401 response."""
        return 'Bearer realm="preceptor"'


def bearer_token(request: Request) -> str:
    """Return the bearer token of an authenticated request; empty if it has none."""
    return get_authorization_header(request).partition(b" ")[2].strip().decode(errors="replace")


def _agent_actor(header: list[bytes]) -> Actor:
    if header[0].lower() not in SCHEMES or len(header) != 2:
        raise AuthenticationFailed("Send the token as: Authorization: Bearer pcp_...")
    actor = agent_of_token(header[1].decode(errors="replace"))
    if actor is None:
        raise AuthenticationFailed(
            "This token is unknown, expired or revoked. Ask an admin of the tenant for a new one."
        )
    return actor


def _person_actor(request: Request) -> Actor | None:
    user = getattr(request._request, "user", None)
    if user is None or not user.is_authenticated or not user.is_active or user.is_service:
        return None
    _check_csrf(request)
    if awaits_code(user, request._request.session):
        raise PermissionDenied(
            "Your sign-in is not complete. Enter the code of your second factor in the console first."
        )
    tenant_id, role = _membership(user.pk, request.headers.get(TENANT_HEADER, ""))
    actor = person_actor(user.pk, tenant_id, role)
    if user.second_factor_enabled_at is None and requires_second_factor(actor):
        raise PermissionDenied("This tenant requires a second factor. Set one up in the console, under Second factor.")
    return actor


def _membership(user_id: int, tenant_key: str) -> tuple[int, Role]:
    memberships = memberships_of(user_id)
    if tenant_key:
        # PostgreSQL refuses a NUL in a parameter, and no key contains one.
        wanted = None if "\x00" in tenant_key else tenant_id_of_key(tenant_key)
        memberships = [(tenant_id, role) for tenant_id, role in memberships if tenant_id == wanted]
    if not memberships:
        raise PermissionDenied("You are not a member of this tenant. Ask one of its admins to add you.")
    if len(memberships) > 1:
        raise PermissionDenied(
            f"You belong to several tenants. Send the key of one of them in the header {TENANT_HEADER}."
        )
    return memberships[0]


def _check_csrf(request: Request) -> None:
    check = CSRFCheck(_empty_view)
    check.process_request(request._request)
    reason = check.process_view(request._request, _empty_view, (), {})
    if reason:
        raise CsrfFailed(f"{reason} Send the value of the cookie csrftoken in the header X-CSRFToken.")


def _empty_view(request: HttpRequest) -> HttpResponse:
    """Return an empty response. Django's CSRF check wraps this view, and only the check's verdict is used."""
    return HttpResponse()
