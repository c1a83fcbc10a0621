"""Governed writes on personas, overlays, identity cards and rules (R015-R022, R029, R030).

Agents can only propose changes of personas and rules. An assistant may also write its member's overlay.
"""

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
from apps.personas.rules import rule_risk_factors, section_risk_factors
from apps.tenants.agent_flavours import refuse_agent_for_customers
from apps.tenants.models import Agent, TenantSettings
from apps.tenants.review_settings import review_terms

# An id that no person has.
NO_MEMBER = 0


def create_persona(agent_id: int, *, actor: Actor, values: Mapping[str, str]) -> Persona:
    """Create an agent's persona, which its next session uses."""
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
    """Change the live sections of a persona. Open sessions keep the earlier text; later sessions use the new one (R031)."""
    with governed(Act.PERSONA_AMEND, persona, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
        assign_values(row, Act.PERSONA_AMEND, values)
    return persona


def archive_persona(persona: Persona, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Persona:
    """Remove the persona from future prompts, which then use the default persona (R027)."""
    with governed(Act.PERSONA_ARCHIVE, persona, actor=actor, read_at=read_at, reason=reason) as row:
        row.archive()
    return persona


def activate_persona(persona: Persona, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Persona:
    """Return an archived persona to future prompts."""
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
    """Propose a free-text change of a persona. The live persona does not change until a person approves a wording (R030)."""
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
    """Propose new texts for single sections. The reviewer compares them with the live texts."""
    refuse_ungoverned_fields(Act.PERSONA_AMEND, values)
    refuse_flaws(Persona, values)
    changed = {name: text for name, text in values.items() if getattr(persona, name) != text}
    if not changed:
        raise Invalid("These sections already have this text, so there is nothing to propose.", {})
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
    """Create the overlay of an agent that has none yet."""
    return write_overlay(PersonaOverlay(tenant_id=actor.tenant_id, agent_id=agent_id), actor=actor, text=text)


def write_overlay(
    overlay: PersonaOverlay, *, actor: Actor, text: str, read_at: int | None = None, reason: str = ""
) -> PersonaOverlay:
    """Replace the overlay's text; an empty text means no overlay. Open sessions keep the earlier text (R035)."""
    with governed(Act.OVERLAY_WRITE, overlay, actor=actor, read_at=read_at, reason=reason) as row:
        row.text = text
    return overlay


def create_member_overlay(
    agent_id: int, *, actor: Actor, text: str, has_heard: bool = False, evidence: Mapping[str, Any] | None = None
) -> MemberOverlay:
    """Create a member's overlay of an assistant. The actor is the member, or the assistant in that member's talk."""
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
    """Replace a member's overlay of an assistant, which that member's next session uses (R035, R129, Z-6).

    If the assistant `has_heard` customers, its text is stored in `pending_text` until the member has reviewed it, so that
    customers' words do not become instructions.
    """
    if actor.talks_as != overlay.member_user_id:
        raise NotPermitted(
            "This overlay belongs to another member. You can write only your own, in a talk or on the page of the talk."
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
    """Create an agent's identity card, either for all lines or for one line (R186, R187)."""
    return write_identity_card(IdentityCard(tenant_id=actor.tenant_id, agent_id=agent_id), actor=actor, values=values)


def write_identity_card(
    card: IdentityCard, *, actor: Actor, values: Mapping[str, str], read_at: int | None = None, reason: str = ""
) -> IdentityCard:
    """Change an identity card. Its agent and its line cannot change. Open sessions keep the earlier text."""
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
    """Add a rule for one agent, or for all agents if `agent_id` is None. It applies from their next sessions on."""
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
    """Reword or reorder a rule. The agent or organisation that it belongs to does not change."""
    with governed(Act.RULE_AMEND, rule, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
        assign_values(row, Act.RULE_AMEND, values)
    return rule


def retire_rule(rule: StandingRule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> StandingRule:
    """Remove a rule from future prompts. People can still read it."""
    with governed(Act.RULE_RETIRE, rule, actor=actor, read_at=read_at, reason=reason) as row:
        row.retire()
    return rule


def restore_rule(rule: StandingRule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> StandingRule:
    """Return a retired rule to future prompts."""
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
    """Propose new rules for an agent, or for the whole organisation if `holder` is its settings."""
    agent_id = holder.pk if isinstance(holder, Agent) else actor.agent_id
    if not lines:
        raise Invalid("Write at least one rule, each on a line of its own.", {"lines": ["This holds no rule."]})
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
        risk=tier_of(rule_risk_factors(holder.pk if isinstance(holder, Agent) else None)),
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
    """Propose a new wording of a rule. The current wording applies until a person approves the new one."""
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
        risk=tier_of(rule_risk_factors(rule.agent_id)),
        taint=taint,
    )
    return open_proposal(rule, actor=actor, act=Act.RULE_PROPOSE, change=change, terms=review_terms(actor))
