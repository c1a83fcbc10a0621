"""Rows as they stood, and who wrote each field, out of the change records."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg import sql

from apps.governance.audit.row_history import field_authorships, rows_at
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import TextErased
from apps.governance.models import ChangeRecord, Governed
from apps.launcher.postgres import Postgres
from apps.memory.actions import amend_profile
from apps.memory.models import CustomerProfile
from apps.personas.actions import amend_persona, archive_persona
from apps.personas.models import Persona
from apps.skills.actions import discard_skill
from apps.skills.models import Skill
from tests.runtime.turns.test_broken_dependencies import break_in
from tests.support.worlds.world import World, make_persona, make_profile, make_skill, make_world

pytestmark = pytest.mark.kernel


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def erase_change(postgres: Postgres, database: str, world: World, row: Governed, version: int) -> int:
    """The words of one change are removed, its record stays."""
    with acting_as(world.system):
        kind = row._meta.label_lower
        record = ChangeRecord.objects.get(subject_type=kind, subject_id=row.pk, version_after=version)
    break_in(postgres, database, sql.SQL("ALTER TABLE governance_changetext DISABLE TRIGGER USER"))
    break_in(
        postgres, database, sql.SQL("DELETE FROM governance_changetext WHERE record_id = {}").format(int(record.pk))
    )
    return record.pk


def test_a_row_stands_as_it_did_at_the_moment(world: World) -> None:
    before = timezone.now()
    persona = make_persona(world, style="Brief.")
    first = timezone.now()
    amend_persona(persona, actor=world.operator, values={"style": "Warm."})
    archive_persona(persona, actor=world.operator)
    with acting_as(world.system):
        assert rows_at(Persona, before, world.tenant.pk) == []
        [then] = rows_at(Persona, first, world.tenant.pk, agent_id=world.agent.pk)
        [now] = rows_at(Persona, timezone.now(), world.tenant.pk)
        assert rows_at(Persona, first, world.tenant.pk, status="archived") == []
        assert rows_at(Persona, timezone.now(), world.tenant.pk, status="active") == []
    assert (then.pk, then.style, then.version, then.status) == (persona.pk, "Brief.", 1, "active")
    assert (now.style, now.version, now.status) == ("Warm.", 3, "archived")


def test_a_row_that_is_gone_was_there_before(world: World) -> None:
    skill = make_skill(world)
    there = timezone.now()
    discard_skill(skill, actor=world.bot)
    with acting_as(world.system):
        assert [row.name for row in rows_at(Skill, there, world.tenant.pk)] == [skill.name]
        assert rows_at(Skill, timezone.now(), world.tenant.pk) == []


def test_each_field_is_stamped_by_the_change_that_last_wrote_it(world: World) -> None:
    persona = make_persona(world, style="Brief.", identity="You are Ada.")
    first = timezone.now()
    amend_persona(persona, actor=world.admin, values={"style": "Warm."})
    archive_persona(persona, actor=world.operator)
    kind = persona._meta.label_lower
    with acting_as(world.system):
        known = field_authorships([persona], world.tenant.pk)
        then = field_authorships([persona], world.tenant.pk, first)
        nobody = field_authorships([], world.tenant.pk)
    style, identity = known[kind, persona.pk, "style"], known[kind, persona.pk, "identity"]
    assert (style.version, style.author, style.approver) == (2, world.admin.label, world.admin.label)
    assert (identity.version, identity.author, identity.taint) == (1, world.operator.label, "operator")
    assert then[kind, persona.pk, "style"].version == 1
    assert nobody == {}


def test_what_an_agent_wrote_has_no_approver(world: World) -> None:
    skill = make_skill(world)
    with acting_as(world.system):
        stamp = field_authorships([skill], world.tenant.pk)[skill._meta.label_lower, skill.pk, "body"]
    assert (stamp.author, stamp.approver) == (world.bot.label, "")


def test_another_tenants_records_are_not_read(world: World) -> None:
    persona, other = make_persona(world), make_world()
    with acting_as(other.system):
        assert rows_at(Persona, timezone.now(), world.tenant.pk) == []
        assert field_authorships([persona], world.tenant.pk) == {}


def test_the_database_chooses_the_rows_so_that_one_customer_costs_one_profile(world: World) -> None:
    for number in range(3):
        make_profile(world, f"http:{number}")
    with acting_as(world.system), CaptureQueriesContext(connection) as asked:
        [profile] = rows_at(CustomerProfile, timezone.now(), world.tenant.pk, end_user_key="http:1")
        assert rows_at(CustomerProfile, timezone.now(), world.tenant.pk, end_user_key="http:3") == []
    assert profile.end_user_key == "http:1"
    assert len(asked) == 2
    assert all('"after" @>' in query["sql"] for query in asked)


def test_where_the_deciding_text_is_erased_nobody_knows_and_nobody_guesses(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_persona(world, style="Brief.")
    first = timezone.now()
    amend_persona(persona, actor=world.admin, values={"style": "Warm."})
    second = timezone.now()
    record = erase_change(postgres, committing, world, persona, 2)
    with acting_as(world.system):
        for equal in ({}, {"agent_id": world.agent.pk}, {"status": "archived"}):
            with pytest.raises(TextErased, match=rf"record {record} was erased \(persona.amend on personas.persona"):
                rows_at(Persona, second, world.tenant.pk, **equal)
        assert [row.style for row in rows_at(Persona, first, world.tenant.pk)] == ["Brief."]
    amend_persona(persona, actor=world.admin, values={"style": "Cold."})
    with acting_as(world.system):
        assert [row.style for row in rows_at(Persona, timezone.now(), world.tenant.pk)] == ["Cold."]


def test_one_customers_erased_profile_hides_neither_anothers_nor_that_a_row_is_gone(
    committing: str, postgres: Postgres
) -> None:
    world = make_world()
    erased, known, skill = make_profile(world, "http:a"), make_profile(world, "http:b"), make_skill(world)
    gone = Skill(pk=skill.pk)
    discard_skill(skill, actor=world.bot)
    erase_change(postgres, committing, world, erased, 1)
    erase_change(postgres, committing, world, gone, 0)
    now = timezone.now()
    with acting_as(world.system):
        assert [row.pk for row in rows_at(CustomerProfile, now, world.tenant.pk, end_user_key="http:b")] == [known.pk]
        assert rows_at(Skill, now, world.tenant.pk) == []
        for end_user_key in ("http:a", "http:c"):
            with pytest.raises(TextErased):
                rows_at(CustomerProfile, now, world.tenant.pk, end_user_key=end_user_key)


def test_the_author_before_an_erased_change_is_not_named(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_persona(world, style="Brief.", identity="You are Ada.")
    amend_persona(persona, actor=world.admin, values={"style": "Warm."})
    amend_persona(persona, actor=world.admin, values={"identity": "You are Bob."})
    erase_change(postgres, committing, world, persona, 2)
    with acting_as(world.system):
        known = field_authorships([persona], world.tenant.pk)
    assert {key: stamp.version for (_, _, key), stamp in known.items()} == {"identity": 3}


def test_only_the_latest_records_are_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.governance.audit.row_history.RECORDS_READ", 2)
    profile, persona = make_profile(world), make_persona(world, style="Brief.")
    for style in ("Warm.", "Cold."):
        amend_persona(persona, actor=world.admin, values={"style": style})
    amend_profile(profile, actor=world.bot, values={"notes": "Has a dog."})
    with acting_as(world.system):
        known = field_authorships([persona, profile], world.tenant.pk)
        then = field_authorships([persona], world.tenant.pk, persona.created_at)
    of_persona = {key: stamp.version for (kind, _, key), stamp in known.items() if kind == "personas.persona"}
    assert of_persona == {"style": 3}
    assert known[profile._meta.label_lower, profile.pk, "end_user_key"].version == 1
    assert then == {}
