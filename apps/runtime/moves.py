"""What a turn wants done next by whoever drives it."""

from dataclasses import dataclass

from apps.llm.model_backend import Request
from apps.runtime.outside import OutsideCall
from apps.tenants.endpoints.decrypted_endpoint import Reached


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send this to the model, at the tenant's own place if there is one, then tell the turn what it replied."""

    request: Request
    place: Reached | None = None


@dataclass(frozen=True, slots=True)
class Over:
    """The turn is out of this worker's hands; `more_waits` if the conversation's next one may be taken at once."""

    more_waits: bool = False


Move = AskModel | OutsideCall | Over
