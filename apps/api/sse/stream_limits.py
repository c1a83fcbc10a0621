"""Limits on open streams in a web process, because each stream queries the database repeatedly."""

from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

from django.conf import settings
from rest_framework.exceptions import APIException

RETRY_AFTER_SECONDS: Final = 10


class TenantStreamLimit(APIException):
    """A tenant has reached its limit, which keeps it from using up the streams of other tenants."""

    status_code = 429
    default_code = "too_many_streams"
    wait = RETRY_AFTER_SECONDS


class ProcessStreamLimit(TenantStreamLimit):
    """The process has reached its limit across all tenants."""

    status_code = 503


@dataclass(eq=False)
class StreamSlot:
    """One counted stream, until it ends or is dropped before it starts."""

    tenant_id: int


class StreamSlots:
    """The stream slots of one process. Used by the event loop only."""

    def __init__(self) -> None:
        self._taken: WeakSet[StreamSlot] = WeakSet()

    def take(self, tenant_id: int) -> StreamSlot:
        """Take a slot for a reader of this tenant. Refuses if no slot is free."""
        if len(self._taken) >= settings.STREAMS_PER_PROCESS:
            raise ProcessStreamLimit(
                f"This server process has {settings.STREAMS_PER_PROCESS} open streams, which is its limit."
                f" Try again in {RETRY_AFTER_SECONDS} seconds, or poll the messages."
            )
        if sum(slot.tenant_id == tenant_id for slot in self._taken) >= settings.STREAMS_PER_TENANT:
            raise TenantStreamLimit(
                f"Your tenant has {settings.STREAMS_PER_TENANT} open streams on this server process, which is its limit."
                f" Close one, or poll the messages."
            )
        slot = StreamSlot(tenant_id)
        self._taken.add(slot)
        return slot

    def leave(self, slot: StreamSlot) -> None:
        """Release the slot of a stream that has ended."""
        self._taken.discard(slot)
