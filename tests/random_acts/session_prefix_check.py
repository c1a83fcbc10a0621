"""Whether every byte of a frozen session may stand where it stands, asked of its owners and of the words themselves."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import POLICY
from apps.prompt.prompt_input import TextProvenance
from apps.prompt.rendering.segments import Segment, Span
from apps.runtime.models import Session
from apps.runtime.sessions.session_prefix import load_prefix
from tests.random_acts.superuser_observer import ApprovedRow, RowKey, SuperuserObserver
from tests.random_acts.two_tenants import ActingTenant

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
_UNAPPROVED_FIELDS: Final = {("memory.memoryblock", "label")}
ApprovedRows = Sequence[tuple[RowKey, ApprovedRow]]


def flaws_of_session(
    session_id: int, observer: SuperuserObserver, sides: tuple[ActingTenant, ActingTenant], approved: ApprovedRows
) -> Iterator[str]:
    """What a session carries and must not."""
    tenant_id, agent_id, customer = observer.ask(
        "SELECT session.tenant_id, session.agent_id, conversation.end_user_key FROM runtime_session AS session"
        " JOIN conversations_conversation AS conversation ON conversation.id = session.conversation_id"
        " WHERE session.id = %s",
        session_id,
    )[0]
    side = next(side for side in sides if side.tenant_id == tenant_id)
    with acting_as(side.world.system):
        session = Session.objects.select_related("tools").get(pk=session_id)
        assembled = load_prefix(session).assembled
    here = [(key, row) for key, row in approved if _is_visible_to_agent(key, row, tenant_id, agent_id)]
    prose, data = _split_prose_and_data(assembled.spans())
    where = f"session {session_id}"
    yield from (f"{where}: {flaw}" for flaw in _check_owners(prose, data, tenant_id, observer, here))
    yield from (
        f"{where}: {flaw}" for flaw in _check_words(prose, data, here, observer, (tenant_id, agent_id, customer))
    )


def _is_visible_to_agent(key: RowKey, row: ApprovedRow, tenant_id: int, agent_id: int) -> bool:
    # Whom an agent may ask, its prompt names: the neighbour's own title reaches it.
    of_neighbour = key.kind == "tenants.agent"
    return row.tenant_id == tenant_id and (row.agent_id in {None, agent_id} or of_neighbour)


def _split_prose_and_data(spans: Iterable[Span]) -> tuple[list[Segment], list[Segment]]:
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


def _check_owners(
    prose: Sequence[Segment], data: Sequence[Segment], tenant_id: int, observer: SuperuserObserver, here: ApprovedRows
) -> Iterator[str]:
    for source in sorted({owner for segment in (*prose, *data) if (owner := segment.source)}, key=str):
        key = RowKey(source.record_type, source.record_id)
        if not observer.version_stood(tenant_id, key, source.version):
            yield f"version {source.version} of {key.kind} {key.row_id} owns bytes, and there is none in this tenant"
    people = observer.people(tenant_id)
    rows = {key for key, _ in here}
    for source in sorted({owner for segment in prose if (owner := segment.source)}, key=str):
        if (
            RowKey(source.record_type, source.record_id) not in rows
            and (source.record_type, source.field) not in _UNAPPROVED_FIELDS
        ):
            yield f"{source.record_type} {source.record_id} stands as prose and is not approved for this agent"
        if not (_is_known_person(source.approver, people) or _is_people_only(source)):
            yield f"{source.record_type} {source.record_id} stands as prose with the approver “{source.approver}”"


def _is_known_person(label: str, people: set[int]) -> bool:
    kind, _, number = label.partition(":")
    return kind == "operator" and number.isdecimal() and int(number) in people


def _is_people_only(source: TextProvenance) -> bool:
    """Whether no agent may write the field at all, whoever did: then the installation made the row."""
    noun = _NOUNS.get(source.record_type)
    rules = [rule for act, rule in POLICY.items() if act.noun == noun]
    return bool(rules) and not any(Role.AGENT in rule.direct and source.field in rule.fields for rule in rules)


def _check_words(
    prose: Sequence[Segment],
    data: Sequence[Segment],
    here: ApprovedRows,
    observer: SuperuserObserver,
    memory_key: tuple[int, int, str],
) -> Iterator[str]:
    let_through = _find_marks(str(row.texts) for _, row in here)
    for mark in sorted(_find_marks(segment.text for segment in prose) - let_through):
        yield f"the words {mark} stand as prose, and no approved row of this agent holds them"
    remembered = _find_marks([observer.remembered(*memory_key)]) | let_through
    for mark in sorted(_find_marks(segment.text for segment in data) - remembered):
        yield f"the words {mark} stand as data, and neither the agent nor this customer has them"


def _find_marks(texts: Iterable[str]) -> set[str]:
    return {mark for text in texts for mark in MARK.findall(text)}
