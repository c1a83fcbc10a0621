"""Submission of proposals by kind, for surfaces whose requests name a kind."""

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotVisible
from apps.governance.models import Governed, Proposal, Taint
from apps.governance.models.base import GovernedQuerySet
from apps.personas.actions import propose_patch, propose_rule_change, propose_rules, propose_sections
from apps.personas.models import Persona, StandingRule
from apps.review.appliers.base import Target, Values
from apps.skills.models import Skill
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.models import Agent, TenantSettings

Kind = Proposal.Kind


def submit_proposal(
    kind: Proposal.Kind,
    target_id: int | None,
    *,
    actor: Actor,
    content: Values,
    taint: Taint,
    rationale: str = "",
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Submit a change for approval. `taint` is the source of its text.

    For a new rule, `target_id` is the id of the agent, or None for all agents.
    """
    if kind not in _SUBMIT_BY_KIND:
        raise Invalid(
            f"A proposal of the kind “{kind.label}” cannot be submitted here. Choose one of: {', '.join(_SUBMIT_BY_KIND)}.",
            {"kind": ["This kind is created in another way."]},
        )
    with acting_as(actor):
        target = _target(kind, target_id, actor)
        return _SUBMIT_BY_KIND[kind](
            target, content, {"actor": actor, "evidence": evidence or {}, "taint": taint}, rationale
        )


def proposal_texts(content: Values, rationale: str) -> str:
    """Return all texts in a proposal's content and rationale, one per line, including fields that the kind does not take."""
    texts, left = [], deque[object]([content, rationale])
    while left:
        value = left.popleft()
        if isinstance(value, Mapping):
            value = [part for pair in value.items() for part in pair]
        if isinstance(value, list):
            left.extendleft(reversed(value))
        else:
            texts.append(str(value))
    return "\n".join(texts)


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


def _single_text(content: Values, name: str) -> str:
    text = content.get(name)
    if set(content) != {name} or not isinstance(text, str):
        raise Invalid(f"Send `{name}`, a text, and nothing else.", {"content": [f"This must hold only `{name}`."]})
    return text


def _field_texts(content: Values) -> Mapping[str, str]:
    if not content or not all(isinstance(text, str) for text in content.values()):
        raise Invalid("Send at least one field with its text.", {"content": ["Each field must be a text."]})
    return content


def _line_list(content: Values) -> list[str]:
    lines = content.get("lines")
    if set(content) != {"lines"} or not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise Invalid("Send `lines`: a list of texts, and nothing else.", {"content": ["This must hold only `lines`."]})
    return lines


# The keyword arguments `actor`, `evidence` and `taint` of the submitting action.
SubmissionTerms = Mapping[str, Any]
SubmissionFunction = Callable[[Target, Values, SubmissionTerms, str], Proposal]

_SUBMIT_BY_KIND: Mapping[Kind, SubmissionFunction] = MappingProxyType(
    {
        Kind.PERSONA_PATCH: lambda row, content, by, _: propose_patch(row, text=_single_text(content, "text"), **by),
        Kind.PERSONA_FIELDS: lambda row, content, by, why: propose_sections(
            row, values=_field_texts(content), rationale=why, **by
        ),
        Kind.SKILL_REVISION: lambda row, content, by, why: propose_revision(
            row, values=_field_texts(content), rationale=why, **by
        ),
        Kind.SKILL_DEPRECATION: lambda row, _, by, why: propose_deprecation(row, rationale=why, **by),
        Kind.RULE_LINES: lambda row, content, by, why: propose_rules(
            row, lines=_line_list(content), rationale=why, **by
        ),
        Kind.RULE_CHANGE: lambda row, content, by, why: propose_rule_change(
            row, text=_single_text(content, "text"), rationale=why, **by
        ),
    }
)
