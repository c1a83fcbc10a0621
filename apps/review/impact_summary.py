"""The effect of an approval on customers, as one sentence per kind.

Only the proposal is read, since lists do not load targets.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from apps.governance.models import Proposal
from apps.personas.models import SECTIONS
from apps.prompt.memory_lines.line_diff import distinct_lines
from apps.review.appliers.base import changed_fields
from apps.skills.models import TEXT_FIELDS
from apps.tenants.models import TenantSettings

Kind = Proposal.Kind
_PROFILE_FIELDS = ("preferences", "notes")


def impact_of(proposal: Proposal) -> str:
    """Return the sentence about an approval's effect: the agents, the customers, and the change."""
    return _SENTENCES[Kind(proposal.kind)](proposal)


def _affected_agents(proposal: Proposal) -> str:
    everybodys = proposal.agent is None or proposal.target_type == TenantSettings._meta.label_lower
    return "Every agent" if everybodys else f"Agent {proposal.agent}"


def _join_names(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _changed_fields(proposal: Proposal, order: tuple[str, ...]) -> str:
    """Return the names of the fields that would change, or of all proposed fields if none would."""
    words = proposal.words
    differing = changed_fields(proposal.base_content, words) or words
    return _join_names(name for name in order if name in differing)


def _count_of_more(number: int, noun: str) -> str:
    return f"{number} more {noun}{'' if number == 1 else 's'}"


def _line_counts(gained: int, lost: int) -> str:
    counts = [_count_of_more(gained, "line")] if gained else []
    counts += [f"{lost} fewer line{'' if lost == 1 else 's'}"] if lost else []
    return " and ".join(counts) or "the same lines"


def _joined_line_counts(proposal: Proposal) -> str:
    return _line_counts(len(proposal.words.get("lines", ())), len(proposal.words.get("removed_lines", ())))


def _rewritten_line_counts(proposal: Proposal) -> str:
    before, after = distinct_lines(proposal.base_content.get("body", "")), distinct_lines(proposal.words["body"])
    return _line_counts(len(after - before), len(before - after))


def _patch(proposal: Proposal) -> str:
    if proposal.is_edited:
        return _persona(proposal)
    return f"{_affected_agents(proposal)} answers every customer with its persona changed, in the words you write."


def _persona(proposal: Proposal) -> str:
    return f"{_affected_agents(proposal)} answers every customer with its persona changed: {_changed_fields(proposal, SECTIONS)}."


def _new_skill(proposal: Proposal) -> str:
    return f"{_affected_agents(proposal)} can look up “{proposal.target_label}” for every customer."


def _revision(proposal: Proposal) -> str:
    fields = _changed_fields(proposal, TEXT_FIELDS)
    return (
        f"{_affected_agents(proposal)} finds the {fields} of “{proposal.target_label}” changed whenever it looks it up."
    )


def _deprecation(proposal: Proposal) -> str:
    return f"{_affected_agents(proposal)} no longer finds “{proposal.target_label}” for any customer."


def _memory_lines(proposal: Proposal) -> str:
    return f"{_affected_agents(proposal)} remembers {_joined_line_counts(proposal)} with every customer."


def _memory_body(proposal: Proposal) -> str:
    return f"{_affected_agents(proposal)} remembers {_rewritten_line_counts(proposal)} with every customer."


def _block_lines(proposal: Proposal) -> str:
    return _block_sentence(proposal, _joined_line_counts(proposal))


def _block_body(proposal: Proposal) -> str:
    return _block_sentence(proposal, _rewritten_line_counts(proposal))


def _block_sentence(proposal: Proposal, lines: str) -> str:
    label = proposal.target_label
    return f"{_affected_agents(proposal)} has {lines} in its block “{label}”, with every customer while it is pinned."


def _profile(proposal: Proposal) -> str:
    fields = _changed_fields(proposal, _PROFILE_FIELDS)
    return f"{_affected_agents(proposal)} uses other {fields} for one customer; nothing changes for everybody else."


def _rules(proposal: Proposal) -> str:
    return f"{_affected_agents(proposal)} follows {_count_of_more(len(proposal.words['lines']), 'rule')} with every customer."


def _rule(_proposal: Proposal) -> str:
    # The proposal does not name the agents of its rule.
    return "The rule changes in every conversation to which it applies."


_SENTENCES: Mapping[Kind, Callable[[Proposal], str]] = MappingProxyType(
    {
        Kind.PERSONA_PATCH: _patch,
        Kind.PERSONA_FIELDS: _persona,
        Kind.SKILL_NEW: _new_skill,
        Kind.SKILL_REVISION: _revision,
        Kind.SKILL_DEPRECATION: _deprecation,
        Kind.MEMORY_LINES: _memory_lines,
        Kind.MEMORY_BODY: _memory_body,
        Kind.BLOCK_LINES: _block_lines,
        Kind.BLOCK_BODY: _block_body,
        Kind.PROFILE_CHANGE: _profile,
        Kind.RULE_LINES: _rules,
        Kind.RULE_CHANGE: _rule,
    }
)
