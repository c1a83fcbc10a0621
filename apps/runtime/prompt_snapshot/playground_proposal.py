"""Trial of an open proposal in the playground: the prompt of one person's own talk shows the proposal as if it were applied.

All bytes that differ from the live prompt name the proposal as their owner. PostgreSQL refuses such bytes in any other session.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.prompt.prompt_input import TextProvenance
from apps.prompt.rendering.segments import PromptSnapshot, Segment, SlotText
from apps.review.review_sheet import read_review_sheet
from apps.runtime.prompt_snapshot.proposed_rows import FIRST_NEW_RULE_ID, changed_copy
from apps.runtime.prompt_snapshot.snapshot_store import PromptUnavailable
from apps.skills.models import Skill

PROPOSAL_TYPE: Final = Proposal._meta.label_lower


class ProposalDecided(PromptUnavailable):
    """The proposal on trial is no longer open, or the proposed row cannot be computed."""

    code = "proposal_decided"


@dataclass(frozen=True, slots=True)
class TrialProposal:
    """An open proposal, and the row as it would be after approval."""

    proposal: Proposal
    would: ProposedOutcome

    @property
    def skill(self) -> Skill | None:
        """The skill as proposed; None if the proposal concerns another kind of row or would deprecate the skill."""
        row = changed_copy(self.would.row, self.would)
        return row if isinstance(row, Skill) and not self.would.goes else None

    def is_about(self, source: TextProvenance) -> bool:
        """Whether a text comes from the row that the proposal would change or add."""
        row = self.would.row
        return source.record_id >= FIRST_NEW_RULE_ID or (source.record_type, source.record_id) == (
            row._meta.label_lower,
            row.pk,
        )


def find_trial(conversation: Conversation, *, system: Actor) -> TrialProposal | None:
    """The proposal on trial in a conversation; None if there is none. Raises ProposalDecided if it is no longer open."""
    if conversation.trial_proposal_id is None:
        return None
    with acting_as(system):
        rows = Proposal.objects.visible_to(system).select_related("agent")
        proposal = rows.open().filter(pk=conversation.trial_proposal_id).first()
    would = read_review_sheet(proposal, actor=system).would if proposal else None
    if proposal is None or would is None:
        raise ProposalDecided(
            f"Proposal {conversation.trial_proposal_id} is no longer open, or its effect cannot be computed."
            " Begin another talk with the live agent, or with another proposal.",
        )
    return TrialProposal(proposal, would)


def find_trial_skill(conversation: Conversation, skill_id: int, *, system: Actor) -> Skill | None:
    """The proposed version of a skill, if a proposal for this skill is on trial in the conversation."""
    tried = find_trial(conversation, system=system)
    skill = tried.skill if tried else None
    return skill if skill and skill.pk == skill_id else None


def mark_as_proposed(proposed: PromptSnapshot, live: PromptSnapshot, tried: TrialProposal) -> PromptSnapshot:
    """The proposed prompt with the proposal as the owner of every segment that the live prompt does not have."""
    known = {
        segment[:1] + _field_key(segment.source) for part in live.parts for segment in part.segments if segment.source
    }
    return replace(
        proposed, parts=tuple(SlotText(part.slot, tuple(_mark_segments(part, known, tried))) for part in proposed.parts)
    )


def _mark_segments(part: SlotText, known: set[tuple[object, ...]], tried: TrialProposal) -> Iterator[Segment]:
    waiting = tried.proposal
    for segment in part.segments:
        source = segment.source
        if source is None or not tried.is_about(source) or segment[:1] + _field_key(source) in known:
            yield segment
        else:
            named = TextProvenance(
                PROPOSAL_TYPE, waiting.pk, waiting.version, source.field, waiting.proposed_by, "", waiting.taint
            )
            yield segment._replace(source=named)


def _field_key(source: TextProvenance) -> tuple[object, ...]:
    return source.record_type, source.record_id, source.field
