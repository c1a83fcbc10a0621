"""create_tenant, add_operator and issue_token, as the person who installs the product runs them."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.tenants.authentication.actor_resolution import agent_of_token, member_by_username, system_actor_of_tenant
from apps.tenants.models import AgentToken, TenantSettings, User
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.django_db


def run_command(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_create_tenant_opens_a_tenant_with_its_zone() -> None:
    assert "Next: manage.py add_operator" in run_command("create_tenant", "globex", "--timezone", "Europe/Berlin")
    actor = system_actor_of_tenant("globex")
    assert actor is not None
    with acting_as(actor):
        assert TenantSettings.objects.visible_to(actor).get().timezone == "Europe/Berlin"


@pytest.mark.parametrize("review", ["off", "tainted", "all"])
def test_create_tenant_says_what_of_memory_is_reviewed(review: str) -> None:
    # Z-19
    chosen = [] if review == "tainted" else ["--memory-review", review]
    assert f"Memory review: {review}. " in run_command("create_tenant", "globex", *chosen)
    actor = system_actor_of_tenant("globex")
    assert actor is not None
    with acting_as(actor):
        assert TenantSettings.objects.visible_to(actor).get().memory_review == review


@pytest.mark.parametrize(
    "command", [("create_tenant", "globex"), ("seed_personas", "--tenant=globex", "--create-tenant=Globex")]
)
@pytest.mark.parametrize("flags", [(), ("--profiles-without-proof",)])
def test_a_new_tenant_wants_its_customers_proven_unless_it_is_told_otherwise(
    command: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    run_command(*command, *flags)
    actor = system_actor_of_tenant("globex")
    assert actor is not None
    with acting_as(actor):
        assert TenantSettings.objects.visible_to(actor).get().is_customer_proof_required is not bool(flags)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["No Good"], "lower-case letters"),
        (["globex", "--timezone", "Mars/Olympus"], "no time zone Mars/Olympus"),
    ],
)
def test_create_tenant_refuses_what_cannot_be_one(words: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run_command("create_tenant", *words)
    assert system_actor_of_tenant(words[0]) is None


def test_create_tenant_refuses_a_key_that_is_taken() -> None:
    run_command("create_tenant", "globex")
    with pytest.raises(CommandError, match="already"):
        run_command("create_tenant", "globex")


def test_add_operator_makes_a_member_who_has_no_password_and_comes_in_by_a_link() -> None:
    run_command("create_tenant", "globex")
    run_command("add_operator", "ann@globex.example", "--tenant", "globex", "--role", "admin")
    actor = system_actor_of_tenant("globex")
    assert actor is not None
    assert member_by_username("ann@globex.example", actor.tenant_id) is None
    path = run_command("login_link", "ann@globex.example").partition("/admin/")[2].strip()
    assert Client().post(f"/admin/{path}").status_code == 303
    member = member_by_username("ann@globex.example", actor.tenant_id)
    assert member is not None
    assert member.role is Role.ADMIN
    assert not User.objects.get(username="ann@globex.example").has_usable_password()


def test_add_operator_leaves_nobody_behind_when_it_refuses() -> None:
    with pytest.raises(CommandError, match="no tenant nowhere"):
        run_command("add_operator", "bob@globex.example", "--tenant", "nowhere")
    assert not User.objects.filter(username="bob@globex.example").exists()


def test_add_operator_refuses_a_second_membership_and_a_service_user() -> None:
    # R016
    world = make_world("globex")
    with pytest.raises(CommandError, match="member of the tenant already"):
        run_command("add_operator", world.operator_user.username, "--tenant", "globex")
    with pytest.raises(CommandError, match="user"):
        run_command("add_operator", f"agent:{world.tenant.pk}:support", "--tenant", "globex")


def test_issue_token_prints_a_secret_that_works_and_keeps_only_its_digest() -> None:
    world = make_world("globex")
    secret = run_command("issue_token", "--tenant", "globex", "--agent", "support").strip()
    assert agent_of_token(secret) == world.bot
    with acting_as(world.admin):
        assert secret not in str(list(AgentToken.objects.visible_to(world.admin).values()))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tenant", "nowhere", "--agent", "support"], "no tenant nowhere"),
        (["--tenant", "globex", "--agent", "nobody"], "no agent nobody"),
        (["--tenant", "globex", "--agent", "support", "--days", "-1"], "0 or more"),
    ],
)
def test_issue_token_says_what_is_missing(words: list[str], message: str) -> None:
    make_world("globex")
    with pytest.raises(CommandError, match=message):
        run_command("issue_token", *words)
