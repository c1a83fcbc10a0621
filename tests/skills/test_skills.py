"""Acts on skills: agents draft, people decide byte for byte."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NeedsRebase, NotPermitted, NotVisible, Stale
from apps.governance.models import ChangeRecord, Proposal
from apps.review.skill_actions import approve_skill
from apps.skills.actions import amend_skill, count_use, deprecate_skill, discard_skill, draft_skill, revise_skill
from apps.skills.approved_skill_query import read_approved_skill
from apps.skills.models import Skill, SkillUse
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.actions import create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from tests.support.audit_records import records
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.desk import make_send_rule
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]

RUNBOOK = {"title": "Issue a refund", "description": "How to refund.", "body": "## Procedure\n1. Ask."}


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_fetched_skill_is_its_agents_in_its_version(world: World) -> None:
    # R095: whether the agent may fetch it is asked of this agent id. Of two versions one is no agent's id by chance.
    once, twice = make_skill(world, "approved"), make_skill(world, "approved")
    approve_as_read(
        propose_revision(twice, actor=world.bot, values={"body": "## Procedure\n1. Ask twice."}), world.operator
    )
    with acting_as(world.operator):
        once, twice = (Skill.objects.get(pk=skill.pk) for skill in (once, twice))
    assert once.version != twice.version
    for skill in (once, twice):
        fetched = read_approved_skill(skill.pk, actor=world.bot)
        assert fetched is not None
        fetched_values = (fetched.pk, fetched.tenant_id, fetched.agent_id, fetched.version, fetched.name, fetched.body)
        assert fetched_values == (skill.pk, skill.tenant_id, skill.agent_id, skill.version, skill.name, skill.body)


def test_every_skill_is_born_a_draft_whatever_was_asked_for(world: World) -> None:
    # R093: forged by an agent, and by an operator.
    forged = {**RUNBOOK, "status": "approved", "approved_by": "me"}
    for actor, name in ((world.bot, "one"), (world.operator, "two")):
        skill = draft_skill(world.agent.pk, actor=actor, values={**forged, "name": name})
        assert (skill.status, skill.approved_by, skill.approved_at) == (Skill.Status.DRAFT, "", None)


def test_a_draft_says_who_wrote_it(world: World) -> None:
    # R107
    by_agent = draft_skill(world.agent.pk, actor=world.bot, values={**RUNBOOK, "name": "one"})
    by_person = draft_skill(world.agent.pk, actor=world.operator, values={**RUNBOOK, "name": "two"})
    assert (by_agent.drafted_by, by_agent.taint) == ("agent:support", "agent")
    assert (by_person.drafted_by, by_person.taint) == (world.operator.label, "operator")


def test_name_and_title_complete_each_other(world: World) -> None:
    # Z-4
    titled = draft_skill(world.agent.pk, actor=world.bot, values=RUNBOOK)
    named = draft_skill(world.agent.pk, actor=world.bot, values={**RUNBOOK, "title": "", "name": "track-a-parcel"})
    assert (titled.name, named.title) == ("issue-a-refund", "Track a parcel")
    with pytest.raises(Invalid) as refusal:
        draft_skill(world.agent.pk, actor=world.bot, values={**RUNBOOK, "title": ""})
    assert {"name", "title"} <= set(refusal.value.fields)


def test_a_name_that_is_no_slug_is_refused(world: World) -> None:
    # R100
    with pytest.raises(Invalid, match="a-z, 0-9 and single hyphens"):
        draft_skill(world.agent.pk, actor=world.bot, values={**RUNBOOK, "name": "Not A Slug"})


def test_names_are_unique_per_agent_in_every_state(world: World) -> None:
    # R098, R117
    retired = make_skill(world, "deprecated", None, **RUNBOOK)
    with pytest.raises(Conflict):
        draft_skill(world.agent.pk, actor=world.bot, values=RUNBOOK)
    neighbour = create_agent("sales", "Sales", actor=world.admin)
    assert draft_skill(neighbour.pk, actor=world.operator, values=RUNBOOK).name == retired.name
    other_world = make_world()
    assert draft_skill(other_world.agent.pk, actor=other_world.bot, values=RUNBOOK).name == retired.name


def test_an_operator_approves_the_bytes_it_reviewed_and_no_others(world: World) -> None:
    # R094, R111
    skill = make_skill(world)
    reviewed = skill.content_sha256
    amend_skill(skill, actor=world.bot, values={"body": "## Procedure\nSomething else."})
    with pytest.raises(Stale, match="changed since you read it"):
        approve_skill(skill, actor=world.operator, reviewed_sha256=reviewed)
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    assert skill.approved_by == world.operator.label
    assert skill.approved_at is not None
    assert skill.approved_sha256 == skill.sha256 == skill.content_sha256


def test_agent_cannot_approve_its_own_draft(world: World) -> None:
    # R018, R094
    skill = make_skill(world)
    with pytest.raises(NotPermitted, match="Only admin or operator"):
        approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)
    with pytest.raises(NotPermitted):
        deprecate_skill(skill, actor=world.bot)


def test_agent_edits_drafts_and_only_drafts(world: World) -> None:
    # R107, Z-3
    draft, live = make_skill(world), make_skill(world, "approved")
    assert amend_skill(draft, actor=world.bot, values={"body": "Better."}).version == 2
    with pytest.raises(NotPermitted, match="Propose a revision instead"):
        amend_skill(live, actor=world.operator, values={"body": "Better."})
    # PostgreSQL does not even let the agent lock it.
    with pytest.raises(NotVisible, match="you may no longer change it"):
        amend_skill(live, actor=world.bot, values={"body": "Better."})


def test_agent_proposes_the_next_version_and_the_live_one_stays(world: World) -> None:
    # Z-3
    skill = make_skill(world, "approved")
    proposal = propose_revision(skill, actor=world.bot, values={"body": "Better."})
    assert proposal.base_sha256 == skill.content_sha256
    assert reload_skill(world, skill).body == skill.body
    approve_as_read(proposal, world.operator)
    live = reload_skill(world, skill)
    assert (live.body, live.status, live.approved_by) == ("Better.", Skill.Status.APPROVED, world.operator.label)
    assert live.approved_sha256 == live.content_sha256
    assert proposal.state == Proposal.State.APPLIED


@pytest.mark.parametrize(("drafter", "proposer", "taint"), [("operator", "bot", "agent"), ("bot", "operator", "agent")])
def test_an_applied_revision_stays_marked_as_its_proposers_words(
    world: World, drafter: str, proposer: str, taint: str
) -> None:
    # R023, Z-3
    skill = make_skill(world, "approved", actor=getattr(world, drafter))
    proposal = propose_revision(skill, actor=getattr(world, proposer), values={"body": "Better."})
    approve_as_read(proposal, world.operator)
    assert reload_skill(world, skill).taint == taint
    [record] = [record for record in records(world, skill) if record.act == "skill.revise"]
    assert (record.actor_label, record.taint) == (world.operator.label, taint)
    assert record.evidence == {"proposal_id": proposal.pk, "proposed_by": getattr(world, proposer).label}
    revise_skill(skill, actor=world.operator, values={"body": "Best."})
    assert records(world, skill)[-1].evidence == {}


def test_no_act_and_no_proposal_carries_what_it_does_not_govern(world: World) -> None:
    # R018, R093
    draft, live = make_skill(world), make_skill(world, "approved")
    forged = {"body": "New.", "status": "approved"}
    for act, skill, actor in (
        (amend_skill, draft, world.bot),
        (revise_skill, live, world.operator),
        (propose_revision, live, world.bot),
    ):
        with pytest.raises(NotPermitted, match="does not change status"):
            act(skill, actor=actor, values=forged)
        act(skill, actor=actor, values={"body": "New."})


def test_what_could_never_be_applied_is_refused_to_the_proposer(world: World) -> None:
    # Z-3
    skill = make_skill(world, "approved")
    with pytest.raises(Invalid) as refusal:
        propose_revision(skill, actor=world.bot, values={"name": "Not A Slug", "body": ""})
    assert set(refusal.value.fields) == {"name", "body"}
    assert propose_revision(skill, actor=world.bot, values={"name": "a-slug"}).pk


def test_a_second_proposal_revises_the_open_one(world: World) -> None:
    # Z-3
    skill = make_skill(world, "approved")
    first = propose_revision(skill, actor=world.bot, values={"body": "A."}, evidence={"conversation_id": 1})
    second = propose_revision(skill, actor=world.bot, values={"body": "B."}, evidence={"message_id": 2})
    assert second.pk == first.pk
    assert (second.content, second.support_count) == ({"body": "B."}, 2)
    assert second.evidence == {
        "conversation_id": 1,
        "message_id": 2,
        "conversation_ids": [1],
        "requests_without_conversation": 1,
    }


def test_a_proposal_on_older_bytes_is_not_applied(world: World) -> None:
    # Z-3
    skill = make_skill(world, "approved")
    proposal = propose_revision(skill, actor=world.bot, values={"body": "Better."})
    retirement = propose_deprecation(skill, actor=world.bot, rationale="Nobody uses it.")
    skill_before = skill.body
    revise_skill(skill, actor=world.operator, values={"body": "Mine."})
    for waiting in (proposal, retirement):
        with pytest.raises(NeedsRebase, match="changed since the proposer read it") as refusal:
            approve_as_read(waiting, world.operator)
        assert (refusal.value.base["body"], refusal.value.live["body"]) == (skill_before, "Mine.")
    assert reload_skill(world, skill).body == "Mine."


def test_agent_asks_to_retire_a_skill_and_a_person_does(world: World) -> None:
    # R020, Z-2
    skill = make_skill(world, "approved")
    proposal = propose_deprecation(skill, actor=world.bot, rationale="Nobody uses it.")
    assert (proposal.rationale, reload_skill(world, skill).status) == ("Nobody uses it.", Skill.Status.APPROVED)
    approve_as_read(proposal, world.operator)
    assert reload_skill(world, skill).status == Skill.Status.DEPRECATED


def test_only_an_approved_skill_is_revised(world: World) -> None:
    # R092
    for status in ("draft", "deprecated"):
        with pytest.raises(NotPermitted, match=f"this one is {status}"):
            revise_skill(make_skill(world, status), actor=world.operator, values={"body": "New."})


def test_deprecated_is_the_end(world: World) -> None:
    # R092
    skill = make_skill(world, "deprecated")
    with pytest.raises(IllegalTransition):
        approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    with pytest.raises(IllegalTransition):
        deprecate_skill(skill, actor=world.operator)
    assert deprecate_skill(make_skill(world), actor=world.operator).status == Skill.Status.DEPRECATED


def test_agent_discards_its_own_draft_and_nothing_else(world: World) -> None:
    # R020, Z-2
    own, persons = make_skill(world), make_skill(world, actor=world.operator)
    discard_skill(own, actor=world.bot)
    with pytest.raises((NotPermitted, NotVisible)):
        discard_skill(persons, actor=world.bot)
    for status in ("approved", "deprecated"):
        for actor in (world.bot, world.operator):
            with pytest.raises((NotPermitted, NotVisible)):
                discard_skill(make_skill(world, status), actor=actor)
    with acting_as(world.operator):
        assert Skill.objects.visible_to(world.operator).drafts().get() == persons
        assert ChangeRecord.objects.filter(act="skill.discard").count() == 1


def test_a_draft_that_a_rule_for_sending_names_is_not_discarded(world: World) -> None:
    draft = make_skill(world)
    make_send_rule(world, "", skill=draft)
    with pytest.raises(Conflict, match="A send rule names this skill"):
        discard_skill(draft, actor=world.bot)
    with acting_as(world.operator):
        assert Skill.objects.visible_to(world.operator).drafts().exists()


def test_only_the_fetch_of_an_approved_skill_is_counted(world: World) -> None:
    # R096
    draft, live = make_skill(world), make_skill(world, "approved")
    count_use(draft, actor=world.bot)
    count_use(live, actor=world.bot)
    with pytest.raises(NotPermitted):
        count_use(live, actor=world.operator)
    sales = create_agent("sales", "Sales", actor=world.admin)
    neighbour = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    with pytest.raises(NotVisible, match="not yours to read"):
        count_use(live, actor=neighbour)
    with acting_as(world.operator):
        assert list(SkillUse.objects.values_list("skill_id", "use_count")) == [(live.pk, 1)]


def test_an_agent_edits_no_draft_of_a_persons(world: World) -> None:
    # R107: else its words would come before the reviewer under a person's name.
    persons = make_skill(world, actor=world.operator)
    with pytest.raises((NotPermitted, NotVisible)):
        amend_skill(persons, actor=world.bot, values={"body": "Better."})
    assert amend_skill(persons, actor=world.operator, values={"body": "Better."}).version == 2


def read_versions(skill: Skill, proposal: Proposal) -> dict[str, int]:
    """The versions a person had before them."""
    return {"read_at": skill.version, "proposal_read_at": proposal.version}


def reload_skill(world: World, skill: Skill) -> Skill:
    with acting_as(world.operator):
        return Skill.objects.visible_to(world.operator).get(pk=skill.pk)
