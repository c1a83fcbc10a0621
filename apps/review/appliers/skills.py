"""Appliers of proposals about skills."""

from collections.abc import Mapping
from types import MappingProxyType

from django.db.models import F

from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.governance.governed_write import refuse_ungoverned_fields
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskFactor
from apps.governance.proposals.approval_rules import refuse_flaws
from apps.review.appliers.base import Applier, ReviewedFile, Values, merge_words
from apps.skills.actions import deprecate_skill, revise_skill
from apps.skills.attachments.attachment_access import AttachmentPreview, read_file
from apps.skills.models import TEXT_FIELDS, Skill
from apps.skills.proposals import findings_in_files
from apps.skills.publication import publish_skill, unpublish_skill
from apps.skills.skill_validation import Attachment, missing_file_findings, risk_factors_in

Kind = Proposal.Kind
DEPRECATION_IS_FINAL = (
    "A deprecation cannot be undone here. Restore an earlier version of the skill, which makes it a draft again."
)


def _texts(skill: Skill) -> Values:
    return skill.texts


def _blank_texts(skill: Skill) -> Values:
    return dict.fromkeys(TEXT_FIELDS, "")


def _sha256(skill: Skill) -> str:
    return skill.content_sha256


def _check_texts(words: Values) -> Values:
    refuse_ungoverned_fields(Act.SKILL_REVISE, words)
    refuse_flaws(Skill, words)
    return words


def _check_new_skill(words: Values) -> Values:
    if missing := [name for name in TEXT_FIELDS if name not in words]:
        raise Invalid(
            f"A new skill is approved as a whole. Send {', '.join(missing)} too.",
            {name: ["This is missing."] for name in missing},
        )
    return _check_texts(words)


def _refuse_any_text(words: Values) -> Values:
    if words:
        raise Invalid(
            "A proposal to retire a skill has no text to edit. Send it without fields.",
            {name: ["This cannot be edited."] for name in words},
        )
    return words


def _factors_of_texts(live: Values, after: Values) -> frozenset[RiskFactor]:
    return risk_factors_in(after.values())


def _retirement_factor(live: Values, after: Values) -> frozenset[RiskFactor]:
    return frozenset({RiskFactor.RETIREMENT})


def _blank_all_fields(live: Values, words: Values) -> Values:
    return dict.fromkeys(live, "")


def _publish(skill: Skill, actor: Actor, proposal: Proposal) -> Values:
    publish_skill(skill, actor=actor, proposal=proposal)
    return {"version": skill.version}


def _unpublish(skill: Skill, actor: Actor, proposal: Proposal) -> Skill:
    return unpublish_skill(skill, actor=actor, proposal=proposal)


def _revise(skill: Skill, actor: Actor, proposal: Proposal) -> Values:
    before = {"values": skill.texts}
    revise_skill(skill, actor=actor, values=proposal.words, proposal=proposal)
    return before | {"version": skill.version}


def _undo_revise(skill: Skill, actor: Actor, proposal: Proposal) -> Skill:
    return revise_skill(skill, actor=actor, values=proposal.replaced_values["values"])


def _deprecate(skill: Skill, actor: Actor, proposal: Proposal) -> Values:
    deprecate_skill(skill, actor=actor, evidence=proposal.authorship)
    return {"version": skill.version}


def _findings_of_draft(skill: Skill, live: Values, after: Values) -> tuple[str, ...]:
    return (*findings_in_files(skill), *missing_file_findings(after["body"], skill.files))


def _findings_of_revision(skill: Skill, live: Values, after: Values) -> tuple[str, ...]:
    return missing_file_findings(after["body"], skill.files, approved=live["body"])


def _factors_of_files(skill: Skill) -> frozenset[RiskFactor]:
    return risk_factors_in((), skill.files)


def _files(skill: Skill) -> tuple[ReviewedFile, ...]:
    return tuple(_reviewed_file(file, read_file(file)) for file in skill.files)


def _reviewed_file(file: Attachment, read: AttachmentPreview) -> ReviewedFile:
    what = (file.name, file.media_type, file.size_bytes, file.sha256, file.uploaded_by)
    return ReviewedFile(*what, tuple(file.findings), read.text, read.note)


APPLIERS: Mapping[tuple[Kind, str], Applier] = MappingProxyType(
    {
        (Kind.SKILL_NEW, Skill._meta.label_lower): Applier(
            model=Skill,
            live=_blank_texts,
            sha256=_sha256,
            sql_sha256=F("content_sha256"),
            after=merge_words,
            touches=_factors_of_texts,
            check=_check_new_skill,
            apply=_publish,
            undo=_unpublish,
            beside=_findings_of_draft,
            reaches=_factors_of_files,
            files=_files,
            consequence="The next session of the agent lists the skill; sessions already open keep their index.",
        ),
        (Kind.SKILL_REVISION, Skill._meta.label_lower): Applier(
            model=Skill,
            live=_texts,
            sha256=_sha256,
            sql_sha256=F("content_sha256"),
            after=merge_words,
            touches=_factors_of_texts,
            check=_check_texts,
            apply=_revise,
            undo=_undo_revise,
            beside=_findings_of_revision,
            reaches=_factors_of_files,
            files=_files,
            consequence="The proposed version becomes the approved one, which agents read from then on.",
        ),
        (Kind.SKILL_DEPRECATION, Skill._meta.label_lower): Applier(
            model=Skill,
            live=_texts,
            sha256=_sha256,
            sql_sha256=F("content_sha256"),
            after=_blank_all_fields,
            touches=_retirement_factor,
            check=_refuse_any_text,
            apply=_deprecate,
            cannot_undo=DEPRECATION_IS_FINAL,
            retires=True,
            consequence="The next session of the agent no longer lists the skill. Only a restore makes it a draft again.",
        ),
    }
)
