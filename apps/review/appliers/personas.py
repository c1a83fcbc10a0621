"""Appliers of proposals about personas and standing rules."""

from collections.abc import Mapping
from types import MappingProxyType

from apps.governance.actors import Actor
from apps.governance.database.content_hash import ContentSha256
from apps.governance.errors import Invalid
from apps.governance.governed_write import refuse_ungoverned_fields
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskFactor
from apps.governance.proposals.approval_rules import refuse_flaws
from apps.governance.stored_text import content_sha256
from apps.personas.actions import add_rule, amend_persona, amend_rule, retire_rule
from apps.personas.models import SECTIONS, Persona, StandingRule
from apps.personas.rules import rule_risk_factors, section_risk_factors
from apps.review.appliers.base import Applier, Target, Values, changed_fields, merge_words
from apps.tenants.models import Agent, TenantSettings

Kind = Proposal.Kind


def _sections(persona: Persona) -> Values:
    return {name: getattr(persona, name) for name in SECTIONS}


def _persona_sha256(persona: Persona) -> str:
    return persona.sha256


def _check_sections(words: Values) -> Values:
    refuse_ungoverned_fields(Act.PERSONA_AMEND, words)
    if not words:
        raise Invalid(f"Send the new text of at least one section: {', '.join(SECTIONS)}.", {})
    refuse_flaws(Persona, words)
    return words


def _touched_factors(live: Values, after: Values) -> frozenset[RiskFactor]:
    return section_risk_factors(changed_fields(live, after))


def _amend_sections(persona: Persona, actor: Actor, proposal: Proposal) -> Values:
    before = {"values": _sections(persona)}
    amend_persona(persona, actor=actor, values=proposal.words, evidence=proposal.authorship)
    return before | {"version": persona.version}


def _undo_amend(persona: Persona, actor: Actor, proposal: Proposal) -> Persona:
    return amend_persona(persona, actor=actor, values=proposal.replaced_values["values"])


def _persona_applier(*, free_text: bool) -> Applier:
    return Applier(
        model=Persona,
        live=_sections,
        sha256=_persona_sha256,
        sql_sha256=ContentSha256(*SECTIONS),
        after=merge_words,
        touches=_touched_factors,
        check=_check_sections,
        apply=_amend_sections,
        undo=_undo_amend,
        free_text=free_text,
        by_section=True,
    )


def _holder_sha256(holder: Agent | TenantSettings) -> str:
    return content_sha256(f"{holder._meta.label_lower}:{holder.pk}")


def _no_rules(holder: Target) -> Values:
    return {"rules": []}


def _with_rules(live: Values, words: Values) -> Values:
    return {"rules": [*live["rules"], *words["lines"]]}


def _touch_rules(live: Values, after: Values) -> frozenset[RiskFactor]:
    return frozenset({RiskFactor.RULES})


def _factors_of_holder(holder: Agent | TenantSettings) -> frozenset[RiskFactor]:
    return rule_risk_factors(holder.pk if isinstance(holder, Agent) else None)


def _factors_of_rule(rule: StandingRule) -> frozenset[RiskFactor]:
    return rule_risk_factors(rule.agent_id)


def _check_lines(words: Values) -> Values:
    lines = words.get("lines")
    if set(words) != {"lines"} or not isinstance(lines, list) or not lines:
        raise Invalid("Send `lines`: a list of at least one rule.", {"lines": ["This holds no rule."]})
    for line in lines:
        refuse_flaws(StandingRule, {"text": line})
    return words


def _add_rules(holder: Agent | TenantSettings, actor: Actor, proposal: Proposal) -> Values:
    agent_id = holder.pk if isinstance(holder, Agent) else None
    evidence = proposal.authorship
    made = [add_rule(agent_id, actor=actor, text=line, evidence=evidence) for line in proposal.words["lines"]]
    return {"created_ids": [rule.pk for rule in made]}


def _retire_rules(holder: Target, actor: Actor, proposal: Proposal) -> None:
    for rule in StandingRule.objects.visible_to(actor).active().filter(pk__in=proposal.replaced_values["created_ids"]):
        retire_rule(rule, actor=actor)


def _rules_applier(model: type[Agent] | type[TenantSettings]) -> Applier:
    return Applier(
        model=model,
        live=_no_rules,
        sha256=_holder_sha256,
        after=_with_rules,
        touches=_touch_rules,
        check=_check_lines,
        apply=_add_rules,
        undo=_retire_rules,
        reaches=_factors_of_holder,
        appends=True,
    )


def _rule_text(rule: StandingRule) -> Values:
    return {"text": rule.text}


def _rule_sha256(rule: StandingRule) -> str:
    return rule.sha256


def _check_rule(words: Values) -> Values:
    if set(words) != {"text"}:
        raise Invalid("Send `text` with the new text of the rule.", {"text": ["This is missing."]})
    refuse_flaws(StandingRule, words)
    return words


def _reword(rule: StandingRule, actor: Actor, proposal: Proposal) -> Values:
    before = {"values": _rule_text(rule)}
    amend_rule(rule, actor=actor, values=proposal.words, evidence=proposal.authorship)
    return before | {"version": rule.version}


def _undo_reword(rule: StandingRule, actor: Actor, proposal: Proposal) -> StandingRule:
    values = proposal.replaced_values["values"]
    return amend_rule(rule, actor=actor, values=values)


APPLIERS: Mapping[tuple[Kind, str], Applier] = MappingProxyType(
    {
        (Kind.PERSONA_PATCH, Persona._meta.label_lower): _persona_applier(free_text=True),
        (Kind.PERSONA_FIELDS, Persona._meta.label_lower): _persona_applier(free_text=False),
        (Kind.RULE_LINES, Agent._meta.label_lower): _rules_applier(Agent),
        (Kind.RULE_LINES, TenantSettings._meta.label_lower): _rules_applier(TenantSettings),
        (Kind.RULE_CHANGE, StandingRule._meta.label_lower): Applier(
            model=StandingRule,
            live=_rule_text,
            sha256=_rule_sha256,
            sql_sha256=ContentSha256("text", "status"),
            after=merge_words,
            touches=_touch_rules,
            check=_check_rule,
            apply=_reword,
            undo=_undo_reword,
            reaches=_factors_of_rule,
        ),
    }
)
