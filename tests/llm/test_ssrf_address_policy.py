from ipaddress import ip_network

import pytest

from apps.outbound.ssrf import PRIVATE_ADDRESS, is_reachable, parse_networks, url_flaw

pytestmark = pytest.mark.pure

LOOPBACK = (ip_network("127.0.0.0/8"),)
OFFICE = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))

PUBLIC = (
    *("https://api.anthropic.com", "https://models.example/v1/", "http://models.example:8443", "https://8.8.8.8"),
    *("https://[2606:4700::1111]/", "https://xn--mnchen-3ya.example", "https://localhost.example"),
)
INTERNAL_ADDRESSES = (
    *("http://127.0.0.1", "http://127.1", "http://127.000.000.001", "http://0177.0.0.1", "http://0x7f.0.0.1"),
    *("http://0x7f000001", "http://2130706433", "http://017700000001", "http://0", "http://0.0.0.0"),
    *("http://localhost", "http://LOCALHOST.", "http://a.localhost", "http://ip6-localhost"),
    *("http://10.0.0.1", "http://172.16.0.1", "http://192.168.1.1", "http://100.64.0.1", "http://192.0.2.1"),
    *("http://169.254.169.254", "http://[fe80::1]", "http://[fe80::1%25eth0]", "http://[fd00::1]", "http://[::1]"),
    *("http://[::]", "http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]", "http://[::ffff:10.0.0.1]"),
    *("http://[::127.0.0.1]", "http://[64:ff9b::7f00:1]", "http://[64:ff9b::a9fe:a9fe]", "http://[2002:7f00:1::]"),
    *("http://[2001:0:7f00:1::80ff:fffe]", "http://224.0.0.1", "http://240.0.0.1", "http://255.255.255.255"),
    *("http://[ff02::1]", "http://[2001:db8::1]", "http://127.0.0.1.", "http://2852039166"),
    *("http://[fec0::1]", "http://[feff::1]", "http://[3fff::1]", "http://192.88.99.1", "http://[::ffff:192.88.99.1]"),
    *("http://[64:ff9b:1::7f00:1]", "http://[::ffff:0:7f00:1]", "http://198.18.0.1", "http://[100::1]"),
)
INVALID_ADDRESSES = {
    "": "https://",
    "models.example": "https://",
    "ftp://models.example": "https://",
    "file:///etc/passwd": "https://",
    "unix:/run/docker.sock": "https://",
    "https://": "https://",
    "https:///v1": "https://",
    "http://[::1": "not a web address",
    "http://models.example:99999": "not a web address",
    "http://models.example:x": "not a web address",
    "http://ana@models.example": "a user name or a password",
    "http://ana:secret@models.example": "a user name or a password",
    "http://models.example@10.0.0.1": "a user name or a password",
    "https://models.example/?key=1": "question mark",
    "https://models.example/#here": "question mark",
    "https://models.example/?": "question mark",
    "https://models .example": "space",
    "https://models.example/\u200b": "space",
}


@pytest.mark.parametrize("url", PUBLIC)
def test_an_endpoint_may_be_any_public_host(url: str) -> None:
    assert url_flaw(url) == ""


@pytest.mark.parametrize("url", INTERNAL_ADDRESSES)
def test_no_spelling_of_an_inner_address_is_taken(url: str) -> None:
    assert url_flaw(url) == PRIVATE_ADDRESS


@pytest.mark.parametrize(("url", "why"), INVALID_ADDRESSES.items())
def test_what_is_no_address_is_refused_in_words(url: str, why: str) -> None:
    assert why in url_flaw(url)


def test_an_installation_may_allow_a_network_and_no_more_than_that() -> None:
    assert not url_flaw("http://10.1.2.3", OFFICE)
    assert not url_flaw("http://[fd00::1]", OFFICE)
    assert not url_flaw("http://[::ffff:10.1.2.3]", OFFICE)
    assert url_flaw("http://10.2.2.3", OFFICE) == PRIVATE_ADDRESS
    assert not url_flaw("http://localhost:8000", LOOPBACK)
    assert url_flaw("http://localhost:8000", OFFICE) == PRIVATE_ADDRESS


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_socket_may_be_opened_to_a_public_address(address: str) -> None:
    assert is_reachable(address)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "fe80::1%eth0", "169.254.169.254", "2002:a00:1::", "224.0.0.1", "fec0::1"]
)
def test_no_socket_is_opened_to_an_inner_address(address: str) -> None:
    assert not is_reachable(address)


def test_allowed_networks_are_written_with_commas() -> None:
    assert parse_networks("") == ()
    assert parse_networks("10.1.0.0/16, fd00::/8") == OFFICE
    with pytest.raises(ValueError, match="does not appear"):
        parse_networks("the office")
