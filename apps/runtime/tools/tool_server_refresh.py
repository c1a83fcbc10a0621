"""Reads the tool lists of tool servers, for a waiting person or for a sweep, outside of transactions."""

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

# Short, since a person and a web worker wait for the answer.
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class SealedServer:
    """A tool server as stored. `ciphertext` contains its sealed headers, and is empty or None if there are none."""

    url: str
    timeout_seconds: int
    max_result_bytes: int
    ciphertext: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """The result of a refresh, in one sentence; `code` is empty if the server answered."""

    sentence: str
    code: str = ""
    milliseconds: int = 0

    @property
    def has_answered(self) -> bool:
        """Whether the server answered."""
        return not self.code


SERVER_CHANGED: Final = RefreshResult(
    "The server was changed during the refresh, so its answer was not stored. Refresh it again.", "server_changed"
)


def refresh_server(server_id: int, *, actor: Actor) -> RefreshResult:
    """Read and store the tool list of a server. A failure is returned, not raised."""
    server = check_refresh_allowed(server_id, actor=actor)
    return _ask_server(server.pk, system_actor(server.tenant_id, "tool listing"))


def refresh_if_due(tenant_id: int, server_id: int) -> None:
    """Refresh a server for a sweep, unless another worker is refreshing it or has done so."""
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
        # Imported by name: the client takes a second to load, and other pages should not wait for it.
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
    """The server's address with its headers unsealed, for one use. Raises CallNotSent if they cannot be unsealed."""
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
        ("unfit for a model", kept.unfit),
    )
    count_text = "".join(f", {count} {word}" for word, count in counts if count)
    cut = " It offers more tools than are read." if listing.is_cut or len(listing.tools) > kept.tools else ""
    return f"It answered in {milliseconds} ms by protocol {listing.protocol}: {kept.tools} tools{count_text}.{cut}"
