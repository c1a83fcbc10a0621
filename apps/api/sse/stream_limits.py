"""How many streams a web process holds open at once: each of them looks into the database again and again."""

from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from django.conf import settings
from rest_framework.exceptions import APIException

RETRY_AFTER_SECONDS: Final = 10


class TenantStreamLimit(APIException):
    """One tenant's readers must not take the places of another's."""

    status_code = 429
    default_code = "too_many_streams"
    wait = RETRY_AFTER_SECONDS


class ProcessStreamLimit(TenantStreamLimit):
    """Whose readers they are makes no difference."""

    status_code = 503


@dataclass(eq=False)
class StreamSlot:
    """A stream that is counted until it ends, or is dropped before it has begun."""

    tenant_id: int


class StreamSlots:
    """The seats of one process, used by its event loop alone."""

    def __init__(self) -> None:
        self._taken: WeakSet[StreamSlot] = WeakSet()

    def take(self, tenant_id: int) -> StreamSlot:
        """One more for a reader of this tenant; refused where there is none."""
        if len(self._taken) >= settings.STREAMS_PER_PROCESS:
            raise ProcessStreamLimit(
                f"This server holds {settings.STREAMS_PER_PROCESS} streams open, which is as many as it can."
                f" Come again in {RETRY_AFTER_SECONDS} seconds, or poll the messages."
            )
        if sum(slot.tenant_id == tenant_id for slot in self._taken) >= settings.STREAMS_PER_TENANT:
            raise TenantStreamLimit(
                f"Your tenant holds {settings.STREAMS_PER_TENANT} streams open here, which is as many as it may."
                f" Close one, or poll the messages."
            )
        slot = StreamSlot(tenant_id)
        self._taken.add(slot)
        return slot

    def leave(self, slot: StreamSlot) -> None:
        """The stream has ended."""
        self._taken.discard(slot)
