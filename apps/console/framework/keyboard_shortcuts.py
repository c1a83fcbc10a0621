"""Keyboard shortcuts: keys that open the forms of a page with decisions, and keys that open the main pages.

A key only opens a form or a page. Nothing is decided before Enter or Ctrl+Enter; without a script, Tab and Enter do everything.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from django.urls import reverse

# By the name of a button, whatever it decides on.
BUTTON_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("approve", "apply", "activate", "send", "answer", "settle"), "a"),
        **dict.fromkeys(("edit", "write"), "e"),
        **dict.fromkeys(("reject", "refuse"), "r"),
        **dict.fromkeys(("snooze", "wake"), "s"),
        **dict.fromkeys(("claim", "take_over", "hand_back"), "c"),
        **dict.fromkeys(("discard", "dismiss", "deprecate", "retire"), "d"),
        **dict.fromkeys(("ask", "propose"), "w"),
        **dict.fromkeys(("quarantine", "release"), "x"),
        "take": "t",
        "comment": "m",
        "report": "f",
        "undo": "u",
    }
)
_LIST_KEYS: Final = (
    ("j, k", "the next row, the one before"),
    ("Enter", "open the row"),
    ("a, e, d", "in drafts and escalations: send or answer, edit, discard or dismiss the row one is in"),
    ("x, X", "tick the row, or every row, to decide together"),
    ("/", "search the list; where there is none, everything"),
)
_DECISION_KEYS: Final = (
    ("a", "approve, send, answer, settle"),
    ("e", "edit the words, then approve or send"),
    ("t", "take some sections and leave the others"),
    ("r", "reject, refuse"),
    ("d", "discard, dismiss, retire"),
    ("s", "put off until later, or bring back"),
    ("c", "claim: you are looking at it"),
    ("w", "ask for another version"),
    ("x", "quarantine, release"),
    ("m", "comment"),
    ("f", "report a reply of the agent as wrong"),
    ("1 to 9", "the reason of that number, where reasons are offered"),
    ("Ctrl+Enter", "do it, and go on to the next"),
    ("Escape", "close the form again"),
    ("u", "what you applied within the last minute, to undo it"),
)
# The contents of the help sheet, by heading.
KEY_HELP: Final = (("On a list", _LIST_KEYS), ("On a page that decides", _DECISION_KEYS))
_GO_TO_PAGES: Final = (
    ("h", "Home", "index"),
    ("i", "Proposals", "governance_proposal_changelist"),
    ("d", "Reply drafts", "desk_draft_changelist"),
    ("e", "Escalations", "desk_escalation_changelist"),
    ("r", "Reported replies", "desk_report_changelist"),
    ("t", "Calls to approve", "tools_toolapproval_changelist"),
    ("c", "Conversations", "conversations_conversation_changelist"),
    ("s", "Skills", "skills_skill_changelist"),
    ("p", "Personas", "personas_persona_changelist"),
    ("m", "Memory", "memory_agentmemory_changelist"),
    ("l", "Lessons", "learning_lesson_changelist"),
    ("v", "Learning versions", "learning_learningversion_changelist"),
    ("n", "Notebook", "notebook_note_changelist"),
    ("f", "Search", "search"),
)


@dataclass(frozen=True, slots=True)
class PageShortcut:
    """A page that is opened by `g` and then this letter."""

    key: str
    title: str
    url: str


def page_shortcuts() -> Iterator[PageShortcut]:
    """Yield all page shortcuts."""
    for key, title, view in _GO_TO_PAGES:
        yield PageShortcut(key, title, reverse(f"admin:{view}"))
