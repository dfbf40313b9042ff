"""What was found in MCP servers elsewhere, tried here."""

import base64
import json

import httpx2
import pytest

from simonides.server import mcp_http

ACCEPT = {"Accept": "application/json, text/event-stream"}
HELLO = {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def asked(url, method, params, secret, **headers):
    """Return the answer to a request, and its JSON."""
    headers = ACCEPT | {"Authorization": f"Bearer {secret}"} | headers
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = httpx2.post(url, json=body, headers=headers, timeout=30)
    [line] = [each for each in answer.text.splitlines() if each.startswith(("{", "data: {"))]
    return answer, json.loads(line.removeprefix("data: "))


@pytest.fixture
def session(url, token):
    """Return the header of a session of Ana's, and her token."""
    secret = token("ana")
    answer, _ = asked(url, "initialize", HELLO, secret)
    return {"Mcp-Session-Id": answer.headers["mcp-session-id"]}, secret


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("other", ["ben", "ana on another token", None])
def test_a_known_session_serves_nobody_else(url, token, store, session, method, other):
    """GHSA-jpw9-pfvf-9f58: a session answered whoever knew its id."""
    header, secret = session
    store.memory(user="ana", org="acme").remember("I prefer aisle seats", key="seat")
    headers = ACCEPT | header
    if other == "ben":
        headers["Authorization"] = f"Bearer {token('ben')}"
    elif other is not None:
        admin = store.admin(actor="ops")
        more = admin.new_token("shop", user="ana", org="acme", agent="shop", rights=["read"])
        headers["Authorization"] = f"Bearer {more.secret}"
    read = {"jsonrpc": "2.0", "id": 2, "method": "resources/read",
            "params": {"uri": "memory://profile"}}  # fmt: skip
    more = {"json": read} if method == "POST" else {}
    answer = httpx2.request(method, url, headers=headers, timeout=30, **more)
    assert answer.status_code == (404 if other else 401)
    assert "aisle" not in answer.text
    _, found = asked(url, "resources/read", {"uri": "memory://profile"}, secret, **header)
    assert "aisle" in str(found["result"]), "it still serves Ana"


def test_no_credential_takes_the_sessions_of_all(url, token, monkeypatch):
    """A client that opens sessions without end kept every other one out."""
    monkeypatch.setattr(mcp_http, "MOST_SESSIONS", 2)
    ana, ben = token("ana"), token("ben")
    opened = [asked(url, "initialize", HELLO, ana)[0] for _ in range(3)]
    assert [each.status_code for each in opened] == [200, 200, 503]
    assert asked(url, "initialize", HELLO, ben)[0].status_code == 200
    header = {"Mcp-Session-Id": opened[0].headers["mcp-session-id"]}
    httpx2.delete(url, headers=header | {"Authorization": f"Bearer {ana}"})
    assert asked(url, "initialize", HELLO, ana)[0].status_code == 200


@pytest.mark.parametrize("method", ["tasks/list", "tasks/get", "tasks/result", "tasks/cancel"])
@pytest.mark.parametrize("is_modern", [False, True])
def test_there_are_no_tasks_of_others_to_read(url, session, method, is_modern):
    """GHSA-hvrp-rf83-w775: each client could list, read and cancel the tasks of all."""
    header, secret = session
    if is_modern:
        header = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    params = {"taskId": "1"} | ({"_meta": META} if is_modern else {})
    _, found = asked(url, method, params, secret, **header)
    assert found["error"]["code"] == -32601
    begun = "server/discover" if is_modern else "initialize"
    header = {**header, "Mcp-Method": begun} if is_modern else {}
    _, found = asked(url, begun, {"_meta": META} if is_modern else HELLO, secret, **header)
    assert "tools" in found["result"]["capabilities"]
    assert "tasks" not in found["result"]["capabilities"]


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1"])
@pytest.mark.parametrize("path", ["", "/connector"])
def test_no_page_opens_a_websocket(url, token, origin, path):
    """GHSA-vj7q-gjh5-988w: a socket was opened for pages of any site."""
    headers = {
        "Authorization": f"Bearer {token()}", "Origin": origin, "Connection": "Upgrade",
        "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "mcp",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
    }  # fmt: skip
    answer = httpx2.get(url + path, headers=headers, timeout=30)
    assert 400 <= answer.status_code < 500
