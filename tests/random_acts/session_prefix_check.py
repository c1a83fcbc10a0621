"""Whether every byte of a frozen session may stand where it stands, asked of its owners and of the words themselves."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting
from apps.governance.policy.table import POLICY
from apps.prompt.prompt_input import Source
from apps.prompt.rendering.segments import Segment, Span
from apps.runtime.models import Session
from apps.runtime.sessions.session_prefix import thawed
from tests.random_acts.superuser_observer import Approved, Key, Observer
from tests.random_acts.two_tenants import Side

# The words of the stage, wherever they turn up.
MARK: Final = re.compile(r"w\d+x\d+")
_NOUNS: Final = {
    "personas.persona": "persona",
    "personas.personaoverlay": "overlay",
    "personas.identitycard": "identity_card",
    "personas.standingrule": "rule",
    "tenants.agent": "agent",
    "tenants.invokableagent": "invokable",
}
# Prose of people beside words that an agent may have written since: a block's label above its fenced body.
_APART: Final = {("memory.memoryblock", "label")}
Standing = Sequence[tuple[Key, Approved]]


def flaws_of_session(
    session_id: int, observer: Observer, sides: tuple[Side, Side], approved: Standing
) -> Iterator[str]:
    """What a session carries and must not."""
    tenant_id, agent_id, customer = observer.ask(
        "SELECT session.tenant_id, session.agent_id, conversation.end_user_key FROM runtime_session AS session"
        " JOIN conversations_conversation AS conversation ON conversation.id = session.conversation_id"
        " WHERE session.id = %s",
        session_id,
    )[0]
    side = next(side for side in sides if side.tenant_id == tenant_id)
    with acting(side.world.system):
        session = Session.objects.select_related("tools").get(pk=session_id)
        assembled = thawed(session).assembled
    here = [(key, row) for key, row in approved if _reaches(key, row, tenant_id, agent_id)]
    prose, data = _sorted(assembled.spans())
    where = f"session {session_id}"
    yield from (f"{where}: {flaw}" for flaw in _owners(prose, data, tenant_id, observer, here))
    yield from (f"{where}: {flaw}" for flaw in _words(prose, data, here, observer, (tenant_id, agent_id, customer)))


def _reaches(key: Key, row: Approved, tenant_id: int, agent_id: int) -> bool:
    # Whom an agent may ask, its prompt names: the neighbour's own title reaches it.
    of_neighbour = key.kind == "tenants.agent"
    return row.tenant_id == tenant_id and (row.agent_id in {None, agent_id} or of_neighbour)


def _sorted(spans: Iterable[Span]) -> tuple[list[Segment], list[Segment]]:
    """What the model reads as prose, and what stands inside a fence."""
    prose: list[Segment] = []
    data: list[Segment] = []
    fenced = False
    for span in spans:
        segment = span.segment
        if segment.template == "fence" and "<data id=" in segment.text:
            fenced = True
        elif segment.template == "fence" and "</data id=" in segment.text:
            fenced = False
        elif segment.source is not None:
            (data if fenced else prose).append(segment)
    return prose, data


def _owners(
    prose: Sequence[Segment], data: Sequence[Segment], tenant_id: int, observer: Observer, here: Standing
) -> Iterator[str]:
    for source in sorted({owner for segment in (*prose, *data) if (owner := segment.source)}, key=str):
        key = Key(source.record_type, source.record_id)
        if not observer.version_stood(tenant_id, key, source.version):
            yield f"version {source.version} of {key.kind} {key.row_id} owns bytes, and there is none in this tenant"
    people = observer.people(tenant_id)
    rows = {key for key, _ in here}
    for source in sorted({owner for segment in prose if (owner := segment.source)}, key=str):
        if Key(source.record_type, source.record_id) not in rows and (source.record_type, source.field) not in _APART:
            yield f"{source.record_type} {source.record_id} stands as prose and is not approved for this agent"
        if not (_person(source.approver, people) or _is_of_people(source)):
            yield f"{source.record_type} {source.record_id} stands as prose with the approver “{source.approver}”"


def _person(label: str, people: set[int]) -> bool:
    kind, _, number = label.partition(":")
    return kind == "operator" and number.isdecimal() and int(number) in people


def _is_of_people(source: Source) -> bool:
    """Whether no agent may write the field at all, whoever did: then the installation made the row."""
    noun = _NOUNS.get(source.record_type)
    rules = [rule for act, rule in POLICY.items() if act.noun == noun]
    return bool(rules) and not any(Role.AGENT in rule.direct and source.field in rule.fields for rule in rules)


def _words(
    prose: Sequence[Segment],
    data: Sequence[Segment],
    here: Standing,
    observer: Observer,
    whose: tuple[int, int, str],
) -> Iterator[str]:
    let_through = _marks(str(row.texts) for _, row in here)
    for mark in sorted(_marks(segment.text for segment in prose) - let_through):
        yield f"the words {mark} stand as prose, and no approved row of this agent holds them"
    remembered = _marks([observer.remembered(*whose)]) | let_through
    for mark in sorted(_marks(segment.text for segment in data) - remembered):
        yield f"the words {mark} stand as data, and neither the agent nor this customer has them"


def _marks(texts: Iterable[str]) -> set[str]:
    return {mark for text in texts for mark in MARK.findall(text)}
