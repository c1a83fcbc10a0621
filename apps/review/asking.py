"""How a proposal of each kind is handed in over a surface that names the kind."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.errors import Invalid, NotVisible
from apps.governance.guard import GovernedQuerySet
from apps.governance.models import Governed, Proposal
from apps.personas.actions import propose_patch, propose_rule_change, propose_rules, propose_sections
from apps.personas.models import Persona, StandingRule
from apps.review.applier import Target, Values
from apps.skills.models import Skill
from apps.skills.proposing import propose_deprecation, propose_revision
from apps.tenants.models import Agent, TenantSettings

Kind = Proposal.Kind


def ask(
    kind: Proposal.Kind,
    target_id: int | None,
    *,
    actor: Actor,
    content: Values,
    rationale: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Put a change before a person. The rules' target is an agent's id, or none for the organisation's."""
    if kind not in _ASKED:
        raise Invalid(
            f"{kind.label} is not asked for by itself. Ask for one of: {', '.join(_ASKED)}.",
            {"kind": ["This comes about in another way."]},
        )
    with acting(actor):
        target = _target(kind, target_id, actor)
        return _ASKED[kind](target, actor, content, rationale, evidence or {})


_MODELS: Mapping[Kind, type[Governed]] = MappingProxyType(
    {
        Kind.PERSONA_PATCH: Persona,
        Kind.PERSONA_FIELDS: Persona,
        Kind.SKILL_REVISION: Skill,
        Kind.SKILL_DEPRECATION: Skill,
        Kind.RULE_LINES: Agent,
        Kind.RULE_CHANGE: StandingRule,
    }
)


def _target(kind: Kind, target_id: int | None, actor: Actor) -> Target:
    if kind is Kind.RULE_LINES and target_id is None:
        return TenantSettings.objects.visible_to(actor).get()
    rows: GovernedQuerySet[Any] = GovernedQuerySet(_MODELS[kind])
    target = rows.visible_to(actor).filter(pk=target_id).first()
    if target is None:
        raise NotVisible(f"There is no {_MODELS[kind]._meta.verbose_name} {target_id}, or it is not yours to see.")
    return target


def _text(content: Values, name: str) -> str:
    text = content.get(name)
    if set(content) != {name} or not isinstance(text, str):
        raise Invalid(f"Send `{name}`, a text, and nothing else.", {"content": [f"It has to hold `{name}` alone."]})
    return text


def _texts(content: Values) -> Mapping[str, str]:
    if not content or not all(isinstance(text, str) for text in content.values()):
        raise Invalid("Send at least one field with its text.", {"content": ["Each field is a text."]})
    return content


def _lines(content: Values) -> list[str]:
    lines = content.get("lines")
    if set(content) != {"lines"} or not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise Invalid(
            "Send `lines`: a list of texts, and nothing else.", {"content": ["It has to hold `lines` alone."]}
        )
    return lines


Asked = Callable[[Target, Actor, Values, str, Mapping[str, Any]], Proposal]

_ASKED: Mapping[Kind, Asked] = MappingProxyType(
    {
        Kind.PERSONA_PATCH: lambda row, actor, content, _, evidence: propose_patch(
            row, actor=actor, text=_text(content, "text"), evidence=evidence
        ),
        Kind.PERSONA_FIELDS: lambda row, actor, content, why, evidence: propose_sections(
            row, actor=actor, values=_texts(content), rationale=why, evidence=evidence
        ),
        Kind.SKILL_REVISION: lambda row, actor, content, why, evidence: propose_revision(
            row, actor=actor, values=_texts(content), rationale=why, evidence=evidence
        ),
        Kind.SKILL_DEPRECATION: lambda row, actor, _, why, evidence: propose_deprecation(
            row, actor=actor, rationale=why, evidence=evidence
        ),
        Kind.RULE_LINES: lambda row, actor, content, why, evidence: propose_rules(
            row, actor=actor, lines=_lines(content), rationale=why, evidence=evidence
        ),
        Kind.RULE_CHANGE: lambda row, actor, content, why, evidence: propose_rule_change(
            row, actor=actor, text=_text(content, "text"), rationale=why, evidence=evidence
        ),
    }
)
