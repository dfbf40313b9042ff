"""Pages are read from public addresses only, within bounds; a real server stands for the web."""

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import simonides
from simonides import ConfigurationError, InvalidInput
from simonides.knowledge import web

PAGE = b"<h1>Opening hours</h1><p>The office opens at nine.</p>"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        status, headers, body = self.server.pages.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for part in [body] if isinstance(body, bytes) else body:
            try:
                self.wfile.write(part)
            except OSError:
                return

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.pages, found.asked, found.daemon_threads = {}, [], True
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        found.url = f"http://127.0.0.1:{found.server_port}"
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def store():
    with simonides.testing.open() as found:
        yield found


def html(body=PAGE):
    return (200, {"Content-Type": "text/html; charset=utf-8"}, body)


def moved(where):
    return (302, {"Location": where}, b"")


def add(store, url, **options):
    return store.add_source(url, allow_private=True, **options)


def test_a_page_is_read_and_read_again(store, server):
    server.pages["/hours?day=1"] = html()
    report = add(store, f"{server.url}/hours?day=1", name="hours")
    assert (report.added, report.skipped) == (1, ())
    ana = store.memory(user="ana")
    [hit] = ana.recall("When does the office open?", layer="documents")
    assert hit.content == "# Opening hours\nThe office opens at nine."
    assert hit.record.origin == f"{server.url}/hours?day=1"
    assert add(store, f"{server.url}/hours?day=1", name="hours").unchanged == 1
    server.pages["/hours?day=1"] = html(PAGE.replace(b"nine", b"ten"))
    assert add(store, f"{server.url}/hours?day=1", name="hours").changed == 1
    assert "ten" in ana.recall("office", layer="documents")[0].content


def test_a_page_that_fails_stays_as_it_was(store, server):
    server.pages["/hours"] = html()
    add(store, f"{server.url}/hours", name="hours")
    server.pages["/hours"] = (503, {}, b"")
    report = add(store, f"{server.url}/hours", name="hours")
    assert report.skipped == ((f"{server.url}/hours", "answered 503"),)
    assert (report.removed, report.passages) == (0, 1)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((200, {"Content-Type": "image/png"}, b"x"), "image/png"),
        ((200, {"Content-Type": "application/json"}, b"{}"), "application/json"),
        ((200, {"Content-Type": "text/plain"}, b"x" * 5_000_001), "5 MB"),
        ((200, {"Content-Type": "text/plain", "Content-Length": "9"}, b"x"), "reached"),
        ((404, {}, b""), "404"),
        (moved("/page"), "more than 3 times"),
    ],
)
def test_other_answers_are_skipped_with_the_reason(store, server, answer, reason):
    server.pages["/page"] = answer
    report = add(store, f"{server.url}/page")
    assert reason in report.skipped[0][1]
    assert not report


@pytest.mark.parametrize("drips", [b"", b"x"], ids=["silent", "dripping"])
def test_a_slow_page_is_left_in_time(store, server, monkeypatch, drips):
    monkeypatch.setattr(web, "SECONDS", 0.3)
    ends = threading.Event()

    def body():
        while not ends.wait(0.02):
            yield drips

    server.pages["/slow"] = (200, {"Content-Type": "text/plain"}, body())
    begun = time.monotonic()
    report = add(store, f"{server.url}/slow")
    ends.set()
    assert "took more than" in report.skipped[0][1]
    assert time.monotonic() - begun < 5


def test_redirects_are_followed_and_each_is_checked(store, server, monkeypatch):
    """A public page redirects to this machine: the first address passes, the second does not."""
    server.pages["/1"] = moved("2")
    server.pages["/2"] = moved(f"{server.url}/3")
    server.pages["/3"] = html()
    assert add(store, f"{server.url}/1").added == 1
    resolved = socket.getaddrinfo
    monkeypatch.setattr(
        web, "is_public", lambda address, checked=[]: not checked and not checked.append(address)
    )
    server.asked.clear()
    with pytest.raises(InvalidInput, match="not public"):
        store.add_source(f"{server.url}/1", name="guarded")
    assert server.asked == ["/1"]
    assert socket.getaddrinfo is resolved
    server.pages["/file"] = moved("file:///etc/passwd")
    with pytest.raises(InvalidInput, match="http"):
        add(store, f"{server.url}/file")


PRIVATE = """
127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1
240.0.0.1 255.255.255.255 ::1 :: fe80::1 fec0::1 fc00::1 ff02::1 ::ffff:10.0.0.1
::ffff:169.254.169.254 2002:7f00:1:: 64:ff9b::a00:1 2001:0:4136:e378:8000:63bf:3fff:fdd2
""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_refused(store, address, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("connected"))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(InvalidInput, match="not public"):
        store.add_source(f"http://{host}/latest/meta-data/")
    assert store.sources() == []


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07::1", "64:ff9b::808:808"])
def test_a_public_address_passes(address):
    assert web.is_public(address)


@pytest.mark.parametrize("others", [[], ["93.184.215.14"]], ids=["alone", "beside a public one"])
def test_a_name_that_leads_inside_is_refused(store, monkeypatch, others):
    found = [(2, 1, 6, "", (ip, 80)) for ip in [*others, "10.0.0.1"]]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("connected"))
    with pytest.raises(InvalidInput, match="not public"):
        store.add_source("http://intranet.example.com/")


def test_the_connection_goes_to_the_address_that_was_checked(store, server, monkeypatch):
    """A name that would resolve to another address later is resolved once."""
    server.pages["/"] = html()
    found = [(2, 1, 6, "", ("93.184.215.14", 80))]
    asked, connect = [], socket.create_connection
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: asked.append(host) or found)

    def connected(address, *rest):
        asked.append(address)
        monkeypatch.undo()
        return connect(("127.0.0.1", server.server_port), *rest)

    monkeypatch.setattr(socket, "create_connection", connected)
    assert store.add_source("http://example.com/").added == 1
    assert asked == ["example.com", ("93.184.215.14", 80)]


@pytest.mark.parametrize(
    "url",
    ["http://", "http:///x", "http://user:word@example.com/", "http://example.com:99999/",
     "gopher://example.com/", "http://[::1/"],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(store, url):
    with pytest.raises(InvalidInput, match="place"):
        store.add_source(url)


def test_a_store_without_sockets_reads_no_pages():
    with (
        simonides.open(mode="incognito") as store,
        pytest.raises(ConfigurationError, match="socket"),
    ):
        store.add_source("https://example.com/")
