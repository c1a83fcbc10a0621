"""Plans for skills. A restore approves nothing: a deprecated skill returns as its own draft, for review (R092, R093)."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

from apps.governance.actors import Actor
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.restore.plan_steps import RestoreStep, RowPair, UnchangedNote, Values, make_step, values_to_restore
from apps.restore.rules import fresh_name
from apps.skills.actions import (
    amend_skill,
    arrange_files,
    attach_file,
    deprecate_skill,
    detach_file,
    draft_skill,
    redraft_skill,
    revise_skill,
)
from apps.skills.models import Skill
from apps.skills.skill_validation import NAME_CHARACTERS, Attachment

PlanItems = Iterator[RestoreStep | UnchangedNote]
COMPARED_FIELDS = ("title", "description", "body", "files")
Status = Skill.Status


@dataclass(frozen=True, slots=True)
class CurrentSkills:
    """All current skills, and which of them were approved at the earlier moment."""

    now: tuple[Skill, ...] = ()
    approved_then: frozenset[int] = frozenset()


def plan_skill(pair: RowPair[Skill], shelf: CurrentSkills) -> PlanItems:
    """Plan one skill, given the current skills of its agent."""
    now, then = pair.now, pair.then
    if then is None:
        yield from _plan_newer_skill(pair, shelf)
    elif then.row.status == Status.DEPRECATED:
        yield from _plan_deprecated_then(pair)
    elif now is None or then.row.status != now.status:
        yield from _plan_draft_again(pair, shelf)
    elif then.row.status == Status.APPROVED:
        yield from _plan_rewording(pair, shelf, Act.SKILL_REVISE, revise_skill)
        yield from _plan_attachments(pair)
    elif then.row.status == Status.DRAFT:
        yield from _plan_rewording(pair, shelf, Act.SKILL_AMEND, amend_skill)
        yield from _plan_attachments(pair)


def _plan_newer_skill(pair: RowPair[Skill], shelf: CurrentSkills) -> PlanItems:
    """Plan a skill created later: a draft stays pending, because no customer sees it; an approved skill leaves the index."""
    now = pair.standing
    if now.status == Status.APPROVED and not _is_replacement(now, shelf):
        yield _deprecate_step(pair, "Deprecate it: it did not exist then")
    elif now.status == Status.DRAFT:
        yield UnchangedNote(
            pair.label, "This draft was written since. It reaches no customer and keeps waiting for its review."
        )


def _plan_deprecated_then(pair: RowPair[Skill]) -> PlanItems:
    """Plan a skill that was deprecated at the earlier moment and was made a draft again by a restore since."""
    if pair.now is not None and pair.now.status == Status.APPROVED:
        yield _deprecate_step(pair, "Deprecate it: it was deprecated then")
    elif pair.now is not None and pair.now.status == Status.DRAFT:
        yield UnchangedNote(
            pair.label, "It was made a draft again since. It reaches no customer and keeps waiting for its review."
        )


def _plan_draft_again(pair: RowPair[Skill], shelf: CurrentSkills) -> PlanItems:
    """Plan a draft with the earlier text, because a restore approves nothing."""
    now, then = pair.now, pair.past
    if now is not None and then.row.status == Status.DRAFT and now.status == Status.DEPRECATED:
        yield UnchangedNote(pair.label, "It was a draft then and was rejected since. A rejected draft stays rejected.")
        return
    if now is not None and now.status == Status.APPROVED:
        yield _deprecate_step(pair, "Deprecate it: it was a draft then")
    if holder := _skill_with_same_words(then.row, now, shelf):
        yield UnchangedNote(
            pair.label, f"Its text from that time is in skill “{holder.name}”, which is {holder.status}."
        )
        return
    if now is not None and now.is_quarantined:
        yield UnchangedNote(pair.label, "It is in quarantine. Release it first, and restore it then.")
        return
    yield _draft_step(pair, shelf) if now is None else _redraft_step(pair, now, shelf)
    if then.row.status == Status.APPROVED:
        yield UnchangedNote(
            pair.label,
            "It was approved then. A restore approves nothing: it waits for the approval that its risk requires, and the"
            " session after that lists it as it did then.",
        )


def _draft_step(pair: RowPair[Skill], shelf: CurrentSkills) -> RestoreStep:
    then = pair.past
    row = then.row
    taken = {skill.name for skill in shelf.now if skill.agent_id == row.agent_id}
    values: Values = {name: getattr(row, name) for name in ("title", "description", "category", "body")}
    values["name"] = fresh_name(row.name, taken, NAME_CHARACTERS)

    def carry(*, actor: Actor, read_at: int | None) -> Skill:  # noqa: ARG001  # the signature of every step
        taint, kept = Taint(row.taint), row.front_matter
        fresh = draft_skill(row.agent_id, actor=actor, values=values, taint=taint, front_matter=kept)
        for file in row.files:
            attach_file(fresh, actor=actor, file=file)
        return fresh

    gone, shown = RowPair(None, then, pair.label), {**values, **({"attachments": row.attachments} if row.files else {})}
    return make_step(
        gone, Act.SKILL_DRAFT, shown, carry, f"Create a new draft of its text from that time, as “{values['name']}”"
    )


def _redraft_step(pair: RowPair[Skill], now: Skill, shelf: CurrentSkills) -> RestoreStep:
    """Plan the next version of a deprecated skill: a draft under its own name, unless another skill has that name now."""
    row = pair.past.row
    taken = {skill.name for skill in shelf.now if skill.agent_id == row.agent_id and skill.pk != now.pk}
    values: Values = {name: getattr(row, name) for name in ("title", "description", "category", "body")}
    values["name"] = now.name if row.name in taken else row.name

    def carry(*, actor: Actor, read_at: int | None) -> Skill:
        return redraft_skill(now, actor=actor, values=values, files=row.files, taint=Taint(row.taint), read_at=read_at)

    shown = values | ({"attachments": row.attachments} if row.attachments != now.attachments else {})
    differs = {name: value for name, value in shown.items() if value != getattr(now, name)}
    says = f"Make it a draft again with its text from that time, under its name “{values['name']}”"
    if row.name in taken:
        says += f", because another skill is called “{row.name}” now"
    return make_step(pair, Act.SKILL_REDRAFT, {"status": Status.DRAFT.value, **differs}, carry, says)


def _deprecate_step(pair: RowPair[Skill], says: str) -> RestoreStep:
    return make_step(
        pair, Act.SKILL_DEPRECATE, {"status": Status.DEPRECATED.value}, partial(deprecate_skill, pair.standing), says
    )


def _plan_rewording(pair: RowPair[Skill], shelf: CurrentSkills, act: Act, amend: Callable[..., Skill]) -> PlanItems:
    now, then = pair.standing, pair.past
    values = values_to_restore(now, then, act)
    if any(skill.name == values.get("name") and skill.agent_id == now.agent_id for skill in shelf.now):
        yield UnchangedNote(
            pair.label, f"Another skill has its former name, “{values.pop('name')}”, now; it keeps the present one."
        )
    if values:
        yield make_step(pair, act, values, partial(amend, now, values=values))


def _plan_attachments(pair: RowPair[Skill]) -> PlanItems:
    """Plan attachments: files added later are removed, removed files return in their earlier order; their bytes were kept."""
    now, then = pair.standing, pair.past
    if "attachments" not in then.fields:
        return
    files, was = now.files, then.row.files
    for file in (file for file in now.files if file not in was):
        files = tuple(each for each in files if each != file)
        detach = partial(detach_file, now, name=file.name)
        yield make_step(pair, Act.SKILL_DETACH, _attachment_values(files), detach, f"Remove the file {file.name}")
    for file in (file for file in was if file not in now.files):
        files = (*files, file)
        attach = partial(attach_file, now, file=file)
        yield make_step(pair, Act.SKILL_ATTACH, _attachment_values(files), attach, f"Add the file {file.name} again")
    if files != was:
        arrange = partial(arrange_files, now, names=[file.name for file in was])
        yield make_step(
            pair, Act.SKILL_ARRANGE, _attachment_values(was), arrange, "Restore the former order of the files"
        )


def _attachment_values(files: tuple[Attachment, ...]) -> Values:
    return {"attachments": [asdict(file) for file in files]}


def _skill_with_same_words(then: Skill, now: Skill | None, shelf: CurrentSkills) -> Skill | None:
    """Return another skill of the agent that has the same text and is not deprecated."""
    others = (skill for skill in shelf.now if skill.status != Status.DEPRECATED and skill.agent_id == then.agent_id)
    return next(
        (skill for skill in others if (now is None or skill.pk != now.pk) and _has_same_words(skill, then)), None
    )


def _is_replacement(skill: Skill, shelf: CurrentSkills) -> bool:
    """Return whether a skill was approved to replace a deprecated skill with the same text."""
    return any(
        other.pk in shelf.approved_then
        and other.status == Status.DEPRECATED
        and other.agent_id == skill.agent_id
        and _has_same_words(other, skill)
        for other in shelf.now
    )


def _has_same_words(one: Skill, other: Skill) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in COMPARED_FIELDS)
