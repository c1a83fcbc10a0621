"""Appliers of memory proposals: new lines, a whole body, or one customer's profile."""

from collections.abc import Mapping
from datetime import UTC
from types import MappingProxyType
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.content_hash import ContentSha256
from apps.governance.errors import Invalid
from apps.governance.governed_write import refuse_ungoverned_fields
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskFactor
from apps.governance.proposals.approval_rules import refuse_flaws
from apps.governance.stored_text import content_sha256
from apps.memory.actions import amend_block, amend_memory, amend_profile
from apps.memory.line_dates import proposed_dates
from apps.memory.line_decisions import (
    add_lines_to_block,
    add_lines_to_memory,
    restore_replaced_block,
    restore_replaced_memory,
)
from apps.memory.models import REMEMBERED_FIELDS, AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.write_holds import profile_sha256
from apps.prompt.memory_lines.line_diff import distinct_lines, strip_line
from apps.prompt.memory_lines.line_expiry import REVIEW_AFTER, VALID_UNTIL, LineDates, find_line_dates, parse_line_dates
from apps.prompt.memory_lines.write_holds import merge_lines
from apps.review.appliers.base import Applier, Values, merge_words

Kind = Proposal.Kind
DATE_FIELDS = frozenset({VALID_UNTIL, REVIEW_AFTER})
QUOTED_CHARACTERS = 80
MemoryTarget = AgentMemory | MemoryBlock
LINES_CONSEQUENCE = (
    "The lines are added to the memory and count as approved; the next session of every customer carries them."
)
BODY_CONSEQUENCE = (
    "The text replaces the memory, approved by you; the next session of every customer carries it as prose."
)


def _body_field(row: MemoryTarget) -> Values:
    return {"body": row.body}


def _sha256(row: MemoryTarget) -> str:
    return content_sha256(row.body)


def _with_lines(live: Values, words: Values) -> Values:
    return {
        "body": merge_lines(live["body"], words.get("lines", []), words.get("removed_lines", [])),
        **_dates_in(words),
    }


def _dates_in(words: Values) -> Values:
    return {name: words[name] for name in (VALID_UNTIL, REVIEW_AFTER) if name in words}


def _touches_agent_memory(live: Values, after: Values) -> frozenset[RiskFactor]:
    return frozenset({RiskFactor.AGENT_WIDE_MEMORY})


def _touches_customer_only(live: Values, after: Values) -> frozenset[RiskFactor]:
    return frozenset({RiskFactor.CUSTOMER_ONLY})


def _check_lines(words: Values) -> Values:
    plain = {name: lines for name, lines in words.items() if name not in DATE_FIELDS}
    if not plain or set(plain) - {"lines", "removed_lines"}:
        raise Invalid("Send `lines` with the lines to add, `removed_lines` with the lines to remove, or both.", {})
    for name, lines in plain.items():
        if not isinstance(lines, list) or not all(isinstance(line, str) and "\n" not in line for line in lines):
            raise Invalid(
                f"Send `{name}` as a list of texts of one line each.", {name: ["This is not a list of lines."]}
            )
        refuse_flaws(AgentMemory, {"body": "\n".join(lines)})
    return _check_dates(words, frozenset(map(strip_line, words.get("lines", []))))


def _check_dates(words: Values, lines: frozenset[str]) -> Values:
    """Refuse an invalid date, and the date of a line that is not among the proposed lines."""
    for name in DATE_FIELDS & set(words):
        dated = words[name]
        if not isinstance(dated, dict) or not all(isinstance(day, str) for day in dated.values()):
            raise Invalid(
                f"Send `{name}` as a mapping from lines to dates.",
                {name: ["This is not a mapping from lines to dates."]},
            )
        for line, day in dated.items():
            if line not in lines:
                raise Invalid(
                    f"`{name}` names a line that is not in the proposal: “{line[:QUOTED_CHARACTERS]}”. Write the line exactly"
                    " as it reads, or leave it out.",
                    {name: [f"No line reads “{line[:QUOTED_CHARACTERS]}”."]},
                )
            _check_day(name, line, day)
    return words


def _check_day(name: str, line: str, day: str) -> None:
    try:
        parse_line_dates({name: {line: day}}, UTC)
    except (ValueError, OverflowError) as flaw:
        sentence = f"“{day[:QUOTED_CHARACTERS]}” is not a date. Write `{name}` as a date such as 2026-12-31."
        raise Invalid(sentence, {name: [sentence]}) from flaw


def _check_body(words: Values) -> Values:
    if set(words) - DATE_FIELDS != {"body"}:
        raise Invalid("Send `body` with the whole new text.", {"body": ["This is missing."]})
    refuse_flaws(AgentMemory, {"body": words["body"]})
    return _check_dates(words, distinct_lines(words["body"]))


def _values_for_undo(row: MemoryTarget) -> dict[str, str]:
    return {name: getattr(row, name) for name in REMEMBERED_FIELDS}


def _join_memory(memory: AgentMemory, actor: Actor, proposal: Proposal) -> Values:
    before = _values_for_undo(memory)
    add_lines_to_memory(memory, actor=actor, proposal=proposal)
    return before | {"version": memory.version}


def _join_block(block: MemoryBlock, actor: Actor, proposal: Proposal) -> Values:
    before = _values_for_undo(block)
    add_lines_to_block(block, actor=actor, proposal=proposal)
    return before | {"version": block.version}


def _amend_memory(memory: AgentMemory, actor: Actor, proposal: Proposal) -> Values:
    before, evidence = _values_for_undo(memory), proposal.authorship
    body, dates = proposal.words["body"], proposed_dates(proposal.words, actor)
    amend_memory(memory, actor=actor, body=body, evidence=evidence, dates=dates)
    return before | {"version": memory.version}


def _amend_block(block: MemoryBlock, actor: Actor, proposal: Proposal) -> Values:
    before, evidence = _values_for_undo(block), proposal.authorship
    body, dates = proposal.words["body"], proposed_dates(proposal.words, actor)
    amend_block(block, actor=actor, body=body, evidence=evidence, dates=dates)
    return before | {"version": block.version}


def _undo_memory(memory: AgentMemory, actor: Actor, proposal: Proposal) -> AgentMemory:
    return restore_replaced_memory(memory, actor=actor, replaced=proposal.replaced_values)


def _undo_block(block: MemoryBlock, actor: Actor, proposal: Proposal) -> MemoryBlock:
    return restore_replaced_block(block, actor=actor, replaced=proposal.replaced_values)


def _profile_texts(profile: CustomerProfile) -> Values:
    return {"preferences": profile.preferences, "notes": profile.notes}


def _check_profile(words: Values) -> Values:
    plain = _without_dates(words)
    refuse_ungoverned_fields(Act.PROFILE_AMEND, plain)
    if "end_user_key" in words:
        raise Invalid(
            "A profile stays with its customer. Leave `end_user_key` out.", {"end_user_key": ["This cannot change."]}
        )
    refuse_flaws(CustomerProfile, plain)
    return _check_dates(words, distinct_lines("\n".join(plain.values())))


def _without_dates(words: Values) -> Values:
    return {name: text for name, text in words.items() if name not in DATE_FIELDS}


def _amend_profile(profile: CustomerProfile, actor: Actor, proposal: Proposal) -> Values:
    before: dict[str, Any] = {"values": _profile_texts(profile), "taint": profile.taint, "dates": profile.line_dates}
    evidence, dates = proposal.authorship, proposed_dates(proposal.words, actor)
    amend_profile(profile, actor=actor, values=_without_dates(proposal.words), evidence=evidence, dates=dates)
    return before | {"version": profile.version}


def _undo_profile(profile: CustomerProfile, actor: Actor, proposal: Proposal) -> CustomerProfile:
    words_of = Taint(proposal.replaced_values.get("taint", Taint.CUSTOMER))
    values = proposal.replaced_values["values"]
    lines = distinct_lines("\n".join(values.values()))
    dates = dict.fromkeys(lines, LineDates()) | find_line_dates(lines, proposal.replaced_values.get("dates", {}))
    return amend_profile(profile, actor=actor, values=values, words_of=words_of, dates=dates)


_MEMORY, _BLOCK = AgentMemory._meta.label_lower, MemoryBlock._meta.label_lower

APPLIERS: Mapping[tuple[Kind, str], Applier] = MappingProxyType(
    {
        (Kind.MEMORY_LINES, _MEMORY): Applier(
            model=AgentMemory,
            live=_body_field,
            sha256=_sha256,
            after=_with_lines,
            touches=_touches_agent_memory,
            check=_check_lines,
            apply=_join_memory,
            undo=_undo_memory,
            appends=True,
            consequence=LINES_CONSEQUENCE,
        ),
        (Kind.BLOCK_LINES, _BLOCK): Applier(
            model=MemoryBlock,
            live=_body_field,
            sha256=_sha256,
            after=_with_lines,
            touches=_touches_agent_memory,
            check=_check_lines,
            apply=_join_block,
            undo=_undo_block,
            appends=True,
            consequence=LINES_CONSEQUENCE,
        ),
        (Kind.MEMORY_BODY, _MEMORY): Applier(
            model=AgentMemory,
            live=_body_field,
            sha256=_sha256,
            sql_sha256=ContentSha256("body"),
            after=merge_words,
            touches=_touches_agent_memory,
            check=_check_body,
            apply=_amend_memory,
            undo=_undo_memory,
            consequence=BODY_CONSEQUENCE,
        ),
        (Kind.BLOCK_BODY, _BLOCK): Applier(
            model=MemoryBlock,
            live=_body_field,
            sha256=_sha256,
            sql_sha256=ContentSha256("body"),
            after=merge_words,
            touches=_touches_agent_memory,
            check=_check_body,
            apply=_amend_block,
            undo=_undo_block,
            consequence=BODY_CONSEQUENCE,
        ),
        (Kind.PROFILE_CHANGE, CustomerProfile._meta.label_lower): Applier(
            model=CustomerProfile,
            live=_profile_texts,
            sha256=profile_sha256,
            sql_sha256=ContentSha256("preferences", "notes"),
            after=merge_words,
            touches=_touches_customer_only,
            check=_check_profile,
            apply=_amend_profile,
            undo=_undo_profile,
            consequence="The next session with this customer carries it.",
        ),
    }
)
