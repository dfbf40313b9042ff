"""Tokens of a real identity provider on loopback, sent to a real server of ours."""

import base64
import hashlib
import hmac
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed

import simonides
from simonides import ConfigurationError, PolicyInvalid
from simonides.govern.tokens import Access, Caller
from simonides.server import callers
from simonides.server.serve import Address
from simonides.server.serve import serve as run

KINDS = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}
PRIVATE = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
OTHER = ed25519.Ed25519PrivateKey.generate()
WEAK = rsa.generate_private_key(65537, 1024)


def jwk(alg, key, **more):
    return KINDS[alg].to_jwk(key.public_key(), as_dict=True) | {"kid": alg, **more}


class Identity:
    """A provider: its description and its keys, and how often it was asked for them."""

    def __init__(self, clock):
        self.clock, self.url, self.asked = clock, "", 0
        self.keys = [jwk(alg, key) for alg, key in PRIVATE.items()]
        self.status, self.issuer, self.open = 200, None, threading.Event()
        self.open.set()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        if scope["path"] == "/keys":
            self.asked += 1
            while not self.open.is_set():
                await anyio.sleep(0.01)
            told = {"keys": self.keys}
        else:
            told = {"issuer": self.issuer or self.url, "jwks_uri": f"{self.url}/keys"}
        start = {"type": "http.response.start", "status": self.status, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})

    def now(self):
        return self.clock.now_ms() // 1_000

    def claims(self, **more):
        told = {"iss": self.url, "aud": "simonides", "sub": "ana", "iat": self.now(),
                "exp": self.now() + 300, **more}  # fmt: skip
        return {name: value for name, value in told.items() if value is not None}

    def token(self, alg="EdDSA", key=None, kid=None, **more):
        headers = {"kid": kid or alg}
        return jwt.encode(self.claims(**more), key or PRIVATE[alg], alg, headers=headers)


@pytest.fixture
def identity(serve_app, clock):
    found = Identity(clock)
    found.url = serve_app(found)
    yield found
    found.open.set()


@pytest.fixture
def opened(open_store, rules, identity, monkeypatch):
    """Return a function that opens a store whose policy names the provider."""
    monkeypatch.setattr(callers, "TRUSTED_S", 0)

    def made(more="", where=None):
        text = f"oidc:\n  issuer: {where or identity.url}\n  audience: simonides\n{more}"
        return open_store(settings=rules(text))

    return made


@pytest.fixture
def api(opened, serve):
    return serve(opened())


def status(api, token, method="GET", path="/v1/memories", **more):
    return api(method, path, token, **more).status_code


# -- who it is -------------------------------------------------------------------------------------


@pytest.mark.parametrize("alg", KINDS)
def test_a_token_of_the_provider_acts_for_its_subject(opened, serve, identity, alg):
    store = opened()
    api, token = serve(store), identity.token(alg)
    told = {"content": "I prefer aisle seats", "key": "seat"}
    assert status(api, token, "POST", body=told) == 200
    assert store.memory(user="ana").get("seat").content == "I prefer aisle seats"
    assert "aisle" in api("GET", "/v1/memories", token).text
    assert "aisle" not in api("GET", "/v1/memories", identity.token(alg, sub="ben")).text
    [event] = [e for e in store.memory(user="ana").audit.list() if e.type == "created"]
    assert event.actor.endswith(" via ana")
    assert status(api, token, "GET", Simonides_User="ben") == 403
    assert status(api, token, "GET", Simonides_Org="acme") == 403


def forged(identity, alg, sign):
    """Return a token that a library would not make."""
    parts = [{"alg": alg, "kid": "RS256"}, identity.claims()]
    text = b".".join(
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in parts
    )
    return b".".join([text, base64.urlsafe_b64encode(sign(text)).rstrip(b"=")]).decode()


def with_public_key(text):
    public = PRIVATE["RS256"].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return hmac.digest(pem, text, hashlib.sha256)


def tampered(identity):
    head, _, end = identity.token().split(".")
    body = json.dumps(identity.claims(sub="ben")).encode()
    return f"{head}.{base64.urlsafe_b64encode(body).decode().rstrip('=')}.{end}"


REFUSED = {
    "of another issuer": lambda i: i.token(iss="https://elsewhere.example"),
    "without an issuer": lambda i: i.token(iss=None),
    "for another audience": lambda i: i.token(aud=["accounts", "mail"]),
    "without an audience": lambda i: i.token(aud=None),
    "without a subject": lambda i: i.token(sub=None),
    "with an empty subject": lambda i: i.token(sub=""),
    "without an end": lambda i: i.token(exp=None),
    "that has ended": lambda i: i.token(exp=i.now() - 30),
    "that ends at no time": lambda i: i.token(exp=float("inf")),
    "that ends at a huge time": lambda i: i.token(exp=10**400),
    "that ends by a word": lambda i: i.token(exp="tomorrow"),
    "that begins later": lambda i: i.token(nbf=i.now() + 31),
    "of the future": lambda i: i.token(iat=i.now() + 31),
    "by an unknown key": lambda i: i.token(kid="other"),
    "by another key of the same name": lambda i: i.token(key=OTHER),
    "by a key for another algorithm": lambda i: i.token("ES256", kid="EdDSA"),
    "without the name of a key": lambda i: jwt.encode(i.claims(), PRIVATE["EdDSA"], "EdDSA"),
    "that was changed": tampered,
    "without a signature": lambda i: forged(i, "none", lambda text: b""),
    "with a public key as the secret": lambda i: forged(i, "HS256", with_public_key),
    "by an unlisted algorithm": lambda i: jwt.encode(
        i.claims(), PRIVATE["RS256"], "PS256", headers={"kid": "RS256"}
    ),
    "cut off": lambda i: i.token()[:-9],
}


@pytest.mark.parametrize("made", REFUSED.values(), ids=REFUSED)
def test_a_token_that_proves_nothing_is_refused(api, identity, made):
    answer = api("GET", "/v1/memories", made(identity))
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthenticated"
    assert status(api, identity.token()) == 200


def test_a_key_that_is_weak_or_for_something_else_proves_nothing(api, identity):
    identity.keys = [
        jwk("RS256", WEAK, kid="weak"), jwk("EdDSA", OTHER, kid="use", use="enc"),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "oct"}, {"kid": "none"}, 7, jwk("EdDSA", OTHER),
    ]  # fmt: skip
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        weak = identity.token("RS256", WEAK, "weak")
    assert status(api, weak) == 401
    assert status(api, identity.token(key=OTHER, kid="use")) == 401
    assert status(api, identity.token(key=OTHER)) == 200


def test_clocks_may_differ_by_30_seconds(api, identity, clock):
    token = identity.token(exp=identity.now() + 60, nbf=identity.now() + 30)
    assert status(api, token) == 200
    clock.advance(seconds=89)
    assert status(api, token) == 200
    clock.advance(seconds=1)
    assert status(api, token) == 401


def test_malformed_tokens_are_refused_and_the_server_goes_on(api, identity):
    rng, good = random.Random(7), identity.token()
    deep = base64.urlsafe_b64encode(b"[" * 9_000).decode()
    for _ in range(25):
        at = rng.randrange(len(good))
        bad = good[:at] + rng.choice(["", ".", "\xe9", "=", "%00", good]) + good[at + 1 :]
        assert status(api, bad) == (200 if bad == good else 401)
    for bad in ("a.b.c", "...", f"{deep}.{deep}.{deep}", "e30.e30.e30"):
        assert status(api, bad) == 401
    assert status(api, good) == 200


# -- claims ----------------------------------------------------------------------------------------

MAPPED = """\
  claims: {user: email, org: tenant, rights: roles, agent: azp, purpose: use}
  rights_prefix: "memory:"
"""


def test_the_policy_says_which_claim_says_what(opened, serve, identity):
    store = opened(MAPPED)
    api = serve(store)
    told = {"sub": "auth0|17 x", "email": "ana@acme.example", "tenant": "acme", "azp": "helper",
            "use": "travel", "roles": ["memory:read", "memory:write", "admin"]}  # fmt: skip
    token = identity.token(**told)
    assert status(api, token, "POST", body={"content": "I like tea", "key": "drink"}) == 200
    ana = store.memory(user="ana@acme.example", org="acme", agent="helper", purpose="travel")
    assert ana.get("drink").content == "I like tea"
    digest = hashlib.sha256(b"auth0|17 x").hexdigest()[:24]
    [event] = [e for e in ana.audit.list() if e.type == "created"]
    assert event.actor.endswith(f" helper via sub-{digest}")
    for name, other in (("Agent", "spy"), ("Purpose", "ads"), ("Org", "rival")):
        assert status(api, token, **{f"Simonides_{name}": other}) == 403
    assert api("GET", "/v1/admin/tokens", token).status_code == 403
    admin = identity.token(**(told | {"roles": "memory:admin openid"}))
    assert api("GET", "/v1/admin/tokens", admin).status_code == 200
    assert api("GET", "/v1/admin/grants?org=rival", admin).status_code == 403
    assert api("GET", "/metrics", admin).status_code == 403
    for missing in ("email", "azp", "use"):
        assert status(api, identity.token(**(told | {missing: None}))) == 401


@pytest.mark.parametrize(
    ("claim", "may"),
    [(None, "read write"), ("read", "read"), ("openid read write", "read write"),
     (["review", "admin"], "review admin"), ("openid profile", ""), ([], ""), ("READ", "")],
)  # fmt: skip
def test_a_token_may_do_what_its_claim_says(api, identity, claim, may):
    token = identity.token(scope=claim)
    asked = {
        "read": api("GET", "/v1/memories", token),
        "write": api("POST", "/v1/memories", token, {"content": "I like tea"}),
        "review": api("POST", "/v1/pending/x/approve", token, {}),
        "admin": api("GET", "/v1/admin/tokens", token),
    }
    allowed = [name for name, answer in asked.items() if answer.status_code != 403]
    assert allowed == may.split()


@pytest.mark.parametrize(
    "user",
    [None, "", "a/b", "*", "global", "none", ["ana"], 7, True, {"id": "ana"}, "a b", "a" * 129],
)  # fmt: skip
def test_a_user_that_is_no_id_is_refused(opened, serve, identity, user):
    api = serve(opened("  claims: {user: uid}\n"))
    assert status(api, identity.token(uid=user), Simonides_User="ana") == 401
    assert status(api, identity.token(uid="ana")) == 200


def test_malformed_organisations_and_rights_are_refused(api, identity):
    for more in ({"org": ""}, {"org": 7}, {"org": "a/b"}, {"scope": 7}, {"scope": {"read": 1}}):
        assert status(api, identity.token(**more)) == 401


def test_where_every_caller_names_its_organisation_a_token_must(open_store, identity, serve, rules):
    policy = rules(f"oidc: {{issuer: '{identity.url}', audience: simonides}}").policy
    settings = simonides.Settings(policy=policy, require_org=True)
    api = serve(open_store(settings=settings))
    assert status(api, identity.token()) == 401
    assert status(api, identity.token(org="acme")) == 200


# -- keys ------------------------------------------------------------------------------------------


def test_a_new_key_is_found_and_unknown_ones_cost_one_fetch_in_10_seconds(api, identity, clock):
    assert status(api, identity.token()) == 200
    for n in range(5):
        assert status(api, identity.token(kid=f"none{n}")) == 401
    assert identity.asked == 1
    identity.keys = [jwk("EdDSA", OTHER, kid="new")]
    new = identity.token(key=OTHER, kid="new")
    clock.advance(seconds=9)
    assert status(api, new) == 401
    clock.advance(seconds=1)
    assert status(api, new) == 200
    assert status(api, identity.token()) == 401, "the old key was withdrawn"
    assert identity.asked == 2


def test_a_withdrawn_key_counts_for_10_minutes_at_most(api, identity, clock):
    assert status(api, identity.token()) == 200
    identity.keys = [jwk("EdDSA", OTHER, kid="new")]
    clock.advance(minutes=9)
    assert status(api, identity.token()) == 200
    clock.advance(minutes=1)
    assert status(api, identity.token()) == 401


def test_a_provider_that_does_not_answer_is_a_problem_to_retry(opened, serve, identity, clock):
    store = opened()
    api, ours = serve(store), store.admin(actor="ops").new_token("job", user="ana").secret
    identity.status = 500
    for kid in ("EdDSA", "EdDSA", "other"):
        answer = api("GET", "/v1/memories", identity.token(kid=kid))
        assert (answer.status_code, answer.json()["retryable"]) == (503, True)
        assert answer.headers["retry-after"] == "1"
        assert identity.url not in answer.text
    assert status(api, ours) == 200
    assert status(api, "no.token.at all") == 401
    identity.status = 200
    clock.advance(seconds=10)
    assert status(api, identity.token()) == 200
    identity.status = 404
    clock.advance(seconds=10)
    assert status(api, identity.token()) == 200, "its keys are still known"
    for _ in range(2):
        assert status(api, identity.token(kid="other")) == 503
    clock.advance(minutes=10)
    assert status(api, identity.token()) == 503


@pytest.mark.parametrize("where", ["http://127.0.0.1:9", "http://localhost:9/realm/"])
def test_an_unreachable_provider_lets_nobody_in(opened, serve, identity, where):
    api = serve(opened(where=where))
    assert status(api, identity.token(iss=where)) == 503


def test_a_provider_that_calls_itself_another_lets_nobody_in(api, identity):
    identity.issuer = "https://elsewhere.example"
    assert status(api, identity.token()) == 503


def test_keys_may_have_an_address_of_their_own(opened, serve, identity):
    identity.issuer = "https://elsewhere.example"
    api = serve(opened(f"  jwks_url: {identity.url}/keys\n"))
    assert status(api, identity.token()) == 200


def test_a_slow_provider_holds_up_nobody_else(opened, serve, identity):
    store = opened()
    api, ours = serve(store), store.admin(actor="ops").new_token("job", user="ana").secret
    identity.open.clear()
    late = []
    waiting = threading.Thread(target=lambda: late.append(status(api, identity.token())))
    waiting.start()
    while not identity.asked:
        time.sleep(0.01)
    assert status(api, ours) == 200
    assert late == []
    identity.open.set()
    waiting.join(20)
    assert late == [200]


# -- how long an answer holds ----------------------------------------------------------------------


def test_a_cached_caller_ends_with_its_token(store, serve, clock, monkeypatch):
    class Provided:
        def caller_of(self, token):
            asked.append(token)
            return Caller("ana", "acme", "ana", frozenset(Access), ends=ends)

    asked, ends = [], clock.now_ms() + 5_000
    monkeypatch.setattr(callers, "TRUSTED_S", 600)
    api = serve(store, Provided())
    assert [status(api, "x"), status(api, "x")] == [200, 200]
    clock.advance(seconds=5)
    assert status(api, "x") == 401
    assert asked == ["x"]


def test_a_provider_that_leaves_the_policy_counts_no_longer(opened, serve, identity, clock, rules):
    api = serve(opened())
    assert status(api, identity.token()) == 200
    rules("version: later")
    clock.advance(seconds=1)
    assert status(api, identity.token()) == 401
    assert api("GET", "/.well-known/oauth-protected-resource").status_code == 404


def test_a_broken_policy_file_lets_nobody_in_and_is_told_to_the_log_only(
    opened, serve, identity, clock, rules, caplog
):
    store = opened()
    api, own = serve(store), store.admin("ops").new_token("job", user="ana").secret
    path = rules("oidc: {issuer: 3").policy
    clock.advance(seconds=1)
    for place, token in (
        ("/v1/memories", identity.token()), ("/v1/memories", "wrong"),
        ("/.well-known/oauth-protected-resource", None),
    ):  # fmt: skip
        answer = api("GET", place, token)
        assert (answer.status_code, answer.json()["retryable"]) == (503, True)
        assert str(path) not in answer.text
    assert str(path) in caplog.text
    assert api("GET", "/v1/memories", own).status_code == 200


# -- where clients find it -------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/memories", "/mcp", "/v1/events", "/metrics"])
def test_an_answer_to_nobody_says_where_the_provider_is_named(api, identity, path):
    for token in (None, "wrong", identity.token(aud="mail")):
        answer = api("GET", path, token)
        found = f"{api.url}/.well-known/oauth-protected-resource"
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{found}"'
    told = ProtectedResourceMetadata(**api("GET", found).json())
    assert [str(each).rstrip("/") for each in told.authorization_servers] == [identity.url]
    assert told.scopes_supported == ["read", "write", "review", "admin"]
    assert told.bearer_methods_supported == ["header"]
    assert check_resource_allowed(f"{api.url}/mcp", str(told.resource))


def test_without_a_provider_nothing_is_said_of_one(store, serve):
    api = serve(store)
    assert api("GET", "/v1/memories").headers["www-authenticate"] == "Bearer"
    assert api("GET", "/.well-known/oauth-protected-resource").status_code == 404


def test_a_named_provider_is_a_guard_and_tls_is_still_needed(opened, store):
    elsewhere = Address("0.0.0.0", port=0)
    with pytest.raises(ConfigurationError, match="nobody has a token"):
        run(store, elsewhere)
    with pytest.raises(ConfigurationError, match="in the clear"):
        run(opened(), elsewhere)


# -- the policy ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("oidc: {issuer: 'https://id.example'}", "audience"),
        ("oidc: {audience: simonides}", "issuer"),
        ("oidc: {issuer: 'http://id.example', audience: a}", "https"),
        ("oidc: {issuer: 'file:///etc/keys', audience: a}", "https"),
        ("oidc: {issuer: 'https://id.example', audience: a, jwks: x}", "jwks_url"),
        ("orgs: {acme: {oidc: {issuer: 'https://id.example', audience: a}}}", "whole store"),
        ("agents: {bot: {oidc: {issuer: 'https://id.example', audience: a}}}", "whole store"),
        ("oidc: {issuer: 'https://id.example', audience: a, claims: {usr: x}}", "usr"),
    ],
)
def test_a_provider_that_is_half_or_wrongly_named_is_an_error(rules, text, problem):
    with pytest.raises(PolicyInvalid, match=problem):
        simonides.open(":memory:", settings=rules(text))


def test_the_command_serves_with_the_provider_of_the_policy(tmp_path, identity, monkeypatch):
    monkeypatch.setattr(identity, "now", lambda: int(time.time()))
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"oidc: {{issuer: '{identity.url}', audience: simonides}}")
    env = {**os.environ, "PYTHONPATH": str(Path(simonides.__file__).parents[1])}
    command = ["--store", str(tmp_path / "m.db"), "serve", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "simonides", *command],
        stdout=subprocess.PIPE, text=True, env=env | {"SIMONIDES_POLICY": str(policy)},
    )  # fmt: skip
    try:
        url = process.stdout.readline().split("once: ")[1].partition("/login")[0]
        with httpx2.Client(base_url=url, timeout=30) as client:
            for token, expected in ((identity.token(), 200), (identity.token(aud="mail"), 401)):
                answer = client.get("/v1/memories", headers={"Authorization": f"Bearer {token}"})
                assert answer.status_code == expected
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
