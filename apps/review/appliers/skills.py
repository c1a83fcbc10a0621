"""Proposals about skills."""

from collections.abc import Mapping
from types import MappingProxyType

from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.governance.governed_write import refuse_foreign
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import Touch
from apps.governance.policy.table import Act
from apps.governance.proposals.approval_rules import refuse_flaws
from apps.review.appliers.base import Applier, Beside, Values, over
from apps.skills.actions import deprecate_skill, revise_skill
from apps.skills.attachments.attachment_access import Read, read_file
from apps.skills.models import TEXTS, Skill
from apps.skills.proposals import findings_in_files
from apps.skills.publication import publish_skill, unpublish_skill
from apps.skills.skill_validation import Attached, touches

Kind = Proposal.Kind
ONE_WAY = "A deprecated skill does not come back; a fresh skill is the way. That is why nobody can undo this."


def _texts(skill: Skill) -> Values:
    return skill.texts


def _nothing(skill: Skill) -> Values:
    del skill
    return dict.fromkeys(TEXTS, "")


def _sha256(skill: Skill) -> str:
    return skill.content_sha256


def _checked(words: Values) -> Values:
    refuse_foreign(Act.SKILL_REVISE, words)
    refuse_flaws(Skill, words)
    return words


def _whole(words: Values) -> Values:
    if missing := [name for name in TEXTS if name not in words]:
        raise Invalid(
            f"A new skill is approved whole. Send {', '.join(missing)} too.",
            {name: ["This is missing."] for name in missing},
        )
    return _checked(words)


def _nothing_more(words: Values) -> Values:
    if words:
        raise Invalid("Retiring a skill has no text to edit.", {name: ["Nothing to edit."] for name in words})
    return words


def _touched(live: Values, after: Values) -> frozenset[Touch]:
    del live
    return touches(after.values())


def _retired(live: Values, after: Values) -> frozenset[Touch]:
    del live, after
    return frozenset({Touch.RETIREMENT})


def _none_left(live: Values, words: Values) -> Values:
    del words
    return dict.fromkeys(live, "")


def _publish(skill: Skill, actor: Actor, proposal: Proposal) -> Values:
    publish_skill(skill, actor=actor, proposal=proposal)
    return {"version": skill.version}


def _unpublish(skill: Skill, actor: Actor, proposal: Proposal) -> Skill:
    return unpublish_skill(skill, actor=actor, proposal=proposal)


def _revise(skill: Skill, actor: Actor, proposal: Proposal) -> Values:
    before = {"values": skill.texts}
    reason = f"Applies proposal {proposal.pk}."
    revise_skill(skill, actor=actor, values=proposal.words, reason=reason, proposal=proposal)
    return before | {"version": skill.version}


def _revise_back(skill: Skill, actor: Actor, proposal: Proposal) -> Skill:
    reason = f"Undoes proposal {proposal.pk}."
    return revise_skill(skill, actor=actor, values=proposal.replaced_values["values"], reason=reason)


def _deprecate(skill: Skill, actor: Actor, proposal: Proposal) -> Values:
    evidence, reason = proposal.authorship, f"Applies proposal {proposal.pk}."
    deprecate_skill(skill, actor=actor, reason=reason, evidence=evidence)
    return {"version": skill.version}


def _reached(skill: Skill) -> frozenset[Touch]:
    return touches((), skill.files)


def _files(skill: Skill) -> tuple[Beside, ...]:
    return tuple(_shown(file, read_file(file)) for file in skill.files)


def _shown(file: Attached, read: Read) -> Beside:
    what = (file.name, file.media_type, file.size_bytes, file.sha256, file.uploaded_by)
    return Beside(*what, tuple(file.findings), read.text, read.note)


APPLIERS: Mapping[tuple[Kind, str], Applier] = MappingProxyType(
    {
        (Kind.SKILL_NEW, Skill._meta.label_lower): Applier(
            model=Skill,
            live=_nothing,
            sha256=_sha256,
            after=over,
            touches=_touched,
            check=_whole,
            apply=_publish,
            undo=_unpublish,
            beside=findings_in_files,
            reaches=_reached,
            files=_files,
            consequence="The next session of the agent lists the skill; sessions already open keep their index.",
        ),
        (Kind.SKILL_REVISION, Skill._meta.label_lower): Applier(
            model=Skill,
            live=_texts,
            sha256=_sha256,
            after=over,
            touches=_touched,
            check=_checked,
            apply=_revise,
            undo=_revise_back,
            reaches=_reached,
            files=_files,
            consequence="The proposed version becomes the approved one, and is fetched from then on.",
        ),
        (Kind.SKILL_DEPRECATION, Skill._meta.label_lower): Applier(
            model=Skill,
            live=_texts,
            sha256=_sha256,
            after=_none_left,
            touches=_retired,
            check=_nothing_more,
            apply=_deprecate,
            cannot_undo=ONE_WAY,
            retires=True,
            consequence="The next session of the agent no longer lists the skill. There is no way back.",
        ),
    }
)
