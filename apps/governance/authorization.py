"""Authorization: whether an actor may perform an act (tenant, role, grants, limits), and which columns the act may write.

No other module makes this decision. The governed write and the generated database grants both take the columns from this module.
"""

from typing import Final

from apps.governance.actors import ANYWHERE, PEOPLE, Actor, AgentScope, Role
from apps.governance.errors import MissingActor, NotPermitted, NotVisible, UngovernedWrite
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, PROPOSAL, Act, codename
from apps.governance.refusal_log import recording_refusals

# The only act that an assistant may perform for its member. Apart from this act, the assistant only reads.
ASSISTANT_ACT: Final = Act.CONVERSATION_TALK


def authorize(
    actor: Actor, act: Act, tenant_id: int, fields: frozenset[str] = frozenset(), *, agent_id: AgentScope = None
) -> None:
    """Check that tenant, role and grants permit the act; raise and log a refusal otherwise. No grant overrides the role.

    `agent_id` is the agent that the row belongs to. None, the default, means a row of the whole tenant, which a member limited to
    some agents may not touch. ANYWHERE asks whether the act is permitted for any row at all, before the row is known.
    """
    with recording_refusals(actor, act):
        check_actor(actor, act, tenant_id, fields, agent_id=agent_id)


def check_actor(
    actor: Actor, act: Act, tenant_id: int, fields: frozenset[str] = frozenset(), *, agent_id: AgentScope = None
) -> None:
    """Perform the check of `authorize` without logging a refusal; `governed` calls this and logs the refusal itself."""
    if actor is None:
        raise MissingActor(f"{act.value} needs an actor.")
    if actor.tenant_id != tenant_id:
        raise NotVisible("There is no such row.")
    if actor.via_agent_id is not None and act is not ASSISTANT_ACT:
        raise NotPermitted(
            f"An assistant may not {act_phrase(act)} for its member: it looks things up, and people decide."
        )
    if actor.role not in POLICY[act].allowed:
        raise NotPermitted(f"{_actor_noun(actor)} may not {act_phrase(act)}. {_permitted_roles_hint(act)}")
    for name in (codename(act), *(codename(act, field) for field in sorted(fields))):
        if not actor.holds(name, agent_id):
            raise NotPermitted(_missing_grant_message(actor, name))


def _missing_grant_message(actor: Actor, name: str) -> str:
    if actor.holds(name, ANYWHERE):
        return f"{actor.label} holds the grant “{name}” for other agents' rows, not for this one. Ask an admin for it."
    return f"{actor.label} lacks the grant “{name}”. Ask an admin of the tenant for it."


def may(actor: Actor, act: Act, field: str = "", row: Governed | None = None) -> bool:
    """Whether the actor may perform the act (and write `field`, if given) on this row, or without a row on any row at all."""
    place = row.agent_concerned if row is not None else ANYWHERE
    return actor.role in POLICY[act].allowed and all(
        actor.holds(name, place) for name in {codename(act), codename(act, field)}
    )


def _actor_noun(actor: Actor) -> str:
    if actor.role is Role.STAFF:
        return "Platform staff"
    return "An agent" if not actor.is_person else f"An {actor.role.value}"


_NOUN_PHRASES = {"settings": "the tenant's settings", "invokable": "an agent that another may ask"}


def act_phrase(act: Act) -> str:
    """Return the act in words, such as "approve a skill"."""
    noun, verb = act.noun.replace("_", " "), act.verb.replace("_", " ")
    article = "an" if noun[0] in "aeiou" else "a"
    return f"{verb} {_NOUN_PHRASES.get(noun, f'{article} {noun}')}"


def _permitted_roles_hint(act: Act) -> str:
    people = sorted(role.value for role in POLICY[act].direct)
    return f"Only {' or '.join(people)} may; ask one." if people else "Nobody may."


def noun_written_by(act: Act, role: Role) -> str:
    """Return the noun of the row that the act writes for this role. A role that may only propose writes a proposal instead."""
    rule = POLICY[act]
    return PROPOSAL if role in rule.proposes else rule.on or act.noun


def columns_of(act: Act, role: Role) -> frozenset[str]:
    """Return the fields of an existing row that the act writes for the role: its governed fields and those that it stamps."""
    rule = POLICY[act]
    governed = rule.writes(adding=False) if noun_written_by(act, role) == act.noun else frozenset()
    return governed | frozenset(rule.stamps) | frozenset(rule.signs if role in PEOPLE else ())


def refuse_other_subject(row: Governed, act: Act, role: Role, *, adding: bool, removes: bool) -> None:
    """Raise `UngovernedWrite` if the act's rule names another kind of row or another effect (make, change, remove)."""
    rule, noun = POLICY[act], noun_written_by(act, role)
    if row.noun != noun:
        raise UngovernedWrite(
            f"The act {act.value} writes a {noun}; {type(row).__name__} is a {row.noun or 'nameless'}."
        )
    asked = "removes" if removes else "makes" if adding else "changes"
    if not getattr(rule, asked):
        raise UngovernedWrite(
            f"The act {act.value} {asked} a {noun} here; its rule in POLICY says it {rule.does.value}."
        )
