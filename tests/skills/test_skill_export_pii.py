"""What looks like somebody's is named before an approved skill leaves the house, and leaves by a person's word alone."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import FindingsUnconfirmed
from apps.skills.actions import draft_skill, revise_skill
from apps.skills.import_export.export_privacy_check import FINDINGS_SHOWN
from apps.skills.import_export.skill_export import build_archive, select_approved_skill, select_approved_skills
from apps.skills.models import Skill
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.worlds.world import (
    World,
    approve_read_skill,
    make_neighbour,
    make_skill,
    make_skill_with_file,
    make_world,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def unconfirmed_findings(world: World, *skills: Skill) -> tuple[str, ...]:
    with pytest.raises(FindingsUnconfirmed) as refusal:
        build_archive(skills, actor=world.operator)
    return refusal.value.findings


def load_exportable(world: World, skill: Skill) -> Skill:
    """The skill as an export reads it."""
    return select_approved_skill(skill.pk, actor=world.operator)[0]


def test_words_and_files_are_looked_through_and_each_place_is_named(world: World) -> None:
    skill = make_skill_with_file(world, "approved", content=b"who,where\nAda,ada@example.org\n")
    revise_skill(skill, actor=world.operator, values={"body": "## Procedure\n1. Call +49 30 901820 first."})
    place = f"support/{skill.name}"
    assert unconfirmed_findings(world, load_exportable(world, skill)) == (
        f"“+49 30 901820” (phone) in {place}, body",
        f"“ada@example.org” (e-mail) in {place}, prices.csv",
    )
    assert build_archive([load_exportable(world, skill)], actor=world.operator, confirm_findings=True)


def test_a_long_file_is_looked_through_to_its_end(world: World) -> None:
    lines = b"item,price\n" * 2_500
    skill = make_skill_with_file(world, "approved", content=lines + b"Ada,ada@example.org\n")
    [found] = unconfirmed_findings(world, load_exportable(world, skill))
    assert found == f"“ada@example.org” (e-mail) in support/{skill.name}, prices.csv, part 2"


def test_a_template_that_the_tenant_wrote_since_the_approval_counts(world: World) -> None:
    skill = make_skill(world, "approved", body="## Procedure\n1. Ask for POL-482113.")
    assert build_archive([load_exportable(world, skill)], actor=world.operator)
    with acting_as(world.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=world.admin, pii_patterns="policy-number: POL-######")
    assert unconfirmed_findings(world, load_exportable(world, skill)) == (
        f"“POL-482113” (policy-number) in support/{skill.name}, body",
    )


def test_two_agents_skills_of_one_name_are_both_looked_through(world: World) -> None:
    clean = make_skill(world, "approved")
    values = clean.texts | {"body": "Write to ada@example.org."}
    theirs = draft_skill(make_neighbour(world).pk, actor=world.operator, values=values)
    approve_read_skill(theirs, world.operator)
    assert unconfirmed_findings(world, *select_approved_skills(actor=world.operator)) == (
        f"“ada@example.org” (e-mail) in billing/{theirs.name}, body",
    )


def test_an_agent_is_told_that_a_person_has_to_look(world: World) -> None:
    make_skill(world, "approved", body="Write to ada@example.org.")
    with pytest.raises(FindingsUnconfirmed, match="A person has to review"):
        build_archive(select_approved_skills(actor=world.bot), actor=world.bot, confirm_findings=True)
    assert build_archive(select_approved_skills(actor=world.system), actor=world.system, confirm_findings=True)


def test_of_many_places_the_first_are_said_and_the_rest_counted(world: World) -> None:
    body = "\n".join(f"Write to ada{number}@example.org." for number in range(FINDINGS_SHOWN + 3))
    skill = make_skill(world, "approved", body=body)
    with pytest.raises(FindingsUnconfirmed, match="and 3 more") as refusal:
        build_archive([load_exportable(world, skill)], actor=world.operator)
    assert len(refusal.value.findings) == FINDINGS_SHOWN + 3
