"""Refusals of the kernel. Each has a `code`; surfaces translate it into their own form once."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class GovernanceError(Exception):
    """A governed write or read was refused; the message is a whole sentence for people."""

    code: ClassVar[str] = "refused"
    # Whether the attempt is in the books already: a refusal passes several floors, and one record is enough.
    noted: bool = False


class NotPermitted(GovernanceError):
    """The actor may not do this, whatever its grants, or lacks the grant."""

    code = "not_permitted"


class NothingPermitted(NotPermitted):
    """Every field of the write was gated away; nothing was left to do (Z-14)."""

    code = "nothing_permitted"

    def __init__(self, message: str, ignored_fields: Sequence[str]) -> None:
        super().__init__(message)
        self.ignored_fields = tuple(ignored_fields)


class StoppedByKillSwitch(NotPermitted):
    """Somebody stopped for now what the act would do; it is not refused for good."""

    code = "stopped_by_kill_switch"


class NotVisible(GovernanceError):
    """No such row for this actor; another tenant's row reads the same as none."""

    code = "not_found"


class IllegalTransition(GovernanceError):
    """The state machine has no such move from the row's present state."""

    code = "illegal_transition"


class Stale(GovernanceError):
    """The row changed since the actor read it."""

    code = "stale"

    def __init__(self, message: str, current_version: int) -> None:
        super().__init__(message)
        self.current_version = current_version


class ReviewedContentChanged(Stale):
    """A yes to a proposal that is not, or no longer, what the reviewer read; `current_content` is what it says now."""

    def __init__(self, message: str, current_version: int, current_sha256: str, current_content: object) -> None:
        super().__init__(message, current_version)
        self.current_sha256 = current_sha256
        self.current_content = current_content


class NeedsRebase(GovernanceError):
    """What a proposal would change is not what its proposer read; `base` and `live` are both texts."""

    code = "needs_rebase"

    def __init__(self, message: str, base: Mapping[str, Any], live: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.base = base
        self.live = live


class NeedsAnotherReviewer(NotPermitted):
    """Whoever proposed or edited the words may not be the one who approves them, or too few are there who may."""

    code = "needs_another_reviewer"


class FindingsUnconfirmed(GovernanceError):
    """The scanner points at something; a reviewer has to say why it may stand."""

    code = "findings_unconfirmed"

    def __init__(self, message: str, findings: Sequence[str]) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class Conflict(GovernanceError):
    """Another row already holds what must be unique."""

    code = "conflict"


class AlreadyRejected(Conflict):
    """A person said no to exactly these words."""

    code = "already_rejected"


class QueueFull(GovernanceError):
    """An agent has as many open proposals as its tenant allows."""

    code = "queue_full"


class TooManyRequests(GovernanceError):
    """More came than is taken in some time; `wait` is how many seconds until the next is."""

    code = "too_many_messages"

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


class Invalid(GovernanceError):
    """Values break a rule; `fields` says which and why."""

    code = "invalid"

    def __init__(self, message: str, fields: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message)
        self.fields = {name: list(reasons) for name, reasons in fields.items()}


def refuse_blank(text: str, message: str, field: str = "reason") -> None:
    """Raise `Invalid` for a text that others will read where nothing is written in it; it names the field."""
    if not text.strip():
        raise Invalid(message, {field: ["This may not be blank."]})


class UngovernedWrite(GovernanceError):
    """A write tried to pass beside the door."""

    code = "ungoverned_write"


class MissingActor(GovernanceError):
    """A write came without an actor; that is a programming error, never a guest."""

    code = "missing_actor"


class MissingReceivedTexts(MissingActor):
    """An agent's write came without what the agent had heard; a programming error as well."""


class TextErased(GovernanceError):
    """The text of the change record that decides was erased; nobody knows any more, and nobody guesses."""

    code = "text_erased"
