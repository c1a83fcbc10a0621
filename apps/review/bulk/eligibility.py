"""Rules of bulk decisions.

An approval changes what agents follow, so it takes proposals of one kind and of low risk, which a reviewer can judge from one line
each. A rejection or a rebase changes nothing that is live, so both take proposals of every kind and risk.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import cast

from apps.governance.actors import Actor
from apps.governance.authorization import check_actor
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.models import Governed, Proposal, Taint
from apps.governance.models.base import GovernedQuerySet
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskTier, tier_of
from apps.governance.proposals.approval_rules import refuse_undecidable
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.review.appliers.base import Target
from apps.review.appliers.registry import ACT_OF, applier_of
from apps.review.approval_verdict import needs_rebase
from apps.review.clean_rebase import cleanly_rebased_words
from apps.review.models import BulkDecision

Verb = BulkDecision.Verb
# A reviewer reads every line of an approval. The others have to clear a queue that an agent flooded.
MOST_PROPOSALS: Mapping[Verb, int] = MappingProxyType({Verb.APPROVE: 100, Verb.REJECT: 500, Verb.REBASE: 500})
ACT_OF_VERB: Mapping[Verb, Act] = MappingProxyType(
    {
        Verb.APPROVE: Act.PROPOSAL_APPROVE,
        Verb.REJECT: Act.PROPOSAL_REJECT,
        Verb.REBASE: Act.PROPOSAL_REBASE,
    }
)
# A person must review text from these sources in single proposals before it reaches a prompt.
UNREVIEWED_SOURCES: Mapping[Taint, str] = MappingProxyType(
    {
        Taint.TOOL: "a tool's",
        Taint.CUSTOMER: "a customer's",
        Taint.IMPORT: "a transcript's",
    }
)


def refuse_ineligible(proposal: Proposal, verb: Verb, target: Target | None, actor: Actor) -> None:
    """Refuse a proposal that cannot be decided in bulk, with the reason. `target` is the row that the proposal would change."""
    refuse_undecidable(proposal)
    check_actor(actor, ACT_OF_VERB[verb], proposal.tenant_id, agent_id=proposal.agent_id)
    if proposal.approval_count:
        raise Conflict("Somebody approved it already, and it waits for a second reviewer. Decide on its own page.")
    if verb is Verb.APPROVE:
        refuse_above_low_risk(RiskTier(proposal.risk))
        check_actor(actor, ACT_OF[Proposal.Kind(proposal.kind)], proposal.tenant_id, agent_id=proposal.agent_id)
        _refuse_unreviewed_text(proposal)
        _refuse_unapplicable(proposal, target)
    if verb is Verb.REBASE:
        _refuse_unclean_rebase(proposal, target)


def refuse_above_low_risk(tier: RiskTier) -> None:
    """Raise `Conflict` for a change above low risk, which can only be approved on its own page."""
    if tier is not RiskTier.LOW:
        raise Conflict(
            f"Its risk is {tier}, and only changes of low risk are approved in bulk. Decide on its own page."
        )


def _refuse_unreviewed_text(proposal: Proposal) -> None:
    if source := UNREVIEWED_SOURCES.get(Taint(proposal.taint)):
        raise NotPermitted(
            f"It carries {source} words, which a person has to read before approving them. Decide on its own page."
        )
    if findings := rules_to_confirm(text for value in proposal.words.values() for text in _as_texts(value)):
        raise Conflict(f"The scanner found something in its words ({', '.join(findings)}). Decide on its own page.")


def _refuse_unapplicable(proposal: Proposal, target: Target | None) -> None:
    applier = applier_of(proposal)
    if target is None:
        raise Conflict("Its target no longer exists. Reject it.")
    if applier.awaits_words(proposal):
        raise Conflict("It is free text. Write the new text of each field on its own page.")
    if needs_rebase(proposal, target, applier):
        raise Conflict("Its target has changed since it was proposed. Rebase it first.")
    live = applier.live(target)
    after = applier.after(live, proposal.words)
    refuse_above_low_risk(tier_of(applier.touches(live, after) | applier.reaches(target)))
    if findings := applier.beside(target, live, after):
        raise Conflict(f"Its files have to be looked at ({', '.join(findings)}). Decide on its own page.")


def _refuse_unclean_rebase(proposal: Proposal, target: Target | None) -> None:
    if target is None:
        raise Conflict("Its target no longer exists. Reject it.")
    cleanly_rebased_words(proposal, target, applier_of(proposal))


def targets_of(proposals: Collection[Proposal], actor: Actor) -> Mapping[int, Target]:
    """Return the row that each proposal would change, by the proposal's id, with one query for each model."""
    ids_by_model: dict[type[Governed], set[int]] = {}
    for proposal in proposals:
        ids_by_model.setdefault(applier_of(proposal).model, set()).add(proposal.target_id)
    rows = {model: _rows_of(model, actor).in_bulk(ids) for model, ids in ids_by_model.items()}
    found = ((proposal.pk, rows[applier_of(proposal).model].get(proposal.target_id)) for proposal in proposals)
    return {proposal_id: target for proposal_id, target in found if target is not None}


def _rows_of(model: type[Governed], actor: Actor) -> "GovernedQuerySet[Governed]":
    return cast("GovernedQuerySet[Governed]", model._default_manager.all()).visible_to(actor)


def _as_texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | dict) else [str(value)]
