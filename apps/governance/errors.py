"""Exceptions for refused reads and writes. Each has a `code`; every surface translates all of them in one place."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class GovernanceError(Exception):
    """A governed write or read was refused; the message is a whole sentence for people."""

    code: ClassVar[str] = "refused"
    # Whether the attempt was already logged: a refusal passes through several layers, but is logged once.
    noted: bool = False


class NotPermitted(GovernanceError):
    """The actor's role may never perform the act, or the actor lacks the grant."""

    code = "not_permitted"


class NothingPermitted(NotPermitted):
    """The actor may write none of the fields that it sent (Z-14)."""

    code = "nothing_permitted"

    def __init__(self, message: str, ignored_fields: Sequence[str]) -> None:
        super().__init__(message)
        self.ignored_fields = tuple(ignored_fields)


class StoppedByKillSwitch(NotPermitted):
    """An active kill switch stops the act. The act is permitted again once the switch is off."""

    code = "stopped_by_kill_switch"


class NotVisible(GovernanceError):
    """The row does not exist for this actor. A row of another tenant gives the same refusal."""

    code = "not_found"


class IllegalTransition(GovernanceError):
    """The state machine has no such transition from the row's current state."""

    code = "illegal_transition"


class Stale(GovernanceError):
    """The row changed since the actor read it."""

    code = "stale"

    def __init__(self, message: str, current_version: int) -> None:
        super().__init__(message)
        self.current_version = current_version


class ReviewedContentChanged(Stale):
    """The reviewer read other content than the proposal's current content, which `current_content` holds."""

    def __init__(self, message: str, current_version: int, current_sha256: str, current_content: object) -> None:
        super().__init__(message, current_version)
        self.current_sha256 = current_sha256
        self.current_content = current_content


class NeedsRebase(GovernanceError):
    """The target changed since the proposer read it. `base` holds the text that the proposer read, `live` the current one."""

    code = "needs_rebase"

    def __init__(self, message: str, base: Mapping[str, Any], live: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.base = base
        self.live = live


class NeedsAnotherReviewer(NotPermitted):
    """The actor wrote or edited the proposed words and may not approve them, or the tenant has too few other reviewers."""

    code = "needs_another_reviewer"


class FindingsUnconfirmed(GovernanceError):
    """A check found something in a text. A person has to confirm the findings; an approval also needs a reason."""

    code = "findings_unconfirmed"

    def __init__(self, message: str, findings: Sequence[str]) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class Conflict(GovernanceError):
    """The request conflicts with another row, such as one with the same unique value, or with an earlier decision."""

    code = "conflict"


class AlreadyRejected(Conflict):
    """A person rejected exactly these words before."""

    code = "already_rejected"


class QueueFull(GovernanceError):
    """An agent has as many open proposals as its tenant allows."""

    code = "queue_full"


class TooManyRequests(GovernanceError):
    """A rate limit is reached. `wait` is the number of seconds until the next request is accepted."""

    code = "too_many_messages"

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


class Invalid(GovernanceError):
    """Values break a rule; `fields` holds the reasons by field."""

    code = "invalid"

    def __init__(self, message: str, fields: Mapping[str, Sequence[str]]) -> None:
        super().__init__(message)
        self.fields = {name: list(reasons) for name, reasons in fields.items()}


def refuse_blank(text: str, message: str, field: str = "reason") -> None:
    """Raise `Invalid` for `field` if its text is blank."""
    if not text.strip():
        raise Invalid(message, {field: ["This may not be blank."]})


class UngovernedWrite(GovernanceError):
    """A write was attempted outside a governed write."""

    code = "ungoverned_write"


class MissingActor(GovernanceError):
    """A read or a write names no actor. This is a programming error; there are no anonymous actors."""

    code = "missing_actor"


class MissingReceivedTexts(MissingActor):
    """An agent's write lacks the texts that the agent had received. This is a programming error."""


class TextErased(GovernanceError):
    """The text of the change record that would decide the answer was erased, so the answer is unknown."""

    code = "text_erased"
