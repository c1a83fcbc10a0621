"""The nightly scan for contradictions in the texts that an agent follows. People see the findings; no prompt does (R089).

The scan calls no model, and no transaction is open while texts are compared. It reads the texts, compares them, and commits each
changed finding separately.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.learning.contradictions.actions import clear_contradiction, mark_contradiction_recurred, record_contradiction
from apps.learning.contradictions.agent_texts import (
    AgentText,
    approved_skill_texts,
    memory_texts,
    persona_and_rule_texts,
    server_tools_of_agent,
    tier_texts,
)
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.rules import (
    ContradictionPair,
    ContradictionSide,
    KnownContradiction,
    ScanChanges,
    compare_scan,
    count_texts_within,
    latest_scan_date,
)
from apps.learning.contradictions.scan_runs import ScanExtent, ScanLease, claim_scan, end_scan
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES, ROUTING_TOOLS
from apps.runtime.tools.builtin_catalog import builtin_tools
from apps.runtime.tools.builtin_tool import ToolOffer
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent, TenantSettings
from apps.text_analysis.contradictions.detection import (
    ComparisonLimits,
    ConflictingLine,
    ContradictionCheck,
    ContradictionFinding,
    NamedText,
    ToolNames,
    detect_contradictions,
)

logger = logging.getLogger(__name__)

# The most that one scan reads and compares, which takes a worker some seconds.
MAX_LINES: Final = 10_000
SCAN_LIMITS: Final = ComparisonLimits(pairs=200_000, findings=200)


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The result of a scan: the number of texts, whether it reached the end, and the changes in the findings."""

    extent: ScanExtent
    new: int
    back: int
    gone: int


@dataclass(frozen=True, slots=True)
class ScanInput:
    """The texts of a scan, how many of them fit, and the tools that the agent may call."""

    texts: Sequence[AgentText]
    tools: ToolNames
    is_all: bool

    @property
    def by_record(self) -> Mapping[str, AgentText]:
        return {str(number): text for number, text in enumerate(self.texts)}


def scan_agent(agent_id: int, *, actor: Actor, now: datetime, at_once: bool = False) -> ScanResult | None:
    """Scan an agent's texts once. None if tonight's scan is done and no other was requested, or if another worker is scanning.

    `at_once` scans without waiting for the nightly run, for a person at a terminal.
    """
    with acting_as(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
        if agent is None:
            return None
        zone = ZoneInfo(TenantSettings.objects.visible_to(actor).get().timezone)
    held = claim_scan(agent.pk, latest_scan_date(now, zone), actor=actor, at_once=at_once)
    if held is None:
        return None
    with acting_as(actor):
        material = _read_scan_input(agent, actor, now)
    return _store_findings(held, material, _find_contradictions(material), actor, now)


def run_scheduled_scan(tenant_id: int, agent_id: int) -> None:
    """Scan an agent of this tenant, if its scan is due."""
    found = scan_agent(agent_id, actor=system_actor(tenant_id, "contradictions"), now=timezone.now())
    if found:
        extra = {"agent_id": agent_id, "texts": found.extent.text_count, "new": found.new, "gone": found.gone}
        logger.info("contradiction scan finished", extra=extra)


def _read_scan_input(agent: Agent, actor: Actor, now: datetime) -> ScanInput:
    """Read people's texts first, then memory, then runbooks, so that the limit cuts off only the latest runbooks."""
    texts = [
        *persona_and_rule_texts(agent.pk, actor),
        *memory_texts(agent.pk, actor, now),
        *tier_texts(agent.pk, actor),
        *approved_skill_texts(agent.pk, actor),
    ]
    fits = count_texts_within([text.text.count("\n") + 1 for text in texts], MAX_LINES)
    return ScanInput(texts[:fits], _callable_tools(agent, actor), fits == len(texts))


def _callable_tools(agent: Agent, actor: Actor) -> ToolNames:
    """The names of the tools that the agent may call in any conversation, and the names of all other tools."""
    offer = ToolOffer(
        may_propose_schedules=agent.may_propose_schedules,
        may_ask_agents=True,
        is_asked=True,
        may_show_tables_and_charts=agent.may_show_tables_and_charts,
        may_edit_memory=agent.may_edit_memory,
        may_edit_skills=agent.may_edit_skills,
        has_notebook=agent.has_notebook,
    )
    ours = {tool.name for tool in builtin_tools(offer)} | ROUTING_TOOLS
    others = server_tools_of_agent(agent.pk, actor)
    return ToolNames(others.allowed | ours, others.known | frozenset(BUILTIN_TOOL_NAMES))


def _find_contradictions(material: ScanInput) -> ContradictionCheck:
    written = [NamedText(name, text.part, text.text) for name, text in material.by_record.items()]
    return detect_contradictions(written, tools=material.tools, limits=SCAN_LIMITS)


def _store_findings(
    held: ScanLease, material: ScanInput, checked: ContradictionCheck, actor: Actor, now: datetime
) -> ScanResult:
    by_record = material.by_record
    pairs = [_pair(finding, by_record) for finding in checked.findings]
    extent = ScanExtent(len(material.texts), checked.pairs, checked.is_whole and material.is_all)
    with acting_as(actor):
        rows = {row.pair_sha256: row for row in Contradiction.objects.visible_to(actor).of_agent(held.agent_id)}
    known = {name: KnownContradiction(row.pk, row.status == Contradiction.Status.GONE) for name, row in rows.items()}
    change = compare_scan(pairs, known, is_whole=extent.is_complete)
    _write(held, change, {row.pk: row for row in rows.values()}, actor, now)
    end_scan(held, extent, actor=actor)
    return ScanResult(extent, len(change.new), len(change.back), len(change.gone))


def _write(
    held: ScanLease, change: ScanChanges, rows: Mapping[int, Contradiction], actor: Actor, now: datetime
) -> None:
    """Write each change in its own commit, so that changes already written survive if the worker dies."""
    for pair in change.new:
        record_contradiction(held.agent_id, actor=actor, pair=pair)
    for row_id in change.back:
        mark_contradiction_recurred(rows[row_id], actor=actor)
    for row_id in change.gone:
        clear_contradiction(rows[row_id], actor=actor, last_seen_at=held.scanned_at or now)


def _pair(finding: ContradictionFinding, by_record: Mapping[str, AgentText]) -> ContradictionPair:
    one = _side(finding.place, by_record)
    other = _side(finding.other, by_record) if finding.other else None
    return ContradictionPair(finding.kind.value, finding.place.words, one, other)


def _side(place: ConflictingLine, by_record: Mapping[str, AgentText]) -> ContradictionSide:
    text = by_record[place.record]
    return ContradictionSide(text.noun, text.row_id, text.where, place.text)
