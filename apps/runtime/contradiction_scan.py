"""The nightly look at what each agent goes by: which lines cannot both be right, kept for people, in nobody's prompt (R089).

No model is asked, and no transaction is open while texts are compared. What stands is read, compared, and each change of what is
known is a commit of its own.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.learning.contradictions.actions import clear_contradiction, find_contradiction, return_contradiction
from apps.learning.contradictions.agent_texts import (
    Text,
    distilled,
    remembered,
    runbooks,
    tools_of_others,
    written_by_people,
)
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.rules import Known, Pair, Settled, Side, night_of, settled, within
from apps.learning.contradictions.scan_runs import Extent, Held, claim_look, end_look
from apps.prompt.builtin_tools import HOUSE, ROUTING
from apps.runtime.tools.builtin_catalog import house_tools
from apps.runtime.tools.builtin_tool import Offer
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent, TenantSettings
from apps.text_analysis.contradictions.detection import Checked, Finding, Limits, Place, Tools, Written, contradictions

logger = logging.getLogger(__name__)

# What one look reads and compares at most: some seconds of one worker.
LINES: Final = 10_000
LIMITS: Final = Limits(pairs=200_000, findings=200)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look came to: how many texts it read, whether it reached the end, and what changed in what is known."""

    extent: Extent
    new: int
    back: int
    gone: int


@dataclass(frozen=True, slots=True)
class Material:
    """The texts a look reads, which of them fit, and what the agent may call."""

    texts: Sequence[Text]
    tools: Tools
    is_all: bool

    @property
    def by_record(self) -> Mapping[str, Text]:
        return {str(number): text for number, text in enumerate(self.texts)}


def look(agent_id: int, *, actor: Actor, now: datetime, at_once: bool = False) -> Looked | None:
    """Look at an agent's lines once. None: this night's look has ended and nobody asked for another, or a worker looks.

    `at_once` is for a person at a terminal.
    """
    with acting(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
        if agent is None:
            return None
        zone = ZoneInfo(TenantSettings.objects.visible_to(actor).get().timezone)
    held = claim_look(agent.pk, night_of(now, zone), actor=actor, at_once=at_once)
    if held is None:
        return None
    with acting(actor):
        material = _material(agent, actor, now)
    return _kept(held, material, _compared(material), actor, now)


def attempt_look(tenant_id: int, agent_id: int) -> None:
    """Look under the tenant that came with the id."""
    found = look(agent_id, actor=system_actor(tenant_id, "contradictions"), now=timezone.now())
    if found:
        extra = {"agent_id": agent_id, "texts": found.extent.text_count, "new": found.new, "gone": found.gone}
        logger.info("contradictions looked for", extra=extra)


def _material(agent: Agent, actor: Actor, now: datetime) -> Material:
    """What people wrote first, then memory, then runbooks: what does not fit is the latest runbooks."""
    texts = [
        *written_by_people(agent.pk, actor),
        *remembered(agent.pk, actor, now),
        *distilled(agent.pk, actor),
        *runbooks(agent.pk, actor),
    ]
    fits = within([text.text.count("\n") + 1 for text in texts], LINES)
    return Material(texts[:fits], _callable(agent, actor), fits == len(texts))


def _callable(agent: Agent, actor: Actor) -> Tools:
    """What the agent may call in some conversation or other, and which other names are tools."""
    offer = Offer(
        may_propose_schedules=agent.may_propose_schedules,
        may_ask_agents=True,
        is_asked=True,
        may_show_tables_and_charts=agent.may_show_tables_and_charts,
        may_edit_memory=agent.may_edit_memory,
        may_edit_skills=agent.may_edit_skills,
        has_notebook=agent.has_notebook,
    )
    ours = {tool.name for tool in house_tools(offer)} | ROUTING
    others = tools_of_others(agent.pk, actor)
    return Tools(others.allowed | ours, others.known | frozenset(HOUSE))


def _compared(material: Material) -> Checked:
    written = [Written(name, text.part, text.text) for name, text in material.by_record.items()]
    return contradictions(written, tools=material.tools, limits=LIMITS)


def _kept(held: Held, material: Material, checked: Checked, actor: Actor, now: datetime) -> Looked:
    by_record = material.by_record
    pairs = [_pair(finding, by_record) for finding in checked.findings]
    extent = Extent(len(material.texts), checked.pairs, checked.is_whole and material.is_all)
    with acting(actor):
        rows = {row.pair_sha256: row for row in Contradiction.objects.visible_to(actor).of_agent(held.agent_id)}
    known = {name: Known(row.pk, row.status == Contradiction.Status.GONE) for name, row in rows.items()}
    change = settled(pairs, known, is_whole=extent.is_complete)
    _write(held, change, {row.pk: row for row in rows.values()}, actor, now)
    end_look(held, extent, actor=actor)
    return Looked(extent, len(change.new), len(change.back), len(change.gone))


def _write(held: Held, change: Settled, rows: Mapping[int, Contradiction], actor: Actor, now: datetime) -> None:
    """Each in a commit of its own, so that a worker that dies leaves what it has done."""
    for pair in change.new:
        find_contradiction(held.agent_id, actor=actor, pair=pair)
    for row_id in change.back:
        return_contradiction(rows[row_id], actor=actor)
    for row_id in change.gone:
        clear_contradiction(rows[row_id], actor=actor, last_seen_at=held.scanned_at or now)


def _pair(finding: Finding, by_record: Mapping[str, Text]) -> Pair:
    one = _side(finding.place, by_record)
    other = _side(finding.other, by_record) if finding.other else None
    return Pair(finding.kind.value, finding.place.words, one, other)


def _side(place: Place, by_record: Mapping[str, Text]) -> Side:
    text = by_record[place.record]
    return Side(text.noun, text.row_id, text.where, place.text)
