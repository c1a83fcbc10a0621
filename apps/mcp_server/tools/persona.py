"""Tools for an agent's persona and its standing rules."""

from typing import Final

from apps.api.resources.personas.personas import UpdatePersonaBody
from apps.api.resources.review.proposal_decisions import SubmitProposalBody
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import VERSION_TEXT

PERSONA_TOOLS: Final = (
    RestTool(
        "read_persona",
        "Read your persona: who you are, your style, what to avoid, your defaults and goals, and the patch of yours that waits"
        " for a person, if there is one. People write it; you can only propose.",
        "GET",
        "personas/",
        is_single=True,
    ),
    RestTool(
        "propose_persona_patch",
        "Propose a change of your persona, in your own words. Nothing changes until a person has agreed. A second proposal"
        " takes the place of the one that waits.",
        "PATCH",
        "personas/{id}/",
        ("proposed_patch", "version"),
        UpdatePersonaBody,
        needs=("proposed_patch",),
        words={"id": "The persona's id, as read_persona gives it.", "version": VERSION_TEXT},
        acts=(Act.PERSONA_PROPOSE,),
        is_idempotent=True,
    ),
    RestTool(
        "list_rules",
        "List the standing rules you keep to: the organisation's and your own. People write them.",
        "GET",
        "rules/",
        ("status", "search"),
    ),
    RestTool(
        "propose_rule_change",
        "Propose that a standing rule be worded otherwise. The rule holds as it is until a person has agreed.",
        "POST",
        "proposals/",
        ("target_id", "content", "rationale"),
        SubmitProposalBody,
        sets={"kind": Proposal.Kind.RULE_CHANGE.value},
        needs=("target_id", "content"),
        words={
            "target_id": "The rule's id, as list_rules gives it.",
            "content": 'The new words, as {"text": "..."}.',
            "rationale": "Why it should read otherwise, for the person who decides.",
        },
        acts=(Act.RULE_PROPOSE,),
    ),
)
