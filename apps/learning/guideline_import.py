"""Converts a support team's written guidelines to runbooks: flows, each with subflows of actions and instructions; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.learning.extraction.draft_validation import RUNBOOK_SECTIONS
from apps.llm.model_backend import Json
from apps.skills.skill_validation import DESCRIPTION_CHARACTERS, slug

# The name for a guideline button that has no name.
_NO_BUTTON: Final = frozenset({"", "n/a"})
_EMPTY_SECTION_TEXT: Final = "The guideline says nothing of this."


@dataclass(frozen=True, slots=True)
class Guideline:
    """A runbook parsed from a guideline, before it is drafted."""

    name: str
    title: str
    category: str
    description: str
    body: str


@dataclass(frozen=True, slots=True)
class MalformedGuideline:
    """A guideline that cannot be parsed; `where` names the flow and subflow, `reason` says what to correct."""

    where: str
    reason: str


class NotGuidelines(Exception):
    """The file does not have the guideline format."""


def parse_guidelines(found: Json) -> Iterator[Guideline | MalformedGuideline]:
    """Yield a guideline per subflow, in the order of the file. Raises NotGuidelines if the file has another format."""
    if not isinstance(found, Mapping) or not found:
        raise NotGuidelines("Expected an object with a flow under each of its names.")
    for flow, flow_data in found.items():
        subflows = flow_data.get("subflows") if isinstance(flow_data, Mapping) else None
        if not isinstance(flow_data, Mapping) or not isinstance(subflows, Mapping):
            yield MalformedGuideline(flow, "Expected an object with an object `subflows` in it.")
            continue
        for title, subflow in subflows.items():
            yield _parse_guideline(flow, title, _normalize_text(flow_data.get("description")), subflow)


def _parse_guideline(flow: str, title: str, about: str, subflow: Json) -> Guideline | MalformedGuideline:
    where = f"{flow}: {title}"
    instructions = subflow.get("instructions") if isinstance(subflow, Mapping) else None
    actions = subflow.get("actions") if isinstance(subflow, Mapping) else None
    if not isinstance(actions, Sequence) or isinstance(actions, str) or not actions:
        return MalformedGuideline(where, "Expected a list `actions` with at least one action.")
    steps = [_format_step(action) for action in actions]
    if "" in steps:
        return MalformedGuideline(where, f"Action {steps.index('') + 1} has no `text`.")
    instruction_texts = _normalize_texts(instructions)
    matter = f"{where} ({about})." if about else f"{where}."
    numbered = [f"{number}. {step}" for number, step in enumerate([*steps, *instruction_texts[1:]], 1)]
    texts = (" ".join([matter, *instruction_texts[:1]]), "\n".join(numbered), _EMPTY_SECTION_TEXT, _EMPTY_SECTION_TEXT)
    body = "\n\n".join(f"## {section}\n{text}" for section, text in zip(RUNBOOK_SECTIONS, texts, strict=True))
    return Guideline(slug(where), where, slug(flow), _truncate_description(texts[0]), body)


def _format_step(action: Json) -> str:
    """Return one numbered step with its remarks below it; empty for an action without text."""
    if not isinstance(action, Mapping):
        return ""
    text, button = _normalize_text(action.get("text")), _normalize_text(action.get("button"))
    if not text:
        return ""
    lines = [text, *(f"   - {remark}" for remark in _normalize_texts(action.get("subtext")))]
    is_named = button.lower() in _NO_BUTTON or any(f"[{button}]" in line for line in lines)
    return "\n".join(lines if is_named else [f"[{button}] {text}", *lines[1:]])


def _normalize_texts(found: Json) -> list[str]:
    """Return a list of texts, also from a single text."""
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, Sequence):
        return []
    return [words for each in found if (words := _normalize_text(each))]


def _normalize_text(found: Json) -> str:
    return " ".join(found.split()) if isinstance(found, str) else ""


def _truncate_description(text: str) -> str:
    """Truncate a text after a whole sentence if one fits, else after a whole word."""
    if len(text) <= DESCRIPTION_CHARACTERS:
        return text
    cut = text[: DESCRIPTION_CHARACTERS - 1]
    sentences = cut.count(". ")
    return cut[: cut.rfind(". ") + 1] if sentences > 1 else cut.rpartition(" ")[0] + "…"
