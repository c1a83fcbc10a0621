"""Files of skills: part of what a person approves, fetched by nobody before, and never other bytes than those."""

import hashlib
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted, NotVisible, Stale
from apps.governance.models import Refusal
from apps.review.skill_actions import approve_skill
from apps.skills.actions import arrange_files, attach_file, deprecate_skill, detach_file
from apps.skills.attachment_upload import stored_bytes, upload_file
from apps.skills.attachments.attachment_access import find_fetchable_file, read_content
from apps.skills.attachments.blob_store import read_bytes
from apps.skills.models import Skill
from apps.skills.skill_validation import Attachment
from apps.tenants.actions import create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from tests.support.audit_records import records
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.worlds.world import World, make_skill, make_skill_with_file, make_world

pytestmark = pytest.mark.django_db

CONTENT = b"Plan,Price\nPro,20\n"


@pytest.fixture
def world() -> World:
    return make_world()


def reload_skill(world: World, skill: Skill) -> Skill:
    with acting_as(world.operator):
        return Skill.objects.visible_to(world.operator).get(pk=skill.pk)


def test_a_skill_keeps_several_files_in_order_with_what_they_are(world: World) -> None:
    # R090, Z-20
    skill = make_skill_with_file(world)
    upload_file(skill, actor=world.operator, name="terms.txt", content=b"Pay first.")
    first, second = reload_skill(world, skill).files
    assert (first.name, first.media_type, first.size_bytes) == ("prices.csv", "text/csv", len(CONTENT))
    assert first.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert (first.uploaded_by, second.uploaded_by) == (world.bot.label, world.operator.label)
    assert read_bytes(first.key) == CONTENT
    arrange_files(skill, actor=world.operator, names=["terms.txt", "prices.csv"])
    assert [file.name for file in reload_skill(world, skill).files] == ["terms.txt", "prices.csv"]


def test_each_change_of_files_is_one_record_of_the_skill(world: World) -> None:
    skill = make_skill_with_file(world)
    upload_file(skill, actor=world.bot, name="terms.txt", content=b"Pay first.")
    arrange_files(skill, actor=world.bot, names=["terms.txt", "prices.csv"])
    detach_file(skill, actor=world.bot, name="prices.csv")
    made = [record.act for record in records(world, skill)]
    assert made == ["skill.draft", "skill.attach", "skill.attach", "skill.arrange", "skill.detach"]


def test_what_is_approved_covers_the_files_and_their_order(world: World) -> None:
    # R091
    skill = make_skill(world)
    hashes = [skill.content_sha256]
    upload_file(skill, actor=world.bot, name="prices.csv", content=CONTENT)
    hashes.append(skill.content_sha256)
    upload_file(skill, actor=world.bot, name="terms.txt", content=b"Pay first.")
    hashes.append(skill.content_sha256)
    arrange_files(skill, actor=world.bot, names=["terms.txt", "prices.csv"])
    hashes.append(skill.content_sha256)
    assert len(set(hashes)) == 4
    assert skill.sha256 == skill.content_sha256, "Python and PostgreSQL hash the same"
    with pytest.raises(Stale):
        approve_skill(skill, actor=world.operator, reviewed_sha256=hashes[2], confirm_findings=True, reason="Opened.")
    detach_file(skill, actor=world.bot, name="terms.txt")
    detach_file(skill, actor=world.bot, name="prices.csv")
    assert skill.content_sha256 == hashes[0], "without files the hash is what it always was"


def test_a_person_who_changes_the_files_of_an_approved_skill_signs_anew(world: World) -> None:
    skill = make_skill_with_file(world, "approved")
    before = skill.approved_sha256
    upload_file(skill, actor=world.admin, name="terms.txt", content=b"Pay first.")
    assert before != skill.approved_sha256 == skill.content_sha256
    assert (skill.status, skill.approved_by) == (Skill.Status.APPROVED, world.admin.label)
    detach_file(skill, actor=world.operator, name="terms.txt")
    assert (skill.approved_sha256, skill.approved_by) == (before, world.operator.label)


def test_an_agent_changes_the_files_of_its_own_drafts_alone(world: World) -> None:
    # R018
    approved, persons = make_skill_with_file(world, "approved"), make_skill(world, actor=world.operator)
    for skill, advice in ((approved, "draft a skill of your own"), (persons, "its own drafts")):
        with pytest.raises(NotPermitted, match=advice):
            upload_file(skill, actor=world.bot, name="x.txt", content=b"x")
    with pytest.raises(NotPermitted, match="Ask an operator"):
        detach_file(approved, actor=world.bot, name="prices.csv")
    with pytest.raises(NotPermitted, match="Ask an operator"):
        arrange_files(approved, actor=world.bot, names=["prices.csv"])
    assert len(reload_skill(world, approved).files) == 1
    with acting_as(world.operator):
        noted = [(refusal.act, refusal.subject_id) for refusal in Refusal.objects.order_by("id")]
    assert noted == [
        ("skill.attach", approved.pk),
        ("skill.attach", persons.pk),
        ("skill.detach", approved.pk),
        ("skill.arrange", approved.pk),
    ], "whoever tried what they may not is in the books"


def test_a_deprecated_skill_keeps_its_files_as_they_are(world: World) -> None:
    # R092
    skill = make_skill_with_file(world, "approved")
    deprecate_skill(skill, actor=world.operator)
    with pytest.raises(NotPermitted, match="Draft a new skill"):
        upload_file(skill, actor=world.operator, name="x.txt", content=b"x")


def test_an_agent_fetches_files_of_approved_skills_and_of_its_own_drafts(world: World) -> None:
    # R091, R095
    own, approved = make_skill_with_file(world), make_skill_with_file(world, "approved")
    persons = make_skill(world, actor=world.operator)
    upload_file(persons, actor=world.operator, name="prices.csv", content=CONTENT)
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    for skill in (own, approved):
        assert read_content(find_fetchable_file(skill.pk, "prices.csv", sha256, actor=world.bot)) == CONTENT
    with pytest.raises(NotPermitted):
        find_fetchable_file(persons.pk, "prices.csv", sha256, actor=world.bot)
    assert find_fetchable_file(persons.pk, "prices.csv", sha256, actor=world.operator).sha256 == sha256
    deprecate_skill(approved, actor=world.operator)
    with pytest.raises(NotPermitted):
        find_fetchable_file(approved.pk, "prices.csv", sha256, actor=world.bot)


def test_nobody_fetches_a_file_of_another_tenant_or_agent(world: World) -> None:
    # R006, R008
    skill = make_skill_with_file(world, "approved")
    sha256 = skill.files[0].sha256
    sales = create_agent("sales", "Sales", actor=world.admin)
    neighbour = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    other = make_world()
    for stranger in (neighbour, other.bot, other.operator, other.admin):
        with pytest.raises(NotVisible):
            find_fetchable_file(skill.pk, "prices.csv", sha256, actor=stranger)
    serving = world.bot.serving("http:abc123")
    assert find_fetchable_file(skill.pk, "prices.csv", sha256, actor=serving) == skill.files[0]


def test_other_bytes_than_the_reviewed_are_served_to_nobody(world: World, caplog: pytest.LogCaptureFixture) -> None:
    # R091
    file = make_skill_with_file(world, "approved").files[0]
    path = Path(settings.ATTACHMENTS_DIR) / file.key
    path.chmod(0o600)
    path.write_bytes(b"Plan,Price\nPro,99\n")
    with pytest.raises(NotVisible, match="attach it again"):
        read_content(file)
    path.unlink()
    with pytest.raises(NotVisible, match="attach it again"):
        read_content(file)
    assert caplog.messages == ["attachment is not what was stored"] * 2


def test_bytes_lie_in_a_private_folder_of_the_tenant_under_a_random_key(world: World) -> None:
    one, two = make_skill_with_file(world).files[0], make_skill_with_file(world).files[0]
    assert one.key != two.key
    assert one.key.startswith(f"{world.tenant.pk}/")
    path = Path(settings.ATTACHMENTS_DIR) / one.key
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert "prices" not in one.key


def test_limits_say_which_field_which_value_and_which_limit(world: World, settings: Settings) -> None:
    skill = make_skill(world)
    settings.ATTACHMENT_BYTES = 10
    with pytest.raises(Invalid, match="11 bytes; at most 10 are allowed") as refusal:
        upload_file(skill, actor=world.bot, name="x.txt", content=b"x" * 11)
    assert set(refusal.value.fields) == {"file"}
    settings.ATTACHMENTS_PER_SKILL = 1
    upload_file(skill, actor=world.bot, name="x.txt", content=b"x")
    with pytest.raises(Invalid, match="at most 1 files, and this one has 1"):
        upload_file(skill, actor=world.bot, name="y.txt", content=b"y")
    settings.ATTACHMENTS_PER_SKILL = 2
    with pytest.raises(Invalid, match=r"already has a file X\.TXT") as refusal:
        upload_file(skill, actor=world.bot, name="X.TXT", content=b"y")
    assert set(refusal.value.fields) == {"name"}


def test_a_tenant_has_room_for_so_much_and_another_tenants_files_do_not_count(world: World, settings: Settings) -> None:
    make_skill_with_file(make_world())
    skill = make_skill_with_file(world)
    settings.ATTACHMENTS_TENANT_BYTES = len(CONTENT) + 1
    assert stored_bytes(world.tenant.pk) == len(CONTENT)
    sales = create_agent("sales", "Sales", actor=world.admin)
    neighbour = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    other = make_skill(World(**{**vars(world), "agent": sales, "bot": neighbour}))
    with pytest.raises(Invalid, match="Remove files"):
        upload_file(other, actor=neighbour, name="x.txt", content=b"xx")
    upload_file(skill, actor=world.bot, name="x.txt", content=b"x")


def test_a_second_upload_meets_the_limits_under_the_lock(world: World, settings: Settings) -> None:
    settings.ATTACHMENTS_PER_SKILL = 1
    skill = make_skill_with_file(world)
    with pytest.raises(Invalid, match="at most 1 files"):
        attach_file(skill, actor=world.bot, file=Attachment("b.txt", "text/plain", 1, "0" * 64, "1/x", "agent:support"))


def test_a_name_that_is_not_there_and_half_an_order_are_refused(world: World) -> None:
    skill = make_skill_with_file(world)
    with pytest.raises(NotVisible, match=r"no file other\.txt"):
        detach_file(skill, actor=world.bot, name="other.txt")
    with pytest.raises(Invalid, match="Name each file"):
        arrange_files(skill, actor=world.bot, names=[])


def test_a_refused_upload_stores_nothing() -> None:
    world = make_world("stores-nothing")
    skill = make_skill(world, "approved")
    with pytest.raises(NotPermitted):
        upload_file(skill, actor=world.system, name="x.txt", content=b"x")
    with pytest.raises(Invalid):
        upload_file(skill, actor=world.operator, name="x.exe", content=b"MZ")
    assert not (Path(settings.ATTACHMENTS_DIR) / str(world.tenant.pk)).exists()


FILE = '{"name": "x.txt", "media_type": "text/plain", "sha256": "%s", "key": "%s", "size_bytes": 1}'


@pytest.mark.parametrize(
    "broken",
    [
        "{}",
        '["x"]',
        f"[{FILE % ('0' * 64, '0/secret')}]",
        f"[{FILE % ('0' * 64, '{tenant}/../0/secret')}]",
        f"[{FILE % ('zz', '{tenant}/x')}]",
    ],
)
def test_the_database_refuses_files_of_other_tenants_and_half_files(world: World, broken: str) -> None:
    # R006
    skill = make_skill(world)
    write = "UPDATE skills_skill SET attachments = %s::jsonb WHERE id = %s"
    for actor in (world.bot, world.operator):
        files = broken.replace("{tenant}", str(world.tenant.pk))
        assert run_and_undo(actor, write, [files, skill.pk]).sqlstate == BROKEN_RULE
        lawful = f"[{FILE % ('0' * 64, f'{world.tenant.pk}/x')}]"
        assert run_and_undo(actor, write, [lawful, skill.pk]).passed


def test_the_database_lets_nobody_slip_a_file_under_an_approval(world: World) -> None:
    # R018: whoever adds a file to what was approved breaks the signature.
    skill = make_skill_with_file(world, "approved")
    write = "UPDATE skills_skill SET attachments = '[]' WHERE id = %s"
    assert run_and_undo(world.operator, write, [skill.pk]).sqlstate == BROKEN_RULE
    assert not run_and_undo(world.bot, write, [skill.pk]).passed
    assert not run_and_undo(make_world().operator, write, [skill.pk]).passed
    with connection.cursor() as cursor, acting_as(world.operator):
        cursor.execute("SELECT approved_sha256 = content_sha256 FROM skills_skill WHERE id = %s", [skill.pk])
        assert cursor.fetchone() == (True,)
