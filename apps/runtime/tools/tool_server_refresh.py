"""Asking tool servers what they offer: by a person who waits for the answer, or by a sweep. No transaction is open meanwhile."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Final

from django.conf import settings
from django.utils.module_loading import import_string

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.llm.mcp_client.tool_server import CallNotSent, ToolServerAddress, ToolServerFailed, ToolServerListing
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.sealed_secrets import CannotOpen, unseal
from apps.tools.models import ToolServer
from apps.tools.tool_limits import parse_headers
from apps.tools.tool_listings import (
    ListingChanges,
    QueriedServer,
    check_refresh_allowed,
    claim_listing,
    record_listing_failure,
    store_tool_listing,
)

# A person waits for the answer, and a page for its worker.
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class SealedServer:
    """A tool server as it is stored: `ciphertext` are its sealed headers, empty or None without any."""

    url: str
    timeout_seconds: int
    max_result_bytes: int
    ciphertext: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """What came of asking, in one sentence; `code` is empty where the server answered."""

    sentence: str
    code: str = ""
    milliseconds: int = 0

    @property
    def has_answered(self) -> bool:
        """Whether its tools are known by now."""
        return not self.code


SERVER_CHANGED: Final = RefreshResult(
    "The server was changed while it was asked, so what it said is not kept. Ask it again.", "server_changed"
)


def refresh_server(server_id: int, *, actor: Actor) -> RefreshResult:
    """Ask a server what it offers, and keep it. A failure is an answer here."""
    server = check_refresh_allowed(server_id, actor=actor)
    return _ask_server(server.pk, system_actor(server.tenant_id, "tool listing"))


def refresh_if_due(tenant_id: int, server_id: int) -> None:
    """The same for a sweep; nothing where another worker does it, or did."""
    system = system_actor(tenant_id, "tool listing")
    if claim_listing(server_id, actor=system):
        _ask_server(server_id, system)


def _ask_server(server_id: int, system: Actor) -> RefreshResult:
    began = monotonic()
    with acting_as(system):
        found = ToolServer.objects.visible_to(system).filter(pk=server_id)
        row = found.values(
            "id", "key", "version", "url", "timeout_seconds", "max_result_bytes", "secret__ciphertext"
        ).get()
    server = QueriedServer(row["id"], row["key"], row["version"])
    sealed = SealedServer(row["url"], row["timeout_seconds"], row["max_result_bytes"], row["secret__ciphertext"])
    try:
        # Named, not imported: the client takes a second to load, which no other page should wait for.
        asking = import_string("apps.llm.mcp_client.client.list_tools")(
            open_server_place(sealed, system.tenant_id, TIMEOUT_SECONDS)
        )
        listing: ToolServerListing = asyncio.run(asking)
    except ToolServerFailed as refusal:
        stands = record_listing_failure(server, str(refusal), actor=system)
        return RefreshResult(f"No answer: {refusal}", refusal.code) if stands else SERVER_CHANGED
    fresh = timedelta(seconds=settings.TOOL_LISTING_SECONDS)
    kept = store_tool_listing(server, listing, fresh, actor=system)
    if kept is None:
        return SERVER_CHANGED
    milliseconds = round(1000 * (monotonic() - began))
    return RefreshResult(_describe_listing(kept, listing, milliseconds), milliseconds=milliseconds)


def open_server_place(server: SealedServer, tenant_id: int, seconds: float) -> ToolServerAddress:
    """A server with its headers open, for this use alone. Raises CallNotSent where nothing opens them."""
    try:
        headers = unseal(server.ciphertext, tenant_id) if server.ciphertext else ""
    except CannotOpen as refusal:
        raise CallNotSent(str(refusal)) from refusal
    return ToolServerAddress(
        server.url,
        parse_headers(headers),
        min(seconds, server.timeout_seconds),
        server.max_result_bytes,
        settings.REACHABLE_NETWORKS,
    )


def _describe_listing(kept: ListingChanges, listing: ToolServerListing, milliseconds: int) -> str:
    counts = (
        ("new", kept.new),
        ("changed", kept.changed),
        ("gone", kept.gone),
        ("not to be told to a model", kept.unfit),
    )
    count_text = "".join(f", {count} {word}" for word, count in counts if count)
    cut = " It offers more than is read." if listing.is_cut or len(listing.tools) > kept.tools else ""
    return f"It answered in {milliseconds} ms by protocol {listing.protocol}: {kept.tools} tools{count_text}.{cut}"
