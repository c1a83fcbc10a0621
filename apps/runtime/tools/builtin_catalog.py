"""The built-in tools. Each tool performs a governed write of the agent, or reads content that a person approved.

No tool takes the customer as an argument: the agent's actor names the customer, and PostgreSQL hides other customers' rows.
"""

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotVisible, Stale
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.approval_rules import earlier_rejections, rejection_reason
from apps.learning.contradictions.memory_warnings import add_profile_warnings, profile_texts
from apps.llm.model_backend import Json, JsonObject
from apps.memory.actions import amend_memory, amend_profile, create_memory, create_profile
from apps.memory.models import AgentMemory, CustomerProfile
from apps.memory.rules import BODY_CHARACTERS as MEMORY_CHARACTERS
from apps.memory.rules import PROFILE_CHARACTERS, add_fact
from apps.personas.actions import propose_patch
from apps.personas.models import Persona
from apps.prompt.builtin_tools import (
    ASSISTANT_TALK_TOOLS,
    DRAFT_SKILL,
    GET_SKILL,
    GET_SKILL_ATTACHMENT,
    LIST_SKILLS,
    PROPOSE_PERSONA_PATCH,
    UPDATE_CUSTOMER_PROFILE,
    UPDATE_MEMORY,
)
from apps.prompt.memory_lines.line_edits import too_long_advice
from apps.prompt.prompt_input import SanitizerRule
from apps.prompt.rendering.data_fences import canonical_json, fence
from apps.prompt.sanitizer.clean import clean, sanitize
from apps.runtime.prompt_snapshot.playground_proposal import find_trial_skill
from apps.runtime.taint_attribution import heard_texts, taint_of_text
from apps.runtime.tools.assistant_tools import ASSISTANT_TOOLS
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext, ToolOffer, whole_number
from apps.runtime.tools.delegation_tools import DELEGATION_TOOLS
from apps.runtime.tools.escalation_tool import ESCALATION_TOOL
from apps.runtime.tools.memory_editing_tools import MEMORY_SHOWN, MEMORY_TOOLS
from apps.runtime.tools.memory_write_results import TextState, describe_profile_write, describe_writes, outcome_of_write
from apps.runtime.tools.notebook_tools import NOTEBOOK_TOOLS
from apps.runtime.tools.schedule_tools import SCHEDULE_TOOLS
from apps.runtime.tools.skill_editing_tools import SKILL_TOOLS
from apps.runtime.tools.table_and_chart_tools import TABLE_AND_CHART_TOOLS
from apps.skills.actions import draft_skill
from apps.skills.approved_skill_query import read_approved_skill
from apps.skills.attachments.attachment_access import read_content, refuse_fetch
from apps.skills.models import Skill
from apps.skills.skill_validation import BODY_CHARACTERS, FILE_CHARACTERS, Attachment, has_file_mention
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.pii_flags import pii_warning

LISTED_SKILLS = 100


def _get_skill(context: ToolContext, arguments: JsonObject) -> str:
    # Only approved skills are returned, whatever id the model names.
    skill_id = whole_number(arguments["skill_id"])
    system = system_actor(context.actor.tenant_id, "worker")
    skill = find_trial_skill(context.conversation, skill_id, system=system) or read_approved_skill(
        skill_id, actor=context.actor
    )
    if skill is None:
        raise NotVisible("There is no approved skill with this id. The index in your prompt lists those there are.")
    authorize(context.actor, Act.SKILL_FETCH, skill.tenant_id, agent_id=skill.agent_id)
    answer: JsonObject = {
        "name": skill.name,
        "title": clean(skill.title),
        "version": skill.version,
        "body": clean(skill.body, BODY_CHARACTERS),
    }
    files: list[Json] = [_describe_file(file) for file in skill.files if has_file_mention(skill.body, file.name)]
    if files:
        answer["attachments"] = files
    return canonical_json(answer)


def _describe_file(file: Attachment) -> JsonObject:
    return {"name": clean(file.name), "media_type": file.media_type, "size_bytes": file.size_bytes}


def _get_skill_attachment(context: ToolContext, arguments: JsonObject) -> str:
    with acting_as(context.actor):
        pk, name = whole_number(arguments["skill_id"]), str(arguments["file_name"])
        skill = Skill.objects.visible_to(context.actor).approved().filter(pk=pk).first()
        file = skill.file_named(name) if skill and has_file_mention(skill.body, name) else None
        if skill is None or file is None:
            raise NotVisible("No approved skill with this id mentions a file of this name. get_skill lists its files.")
        refuse_fetch(skill, context.actor)
    # Outside the transaction, since the file store may be remote.
    content = read_content(file)
    if not file.is_text:
        return canonical_json(
            {**_describe_file(file), "note": "This is no text, so you cannot read it. Offer what it is."}
        )
    read = sanitize(content.decode(), FILE_CHARACTERS)
    cut = {"cut_after_characters": FILE_CHARACTERS} if SanitizerRule.TRUNCATED in read.notes else {}
    return canonical_json({**_describe_file(file), "text": read.text, **cut})


def _list_skills(context: ToolContext, arguments: JsonObject) -> str:
    with acting_as(context.actor):
        rows = Skill.objects.visible_to(context.actor).approved().for_agent(context.agent_id).order_by("name")
        listed: list[JsonObject] = [
            {"id": pk, "name": name, "description": clean(description)}
            for pk, name, description in rows.values_list("pk", "name", "description")[:LISTED_SKILLS]
        ]
    return canonical_json({"skills": listed})


def _update_memory(context: ToolContext, arguments: JsonObject) -> str:
    body = str(arguments["body"])
    evidence = {"conversation_id": context.conversation.pk}
    with acting_as(context.actor):
        heard = heard_texts(context.conversation, actor=context.actor)
        memory = AgentMemory.objects.visible_to(context.actor).filter(agent_id=context.agent_id).first()
        before = TextState.of(memory)
        _refuse_over_limit("your memory", body, MEMORY_CHARACTERS)
        if memory is None:
            memory = create_memory(context.agent_id, actor=context.actor, body=body, heard=heard, evidence=evidence)
        else:
            _refuse_stale_memory(memory, context)
            read_at = memory.version
            amend_memory(memory, actor=context.actor, body=body, heard=heard, read_at=read_at, evidence=evidence)
        write = outcome_of_write(memory, before, body, context.actor)
    context.shown.add(MEMORY_SHOWN)
    return describe_writes([write])


def _refuse_over_limit(place: str, text: str, most: int) -> None:
    """Raise Conflict if the text is too long, with advice on lines to merge or shorten."""
    if advice := too_long_advice(text, most):
        raise Conflict(clean(f"There is no room in {place}. {advice}"))


def _refuse_stale_memory(memory: AgentMemory, context: ToolContext) -> None:
    """Raise Stale if the memory changed since the prompt was frozen: a new full text would undo the corrections made since."""
    if memory.updated_at > context.snapshot_at and MEMORY_SHOWN not in context.shown:
        context.shown.add(MEMORY_SHOWN)
        raise Stale(
            "The memory changed since this session began. It reads now, as data: "
            f"{fence(clean(memory.body, MEMORY_CHARACTERS))}\nGive the full new text once more, starting from this one.",
            memory.version,
        )


def _update_customer_profile(context: ToolContext, arguments: JsonObject) -> str:
    given = {name: str(text) for name, text in arguments.items()}
    evidence = {"conversation_id": context.conversation.pk}
    if not context.actor.customer_key:
        raise NotVisible("This conversation names no customer, so there is no profile to write.")
    if not context.actor.customer_is_proven:
        raise NotVisible(
            "Nobody has proven to be the customer this conversation names, so their profile stays as it is."
        )
    with acting_as(context.actor):
        rows = CustomerProfile.objects.visible_to(context.actor)
        profile = rows.filter(end_user_key=context.actor.customer_key).first()
        before, texts_before = TextState.of(profile), profile_texts(profile)
        if profile is None:
            values = given
            profile = create_profile(context.actor.customer_key, actor=context.actor, values=values, evidence=evidence)
        else:
            values = {name: add_fact(getattr(profile, name), text) for name, text in given.items()}
            for name, text in values.items():
                _refuse_over_limit(f"the customer's {name}", text, PROFILE_CHARACTERS)
            amend_profile(profile, actor=context.actor, values=values, evidence=evidence)
        result = describe_profile_write(profile, before, values, context.actor)
    return add_profile_warnings(result, profile, texts_before)


def _propose_persona_patch(context: ToolContext, arguments: JsonObject) -> str:
    evidence = {"conversation_id": context.conversation.pk}
    with acting_as(context.actor):
        persona = Persona.objects.visible_to(context.actor).filter(agent_id=context.agent_id).first()
        if persona is None:
            raise NotVisible("This agent has no persona yet; an operator has to write one first.")
        text = str(arguments["text"])
        taint = taint_of_text(text, heard_texts(context.conversation, actor=context.actor))
        proposal = propose_patch(persona, actor=context.actor, text=text, evidence=evidence, taint=taint)
        rejected = earlier_rejections(proposal, context.actor)
    said_no = "".join(f" An operator rejected proposal {row.pk}: {rejection_reason(row)}." for row in rejected)
    return f"Proposal {proposal.pk} waits for an operator. Nothing changes until one applies it.{clean(said_no)}"


def _draft_skill(context: ToolContext, arguments: JsonObject) -> str:
    values = {name: str(text) for name, text in arguments.items()}
    evidence = {"conversation_id": context.conversation.pk}
    with acting_as(context.actor):
        taint = taint_of_text("\n".join(values.values()), heard_texts(context.conversation, actor=context.actor))
    skill = draft_skill(context.agent_id, actor=context.actor, values=values, evidence=evidence, taint=taint)
    private = clean(pii_warning("\n".join(values.values()), actor=context.actor))
    return f"Draft {skill.pk} “{skill.name}” waits for an operator. It is in no index until one approves it. {private}".strip()


# The order is that of the prompt: tools come before the system prompt in the cached prefix (R058).
BUILTIN_TOOLS: tuple[BuiltinTool, ...] = (
    BuiltinTool(
        GET_SKILL,
        "Read the full runbook of a skill from the index before you follow it.",
        {"skill_id": "The id in the index line."},
        ("skill_id",),
        _get_skill,
        keeps=False,
        reads=True,
    ),
    BuiltinTool(
        LIST_SKILLS,
        "List the approved skills, also those the index had no room for.",
        {},
        (),
        _list_skills,
        keeps=False,
        reads=True,
    ),
    BuiltinTool(
        GET_SKILL_ATTACHMENT,
        "Read a file that a runbook you fetched mentions by name.",
        {"skill_id": "The id of the skill.", "file_name": "The file's name as get_skill lists it."},
        ("skill_id", "file_name"),
        _get_skill_attachment,
        keeps=False,
        reads=True,
    ),
    BuiltinTool(
        UPDATE_MEMORY,
        "Replace what you remember about how this business works. Give the whole new text, old facts included.",
        {"body": "The full new memory, in markdown."},
        ("body",),
        _update_memory,
    ),
    BuiltinTool(
        UPDATE_CUSTOMER_PROFILE,
        "Record what this customer prefers, or a note about them. What is known already stays.",
        {"preferences": "Preferences, one per line.", "notes": "Notes, one per line."},
        (),
        _update_customer_profile,
    ),
    BuiltinTool(
        PROPOSE_PERSONA_PATCH,
        "Suggest a change of your persona to the operators. It changes nothing by itself.",
        {"text": "What to change and why."},
        ("text",),
        _propose_persona_patch,
    ),
    BuiltinTool(
        DRAFT_SKILL,
        "Write down a procedure that worked, for an operator to approve.",
        {
            "title": "A short title.",
            "description": "One line: what the runbook is for.",
            "body": "Markdown with When to Use, Procedure, Pitfalls, Verification.",
        },
        ("title", "description", "body"),
        _draft_skill,
    ),
    ESCALATION_TOOL,
    *SCHEDULE_TOOLS,
    *DELEGATION_TOOLS,
    *TABLE_AND_CHART_TOOLS,
    *ASSISTANT_TOOLS,
    *MEMORY_TOOLS,
    *SKILL_TOOLS,
    *NOTEBOOK_TOOLS,
)


def builtin_tools(offer: ToolOffer) -> tuple[BuiltinTool, ...]:
    """The tools that a session offers, in prompt order."""
    return tuple(
        tool
        for tool in BUILTIN_TOOLS
        if tool.offered(offer)
        and not (offer.off_the_record and tool.keeps)
        and (offer.member_rights is None or tool.name in ASSISTANT_TALK_TOOLS)
    )
