"""The policy table says what an auditor expects of it."""

import pytest

from apps.governance.actors import PEOPLE, Actor, Role
from apps.governance.policy.policy_table import POLICY, Act, Risk, codename, codenames, default_grants, permissions

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

PERSONA_SECTIONS = {"identity", "style", "avoid", "defaults", "goals"}


def test_every_act_has_a_rule_and_no_rule_is_for_nobody() -> None:
    assert set(POLICY) == set(Act)
    for act, rule in POLICY.items():
        assert rule.allowed, act
        assert not rule.direct & rule.proposes, act


def test_only_people_and_seeding_write_a_persona() -> None:
    # R017, R019, R021, R029
    for act in (Act.PERSONA_AMEND, Act.PERSONA_ARCHIVE, Act.PERSONA_ACTIVATE):
        assert POLICY[act].allowed == PEOPLE
    assert POLICY[Act.PERSONA_CREATE].allowed == PEOPLE | {Role.SYSTEM}
    agents = {act for act, rule in POLICY.items() if act.value.startswith("persona.") and Role.AGENT in rule.allowed}
    assert agents == {Act.PERSONA_PROPOSE}
    assert POLICY[Act.PERSONA_PROPOSE].fields == ("proposed_patch",)


def test_only_people_write_overlays_identity_cards_and_rules() -> None:
    # R035, R052, R053, R186, R188, R189
    nouns = {"overlay", "identity_card", "rule"}
    acts = {act for act in Act if act.value.partition(".")[0] in nouns} - {Act.RULE_PROPOSE}
    assert len(acts) == 6
    assert POLICY[Act.RULE_PROPOSE].proposes == {Role.AGENT}
    assert all(POLICY[act].allowed == PEOPLE and POLICY[act].risk is Risk.HIGH for act in acts)


def test_only_people_move_a_skill() -> None:
    # R018, R094
    moving = {act for act, rule in POLICY.items() if act.value.startswith("skill.") and "status" in rule.fields}
    assert moving == {Act.SKILL_APPROVE, Act.SKILL_DEPRECATE, Act.SKILL_UNDO, Act.SKILL_REDRAFT}
    assert all(POLICY[act].allowed == PEOPLE for act in (*moving, Act.SKILL_REVISE))


def test_agents_write_memory_and_profile_freely_and_close_their_conversations() -> None:
    # R023, R024
    for act in (Act.MEMORY_AMEND, Act.PROFILE_AMEND, Act.CONVERSATION_RESOLVE, Act.CONVERSATION_ABANDON):
        assert Role.AGENT in POLICY[act].direct


@pytest.mark.parametrize("role", [Role.AGENT, Role.SYSTEM])
def test_nothing_that_is_not_a_person_decides(role: Role) -> None:
    # R016
    for act in (Act.SKILL_APPROVE, Act.SKILL_REVISE, Act.PROPOSAL_APPLY, Act.PROPOSAL_REJECT, Act.PERSONA_AMEND):
        assert role not in POLICY[act].allowed


def test_whatever_is_risky_is_a_persons_or_the_seeding_commands() -> None:
    risky = [act for act, rule in POLICY.items() if rule.risk is Risk.HIGH]
    assert risky
    assert all(POLICY[act].allowed <= PEOPLE | {Role.SYSTEM} for act in risky)


def test_every_act_and_governed_field_is_a_permission_of_its_own() -> None:
    # R017, R018
    names = [name for name, _ in permissions()]
    assert len(names) == len(set(names))
    assert set(names) == {name for act in Act for name in codenames(act)}
    assert {f"persona_amend__{section}" for section in PERSONA_SECTIONS} <= set(names)
    assert codename(Act.SKILL_APPROVE, "status") == "skill_approve__status"
    assert all(len(name) <= 100 and len(label) <= 255 for name, label in permissions())


@pytest.mark.parametrize("role", Role)
def test_a_role_holds_what_its_acts_need_and_no_more(role: Role) -> None:
    # R015
    grants = default_grants(role)
    for act, rule in POLICY.items():
        assert (codename(act) in grants) == (role in rule.allowed)


def test_people_are_operators_and_admins() -> None:
    actors = {role: Actor(1, role, frozenset(), "x") for role in Role}
    assert {role for role, actor in actors.items() if actor.is_person} == {Role.OPERATOR, Role.ADMIN}
    serving = actors[Role.AGENT].serving("http:abc")
    assert (serving.customer_key, serving.role) == ("http:abc", Role.AGENT)


def test_each_act_is_named_in_the_past() -> None:
    named = {act: act.past_participle for act in Act}
    assert all(named.values())
    assert named[Act.LEARNING_VERSION_WITHDRAW] == "withdrawn"
