"""The HTTP server of the stand-in: a plain ASGI application on loopback with one event loop and any number of waiting calls."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import uvicorn

from apps.standin.http_api.delays import AnswerDelay, wait_unless_abandoned
from apps.standin.http_api.responses import STAND_IN_HEADER, HttpAnswer, error_answer, new_id
from apps.standin.http_api.script import BadScript
from apps.standin.requests import ArrivedRequest, InvalidModelRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import TypeAlias

    from apps.standin.http_api.endpoint import MessagesEndpoint

    # Any: ASGI messages are dictionaries whose values the specification defines for each type.
    AsgiMessage: TypeAlias = MutableMapping[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
    Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]

LOOPBACK = "127.0.0.1"
# The kernel refuses connections beyond this backlog; its own limit (net.core.somaxconn) is usually 4096.
CONNECTION_BACKLOG = 4096
# Longer than clients keep an idle connection, so that no connection closes while a request is on its way.
KEEPALIVE_SECONDS = 75


class StandinApplication:
    """The stand-in's routes."""

    def __init__(self, endpoint: MessagesEndpoint) -> None:
        self._endpoint = endpoint
        controls, billing = endpoint.controls, endpoint.billing
        self._routes: dict[tuple[str, str], Callable[[ArrivedRequest], HttpAnswer]] = {
            ("POST", "/v1/messages/count_tokens"): endpoint.count_tokens,
            ("GET", "/v1/models"): endpoint.list_models,
            ("GET", "/healthz"): endpoint.report_health,
            ("POST", "/standin/script"): controls.replace_script,
            ("GET", "/standin/script"): controls.show_script,
            ("POST", "/standin/faults"): controls.replace_faults,
            ("GET", "/standin/faults"): controls.show_faults,
            ("POST", "/standin/delay"): controls.set_delay,
            ("POST", "/standin/keeping"): controls.set_keeping,
            ("POST", "/standin/clock"): controls.advance_clock,
            ("DELETE", "/standin/controls"): controls.release,
            ("GET", "/standin/requests"): endpoint.list_requests,
            ("DELETE", "/standin/requests"): endpoint.forget_requests,
            ("GET", "/standin/bill"): billing.show_bill,
            ("DELETE", "/standin/bill"): billing.open_anew,
            ("GET", "/standin/bill/questions"): billing.show_questions,
        }

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        arrived = ArrivedRequest(scope["path"], headers, await _read_body(receive))
        if (scope["method"], arrived.path) == ("POST", "/v1/messages"):
            await self._answer_message(arrived, receive, send)
        else:
            await _send_answer(self._route_request(scope["method"], arrived), send)

    async def _answer_message(self, arrived: ArrivedRequest, receive: Receive, send: Send) -> None:
        billing, delay = self._endpoint.billing, self._endpoint.controls.delay
        billing.arrive()
        try:
            planned = self._endpoint.plan_message(arrived)
            if await wait_unless_abandoned(receive, delay, planned.silence_seconds):
                billing.abandon()
                return
            self._endpoint.begin(planned)
            await _send_answer(planned.answer, send)
            if await wait_unless_abandoned(receive, AnswerDelay(), planned.answer.stall_seconds):
                billing.abandon()
        finally:
            billing.leave()

    def _route_request(self, method: str, arrived: ArrivedRequest) -> HttpAnswer:
        route = self._routes.get((method, arrived.path))
        if route is None:
            return error_answer(404, "not_found_error", f"{method} {arrived.path} is not served here.")
        try:
            return route(arrived)
        except (InvalidModelRequest, BadScript) as error:
            return error_answer(400, "invalid_request_error", str(error))


async def _read_body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _send_answer(answer: HttpAnswer, send: Send) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": _headers(answer)})
    if answer.is_cut:
        await send({"type": "http.response.body", "body": _first_half(answer), "more_body": True})
        # Returning here leaves the response unfinished, and the server closes the connection.
        return
    for chunk in answer.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _headers(answer: HttpAnswer) -> list[tuple[bytes, bytes]]:
    headers = {
        "content-type": answer.content_type,
        "request-id": new_id("req"),
        STAND_IN_HEADER: "1",
        **answer.headers,
    }
    if not answer.is_stream:
        headers["content-length"] = str(sum(len(chunk) for chunk in answer.chunks))
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def _first_half(answer: HttpAnswer) -> bytes:
    whole = b"".join(answer.chunks)
    return whole[: len(whole) // 2]


def listening_socket(port: int) -> socket.socket:
    """Return a listening socket on loopback; port 0 selects a free port. Callers can connect from now on."""
    # asyncio sends small packets immediately only on sockets created as TCP; otherwise each answer is delayed by 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((LOOPBACK, port))
    listener.listen(CONNECTION_BACKLOG)
    return listener


def server_for(endpoint: MessagesEndpoint) -> uvicorn.Server:
    config = uvicorn.Config(
        StandinApplication(endpoint),
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        backlog=CONNECTION_BACKLOG,
        log_config=None,
        access_log=False,
        timeout_keep_alive=KEEPALIVE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
