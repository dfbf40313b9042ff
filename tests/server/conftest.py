"""Real servers on loopback."""

import contextlib
import threading

import httpx2
import pytest
import uvicorn

from simonides.server.app import application
from simonides.server.callers import Callers
from simonides.server.oidc import Provider
from simonides.server.serve import LOOPBACK, Address, _listener


@contextlib.contextmanager
def serving(app):
    """Serve an application on a free port of this machine."""
    listener = _listener(Address(port=0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


class Api:
    """A server of ours, and what it answers."""

    def __init__(self, url, callers):
        self.url, self.callers = url, callers
        self.client = httpx2.Client(base_url=url, timeout=30)

    def __call__(self, method, path, token=None, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            named["Authorization"] = f"Bearer {token}".encode("latin-1")
        return self.client.request(method, path, headers=named, json=body)


@pytest.fixture
def serve():
    """Return a function that serves a store, and returns its API."""
    with contextlib.ExitStack() as stack:

        def begun(store, verifier=None):
            callers = Callers(store._engine, verifier or Provider(store._engine))
            url = stack.enter_context(serving(application(store, callers, hosts=LOOPBACK)))
            api = Api(url, callers)
            stack.callback(api.client.close)
            return api

        yield begun


@pytest.fixture
def serve_app():
    """Return a function that serves an application, and returns its address."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(serving(app))
