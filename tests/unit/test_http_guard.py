"""No name, redirect or record leads to an address that only this machine can reach."""

import ipaddress

import pytest

from simonides.domain.errors import ConfigurationError
from simonides.providers.http.ssrf_guard import AllowedHosts, Forbidden, is_public

PRIVATE = (
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.8", "198.18.0.1",
    "192.0.2.1", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b:1::1", "100::1",
)  # fmt: skip
PUBLIC = ("93.184.216.34", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1")


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_the_worlds_is_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    hosts = AllowedHosts(["docs.example.org"])
    target = hosts.target("https://docs.example.org/")

    with pytest.raises(Forbidden, match="not public"):
        hosts.address(target, lambda host, port: [address])


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_worlds_is_asked(address: str) -> None:
    hosts = AllowedHosts(["docs.example.org"])
    target = hosts.target("https://docs.example.org/")

    assert hosts.address(target, lambda host, port: [address]) == address


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    hosts = AllowedHosts(["docs.example.org"])
    target = hosts.target("http://docs.example.org/")

    with pytest.raises(Forbidden):
        hosts.address(target, lambda host, port: ["1.1.1.1", "10.0.0.1"])


def test_loopback_is_asked_where_a_test_says_so_and_nothing_else_private_is() -> None:
    hosts = AllowedHosts(["localhost"], allow_loopback=True)
    target = hosts.target("http://localhost/")

    assert hosts.address(target, lambda host, port: ["127.0.0.1"]) == "127.0.0.1"
    with pytest.raises(Forbidden):
        hosts.address(target, lambda host, port: ["10.0.0.1"])


ALLOWED = (
    ("docs.example.org", "https://docs.example.org/x"),
    ("docs.example.org", "https://DOCS.example.org./x"),
    ("docs.example.org", "http://docs.example.org:80/x"),
    (".example.org", "https://a.b.example.org/"),
    ("docs.example.org:8443", "https://docs.example.org:8443/"),
    ("bücher.example", "https://bücher.example/"),
    ("bücher.example", "https://xn--bcher-kva.example/"),
    ("[2606:4700::1111]", "https://[2606:4700::1111]/"),
)
REFUSED = (
    ("docs.example.org", "https://example.org/"),
    ("docs.example.org", "https://docs.example.org.evil.example/"),
    ("docs.example.org", "https://evil-docs.example.org/"),
    ("docs.example.org", "https://docs.example.org:8443/"),
    ("docs.example.org", "http://docs.example.org:443/"),
    (".example.org", "https://example.org/"),
    (".example.org", "https://evilexample.org/"),
    ("docs.example.org", "https://docs.example.org@evil.example/"),
    ("docs.example.org", "https://user:pw@docs.example.org/"),
    ("docs.example.org", "https://evil.example#docs.example.org"),
    ("docs.example.org", "https://evil.example\\@docs.example.org/"),
    ("docs.example.org", "ftp://docs.example.org/"),
    ("docs.example.org", "file:///etc/passwd"),
    ("docs.example.org", "gopher://docs.example.org/"),
    ("docs.example.org", "//docs.example.org/"),
    ("docs.example.org", "https:///docs.example.org"),
    ("docs.example.org", "https://docs.example.org/a b"),
    ("docs.example.org", "https://docs.example.org/\r\nHost: evil"),
    ("docs.example.org", "https://[docs.example.org/"),
    ("docs.example.org", "https://docs.example.org:99999/"),
    ("docs.example.org", "https://docs.example.org/" + "x" * 5_000),
    ("docs.example.org", "https://" + "\u0661" * 70 + ".example/"),
    ("127.0.0.1", "http://2130706433/"),
    ("127.0.0.1", "http://0x7f.1/"),
)


@pytest.mark.parametrize(("allowed", "url"), ALLOWED)
def test_a_host_on_the_list_is_asked(allowed: str, url: str) -> None:
    AllowedHosts([allowed]).target(url)


@pytest.mark.parametrize(("allowed", "url"), REFUSED)
def test_a_host_that_only_looks_like_one_on_the_list_is_not(allowed: str, url: str) -> None:
    with pytest.raises(Forbidden):
        AllowedHosts([allowed]).target(url)


@pytest.mark.parametrize(
    "hosts",
    [[], "docs.example.org", [""], ["."], ["*"], ["*.example.org"], ["a/b"], ["a:x"], ["u@a"]],
    ids=str,
)
def test_a_list_that_is_none_is_refused(hosts: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="hosts"):
        AllowedHosts(hosts)
