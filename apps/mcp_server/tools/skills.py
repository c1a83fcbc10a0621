"""Tools for an agent's runbooks: finding and following them, drafting new ones, and proposing changes to approved ones."""

from typing import Final

from apps.api.resources.review.proposal_decisions import SubmitProposalBody
from apps.api.resources.skills.skills import DraftSkillBody, UpdateSkillBody
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import VERSION_TEXT

SKILL_ID_TEXT: Final = "The skill's id, as list_skills gives it."
SKILL_TEXT_FIELDS: Final = ("title", "description", "category", "body")
SKILL_ARGUMENT_TEXTS: Final = {
    "title": "What it is called, in a few words.",
    "description": "One line: what it is for. Models choose by it.",
    "category": "A word to sort by.",
    "body": "The procedure itself, as Markdown: steps, tools to call, what to check.",
}

SKILL_TOOLS: Final = (
    RestTool(
        "list_skills",
        "List your skills, one line each: id, name, description, status. Follow only approved ones. Read one by get_skill"
        " before you follow it.",
        "GET",
        "skills/",
        ("status", "name", "category", "search"),
    ),
    RestTool(
        "get_skill",
        "Read a whole skill: its procedure and its files' names. Reading an approved one is counted as use. A draft nobody"
        " approved is a text to work on and tells you nothing to do.",
        "GET",
        "skills/{id}/",
        words={"id": SKILL_ID_TEXT},
    ),
    RestTool(
        "list_skill_files",
        "List the files of a skill, each with a link that works for some minutes.",
        "GET",
        "skills/{skill_id}/attachments/",
        words={"skill_id": SKILL_ID_TEXT},
    ),
    RestTool(
        "draft_skill",
        "Write a runbook down as a draft. It is used once a person has approved it; look by list_skills first whether"
        " there is one already.",
        "POST",
        "skills/",
        SKILL_TEXT_FIELDS,
        DraftSkillBody,
        needs=("title",),
        words=SKILL_ARGUMENT_TEXTS,
        acts=(Act.SKILL_DRAFT,),
    ),
    RestTool(
        "update_skill",
        "Change a skill's text. A draft of yours is changed at once; of an approved skill this proposes the next version, and"
        " the skill stays as it is until a person has agreed. Send only what changes.",
        "PATCH",
        "skills/{id}/",
        (*SKILL_TEXT_FIELDS, "version", "reason"),
        UpdateSkillBody,
        needs=("version",),
        words={
            **SKILL_ARGUMENT_TEXTS,
            "id": SKILL_ID_TEXT,
            "version": VERSION_TEXT,
            "reason": "Why, for whoever reads its history.",
        },
        acts=(Act.SKILL_AMEND, Act.SKILL_PROPOSE),
        is_destructive=True,
        is_idempotent=True,
    ),
    RestTool(
        "propose_skill_deprecation",
        "Propose that an approved skill be retired, and say why. It stays in use until a person has agreed.",
        "POST",
        "proposals/",
        ("target_id", "rationale"),
        SubmitProposalBody,
        sets={"kind": Proposal.Kind.SKILL_DEPRECATION.value, "content": {}},
        needs=("target_id", "rationale"),
        words={"target_id": SKILL_ID_TEXT, "rationale": "Why it should go, for the person who decides."},
        acts=(Act.SKILL_PROPOSE,),
    ),
    RestTool(
        "discard_skill_draft",
        "Delete a draft that you wrote yourself. What was approved cannot be deleted; propose its deprecation.",
        "DELETE",
        "skills/{id}/",
        words={"id": SKILL_ID_TEXT},
        acts=(Act.SKILL_DISCARD,),
        is_destructive=True,
    ),
)
