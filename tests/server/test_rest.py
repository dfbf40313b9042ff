"""The verbs over HTTP: the same names, answers and errors, by the credential of each request."""

import json
import threading
import time

import httpx2
import pytest

from simonides.api.remote import wire
from simonides.api.verbs import VERBS
from simonides.server import health
from simonides.server.app import MOST_BYTES
from simonides.server.routes import EXAMPLES


@pytest.fixture
def ana(ask):
    return ask(user="ana", rights=["read", "write", "review"])


def test_what_is_told_is_recalled_corrected_and_forgotten(ana):
    told = ana("POST /v1/memories", {"content": "Deploy to us-east-1", "key": "deploy/region"})
    assert (told["kind"], told["explanation"]) == ("created", "Stored.")
    found = ana("POST /v1/recall", {"query": "deploy"})["items"]
    assert [each["record"]["content"] for each in found] == ["Deploy to us-east-1"]
    corrected = ana("PATCH /v1/memories/deploy%2Fregion", {"content": "Deploy to eu-west-1"})
    assert corrected["kind"] == "superseded"
    versions = ana("GET /v1/memories/deploy%2Fregion/history")["items"]
    assert [each["version"] for each in versions] == [1, 2]
    assert "Deploy to eu-west-1" in ana("POST /v1/digest", {"about": "deploy"})["text"]
    assert ana("DELETE /v1/memories/deploy%2Fregion")["kind"] == "forgotten"
    gone = ana("GET /v1/memories/deploy%2Fregion", status=404)
    assert (gone["code"], gone["retryable"]) == ("not_found", False)


def test_conversations_and_tasks_have_paths_of_their_own(ana):
    talk = {"Simonides-Session": "thread%2F7%20%C3%BC"}
    assert ana("POST /v1/messages", {"messages": "My name is Ana."}, headers=talk)["kept"] == 1
    said = ana("GET /v1/sessions/thread%2F7%20%C3%BC/messages")["items"]
    assert [(each["content"], each["session"]) for each in said] == [
        ("My name is Ana.", "thread/7 ü")
    ]
    assert ana("POST /v1/sessions/thread%2F7%20%C3%BC/end")["entries"] == 1
    assert ana("POST /v1/tasks", {"goal": "Upgrade", "name": "up-1", "plan": ["a", "b"]}) == {
        "name": "up-1"
    }
    assert ana("POST /v1/tasks/up-1/step-done") == {"steps_done": 1}
    assert ana("GET /v1/tasks/up-1/status")["step"] == "b"
    ana("POST /v1/tasks/up-1/complete", {"learning": "Stop the queue first."})
    ended = ana("GET /v1/tasks/up-1/prompt", status=400)
    assert "is complete" in ended["detail"]


def test_an_error_says_what_was_wrong_where_and_what_to_do(ana):
    cases = [
        ("POST /v1/recall", {"query": "x", "limit": 0}, 400, "limit"),
        ("POST /v1/recall", {"quer": "x"}, 400, "did you mean 'query'"),
        ("POST /v1/recall", {}, 400, "query: is missing"),
        ("POST /v1/recall", [1], 400, "must be a JSON object"),
        ("POST /v1/memories", {"content": "x", "source": "nobody"}, 400, "source"),
        ("POST /v1/memories/batch", {"drafts": [{"content": "x"}, {}]}, 400, "drafts[1]"),
        ("GET /v1/memories?limit=many", None, 400, "limit"),
        ("GET /v1/memories?filter=%7B", None, 400, "filter"),
        ("GET /v1/nothing", None, 404, "Not Found"),
        ("PUT /v1/memories", None, 405, "Method Not Allowed"),
    ]
    for route, body, status, said in cases:
        problem = ana(route, body, status=status)
        assert said in problem["detail"], problem
        assert problem["status"] == status
        assert problem["hint"]
        assert problem["type"].startswith("urn:simonides:error:")


def test_a_body_that_is_no_utf_8_or_no_json_is_refused(ana):
    for raw in (b'{"query": "\xff"}', b"{", b"NaN", b'{"query": NaN}', b"[" * 100_000):
        ana("POST /v1/recall", status=400, content=raw)


def test_a_body_that_is_too_long_is_refused_before_it_is_read(ana):
    problem = ana("POST /v1/recall", {"query": "x" * MOST_BYTES}, status=413)
    assert f"{MOST_BYTES:,}" in problem["detail"]

    def pieces():
        for _ in range(5):
            yield b" " * (1 << 20)

    ana("POST /v1/recall", status=413, content=pieces())


def test_a_refusal_is_an_answer(ana):
    refused = ana("POST /v1/memories", {"content": "My password is hunter2hunter2"})
    assert (refused["kind"], refused["record"]) == ("blocked", None)
    assert "secret:password" in refused["reasons"]


def test_a_write_under_one_key_is_done_once(ana):
    once = {"Idempotency-Key": "order-1"}
    first = ana("POST /v1/memories", {"content": "The desk is oak"}, headers=once)
    again = ana("POST /v1/memories", {"content": "The desk is oak"}, headers=once)
    assert first["record"]["id"] == again["record"]["id"]
    other = ana("POST /v1/memories", {"content": "The desk is pine"}, headers=once, status=409)
    assert other["code"] == "idempotency_mismatch"
    both = {"content": "The desk is oak", "idempotency_key": "order-2"}
    differs = ana("POST /v1/memories", both, headers=once, status=400)
    assert "in the header than in the body" in differs["detail"]
    turn = {"Idempotency-Key": "turn-1"}
    for kept in (1, 0):
        assert ana("POST /v1/messages", {"messages": "Hello"}, headers=turn)["kept"] == kept
    for key, text in (("turn-1", "Goodbye"), ("order-1", "Hello")):
        used = {"Idempotency-Key": key}
        other = ana("POST /v1/messages", {"messages": text}, headers=used, status=409)
        assert other["code"] == "idempotency_mismatch"
    malformed = {"messages": [{"role": "wizard", "content": "Hi"}]}
    ana("POST /v1/messages", malformed, headers={"Idempotency-Key": "turn-2"}, status=400)
    mended = ana("POST /v1/messages", {"messages": "Hi"}, headers={"Idempotency-Key": "turn-2"})
    assert mended["kept"] == 1
    secret = {"Idempotency-Key": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}
    refused = ana("POST /v1/messages", {"messages": "Ho"}, headers=secret, status=400)
    assert "holds a secret" in refused["detail"]
    kept = [each["content"] for each in ana("GET /v1/memories")["items"]]
    assert kept == ["Hi", "Hello", "The desk is oak"]
    assert (
        "remembering" in ana("POST /v1/recall", {"query": "x"}, headers=once, status=400)["detail"]
    )


def test_a_change_can_depend_on_the_version_that_was_seen(ana):
    ana("POST /v1/memories", {"content": "Tea is green", "key": "tea"})
    etag = ana.http.get("/v1/memories/tea").headers["etag"]
    ana("PATCH /v1/memories/tea", {"content": "Tea is black"}, headers={"If-Match": etag})
    for method, body in (("PATCH", {"content": "Tea is white"}), ("DELETE", None)):
        late = ana(f"{method} /v1/memories/tea", body, headers={"If-Match": etag}, status=412)
        assert late["code"] == "changed_meanwhile"
    assert ana("GET /v1/memories/tea")["content"] == "Tea is black"
    ana("PATCH /v1/memories/tea", {"content": "Tea is red"}, headers={"If-Match": "*"})
    seen = {"content": "Tea is blue", "if_version": etag.strip('"')}
    ana("PATCH /v1/memories/tea", seen, headers={"If-Match": '"another"'}, status=400)
    assert ana("POST /v1/recall", {"query": "x"}, headers={"If-Match": etag}, status=400)


def test_pages_follow_each_other(ana):
    ana("POST /v1/memories/batch", {"drafts": [{"content": f"Fact {n} of many"} for n in range(5)]})
    first = ana("GET /v1/memories?limit=3")
    rest = ana("GET /v1/memories", params={"limit": 3, "cursor": first["next_cursor"]})
    assert (len(first["items"]), len(rest["items"]), rest["next_cursor"]) == (3, 2, None)
    chosen = ana("GET /v1/memories", params={"filter": json.dumps({"content": "Fact 1 of many"})})
    assert len(chosen["items"]) == 1


def test_what_changes_is_streamed(ana, ask, store):
    ben = ask(name="ben", user="ben")
    seen, begun = [], threading.Event()

    def listen(headers, most):
        with ana.http.stream("GET", "/v1/events", headers=headers) as stream:
            begun.set()
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    seen.append(json.loads(line[5:]))
                if len(seen) == most:
                    return

    ana("POST /v1/memories", {"content": "The first fact"})
    thread = threading.Thread(target=listen, args=({}, 1))
    thread.start()
    assert begun.wait(20)
    ben("POST /v1/memories", {"content": "Another user's fact"})
    ana("POST /v1/memories", {"content": "The second fact"})
    thread.join(20)
    assert [(each["type"], each["seq"]) for each in seen] == [("created", 2)]
    assert "second" not in json.dumps(seen)
    listen({"Last-Event-ID": "0"}, 3)  # it goes on where it stood
    assert [each["seq"] for each in seen] == [2, 1, 2]
    for wrong in (b"x", b"\xb2", b"-1", b"9" * 30):
        assert ana("GET /v1/events", headers={"Last-Event-ID": wrong}, status=400)


def test_a_token_has_so_many_requests_in_a_minute(store, served):
    url = served(store, per_minute=3)
    token = store.admin("root").new_token("bot", user="ana").secret
    statuses = []
    for _ in range(5):
        answer = httpx2.get(f"{url}/v1/status", headers={"Authorization": f"Bearer {token}"})
        statuses.append(answer.status_code)
    assert statuses == [200, 200, 200, 429, 429]
    assert 0 < int(answer.headers["retry-after"]) <= 60


def test_tokens_of_the_same_name_have_limits_of_their_own(store, served):
    url, admin = served(store, per_minute=1), store.admin("root")
    for user, org in (("ana", "acme"), ("ana", "rival"), ("ben", "acme")):
        token = admin.new_token("bot", user=user, org=org).secret
        answer = httpx2.get(f"{url}/v1/status", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, (user, org)


def test_a_stream_ends_with_its_token(ask, store, caplog):
    ana = ask(user="ana")
    with ana.http.stream("GET", "/v1/events") as stream:
        store.admin("root").revoke_token("bot")
        assert [line for line in stream.iter_lines() if "data" in line] == []
    assert "Traceback" not in caplog.text


def test_a_token_has_so_many_streams_at_once(ana, monkeypatch):
    monkeypatch.setattr(health, "MOST_STREAMS", 1)
    ana("POST /v1/memories", {"content": "Tea is green"})
    asked = {"method": "GET", "url": "/v1/events", "headers": {"Last-Event-ID": "0"}}
    with ana.http.stream(**asked) as stream:
        lines = stream.iter_lines()  # dropped, it would close the stream
        assert next(lines)
        with ana.http.stream(**asked) as late:
            assert late.status_code == 429
            assert json.loads(late.read())["what"] == "streams"
    begun = time.monotonic()
    while True:  # one that has ended makes room
        with ana.http.stream(**asked) as again:
            if again.status_code == 200:
                return
        assert time.monotonic() - begun < 20


def test_a_read_that_takes_too_long_is_given_up(store, served, monkeypatch):
    url = served(store, seconds=0.2)
    token = store.admin("root").new_token("bot", user="ana").secret
    monkeypatch.setattr("simonides.api.memory.Memory.profile", lambda self: time.sleep(1))
    answer = httpx2.get(f"{url}/v1/profile", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["retryable"]) == (503, True)
    assert answer.headers["retry-after"] == "1"


def test_every_answer_has_an_id_of_its_own(ana):
    ids = {ana.http.get("/v1/status").headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3


def test_health_needs_no_token_and_figures_an_administrator(ask, ana):
    for path in ("/livez", "/readyz"):
        assert ana.http.get(path, headers={"Authorization": ""}).status_code == 200
    assert ana("GET /metrics", status=403)["right"] == "admin"
    whole = ask(name="root", rights=["admin"])
    ana("POST /v1/memories", {"content": "A fact"})
    assert "simonides_writes_total 1" in whole.http.get("/metrics").text


def test_the_page_of_the_api_names_no_foreign_host(ask, store, served):
    url = served(store)
    page = httpx2.get(f"{url}/docs")
    for path in ("/static/swagger-ui.css", "/static/swagger-ui-bundle.js", "/static/docs.js"):
        assert path in page.text or path == "/static/docs.js"
        assert httpx2.get(f"{url}{path}").status_code == 200
    assert "http" not in page.text.replace("http://www.w3.org", "")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert httpx2.get(f"{url}/static/..%2Fpages.py").status_code == 404


def test_each_verb_has_a_route_that_is_described(store, served):
    url = served(store)
    described = httpx2.get(f"{url}/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    operations = {
        each["operationId"]: each for path in described["paths"].values() for each in path.values()
    }
    for verb in filter(lambda each: each.is_routed, VERBS):
        operation = operations[verb.counted_as.replace(".", "_")]
        assert operation["summary"] == verb.help
        assert {"200", "400", "401", "403", "429"} <= operation["responses"].keys()
    known = described["components"]["schemas"]
    named = {each.rpartition("/")[2] for each in _references(described)}
    assert named <= known.keys()


def test_every_example_of_the_description_is_accepted(ask):
    ana = ask(name="root", rights=["read", "write", "review", "admin"])
    whose = {"Simonides-User": "ana"}
    ana("POST /v1/memories", {"content": "Tea is green", "key": "tea"}, headers=whose)
    for name, example in EXAMPLES.items():
        call = wire.calls()[name]
        if name in ("Memory.undo", "Pending.resolve", "Task.observe"):
            assert not set(example) - set(call.takes.model_fields)  # they need what is there
            continue
        path = call.path.format(which="tea")
        ana(f"{call.method} /v1{path}", example, headers=whose)


def _references(data):
    if isinstance(data, dict):
        for name, value in data.items():
            if name == "$ref":
                yield value
            else:
                yield from _references(value)
    elif isinstance(data, list):
        for each in data:
            yield from _references(each)


def test_no_route_answers_without_a_credential_or_with_a_foreign_one(store, served):
    with httpx2.Client(base_url=served(store)) as http:
        for call in wire.calls().values():
            path = call.path.format(**dict.fromkeys(call.named, "x"))
            for given in (None, "Bearer sim_00000000_x", "Basic x"):
                headers = {} if given is None else {"Authorization": given}
                answer = http.request(call.method, f"/v1{path}", headers=headers)
                assert answer.status_code in (401, 429), (call, given)
