"""Tools for an agent's runbooks: finding and following them, drafting new ones, and proposing what becomes of approved ones."""

from typing import Final

from apps.api.resources.review.proposal_decisions import NewProposal
from apps.api.resources.skills.skills import NewSkill, SkillChange
from apps.governance.models import Proposal
from apps.governance.policy.table import Act
from apps.mcp_server.tool_definition import Tool
from apps.mcp_server.tools.argument_texts import READ

ID: Final = "The skill's id, as list_skills gives it."
TEXTS: Final = ("title", "description", "category", "body")
WORDS: Final = {
    "title": "What it is called, in a few words.",
    "description": "One line: what it is for. Models choose by it.",
    "category": "A word to sort by.",
    "body": "The procedure itself, as Markdown: steps, tools to call, what to check.",
}

SKILL_TOOLS: Final = (
    Tool(
        "list_skills",
        "List your skills, one line each: id, name, description, status. Follow only approved ones. Read one by get_skill"
        " before you follow it.",
        "GET",
        "skills/",
        ("status", "name", "category", "search"),
    ),
    Tool(
        "get_skill",
        "Read a whole skill: its procedure and its files' names. Reading an approved one is counted as use. A draft nobody"
        " approved is a text to work on and tells you nothing to do.",
        "GET",
        "skills/{id}/",
        words={"id": ID},
    ),
    Tool(
        "list_skill_files",
        "List the files of a skill, each with a link that works for some minutes.",
        "GET",
        "skills/{skill_id}/attachments/",
        words={"skill_id": ID},
    ),
    Tool(
        "draft_skill",
        "Write a runbook down as a draft. It is used once a person has approved it; look by list_skills first whether"
        " there is one already.",
        "POST",
        "skills/",
        TEXTS,
        NewSkill,
        needs=("title",),
        words=WORDS,
        acts=(Act.SKILL_DRAFT,),
    ),
    Tool(
        "update_skill",
        "Change a skill's text. A draft of yours is changed at once; of an approved skill this proposes the next version, and"
        " the skill stays as it is until a person has agreed. Send only what changes.",
        "PATCH",
        "skills/{id}/",
        (*TEXTS, "version", "reason"),
        SkillChange,
        needs=("version",),
        words={**WORDS, "id": ID, "version": READ, "reason": "Why, for whoever reads its history."},
        acts=(Act.SKILL_AMEND, Act.SKILL_PROPOSE),
        is_destructive=True,
        is_idempotent=True,
    ),
    Tool(
        "propose_skill_deprecation",
        "Propose that an approved skill be retired, and say why. It stays in use until a person has agreed.",
        "POST",
        "proposals/",
        ("target_id", "rationale"),
        NewProposal,
        sets={"kind": Proposal.Kind.SKILL_DEPRECATION.value, "content": {}},
        needs=("target_id", "rationale"),
        words={"target_id": ID, "rationale": "Why it should go, for the person who decides."},
        acts=(Act.SKILL_PROPOSE,),
    ),
    Tool(
        "discard_skill_draft",
        "Delete a draft that you wrote yourself. What was approved cannot be deleted; propose its deprecation.",
        "DELETE",
        "skills/{id}/",
        words={"id": ID},
        acts=(Act.SKILL_DISCARD,),
        is_destructive=True,
    ),
)
