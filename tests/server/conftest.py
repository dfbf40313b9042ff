"""Real servers on loopback."""

import contextlib
import threading

import httpx2
import pytest
import uvicorn

from simonides.server.app import Limits, application
from simonides.server.callers import Callers
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

        def begun(store, provider=None):
            callers = Callers(store._engine, provider)
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


class Asker:
    """Asks a server as the holder of a token."""

    def __init__(self, url, token=None, **headers):
        headers = {f"Simonides-{name.title()}": value for name, value in headers.items()}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self.http = httpx2.Client(base_url=url, headers=headers, timeout=30)

    def __call__(self, route, body=None, *, status=200, **more):
        """Return the JSON of an answer; the status must be as expected."""
        method, path = route.split(" ")
        more |= {} if body is None else {"json": body}
        answer = self.http.request(method, path, **more)
        assert answer.status_code == status, answer.text
        return answer.json()


@pytest.fixture
def served(web):
    """Return a function that serves a store, and returns its address."""

    def start(store, **limits):
        web.app = application(store, Callers(store._engine), limits=Limits(**limits))
        return web.url

    return start


@pytest.fixture
def ask(store, served):
    """Return a function that makes an asker with a new token."""
    url, admin, made = served(store), store.admin("root"), []

    def asker(*, name="bot", headers=None, **given):
        token = admin.new_token(name, **given).secret
        made.append(Asker(url, token, **(headers or {})))
        return made[-1]

    yield asker
    for each in made:
        each.http.close()


@pytest.fixture
def url(store, serve_app):
    """Return the address where a store is served over MCP."""
    return serve_app(application(store, Callers(store._engine), hosts=LOOPBACK)) + "/mcp"


@pytest.fixture
def token(store):
    """Return a function that gives a user a token."""

    def given(user="ana", rights=("read", "write", "review"), **more):
        admin = store.admin(actor="ops")
        return admin.new_token("laptop", user=user, org="acme", rights=rights, **more).secret

    return given
