"""How acts are tried on what people and agents write: personas, rules, skills, memory, conversations."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.conversations.actions import (
    abandon_conversation,
    import_conversation,
    open_conversation,
    receive_message,
    resolve_conversation,
)
from apps.conversations.member_talks import open_talk
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor, Role
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.memory.actions import amend_block, amend_memory, amend_profile, approve_block, approve_memory, write_block
from apps.memory.line_dates import set_block_line_dates, set_memory_line_dates, set_profile_line_dates
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, propose_profile
from apps.personas.actions import (
    activate_persona,
    add_rule,
    amend_persona,
    amend_rule,
    archive_persona,
    create_member_overlay,
    create_persona,
    propose_patch,
    propose_rule_change,
    propose_rules,
    propose_sections,
    restore_rule,
    retire_rule,
    write_identity_card,
    write_overlay,
)
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS, ReceivedTexts
from apps.review.skill_actions import approve_skill
from apps.skills.actions import (
    amend_skill,
    arrange_files,
    count_use,
    deprecate_skill,
    detach_file,
    discard_skill,
    draft_skill,
    redraft_skill,
    retain_skill,
    revise_skill,
)
from apps.skills.attachment_upload import upload_file
from apps.skills.models import Skill
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.skills.quarantine import quarantine_skill, release_skill
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_field, write_parameter
from tests.random_acts.two_tenants import CUSTOMERS, NoRowForAct


def _runbook_values(chosen: ActChoice) -> dict[str, str]:
    return {"title": chosen.name, "description": chosen.words, "body": f"## Procedure\n{chosen.words}"}


def _propose_persona(chosen: ActChoice) -> object:
    row = chosen.row(Persona)
    if chosen.pick % 3:
        name = "avoid" if chosen.pick % 3 == 1 else "style"
        return propose_sections(row, actor=chosen.actor, values={name: chosen.words})
    return propose_patch(row, actor=chosen.actor, text=chosen.words)


def _propose_rule(chosen: ActChoice) -> object:
    if chosen.pick % 2:
        return propose_rule_change(chosen.row(StandingRule), actor=chosen.actor, text=chosen.words)
    return propose_rules(chosen.agent, actor=chosen.actor, lines=[chosen.words])


def _propose_skill(chosen: ActChoice) -> object:
    row = chosen.row(Skill, status=Skill.Status.APPROVED)
    if chosen.pick % 3:
        return propose_revision(row, actor=chosen.actor, values={"body": chosen.words})
    return propose_deprecation(row, actor=chosen.actor, rationale=chosen.words)


def _approve_skill(chosen: ActChoice) -> object:
    row = chosen.row(Skill)
    return approve_skill(
        row, actor=chosen.actor, reviewed_sha256=row.content_sha256, read_at=chosen.read_at(row), reason="Read."
    )


def _approve_row(model: Any, act: Callable[..., object]) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        row = chosen.row(model)
        chosen.is_stale = chosen.stale
        return act(row, actor=chosen.actor, read_at=row.version + 7 * chosen.stale)

    return deed


def _date_line(model: Any, act: Callable[..., object]) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        row = chosen.row(model)
        line, dates = row.body.partition("\n")[0], LineDates(timezone.now() + timedelta(days=chosen.pick))
        return act(row, actor=chosen.actor, line=line, dates=dates, read_at=chosen.read_at(row))

    return deed


def _date_profile_line(chosen: ActChoice) -> object:
    profile = chosen.row(CustomerProfile)
    line, dates = profile.noted.strip().partition("\n")[0], LineDates(timezone.now() + timedelta(days=chosen.pick))
    return set_profile_line_dates(profile, actor=chosen.actor, line=line, dates=dates, read_at=chosen.read_at(profile))


def _write_block(chosen: ActChoice) -> object:
    rows = chosen.there.rows(MemoryBlock)
    if rows and chosen.pick % 3:
        row = chosen.row(MemoryBlock)
        values: dict[str, object] = {"is_pinned": bool(chosen.pick % 2), "body": chosen.words}
        return write_block(row, actor=chosen.actor, values=values, read_at=chosen.read_at(row))
    block = MemoryBlock(tenant_id=chosen.actor.tenant_id, agent_id=chosen.agent.pk)
    return write_block(
        block, actor=chosen.actor, values={"label": chosen.name, "body": chosen.words, "is_pinned": True}
    )


def _open_conversation(chosen: ActChoice) -> object:
    customer = CUSTOMERS[chosen.pick % 2]
    return open_conversation(
        chosen.agent.pk, actor=chosen.actor, channel="http", conversation_key=chosen.name, end_user_key=customer
    )


def _import_conversation(chosen: ActChoice) -> object:
    lines = [ConversationLine("customer", chosen.words), ConversationLine("agent", chosen.words)]
    return import_conversation(
        chosen.agent.pk,
        actor=chosen.actor,
        transcript_id=chosen.name,
        lines=lines,
        outcome=Conversation.Outcome.SOLVED,
    )


def _receive_message(chosen: ActChoice) -> object:
    row = chosen.row(Conversation, status=Conversation.Status.OPEN, channel="http")
    return receive_message(
        row.agent_id,
        actor=chosen.actor,
        channel=row.channel,
        conversation_key=row.conversation_key,
        text=chosen.words,
        idempotency_key=chosen.name,
        end_user_key=row.end_user_key,
    )


def _attach_file(chosen: ActChoice) -> object:
    row = chosen.row(Skill)
    content = chosen.words.encode()
    return upload_file(row, actor=chosen.actor, name=f"{chosen.name}.txt", content=content, read_at=chosen.read_at(row))


def _pick_skill_with_file(chosen: ActChoice) -> Any:
    rows = [row for row in chosen.there.rows(Skill) if row.files]
    if not rows:
        raise NoRowForAct("files")
    chosen.is_crossed |= chosen.there is not chosen.mine
    return rows[chosen.pick % len(rows)]


def _detach_file(chosen: ActChoice) -> object:
    row = _pick_skill_with_file(chosen)
    return detach_file(row, actor=chosen.actor, name=row.files[0].name, read_at=chosen.read_at(row))


def _arrange_files(chosen: ActChoice) -> object:
    row = _pick_skill_with_file(chosen)
    names = [file.name for file in reversed(row.files)]
    return arrange_files(row, actor=chosen.actor, names=names, read_at=chosen.read_at(row))


def _actor_for_customer(actor: Actor, customer: str) -> Actor:
    return replace(actor, customer_key=customer)


def _amend_profile(chosen: ActChoice) -> object:
    row = chosen.row(CustomerProfile)
    other = CUSTOMERS[1]
    if chosen.actor.role is Role.AGENT and chosen.pick % 3 == 0 and row.end_user_key != other:
        # In a turn with somebody else the agent does not see this customer.
        chosen.is_barred = True
        return amend_profile(row, actor=_actor_for_customer(chosen.actor, other), values={"notes": chosen.words})
    return amend_profile(row, actor=chosen.actor, values={"notes": chosen.words}, read_at=chosen.read_at(row))


def _amend_memory(model: Any, act: Callable[..., object]) -> ActRunner:
    """Every other time in words that a customer said, so that they are held for a person."""

    def deed(chosen: ActChoice) -> object:
        row, words = chosen.row(model), chosen.words
        heard = ReceivedTexts((words,)) if chosen.pick % 2 else NO_RECEIVED_TEXTS
        body = f"{row.body}\n{words}" if chosen.pick % 3 else words
        return act(row, actor=chosen.actor, body=body, heard=heard, read_at=chosen.read_at(row))

    return deed


def _whole_text_share(chosen: ActChoice) -> MemoryReviewSplit:
    return MemoryReviewSplit("", Taint.AGENT, whole=chosen.words)


def _act_with_reason(act: Callable[..., object]) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        row = chosen.row(Skill)
        return act(row, actor=chosen.actor, reason=chosen.words, read_at=chosen.read_at(row))

    return deed


TEXT_ACTS: Mapping[Act, ActRunner] = {
    Act.PERSONA_CREATE: lambda chosen: create_persona(
        chosen.agent.pk, actor=chosen.actor, values={"style": chosen.words}
    ),
    Act.PERSONA_AMEND: lambda chosen: write_field(
        Persona, amend_persona, ("identity", "style", "avoid")[chosen.pick % 3]
    )(chosen),
    Act.PERSONA_ARCHIVE: amend_row(Persona, archive_persona),
    Act.PERSONA_ACTIVATE: amend_row(Persona, activate_persona),
    Act.PERSONA_PROPOSE: _propose_persona,
    Act.OVERLAY_WRITE: write_parameter(PersonaOverlay, write_overlay, "text"),
    Act.MEMBER_OVERLAY_WRITE: lambda chosen: create_member_overlay(
        chosen.agent.pk, actor=chosen.actor, text=chosen.words
    ),
    Act.IDENTITY_CARD_WRITE: write_field(IdentityCard, write_identity_card, "signature"),
    Act.RULE_ADD: lambda chosen: add_rule(chosen.agent.pk, actor=chosen.actor, text=chosen.words),
    Act.RULE_AMEND: write_field(StandingRule, amend_rule, "text"),
    Act.RULE_RETIRE: amend_row(StandingRule, retire_rule),
    Act.RULE_RESTORE: amend_row(StandingRule, restore_rule),
    Act.RULE_PROPOSE: _propose_rule,
    Act.SKILL_DRAFT: lambda chosen: draft_skill(chosen.agent.pk, actor=chosen.actor, values=_runbook_values(chosen)),
    Act.SKILL_AMEND: write_field(Skill, amend_skill, "body"),
    Act.SKILL_APPROVE: _approve_skill,
    Act.SKILL_REDRAFT: lambda chosen: redraft_skill(
        chosen.row(Skill, status=Skill.Status.DEPRECATED), actor=chosen.actor, values=_runbook_values(chosen)
    ),
    Act.SKILL_DEPRECATE: amend_row(Skill, deprecate_skill),
    Act.SKILL_REVISE: write_field(Skill, revise_skill, "body"),
    Act.SKILL_PROPOSE: _propose_skill,
    Act.SKILL_DISCARD: amend_row(Skill, discard_skill),
    Act.SKILL_FETCH: lambda chosen: count_use(chosen.row(Skill, status=Skill.Status.APPROVED), actor=chosen.actor),
    Act.SKILL_ATTACH: _attach_file,
    Act.SKILL_DETACH: _detach_file,
    Act.SKILL_ARRANGE: _arrange_files,
    Act.MEMORY_AMEND: _amend_memory(AgentMemory, amend_memory),
    Act.MEMORY_PROPOSE: lambda chosen: hold_for_review(
        chosen.row(AgentMemory), _whole_text_share(chosen), actor=chosen.actor, evidence=None
    ),
    Act.MEMORY_APPROVE: _approve_row(AgentMemory, approve_memory),
    Act.MEMORY_SET_LINE_DATES: _date_line(AgentMemory, set_memory_line_dates),
    Act.BLOCK_SET_LINE_DATES: _date_line(MemoryBlock, set_block_line_dates),
    Act.PROFILE_SET_LINE_DATES: _date_profile_line,
    Act.BLOCK_WRITE: _write_block,
    Act.BLOCK_AMEND: _amend_memory(MemoryBlock, amend_block),
    Act.BLOCK_PROPOSE: lambda chosen: hold_for_review(
        chosen.row(MemoryBlock), _whole_text_share(chosen), actor=chosen.actor, evidence=None
    ),
    Act.PROFILE_PROPOSE: lambda chosen: propose_profile(
        chosen.row(CustomerProfile), {"notes": chosen.words}, actor=chosen.actor, evidence=None
    ),
    Act.SKILL_RETAIN: _act_with_reason(retain_skill),
    Act.SKILL_QUARANTINE: _act_with_reason(quarantine_skill),
    Act.SKILL_RELEASE: _act_with_reason(release_skill),
    Act.BLOCK_APPROVE: _approve_row(MemoryBlock, approve_block),
    Act.PROFILE_AMEND: _amend_profile,
    Act.CONVERSATION_OPEN: _open_conversation,
    Act.CONVERSATION_TALK: lambda chosen: open_talk(chosen.agent.pk, actor=chosen.actor),
    Act.CONVERSATION_IMPORT: _import_conversation,
    Act.CONVERSATION_RESOLVE: amend_row(Conversation, resolve_conversation),
    Act.CONVERSATION_ABANDON: amend_row(Conversation, abandon_conversation),
    Act.MESSAGE_RECEIVE: _receive_message,
}
