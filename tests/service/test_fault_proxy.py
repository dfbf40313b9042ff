"""The proxy of the test kit, between a real client and a real echo server."""

import contextlib
import socket
import socketserver
import threading
import time

import pytest

from simonides.testing.fault_proxy import FaultProxy, Faults

# Seconds that a socket waits for what has to come; and for what must not.
SOON_S = 5.0
SILENCE_S = 0.15


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):
            while data := self.request.recv(65536):
                self.request.sendall(data)


@contextlib.contextmanager
def serving(server):
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(params=["tcp", "unix"])
def proxy(request, tmp_path):
    if request.param == "tcp":
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    else:
        server = socketserver.ThreadingUnixStreamServer(str(tmp_path / "s"), Echo)
    with serving(server) as address, FaultProxy(address) as proxy:
        yield proxy


@contextlib.contextmanager
def client(proxy, timeout_s=SOON_S):
    with socket.create_connection((proxy.host, proxy.port), timeout=timeout_s) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield sock


def receive(sock, size):
    data = b""
    while len(data) < size:
        chunk = sock.recv(size - len(data))
        assert chunk, "the connection ended"
        data += chunk
    return data


def echoed(sock, data):
    sock.sendall(data)
    return receive(sock, len(data))


def is_silent(sock):
    sock.settimeout(SILENCE_S)
    try:
        sock.recv(1)
    except TimeoutError:
        return True
    finally:
        sock.settimeout(SOON_S)
    return False


def is_reset(sock):
    """Whether the other end resets; what is sent may have to arrive first."""
    try:
        for _ in range(100):
            sock.sendall(b"?")
            time.sleep(0.005)
        return False
    except (ConnectionResetError, BrokenPipeError):
        return True


def resets_newcomers(proxy):
    """Whether a new connection is reset, be it while it still connects."""
    try:
        with client(proxy) as sock:
            return is_reset(sock)
    except ConnectionResetError:
        return True


def test_without_faults_everything_passes(proxy):
    data = bytes(range(256)) * 4096
    with client(proxy) as one, client(proxy) as other:
        assert echoed(one, b"hello") == b"hello"
        threading.Thread(target=other.sendall, args=(data,)).start()
        assert receive(other, len(data)) == data
        assert proxy.open_links == 2
    assert proxy.accepted == 2


def test_an_end_that_has_said_all_can_still_listen(proxy):
    with client(proxy) as sock:
        sock.sendall(b"last words")
        sock.shutdown(socket.SHUT_WR)

        assert receive(sock, 10) == b"last words"
        assert sock.recv(1) == b""


def test_latency_delays_both_ways(proxy):
    with client(proxy) as sock:
        echoed(sock, b"warm")
        proxy.latency(0.1)

        began = time.monotonic()
        assert echoed(sock, b"slow") == b"slow"
        assert time.monotonic() - began >= 0.2


def test_slicing_delivers_in_tiny_pieces(proxy):
    with client(proxy) as sock:
        proxy.slicing(1, pause_s=0.02)
        sock.sendall(b"pieces")

        pieces = []
        while sum(map(len, pieces)) < 6:
            pieces.append(sock.recv(100))
        assert b"".join(pieces) == b"pieces"
        assert len(pieces) >= 4


def test_a_reset_ends_what_is_open_and_what_comes(proxy):
    with client(proxy) as sock:
        echoed(sock, b"warm")
        proxy.reset()

        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    assert resets_newcomers(proxy)
    proxy.heal()
    with client(proxy) as sock:
        assert echoed(sock, b"again") == b"again"


def test_dropped_connections_are_those_of_now(proxy):
    with client(proxy) as sock:
        echoed(sock, b"warm")
        proxy.drop_connections()

        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    with client(proxy) as sock:
        assert echoed(sock, b"again") == b"again"


def test_an_answer_can_be_cut_in_the_middle(proxy):
    proxy.inject(Faults(reset_after_bytes=3))
    with client(proxy) as sock:
        sock.sendall(b"answer")

        # What was passed on may or may not be read before the reset is noticed.
        with contextlib.suppress(ConnectionResetError):
            assert b"ans".startswith(sock.recv(100))
        assert is_reset(sock)


def test_a_black_hole_answers_nothing_until_it_ends(proxy):
    with client(proxy) as sock:
        echoed(sock, b"warm")
        proxy.black_hole()
        sock.sendall(b"lost?")
        assert is_silent(sock)
        with client(proxy) as late:
            late.sendall(b"late")
            assert is_silent(late)

            proxy.heal()
            assert receive(late, 4) == b"late"
        assert receive(sock, 5) == b"lost?"


def test_a_half_open_connection_is_silent_and_never_comes_back(proxy):
    with client(proxy) as sock:
        echoed(sock, b"warm")
        proxy.half_open()
        sock.sendall(b"anybody?")
        assert is_silent(sock)
        with client(proxy) as late:
            late.sendall(b"hello?")
            assert is_silent(late)

        proxy.heal()
        assert is_reset(sock)
    with client(proxy) as sock:
        assert echoed(sock, b"again") == b"again"


def test_a_server_that_is_not_there_resets():
    with socket.socket() as deaf:
        # Bound, so that nobody else gets the port, and not listening.
        deaf.bind(("127.0.0.1", 0))
        with FaultProxy(deaf.getsockname()) as proxy:
            assert resets_newcomers(proxy)


def test_it_ends_whatever_its_connections_do(proxy):
    with client(proxy) as sock:
        echoed(sock, b"warm")
        proxy.black_hole()
        sock.sendall(b"x")

        proxy.__exit__(None, None, None)

        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    with pytest.raises(RuntimeError, match="context"):
        proxy.heal()
