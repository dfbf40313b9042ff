"""A search over real HTTP: what it asks, what it takes, and where it never goes."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from simonides import HttpSource, SourceUnavailable
from simonides.domain.errors import ConfigurationError
from simonides.providers.http import ssrf_guard as http_guard
from simonides.providers.knowledge import http_search as knowledge_http
from simonides.types import Found
from web import Answer, Site, listed, said, sent_to

RESULT = {"title": "Tides", "url": "https://t.example/1", "text": "High water is at six."}
KEY = "key-0123456789"


def source(site: Site, path: str = "/search?q={query}", **options: Any) -> HttpSource:
    given = {"hosts": [site.host], "name": "web", "allow_loopback": True} | options
    return HttpSource(site.url + path, **given)


def look(source: HttpSource, query: str = "tides", within_s: float = 10.0) -> Found:
    return source.look(query, within_s=within_s)


def refused(source: HttpSource, query: str = "tides", within_s: float = 10.0) -> str:
    with pytest.raises(SourceUnavailable) as problem:
        look(source, query, within_s)
    return str(problem.value)


def test_what_is_asked_is_told_encoded_and_bounded() -> None:
    with Site({"/search": listed([])}) as site:
        look(source(site), "tides & Größe/?#%\r\nX: y 中文")
        look(source(site), "x" * 10_000)

    told = [parse_qs(urlsplit(path).query)["q"][0] for path, _ in site.asked]
    assert told[0] == "tides & Größe/?#%\r\nX: y 中文"
    assert told[1] == "x" * knowledge_http.MAX_QUERY_CHARS
    headers = site.asked[0][1]
    assert headers["host"] == site.host
    assert headers["accept-encoding"] == "identity"
    assert "cookie" not in headers
    assert "x" not in headers


@pytest.mark.parametrize("wrap", [list, lambda r: {"results": r}, lambda r: {"items": r, "n": 1}])
def test_a_list_in_json_becomes_passages(wrap: Callable[[Any], Any]) -> None:
    with Site({"/search": listed(wrap([RESULT, {"text": "Low water."}]))}) as site:
        found = look(source(site))

    assert [(p.location, p.title, p.text) for p in found.passages] == [
        ("https://t.example/1", "Tides", "High water is at six."),
        ("no address", "", "Low water."),
    ]


def test_a_result_that_is_none_is_told_and_the_rest_is_there() -> None:
    results = [7, {"text": 8}, {"title": "x"}, RESULT, None]
    with Site({"/search": listed(results)}) as site:
        found = look(source(site))

    assert len(found.passages) == 1
    assert [(s.location, s.reason) for s in found.skipped] == [
        ("result 1", "broken"), ("result 2", "broken"), ("result 3", "broken"),
        ("result 5", "broken"),
    ]  # fmt: skip


def test_an_answer_gives_so_many_passages_and_no_more() -> None:
    results = [{**RESULT, "text": "A sentence of some length. " * 2_000}] * 500
    with Site({"/search": listed(results)}) as site:
        found = look(source(site, max_bytes=100 * 1024 * 1024))

    assert len(found.passages) == knowledge_http.MAX_PASSAGES


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/html; charset=utf-8", "<title>T</title><h1>H</h1><p>Größe", "Größe"),
        ("text/html; charset=iso-8859-1", "<p>Größe", "Größe"),
        ("text/markdown", "# H\n\nGröße\n", "Größe"),
        ("text/plain;charset=UTF-8", "Größe", "Größe"),
        ("application/ld+json", json.dumps([{"text": "Größe"}]), "Größe"),
    ],
)
def test_pages_of_several_kinds_are_read(kind: str, body: str, text: str) -> None:
    charset = "latin-1" if "8859" in kind else "utf-8"
    with Site({"/page": said(kind, body.encode(charset))}) as site:
        found = look(source(site, "/page"))

    assert [p.text for p in found.passages] == [text]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (said("application/octet-stream", b"x"), "unsupported content type"),
        (said("image/png", b"\x89PNG"), "unsupported content type"),
        (Answer(200, {}, b"x"), "unsupported content type"),
        (said("application/json", b"{"), "not JSON"),
        (said("application/json", b"[" * 100_000), "not JSON"),
        (said("application/json", b"\xff\xfe\xfd"), "not JSON"),
        (listed({"answer": "here"}), "no list of results"),
        (listed("text"), "no list of results"),
        (said("text/plain; charset=nonsense", b"x"), "encoding"),
        (said("text/plain; charset=punycode", b"x"), "encoding"),
        (said("text/plain; charset=unicode_escape", b"x"), "encoding"),
        (said("text/plain", b"\x00\xff"), "binary"),
        (said("text/html", b"<div>" * 5_000), "too_deep"),
        (said("text/plain", b"\x1f\x8b", Content_Encoding="gzip"), "compressed"),
        (Answer(500, {"Content-Length": "0"}), "status 500"),
        (Answer(404, {"Content-Length": "0"}), "status 404"),
        (Answer(302, {"Content-Length": "0"}), "redirects"),
    ],
)
def test_what_is_no_answer_is_refused(answer: Answer, problem: str) -> None:
    with Site({"/search": answer}) as site:
        assert problem in refused(source(site))


def test_an_answer_that_is_too_long_is_not_read_to_its_end() -> None:
    endless = threading.Event()

    def pour(out: Any) -> None:
        while not endless.is_set():
            out.write(b"x" * 65_536)

    answer = Answer(200, {"Content-Type": "text/plain"}, b"", after=pour)
    with Site({"/search": answer}) as site:
        problem = refused(source(site, max_bytes=200_000))
        endless.set()

    assert "sent over 200,000 bytes" in problem


def test_who_never_answers_is_waited_for_no_longer_than_agreed() -> None:
    gone = threading.Event()
    with Site({"/search": Answer(before=lambda: gone.wait(20))}) as site:
        problem = refused(source(site), within_s=0.2)
        gone.set()

    assert "Timeout" in problem


def test_who_answers_drop_by_drop_is_not_waited_for_either() -> None:
    gone = threading.Event()

    def drip(out: Any) -> None:
        while not gone.wait(0.02):
            out.write(b"x")

    answer = Answer(200, {"Content-Type": "text/plain"}, b"", after=drip)
    with Site({"/search": answer}) as site:
        problem = refused(source(site), within_s=0.3)
        gone.set()

    assert "in time" in problem or "Timeout" in problem


def test_a_connection_that_fails_is_told_by_the_name_of_the_error_only() -> None:
    with Site({}) as site:
        asked = source(site, headers={"Authorization": KEY})
    problem = refused(asked, "where is the treasure")

    assert problem == "web: ConnectError"


# -- where it goes --------------------------------------------------------------------------------


def test_a_redirect_within_the_list_is_followed_and_the_page_has_its_own_address() -> None:
    page = said("text/plain", b"Found at last.")
    with Site({"/search": sent_to("/b"), "/b": sent_to("c?x=1"), "/c": page}) as site:
        found = look(source(site))

    assert [p.location for p in found.passages] == [f"{site.url}/c?x=1"]
    assert [path.partition("?")[0] for path, _ in site.asked] == ["/search", "/b", "/c"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://localhost/",
        "http://[::1]/",
        "http://internal.example/",
        "file:///etc/passwd",
        "//internal.example/",
        "http://user:pw@127.0.0.1/",
    ],
)
def test_a_redirect_to_elsewhere_is_not_followed(url: str, status: int) -> None:
    with Site({"/search": sent_to(url, status)}) as site:
        problem = refused(source(site))

    assert len(site.asked) == 1
    assert "latest" not in problem
    assert "pw" not in problem


def test_a_host_on_the_list_that_leads_to_a_private_address_is_not_asked() -> None:
    with Site({"/search": listed([RESULT]), "/secret": listed([RESULT])}) as site:
        inside = source(site, allow_loopback=False)
        assert "not public" in refused(inside)

        # On the way there as well: the list admits the name, and its record is what it is.
        hosts = [site.host, f"metadata.example:{site.port}"]
        redirecting = Site({"/search": sent_to(f"http://metadata.example:{site.port}/secret")})
        with redirecting:
            led = source(
                redirecting,
                hosts=[*hosts, redirecting.host],
                resolve=lambda host, port: (
                    ["127.0.0.1"] if host == "127.0.0.1" else ["169.254.169.254"]
                ),
            )
            assert "metadata.example" in refused(led)

    assert site.asked == []


def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to() -> None:
    """A name that answers otherwise the second time (rebinding) is resolved once."""
    asked: list[str] = []

    def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    with Site({"/search": listed([RESULT])}) as site:
        named = HttpSource(
            f"http://docs.example:{site.port}/search",
            hosts=[f"docs.example:{site.port}"],
            allow_loopback=True,
            resolve=rebinding,
        )
        found = look(named)

    assert asked == ["docs.example"]
    assert len(found.passages) == 1
    assert site.asked[0][1]["host"] == f"docs.example:{site.port}"


def test_redirects_come_to_an_end() -> None:
    with Site({"/search": sent_to("/search")}) as site:
        problem = refused(source(site))

    assert "more than 3 redirects" in problem
    assert len(site.asked) == 4


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Site({}) as proxy, Site({"/search": listed([RESULT])}) as site:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        found = look(source(site))

    assert len(found.passages) == 1
    assert proxy.asked == []


def test_a_key_goes_to_its_own_host_and_to_no_other() -> None:
    other = Site({"/b": listed([RESULT])})
    with other, Site({"/search": sent_to(f"{other.url}/b")}) as site:
        key = {"Authorization": f"Bearer {KEY}"}
        asked = source(site, hosts=[site.host, other.host], headers=key)
        look(asked)

    assert site.asked[0][1]["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in other.asked[0][1]
    assert KEY not in repr(asked)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://a.example/{query}", ["b.example"]),
        ("ftp://a.example/{query}", ["a.example"]),
        ("https://{query}.example/", [".example"]),
        ("a.example/{query}", ["a.example"]),
        ("https://a.example/{query}", []),
    ],
)
def test_a_source_that_can_ask_nobody_is_refused_at_once(url: str, hosts: list[str]) -> None:
    with pytest.raises(ConfigurationError):
        HttpSource(url, hosts=hosts)


# -- https ----------------------------------------------------------------------------------------


def certificate(folder: Path, host: str) -> tuple[Path, ssl.SSLContext]:
    """Return the file of a certificate for a host, signed by itself, and a server's context."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    began = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(began)
        .not_valid_after(began + datetime.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{host}.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return file, context


def test_a_server_proves_to_be_the_host_that_was_named_not_the_address(tmp_path: Path) -> None:
    file, context = certificate(tmp_path, "docs.example")
    trusting = ssl.create_default_context(cafile=file)
    with Site({"/search": listed([RESULT])}, context=context) as site:

        def asking(host: str) -> HttpSource:
            return HttpSource(
                f"https://{host}:{site.port}/search",
                hosts=[f"{host}:{site.port}"],
                name="web",
                allow_loopback=True,
                resolve=lambda host, port: ["127.0.0.1"],
                verify=trusting,
            )

        assert len(look(asking("docs.example")).passages) == 1
        assert refused(asking("other.example")) == "web: ConnectError"

    assert len(site.asked) == 1


def test_a_redirect_from_https_to_http_is_not_followed(tmp_path: Path) -> None:
    file, context = certificate(tmp_path, "docs.example")
    with Site({"/b": listed([RESULT])}) as plain:
        plainly = f"http://docs.example:{plain.port}/b"
        with Site({"/search": sent_to(plainly)}, context=context) as site:
            asked = HttpSource(
                f"https://docs.example:{site.port}/search",
                hosts=[f"docs.example:{site.port}", f"docs.example:{plain.port}"],
                name="web",
                allow_loopback=True,
                resolve=lambda host, port: ["127.0.0.1"],
                verify=ssl.create_default_context(cafile=file),
            )
            assert "from https to http" in refused(asked)

    assert plain.asked == []


def test_the_systems_own_answers_are_looked_at() -> None:
    found = http_guard.system_addresses("localhost", 80)

    assert found
    assert all(ipaddress.ip_address(each).is_loopback for each in found)
