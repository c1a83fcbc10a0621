"""Rows as they stood, and who wrote each field, out of the change records."""

import pytest
from django.utils import timezone

from apps.governance.acting import acting
from apps.governance.history import rows_at, stamps
from apps.personas.actions import amend_persona, archive_persona
from apps.personas.models import Persona
from apps.skills.actions import discard_skill
from apps.skills.models import Skill
from tests.factories import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_row_stands_as_it_did_at_the_moment(world: World) -> None:
    before = timezone.now()
    persona = make_persona(world, style="Brief.")
    first = timezone.now()
    amend_persona(persona, actor=world.operator, values={"style": "Warm."})
    archive_persona(persona, actor=world.operator)
    with acting(world.system):
        assert rows_at(Persona, before, world.tenant.pk) == []
        [then] = rows_at(Persona, first, world.tenant.pk, agent_id=world.agent.pk)
        [now] = rows_at(Persona, timezone.now(), world.tenant.pk)
        assert rows_at(Persona, first, world.tenant.pk, status="archived") == []
    assert (then.pk, then.style, then.version, then.status) == (persona.pk, "Brief.", 1, "active")
    assert (now.style, now.version, now.status) == ("Warm.", 3, "archived")


def test_a_row_that_is_gone_was_there_before(world: World) -> None:
    skill = make_skill(world)
    there = timezone.now()
    discard_skill(skill, actor=world.bot)
    with acting(world.system):
        assert [row.name for row in rows_at(Skill, there, world.tenant.pk)] == [skill.name]
        assert rows_at(Skill, timezone.now(), world.tenant.pk) == []


def test_each_field_is_stamped_by_the_change_that_last_wrote_it(world: World) -> None:
    persona = make_persona(world, style="Brief.", identity="You are Ada.")
    first = timezone.now()
    amend_persona(persona, actor=world.admin, values={"style": "Warm."})
    archive_persona(persona, actor=world.operator)
    kind = persona._meta.label_lower
    with acting(world.system):
        known = stamps([persona], world.tenant.pk)
        then = stamps([persona], world.tenant.pk, first)
        nobody = stamps([], world.tenant.pk)
    style, identity = known[kind, persona.pk, "style"], known[kind, persona.pk, "identity"]
    assert (style.version, style.author, style.approver) == (2, world.admin.label, world.admin.label)
    assert (identity.version, identity.author, identity.taint) == (1, world.operator.label, "operator")
    assert then[kind, persona.pk, "style"].version == 1
    assert nobody == {}


def test_what_an_agent_wrote_has_no_approver(world: World) -> None:
    skill = make_skill(world)
    with acting(world.system):
        stamp = stamps([skill], world.tenant.pk)[skill._meta.label_lower, skill.pk, "body"]
    assert (stamp.author, stamp.approver) == (world.bot.label, "")


def test_another_tenants_records_are_not_read(world: World) -> None:
    persona, other = make_persona(world), make_world()
    with acting(other.system):
        assert rows_at(Persona, timezone.now(), world.tenant.pk) == []
        assert stamps([persona], world.tenant.pk) == {}
