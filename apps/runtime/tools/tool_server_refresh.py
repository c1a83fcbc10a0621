"""Asking tool servers what they offer: by a person who waits for the answer, or by a sweep. No transaction is open meanwhile."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.llm.mcp_client.tool_server import Listing, NotAsked, Place, ToolServerFailed
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.sealed_secrets import CannotOpen, unseal
from apps.tools.models import ToolServer
from apps.tools.tool_limits import headers_of
from apps.tools.tool_listings import AskedOf, Found, keep_listing, note_failure, refuse_refresh, take_listing

# A person waits for the answer, and a page for its worker.
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking, in one sentence; `code` is empty where the server answered."""

    sentence: str
    code: str = ""
    milliseconds: int = 0

    @property
    def has_answered(self) -> bool:
        """Whether its tools are known by now."""
        return not self.code


CHANGED: Final = Asked(
    "The server was changed while it was asked, so what it said is not kept. Ask it again.", "server_changed"
)


def refresh_server(server_id: int, *, actor: Actor) -> Asked:
    """Ask a server what it offers, and keep it. A failure is an answer here."""
    server = refuse_refresh(server_id, actor=actor)
    return _asked(server.pk, system_actor(server.tenant_id, "tool listing"))


def refresh_due(tenant_id: int, server_id: int) -> None:
    """The same for a sweep; nothing where another worker does it, or did."""
    system = system_actor(tenant_id, "tool listing")
    if take_listing(server_id, actor=system):
        _asked(server_id, system)


def _asked(server_id: int, system: Actor) -> Asked:
    began = monotonic()
    with acting(system):
        found = ToolServer.objects.visible_to(system).filter(pk=server_id)
        row = found.values(
            "id", "key", "version", "url", "timeout_seconds", "max_result_bytes", "secret__ciphertext"
        ).get()
    server = AskedOf(row["id"], row["key"], row["version"])
    try:
        # Named, not imported: the client takes a second to load, which no other page should wait for.
        asking = import_string("apps.llm.mcp_client.client.list_tools")(place_of(row, system.tenant_id, SECONDS))
        listing: Listing = asyncio.run(asking)
    except ToolServerFailed as refusal:
        stands = note_failure(server, str(refusal), actor=system)
        return Asked(f"No answer: {refusal}", refusal.code) if stands else CHANGED
    fresh = timedelta(seconds=settings.TOOL_LISTING_SECONDS)
    kept = keep_listing(server, listing, fresh, actor=system)
    if kept is None:
        return CHANGED
    milliseconds = round(1000 * (monotonic() - began))
    return Asked(_told(kept, listing, milliseconds), milliseconds=milliseconds)


def place_of(row: Mapping[str, Any], tenant_id: int, seconds: float) -> Place:  # Any: a row's values by column
    """A server with its headers open, for this use alone. Raises NotAsked where nothing opens them."""
    try:
        headers = unseal(row["secret__ciphertext"], tenant_id) if row["secret__ciphertext"] else ""
    except CannotOpen as refusal:
        raise NotAsked(str(refusal)) from refusal
    return Place(
        row["url"],
        headers_of(headers),
        min(seconds, row["timeout_seconds"]),
        row["max_result_bytes"],
        settings.REACHABLE_NETWORKS,
    )


def _told(kept: Found, listing: Listing, milliseconds: int) -> str:
    counts = (
        ("new", kept.new),
        ("changed", kept.changed),
        ("gone", kept.gone),
        ("not to be told to a model", kept.unfit),
    )
    said = "".join(f", {count} {word}" for word, count in counts if count)
    cut = " It offers more than is read." if listing.is_cut or len(listing.tools) > kept.tools else ""
    return f"It answered in {milliseconds} ms by protocol {listing.protocol}: {kept.tools} tools{said}.{cut}"
