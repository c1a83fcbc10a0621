"""What a web process makes of the head of a request before anybody has shown a token."""

import socket
from urllib.parse import urlsplit

import pytest

from tests.support.servers.running_product import RunningProduct
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

# The server's limit is 64 KB; what is sent beyond it lies in the buffers of both sockets.
ENDLESS = b"a" * 16_000_000
UPGRADE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def connect(product: RunningProduct) -> socket.socket:
    place = urlsplit(product.url)
    return socket.create_connection((str(place.hostname), place.port or 80), timeout=PATIENCE_SECONDS)


def test_a_request_whose_headers_do_not_end_is_cut_off(product: RunningProduct) -> None:
    with connect(product) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        with pytest.raises(ConnectionError):
            connection.sendall(ENDLESS)


def test_a_request_for_a_websocket_is_answered_as_any_other(product: RunningProduct) -> None:
    with connect(product) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + UPGRADE)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 OK")
