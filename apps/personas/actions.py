"""Acts on what people write about an agent. An agent writes none of it; it proposes a persona patch (R015-R022, R029, R030)."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.governance.actors import Actor
from apps.governance.errors import Invalid, NotPermitted, refuse_blank
from apps.governance.governed_write import assign_values, governed, governed_create, refuse_ungoverned_fields
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskFactor, tier_of
from apps.governance.proposals.actions import open_proposal
from apps.governance.proposals.approval_rules import ProposedChange, refuse_flaws
from apps.governance.stored_text import content_sha256
from apps.personas.models import SECTIONS, IdentityCard, MemberOverlay, Persona, PersonaOverlay, StandingRule
from apps.personas.rules import section_risk_factors
from apps.tenants.agent_flavours import refuse_agent_for_customers
from apps.tenants.models import Agent, TenantSettings
from apps.tenants.review_settings import review_terms

RULES_RISK_TIER = tier_of({RiskFactor.RULES})
# No person has this id.
NO_MEMBER = 0


def create_persona(agent_id: int, *, actor: Actor, values: Mapping[str, str]) -> Persona:
    """Give an agent its persona. Its next session speaks with it."""
    persona = Persona(tenant_id=actor.tenant_id, agent_id=agent_id, **values)
    return governed_create(Act.PERSONA_CREATE, persona, actor=actor)


def amend_persona(
    persona: Persona,
    *,
    actor: Actor,
    values: Mapping[str, str],
    read_at: int | None = None,
    reason: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Persona:
    """Change the live sections. Sessions already open keep what they started with; every later one gets this (R031)."""
    with governed(Act.PERSONA_AMEND, persona, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
        assign_values(row, Act.PERSONA_AMEND, values)
    return persona


def archive_persona(persona: Persona, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Persona:
    """Take the persona out of future prompts; they fall back to the default (R027)."""
    with governed(Act.PERSONA_ARCHIVE, persona, actor=actor, read_at=read_at, reason=reason) as row:
        row.archive()
    return persona


def activate_persona(persona: Persona, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Persona:
    """Bring an archived persona back into future prompts."""
    with governed(Act.PERSONA_ACTIVATE, persona, actor=actor, read_at=read_at, reason=reason) as row:
        row.activate()
    return persona


def propose_patch(
    persona: Persona,
    *,
    actor: Actor,
    text: str,
    evidence: Mapping[str, object] | None = None,
    taint: Taint | None = None,
) -> Proposal:
    """Put a free-form change before an operator; the live persona stays as it is until then (R030)."""
    refuse_blank(text, "Say what to change and why; the proposal is empty.", "text")
    change = _persona_change(Proposal.Kind.PERSONA_PATCH, persona, {"text": text}, evidence or {}, taint=taint)
    return open_proposal(persona, actor=actor, act=Act.PERSONA_PROPOSE, change=change, terms=review_terms(actor))


def propose_sections(
    persona: Persona,
    *,
    actor: Actor,
    values: Mapping[str, str],
    rationale: str = "",
    evidence: Mapping[str, object] | None = None,
    taint: Taint | None = None,
) -> Proposal:
    """Put new texts of single sections before an operator, who sees them beside what is live."""
    refuse_ungoverned_fields(Act.PERSONA_AMEND, values)
    refuse_flaws(Persona, values)
    changed = {name: text for name, text in values.items() if getattr(persona, name) != text}
    if not changed:
        raise Invalid("These sections say that already; there is nothing to propose.", {})
    change = _persona_change(Proposal.Kind.PERSONA_FIELDS, persona, changed, evidence or {}, rationale, taint)
    return open_proposal(persona, actor=actor, act=Act.PERSONA_PROPOSE, change=change, terms=review_terms(actor))


def _persona_change(
    kind: Proposal.Kind,
    persona: Persona,
    content: Mapping[str, str],
    evidence: Mapping[str, object],
    rationale: str = "",
    taint: Taint | None = None,
) -> ProposedChange:
    return ProposedChange(
        kind,
        persona.agent_id,
        persona.sha256,
        content,
        rationale,
        evidence,
        base_version=persona.version,
        base_content={name: getattr(persona, name) for name in SECTIONS},
        risk=tier_of({RiskFactor.PERSONA} | section_risk_factors(set(content) & set(SECTIONS))),
        taint=taint,
    )


def create_overlay(agent_id: int, *, actor: Actor, text: str) -> PersonaOverlay:
    """Add to the personality of an agent that has no overlay yet."""
    return write_overlay(PersonaOverlay(tenant_id=actor.tenant_id, agent_id=agent_id), actor=actor, text=text)


def write_overlay(
    overlay: PersonaOverlay, *, actor: Actor, text: str, read_at: int | None = None, reason: str = ""
) -> PersonaOverlay:
    """Replace the overlay; an empty one is none. Sessions already open keep what they started with (R035)."""
    with governed(Act.OVERLAY_WRITE, overlay, actor=actor, read_at=read_at, reason=reason) as row:
        row.text = text
    return overlay


def create_member_overlay(
    agent_id: int, *, actor: Actor, text: str, has_heard: bool = False, evidence: Mapping[str, Any] | None = None
) -> MemberOverlay:
    """Say for the first time how an assistant is to work for the member who acts, or in whose talk it does."""
    refuse_agent_for_customers(agent_id, actor=actor)
    overlay = MemberOverlay(tenant_id=actor.tenant_id, agent_id=agent_id, member_user_id=actor.talks_as or NO_MEMBER)
    return write_member_overlay(overlay, actor=actor, text=text, has_heard=has_heard, evidence=evidence)


def write_member_overlay(
    overlay: MemberOverlay,
    *,
    actor: Actor,
    text: str,
    has_heard: bool = False,
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> MemberOverlay:
    """Say how an assistant is to work for its member; their next session begins so (R035, R129, Z-6).

    What an assistant writes that `has_heard` customers waits until its member has looked: customers' words become no rule.
    """
    if actor.talks_as != overlay.member_user_id:
        raise NotPermitted(
            "This overlay is another member's. Each member writes their own, in a talk or on the page of the talk."
        )
    with governed(Act.MEMBER_OVERLAY_WRITE, overlay, actor=actor, read_at=read_at, evidence=evidence) as row:
        if has_heard and not actor.is_person:
            row.pending_text = text
        else:
            row.text, row.taint = text, Taint.OPERATOR if actor.is_person else Taint.AGENT
        if actor.is_person:
            row.pending_text = ""
    return overlay


def create_identity_card(agent_id: int, *, actor: Actor, values: Mapping[str, str]) -> IdentityCard:
    """Say whom an agent represents, always or on one line (R186, R187)."""
    return write_identity_card(IdentityCard(tenant_id=actor.tenant_id, agent_id=agent_id), actor=actor, values=values)


def write_identity_card(
    card: IdentityCard, *, actor: Actor, values: Mapping[str, str], read_at: int | None = None, reason: str = ""
) -> IdentityCard:
    """Change what the card says; it stays with its agent and its line. Open sessions keep what they started with."""
    with governed(Act.IDENTITY_CARD_WRITE, card, actor=actor, read_at=read_at, reason=reason) as row:
        assign_values(row, Act.IDENTITY_CARD_WRITE, values)
    return card


def add_rule(
    agent_id: int | None,
    *,
    actor: Actor,
    text: str,
    position: int = 0,
    evidence: Mapping[str, Any] | None = None,
) -> StandingRule:
    """Lay down a rule for one agent, or with None for all of the organisation. Their next sessions keep to it."""
    rule = StandingRule(tenant_id=actor.tenant_id, agent_id=agent_id, text=text, position=position)
    return governed_create(Act.RULE_ADD, rule, actor=actor, evidence=evidence)


def amend_rule(
    rule: StandingRule,
    *,
    actor: Actor,
    values: Mapping[str, Any],  # Any: a text and a number
    read_at: int | None = None,
    reason: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> StandingRule:
    """Reword a rule or move it. Whose rule it is never changes."""
    with governed(Act.RULE_AMEND, rule, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
        assign_values(row, Act.RULE_AMEND, values)
    return rule


def retire_rule(rule: StandingRule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> StandingRule:
    """Take a rule out of future prompts; it stays to be read."""
    with governed(Act.RULE_RETIRE, rule, actor=actor, read_at=read_at, reason=reason) as row:
        row.retire()
    return rule


def restore_rule(rule: StandingRule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> StandingRule:
    """Bring a retired rule back into future prompts."""
    with governed(Act.RULE_RESTORE, rule, actor=actor, read_at=read_at, reason=reason) as row:
        row.restore()
    return rule


def propose_rules(
    holder: Agent | TenantSettings,
    *,
    actor: Actor,
    lines: Sequence[str],
    rationale: str = "",
    evidence: Mapping[str, object] | None = None,
    taint: Taint | None = None,
) -> Proposal:
    """Put new rules before an operator: for one agent, or for the organisation that these settings are of."""
    agent_id = holder.pk if isinstance(holder, Agent) else actor.agent_id
    if not lines:
        raise Invalid("Write at least one rule, each on a line of its own.", {"lines": ["There is no rule here."]})
    for line in lines:
        refuse_flaws(StandingRule, {"text": line})
    sha256 = content_sha256(f"{holder._meta.label_lower}:{holder.pk}")
    change = ProposedChange(
        Proposal.Kind.RULE_LINES,
        agent_id,
        sha256,
        {"lines": list(lines)},
        rationale,
        evidence or {},
        risk=RULES_RISK_TIER,
        taint=taint,
    )
    return open_proposal(holder, actor=actor, act=Act.RULE_PROPOSE, change=change, terms=review_terms(actor))


def propose_rule_change(
    rule: StandingRule,
    *,
    actor: Actor,
    text: str,
    rationale: str = "",
    evidence: Mapping[str, object] | None = None,
    taint: Taint | None = None,
) -> Proposal:
    """Put another wording of a rule before an operator; the rule holds as it stands until then."""
    refuse_flaws(StandingRule, {"text": text})
    change = ProposedChange(
        Proposal.Kind.RULE_CHANGE,
        rule.agent_id or actor.agent_id,
        rule.sha256,
        {"text": text},
        rationale,
        evidence or {},
        base_version=rule.version,
        base_content={"text": rule.text},
        risk=RULES_RISK_TIER,
        taint=taint,
    )
    return open_proposal(rule, actor=actor, act=Act.RULE_PROPOSE, change=change, terms=review_terms(actor))
