"""Writes a runbook from the tool sequence of a transcript.

The runbook contains only names of tools, names of arguments and general words of customer service, so it cannot contain anything
that belongs to one customer.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from apps.standin.learning_agents.transcripts import read_transcript
from apps.standin.vocabulary import service_words, tool_name_in_words

if TYPE_CHECKING:
    from apps.standin.learning_agents.transcripts import ToolCallStep, ToolTranscript

NAME_CHARACTERS = 64
REQUEST_WORDS = 2
MOST_TOPICS = 6
THINKING_TOOLS = frozenset({"think", "calculate"})
# Fetching a runbook is not a step of another runbook.
SKILL_READING_TOOLS = frozenset({"get_skill", "get_skill_attachment", "list_skills", "skill_list", "skill_view"})
WRITING_TOOL = re.compile(
    r"^(?:add|approve|assign|book|cancel|change|close|create|delete|draft|exchange|issue|modify|open|order|pay|propose|"
    r"record|refund|register|remove|reset|save|schedule|send|set|submit|transfer|update|upgrade|write)(?:[_-]|$)"
)
HANDOVER_TOOL = re.compile(r"(?:transfer_to|escalate|hand_?over)", re.IGNORECASE)
UNHAPPY_CUSTOMER = re.compile(
    r"not (?:helpful|happy|satisfied|acceptable)|unhappy|useless|unacceptable|disappoint|frustrat|ridiculous|terrible|"
    r"awful|the worst|angry|never again|waste of time|(?:did|does|has)(?:n't| not) (?:help|work|solve)|"
    r"still (?:not|no) |transfer me|human agent|real person|speak to (?:a|your) (?:human|manager|supervisor)|complain",
    re.IGNORECASE,
)


def extract_skill(transcript_text: str) -> str:
    """Return strict JSON: a skill, or null if almost nothing was done, the outcome was bad, or a reply was reported as wrong."""
    transcript = read_transcript(transcript_text)
    steps = _procedure(transcript)
    if _is_trivial(steps) or transcript.is_reported or UNHAPPY_CUSTOMER.search(transcript.last_customer_text):
        return json.dumps({"skill": None})
    return json.dumps({"skill": _skill(transcript, steps)}, ensure_ascii=False)


def _is_trivial(steps: list[ToolCallStep]) -> bool:
    """Return whether the transcript has no call, has a single look-up, or ends with an escalation."""
    if not steps or HANDOVER_TOOL.match(steps[-1].tool_name):
        return True
    return len(steps) == 1 and not WRITING_TOOL.match(steps[0].tool_name)


def _procedure(transcript: ToolTranscript) -> list[ToolCallStep]:
    """Return the tools that succeeded at least once, in order, without adjacent repetitions."""
    worked = {step.tool_name for step in transcript.steps if not step.is_error} - SKILL_READING_TOOLS
    steps: list[ToolCallStep] = []
    for step in transcript.steps:
        if step.tool_name not in worked:
            continue
        if steps and steps[-1].tool_name == step.tool_name:
            steps[-1] = steps[-1].joined_with(step)
        else:
            steps.append(step)
    return steps


def _skill(transcript: ToolTranscript, steps: list[ToolCallStep]) -> dict[str, str]:
    main = _main_tool(steps)
    request = service_words(transcript.first_customer_text)
    topics = ", ".join(request[:MOST_TOPICS]) or tool_name_in_words(main)
    subject = " ".join(request[:REQUEST_WORDS]) or tool_name_in_words(main)
    name = _slug(f"{'-'.join(request[:REQUEST_WORDS])}-{main}")
    return {
        "name": name,
        "title": f"{subject[:1].upper()}{subject[1:]}: {tool_name_in_words(main)}",
        "description": f"When a customer writes about: {topics}. Ends with {tool_name_in_words(main)}.",
        "body": _body(transcript, steps, main, topics),
    }


def _main_tool(steps: list[ToolCallStep]) -> str:
    names = [step.tool_name for step in steps]
    writing = [name for name in names if WRITING_TOOL.match(name)]
    working = [name for name in names if name not in THINKING_TOOLS]
    return (writing or working or names)[-1]


def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return slug[:NAME_CHARACTERS].rstrip("-")


def _body(transcript: ToolTranscript, steps: list[ToolCallStep], main: str, topics: str) -> str:
    numbered = [f"{number}. {_step_text(step)}" for number, step in enumerate(steps, 1)]
    return "\n".join(
        [
            "## When to Use",
            f"Use this when a customer writes about: {topics}.",
            "",
            "## Procedure",
            *numbered,
            "",
            "## Pitfalls",
            *_pitfalls(transcript),
            "",
            "## Verification",
            f"- Read what `{main}` returns and tell the customer only what it says.",
            "- Ask the customer whether this settles the request before you close the conversation.",
        ]
    )


def _step_text(step: ToolCallStep) -> str:
    if not step.argument_names:
        return f"Call `{step.tool_name}`."
    listed = ", ".join(f"`{name}`" for name in step.argument_names)
    return f"Call `{step.tool_name}` with {listed}."


def _pitfalls(transcript: ToolTranscript) -> list[str]:
    failed = dict.fromkeys(step.tool_name for step in transcript.steps if step.is_error)
    return [
        *(f"- `{name}` returned an error in the source conversation. Check its arguments first." for name in failed),
        "- Use only what the customer or a tool stated as arguments. Ask for what is missing; never guess it.",
    ]
