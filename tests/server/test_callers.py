"""The store's own tokens and cookies, over a real server: who may do what, and for how long."""

import base64
import time
from datetime import timedelta

import pytest

from simonides.api.remote import wire
from simonides.govern.tokens import Access, Caller
from simonides.server import callers
from simonides.server.callers import FAILURES_PER_MINUTE

RIGHTS = [each.value for each in Access]


@pytest.fixture
def admin(store):
    return store.admin(actor="ops")


@pytest.fixture
def api(store, serve):
    return serve(store)


@pytest.fixture(params=["file", "postgres"])
def place(request, new_place, tmp_path):
    """Return a place that several processes can open."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_place")
        return
    place = new_place("file", tmp_path / "memory.db")
    yield place
    place.close()


def status(api, token, method="GET", path="/v1/memories", **more):
    return api(method, path, token, **more).status_code


def filled(call):
    """Return a request of a call, with something for each argument that it needs."""
    path = call.path.format(**dict.fromkeys(call.named, "x"))
    fields = getattr(call.takes, "model_fields", {}).items()
    needed = [name for name, field in fields if field.is_required()]
    if call.method not in ("GET", "DELETE"):
        return f"/v1{path}", {}
    return f"/v1{path}?" + "&".join(f"{name}=acme" for name in needed), None


# -- what the store keeps of a token ---------------------------------------------------------------


def test_the_secret_of_a_token_is_nowhere_in_the_file(new_place, tmp_path, serve):
    place = new_place("file", tmp_path / "memory.db")
    store = place()
    given = store.admin(actor="ops").new_token("job", user="ana", org="acme")
    assert status(serve(store), given.secret) == 200
    secret = given.secret.split("_", 2)[2]
    assert len(base64.urlsafe_b64decode(secret + "=")) == 32
    [listed] = store.admin(actor="ops").tokens()
    assert secret not in str(listed.to_dict())
    assert given.secret.startswith(f"sim_{listed.prefix}_")
    place.close()
    kept = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert listed.prefix.encode() in kept
    for trace in (secret.encode(), base64.urlsafe_b64decode(secret + "=")):
        assert trace not in kept


def test_a_token_needs_its_whole_secret(api, admin):
    secret = admin.new_token("job", user="ana", org="acme").secret
    mark, prefix, rest = secret.split("_", 2)
    wrong = [secret[:-1], f"{secret}A", f"{mark}_{prefix}_", f"{mark}_{prefix}", f"{mark}__{rest}",
             secret.upper(), f"{mark}_{prefix}_{rest[::-1]}"]  # fmt: skip
    assert [status(api, each) for each in wrong] == [401] * len(wrong)
    assert status(api, secret) == 200


# -- rights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", RIGHTS)
def test_a_right_opens_its_own_routes_only(api, admin, right):
    secret = admin.new_token("job", user="ana", org="acme", rights=[right]).secret
    opened, closed = set(), set()
    for call in wire.calls().values():
        path, body = filled(call)
        answer = api(call.method, path, secret, body)
        told = answer.json()
        is_refused = answer.status_code == 403 and told["right"] == call.needs
        if is_refused and "token with it" in told["detail"]:
            closed.add((call.needs, call.path))
        else:
            opened.add((call.needs, call.path))
    assert {needs for needs, _ in opened} == {right}
    assert {needs for needs, _ in closed} == {*RIGHTS} - {right}
    assert status(api, secret, path="/v1/events", Last_Event_ID="x") == (
        400 if right == "read" else 403
    )


def test_routes_that_review_and_administer_say_so():
    needs = {f"{call.method} {call.path}": call.needs for call in wire.calls().values()}
    assert needs["POST /pending/{id}/approve"] == Access.REVIEW
    assert needs["GET /pending"] == Access.READ
    assert {needs[each] for each in needs if " /admin" in each} == {Access.ADMIN}


# -- how long it holds -----------------------------------------------------------------------------


def test_a_token_ends_when_it_was_said_to(api, admin, clock, monkeypatch):
    monkeypatch.setattr(callers, "TRUSTED_S", 600)
    ends = clock.now + timedelta(hours=1)
    secret = admin.new_token("job", user="ana", org="acme", expires=ends).secret
    clock.advance(seconds=3_599)
    assert status(api, secret) == 200
    clock.advance(seconds=1)
    assert status(api, secret) == 401


def test_a_token_revoked_in_another_process_ends_within_a_second(place, serve):
    api, other = serve(place()), place()
    secret = other.admin(actor="ops").new_token("job", user="ana", org="acme").secret
    assert status(api, secret) == 200
    other.admin(actor="ops").revoke_token("job")
    assert callers.TRUSTED_S <= 0.5
    time.sleep(callers.TRUSTED_S + 0.1)
    assert status(api, secret) == 401


# -- for whom it acts ------------------------------------------------------------------------------


def test_a_token_of_one_user_acts_for_nobody_else(api, admin, store):
    store.memory(user="ben", org="acme").remember("I like tea", key="drink")
    secret = admin.new_token("job", user="ana", org="acme").secret
    for name, other in (("User", "ben"), ("Org", "rival"), ("Visitor", "v1"), ("Actor", "ben")):
        answer = api("GET", "/v1/memories/drink", secret, **{f"Simonides_{name}": other})
        assert answer.status_code == 403
        assert "tea" not in answer.text
    assert status(api, secret, path="/v1/memories/drink") == 404
    assert status(api, secret, Simonides_User="ana") == 200
    assert status(api, secret, Simonides_User="") == 400
    assert status(api, secret, Simonides_Level="org") == 403


def test_a_token_for_any_user_names_one_of_its_organisation(api, admin, store):
    for org in ("acme", "rival"):
        store.memory(user="ben", org=org).remember(f"I am with {org}", key="work")
    secret = admin.new_token("job", any_user=True, org="acme").secret
    path = "/v1/memories/work"
    assert status(api, secret, path=path) == 400
    assert "with acme" in api("GET", path, secret, Simonides_User="ben").text
    refused = api("GET", path, secret, Simonides_User="ben", Simonides_Org="rival")
    assert (refused.status_code, "with rival" in refused.text) == (403, False)


def test_a_token_fixes_its_agent_and_purpose(api, admin, store):
    fixed = {"user": "ana", "org": "acme", "agent": "helper", "purpose": "travel"}
    secret = admin.new_token("job", **fixed).secret
    told = {"content": "I prefer aisle seats", "key": "seat"}
    assert status(api, secret, "POST", body=told) == 200
    for name, other in (("Agent", "spy"), ("Purpose", "ads")):
        assert status(api, secret, **{f"Simonides_{name}": other}) == 403
        assert status(api, secret, **{f"Simonides_{name}": fixed[name.lower()]}) == 200
    [event] = [e for e in store.memory(user="ana", org="acme").audit.list() if e.type == "created"]
    assert event.actor.endswith(" helper via job")


def test_an_administrator_of_an_organisation_reads_nothing_of_another(api, admin, store):
    for org in ("acme", "rival"):
        admin.grant("ben", "org_write", org=org)
        admin.new_token(f"job-{org}", user="ben", org=org)
        ben = store.memory(user="ben", org=org, session="monday")
        ben.audit.record_safety("abuse", note=f"seen at {org}")
        ben.audit.record_feedback(f"good-{org}")
    secret = admin.new_token("boss", any_user=True, org="acme", rights=["admin"]).secret
    for name in ("grants", "safety", "feedback", "tokens"):
        own = api("GET", f"/v1/admin/{name}?org=acme", secret)
        assert (own.status_code, len(own.json()["items"]) > 0) == (200, True)
        assert "rival" not in own.text
        refused = api("GET", f"/v1/admin/{name}?org=rival", secret)
        assert refused.status_code == 403
        by_header = api("GET", f"/v1/admin/{name}?org=rival", secret, Simonides_Org="rival")
        assert by_header.status_code == 403
    assert "rival" not in api("GET", "/v1/admin/tokens", secret).text
    assert status(api, secret, "DELETE", "/v1/admin/tokens/job-rival") == 404
    more = {"name": "spy", "user": "ben", "org": "rival"}
    assert status(api, secret, "POST", "/v1/admin/tokens", body=more) == 403
    grant = {"user": "ben", "right": "admin", "org": "rival"}
    assert status(api, secret, "POST", "/v1/admin/grants", body=grant) == 403
    assert status(api, secret, "POST", "/v1/admin/tokens", body={**more, "org": "acme"}) == 200
    assert {each.name for each in admin.tokens(org="rival")} == {"job-rival"}


def test_an_administrator_of_an_organisation_has_its_own_sources_only(api, admin, store, tmp_path):
    page = tmp_path / "guide.md"
    page.write_text("# Guide\n\nThe gate opens at nine.")
    store.add_source(page, name="guide")  # of the default organisation
    secret = admin.new_token("boss", any_user=True, org="acme", rights=["read", "admin"]).secret
    assert api("GET", "/v1/sources", secret).json() == {"items": []}
    assert api("DELETE", "/v1/sources/guide", secret).json() == {"removed": False}
    own_files = {"place": str(page)}
    network = {"place": "http://127.0.0.1/", "allow_private": True}
    for body in (own_files, network):
        refused = api("POST", "/v1/sources", secret, body)
        assert (refused.status_code, refused.json()["right"]) == (403, "admin")
    assert api("POST", "/v1/sources", secret, {"place": "http://127.0.0.1/"}).status_code == 400
    assert [each.name for each in store.sources()] == ["guide"]
    assert store.sources(org="acme") == []
    whole = admin.new_token("root", rights=["admin"]).secret
    assert status(api, whole, "POST", "/v1/sources", body=own_files | {"org": "acme"}) == 200


def test_a_header_is_sent_once_and_means_what_it_says(api, admin, store):
    secret = admin.new_token("job", any_user=True, org="acme", rights=["write", "admin"]).secret
    asked = {"Authorization": f"Bearer {secret}", "Simonides-User": "ana"}
    told = {"content": "I like tea", "key": "drink"}
    wrong = [("Simonides-User", "ben"), ("Simonides-Private", "1"), ("Simonides-Visitor", "v"),
             ("Idempotency-Key", ""), ("Simonides-Private", "")]  # fmt: skip
    for header in wrong:
        headers = [*asked.items(), header]
        answer = api.client.post("/v1/memories", json=told, headers=headers)
        assert (answer.status_code, header[0] in answer.text) == (400, True), header
    assert store.memory(user="ana", org="acme").get("drink") is None
    headers = {"Simonides_Level": "org", "Simonides_Org": "rival"}
    assert status(api, secret, "POST", "/v1/memories", body=told, **headers) == 403


# -- failed tries ----------------------------------------------------------------------------------


def test_failed_tries_are_limited_and_the_first_is_audited(api, admin, store):
    secret = admin.new_token("job", user="ana", org="acme").secret
    tries = [api("GET", "/v1/memories", f"sim_00000000_{n}") for n in range(FAILURES_PER_MINUTE)]
    assert {each.status_code for each in tries} == {401}
    late = api("GET", "/v1/memories", "sim_00000000_late")
    assert late.status_code == 429
    assert 1 <= int(late.headers["retry-after"]) <= 60
    assert status(api, None) == 401, "who sends nothing has not guessed"
    assert status(api, secret) == 200
    noted = [each for each in admin.memory().audit.list() if each.type == "blocked"]
    assert [(each.actor, each.reason) for each in noted] == [("server", "token 127.0.0.1")]


def test_who_goes_on_trying_is_remembered_by_the_latest_tries_only(api):
    for n in range(3 * FAILURES_PER_MINUTE):
        api("GET", "/v1/memories", f"sim_00000000_{n}")
    assert [len(each) for each in api.callers._failed.values()] == [FAILURES_PER_MINUTE]


# -- people ----------------------------------------------------------------------------------------


def logged_in(api):
    token = api.callers.login(Caller("local", None, None, frozenset(Access)))
    answer = api("GET", f"/login?token={token}")
    assert answer.status_code == 303
    return token, answer.headers["set-cookie"]


def test_a_login_link_works_once(api):
    token, cookie = logged_in(api)
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    again = api("GET", f"/login?token={token}")
    assert (again.status_code, "set-cookie" in again.headers) == (401, False)
    for wrong in ("", "x"):
        assert api("GET", f"/login?token={wrong}").status_code == 401


SITES = [(None, 200, 401), ("none", 200, 401), ("same-origin", 200, 200),
         ("same-site", 401, 401), ("cross-site", 401, 401)]  # fmt: skip


@pytest.mark.parametrize(("site", "read", "write"), SITES)
def test_a_cookie_serves_the_own_pages_only(api, store, site, read, write):
    headers = {"Cookie": logged_in(api)[1].partition(";")[0], "Simonides-User": "ana"}
    api.client.cookies.clear()
    if site is not None:
        headers["Sec-Fetch-Site"] = site
    assert api("GET", "/v1/memories", **headers).status_code == read
    told = {"content": "I like tea", "key": "drink"}
    assert api("POST", "/v1/memories", body=told, **headers).status_code == write
    assert (store.memory(user="ana").get("drink") is not None) == (write == 200)


def test_a_cookie_that_nobody_was_given_is_refused(api):
    logged_in(api)
    api.client.cookies.clear()
    assert api("GET", "/v1/memories", Cookie="simonides=x").status_code == 401
    assert api("GET", "/v1/memories", Cookie="simonides=").status_code == 401
