"""Platform staff: nothing is open to them until they enter a tenant by name, with a reason, for an hour."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.console.framework.request_context import VISIT_KEY
from apps.console.site import ADMINS_BY_MODEL
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.tenants.models import StaffAccess
from tests.support.drivers.console_client import decision_of, page_of
from tests.support.worlds.world import PASSWORD, World, make_persona, make_skill_with_file, make_staff, make_world

pytestmark = pytest.mark.django_db

SWITCHER = "/admin/tenant/"
UNKNOWN = "There is no tenant with this key, or you may not enter it."
VISIT_REASON = "Ticket 17: their last admin left."


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(make_staff("root@platform.example"))
    return client


def enter_tenant(client: Client, world: World) -> None:
    answer = client.post(SWITCHER, {"key": world.tenant.key, "reason": VISIT_REASON})
    assert (answer.status_code, answer["Location"]) == (303, "/admin/")


def records(world: World) -> list[tuple[str, str, str]]:
    with acting_as(world.admin):
        found = ChangeRecord.objects.filter(act__startswith="tenant.", actor_role="staff").order_by("id")
        return [(record.act, record.actor_label, record.text.reason) for record in found]


def test_being_superuser_opens_no_page_but_the_one_to_enter(world: World, staff: Client) -> None:
    for path in ("/admin/", "/admin/skills/skill/", page_of(make_persona(world)), "/admin/restore/"):
        assert staff.get(path)["Location"] == SWITCHER
    page = staff.get(SWITCHER).content.decode()
    assert "Enter a tenant as platform staff" in page
    assert world.tenant.name not in page
    assert staff.get("/api/v1/skills").status_code == 403


def test_they_sign_in_by_password_though_they_belong_nowhere() -> None:
    user = make_staff()
    client = Client()
    answer = client.post("/admin/login/?next=/admin/", {"username": user.username, "password": PASSWORD}, follow=True)
    assert answer.redirect_chain[-1][0] == SWITCHER


def test_entering_and_leaving_stand_in_the_tenants_books_with_who_and_why(world: World, staff: Client) -> None:
    enter_tenant(staff, world)
    page = staff.get("/admin/").content.decode()
    with acting_as(world.admin):
        visit = StaffAccess.objects.visible_to(world.admin).get()
    assert f"You are in the books of <strong>{world.tenant.name}</strong> as platform staff until" in page
    assert f"{visit.expires_at:%H:%M}" in page
    assert timedelta(minutes=59) < visit.expires_at - timezone.now() <= timedelta(minutes=60)
    assert staff.post("/admin/tenant/leave/")["Location"] == SWITCHER
    assert staff.get("/admin/")["Location"] == SWITCHER
    label = f"staff:{visit.user_id}"
    assert records(world) == [("tenant.enter", label, VISIT_REASON), ("tenant.leave", label, "")]
    member = Client()
    member.force_login(world.operator_user)
    listed = member.get(reverse("admin:tenants_staffaccess_changelist")).content.decode()
    assert "root@platform.example (platform staff)" in listed
    assert VISIT_REASON in listed


def test_an_unknown_key_and_a_missing_right_read_the_same(world: World, staff: Client) -> None:
    other = make_world()
    member = Client()
    member.force_login(other.admin_user)
    for client, key in ((staff, "no-such"), (staff, "\x01"), (member, world.tenant.key), (member, "no-such")):
        answer = client.post(SWITCHER, {"key": key, "reason": VISIT_REASON})
        assert (answer.status_code, UNKNOWN in answer.content.decode()) == (404, True)
        assert VISIT_KEY not in client.session
    assert records(world) == []
    assert "Enter a tenant" not in member.get(SWITCHER).content.decode()


def test_nobody_enters_without_saying_why(world: World, staff: Client) -> None:
    assert staff.post(SWITCHER, {"key": world.tenant.key, "reason": " "}).status_code == 422
    assert records(world) == []


def test_a_visit_ends_by_itself_after_an_hour(world: World, staff: Client) -> None:
    enter_tenant(staff, world)
    hour = timezone.now() + timedelta(minutes=61)
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr("apps.tenants.accounts.staff_access.timezone.now", lambda: hour)
        assert staff.get("/admin/")["Location"] == SWITCHER
    assert "Your visit as platform staff is over." in staff.get(SWITCHER).content.decode()


def test_a_visit_is_of_one_browser_and_one_person(world: World, staff: Client) -> None:
    enter_tenant(staff, world)
    thief = Client()
    thief.force_login(make_staff())
    assert thief.get("/admin/")["Location"] == SWITCHER
    session = thief.session
    session[VISIT_KEY] = staff.session[VISIT_KEY]
    session.save()
    assert thief.get("/admin/")["Location"] == SWITCHER


def test_who_is_superuser_no_more_is_nobody_at_once(world: World, staff: Client) -> None:
    enter_tenant(staff, world)
    user = make_staff()
    client = Client()
    client.force_login(user)
    enter_tenant(client, world)
    user.is_superuser = False
    user.save()
    assert client.get("/admin/").status_code == 302
    assert client.get("/admin/")["Location"].startswith("/admin/login/")


@pytest.mark.slow
def test_a_visitor_reads_every_list_and_approves_nothing(world: World, staff: Client) -> None:
    skill, persona = make_skill_with_file(world), make_persona(world)
    enter_tenant(staff, world)
    for model in ADMINS_BY_MODEL:
        path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert staff.get(path, follow=True).status_code == 200, path
    for path in (page_of(skill), page_of(persona), page_of(world.agent)):
        page = staff.get(path)
        assert page.status_code == 200
        assert "Approve" not in page.content.decode()
    assert staff.get(reverse("admin:download_file", args=[skill.pk, 0])).status_code == 403
    sent = {"read_at": skill.version, "reviewed_sha256": skill.content_sha256}
    assert staff.post(decision_of(skill, "approve"), sent).status_code == 403


def test_they_do_not_invite_themselves(world: World, staff: Client) -> None:
    enter_tenant(staff, world)
    answer = staff.post(
        reverse("admin:tenants_membership_add"), {"email": "root@platform.example", "role": "admin", "read_at": ""}
    )
    assert answer.status_code >= 400
    assert "You cannot change your own membership." in answer.content.decode()


def test_another_tenant_stays_closed_while_they_visit_one(world: World, staff: Client) -> None:
    foreign = make_persona(make_world())
    enter_tenant(staff, world)
    answer = staff.get(page_of(foreign))
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
