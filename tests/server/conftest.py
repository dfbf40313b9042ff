"""A server of the test's store, asked by a plain HTTP client."""

import httpx2
import pytest

from simonides.server.app import Limits, application
from simonides.server.callers import Callers


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
def serve(web):
    """Return a function that serves a store, and returns its address."""

    def start(store, **limits):
        callers = Callers(store._engine)
        web.app = application(store, callers, limits=Limits(**limits))
        web.app.state.test_callers = callers
        return web.url

    return start


@pytest.fixture
def ask(store, serve):
    """Return a function that makes an asker with a new token."""
    url, admin, made = serve(store), store.admin("root"), []

    def asker(*, name="bot", headers=None, **given):
        token = admin.new_token(name, **given).secret
        made.append(Asker(url, token, **(headers or {})))
        return made[-1]

    yield asker
    for each in made:
        each.http.close()
