"""What is taken for a secret, and what only looks like one."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.writing.finding import Severity
from simonides.hygiene.pii import rule_matching as ruled
from simonides.hygiene.pii import secrets
from simonides.text import patterns
from tokens import BASE32, HEX, MIXED, drawn


def jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Ana"})
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return b".".join(coded).decode() + "." + drawn(43, MIXED)


FORMATS = {
    "aws-access-key": "AKIA" + drawn(16, BASE32),
    "gcp-api-key": "AIza" + drawn(35, MIXED),
    "google-oauth": "GOCSPX-" + drawn(28, MIXED),
    "azure-client-secret": "abC8Q~" + drawn(34, MIXED),
    "azure-storage-key": "AccountKey=" + drawn(86, MIXED) + "==",
    "digitalocean-token": "dop_v1_" + drawn(64, HEX),
    "hashicorp-token": "hvs." + drawn(90, MIXED),
    "github-token": "ghp_" + drawn(36, MIXED),
    "gitlab-token": "glpat-" + drawn(20, MIXED),
    "npm-token": "npm_" + drawn(36, MIXED),
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + drawn(60, MIXED),
    "docker-token": "dckr_pat_" + drawn(27, MIXED),
    "openai-key": "sk-proj-" + drawn(48, MIXED),
    "anthropic-key": "sk-ant-api03-" + drawn(93, MIXED) + "AA",
    "huggingface-token": "hf_" + drawn(34, MIXED),
    "groq-or-xai-key": "gsk_" + drawn(52, MIXED),
    "stripe-key": "sk_live_" + drawn(24, MIXED),
    "shopify-token": "shpat_" + drawn(32, HEX),
    "slack-token": "xoxb-" + drawn(12, "0123456789") + "-" + drawn(24, MIXED),
    "slack-webhook": "https://hooks.slack.com/services/T" + drawn(43, MIXED),
    "discord-webhook": f"discord.com/api/webhooks/{drawn(18, '123456789')}/{drawn(68, MIXED)}",
    "telegram-bot-token": drawn(10, "123456789") + ":AA" + drawn(33, MIXED),
    "twilio-key": "SK" + drawn(32, HEX),
    "sendgrid-key": "SG." + drawn(22, MIXED) + "." + drawn(43, MIXED),
    "atlassian-token": "ATATT3" + drawn(186, MIXED),
    "linear-key": "lin_api_" + drawn(40, MIXED),
    "private-key": f"-----BEGIN PRIVATE KEY-----\n{drawn(64, MIXED)}\n-----END PRIVATE KEY-----",
    "jwt": jwt(),
    "url-credentials": "postgresql://ana:" + drawn(12) + "@db.internal:5432/x",
    "curl-credentials": "curl -u ana:" + drawn(10) + " https://host",
    "http-header": "Authorization: Bearer " + drawn(32),
    "vendor-key": "datadog => " + drawn(40),
    "assigned": "client_secret: '" + drawn(30) + "'",
}  # fmt: skip


@pytest.mark.parametrize("rule", FORMATS)
def test_a_format_is_known_in_the_middle_of_talk(rule: str) -> None:
    text = f"Für später 🔑: {FORMATS[rule]} , so that we do not forget it."

    found = secrets.TABLE.find(text)

    assert [finding.rule for finding in found] == [rule]
    assert found[0].severity is Severity.HIGH
    assert found[0].mark == f"secret:{rule}"
    assert drawn(8)[:4] not in repr(found)
    within = text[found[0].start : found[0].end]
    assert FORMATS[rule].endswith(within) or within in FORMATS[rule]


@pytest.mark.parametrize(
    "text",
    [
        "my password is hunter2",
        "The password for the router is Blue-Falcon-77.",
        "Our admin password: S3cr3t!",
        "mein Passwort ist Sommer2024!",
        "Das Passwort für Netflix lautet kater99",
        "mon mot de passe est azerty123",
        "Mi contraseña del wifi es Perro#88",
        "la mia password è ciao1234",
        "minha senha é verao2023",
        "mijn wachtwoord is kaas123",
        "Пароль от почты это zima2020!",
        "moje hasło to kot12345",
        "lösenordet är kaffe123",
        "我的密码是abc12345",
        "パスワードはneko1234です",
        "내 비밀번호는 gom1234",
        "PGPASSWORD=abcd1234 psql",
        'db_password = "v3ry-s3cret"',
        "My bank PIN is 9034",
    ],
)
def test_a_password_is_known_by_the_words_around_it(text: str) -> None:
    (found,) = secrets.TABLE.find(text)

    assert found.rule in ("password", "pin")
    assert text[found.start : found.end].strip(".!") not in ("", "is")


@pytest.mark.parametrize(
    "text",
    [
        "my password is rotated every 90 days",
        "I changed my password on 2026-11-20.",
        "My password was changed on 11/20/2026",
        "password = getPassword()",
        "The team's password manager is Bitwarden.",
        "password must be at least 12 characters",
        "password_reset_ttl = 3600",
        "The door code is 4711, the alarm code is 4471",
        "Passwort ist abgelaufen",
        "la contraseña es muy larga",
        "The secret ingredient in grandma's soup is nutmeg.",
        "api key is in the vault, the key is under the mat",
        "The env var is called OPENAI_API_KEY and is read at start-up.",
        "export API_KEY=$OPENAI_API_KEY",
        'password = os.environ["DB_PASSWORD"]',
        "def login(user: str, password: str) -> None:",
        "The token is <YOUR_TOKEN>, or glpat-xxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE",
        "The partition key is customer_region_2024_v2",
        "max_tokens=4096, model=gpt-4o-2024-08-06",
        "Commit 4f2a9c81d3e0b7a6c5d4e3f2a1b0c9d8e7f6a5b4 introduced the regression.",
        "The request id was 550e8400-e29b-41d4-a716-446655440000.",
        "BEGIN PUBLIC KEY blocks are fine to commit; private keys are not.",
        "http://localhost:8080/a:b@c and redis://localhost:6379/0",
        "curl -u $USER:$PASSWORD https://host",
        "pin the message, press any key, tokens: 1200 in, 300 out",
    ],
)
def test_talk_about_secrets_is_no_secret(text: str) -> None:
    assert secrets.TABLE.find(text) == ()


def test_every_rule_compiles_and_its_hint_is_part_of_what_it_matches() -> None:
    for rule in secrets.TABLE.rules:
        patterns.compile(rule.pattern)
        patterns.compile(rule.hint, ignore_case=True)
    for text in FORMATS.values():
        hinted = {
            rule.name
            for rule in secrets.TABLE.rules
            if patterns.compile(rule.hint, ignore_case=True).search(text)
        }
        assert {finding.rule for finding in secrets.TABLE.find(text)} <= hinted


def test_places_beyond_counting_make_the_whole_text_one_finding() -> None:
    text = "pwd=aaaa " * (ruled.MAX_MATCHES + 1)

    assert [(f.start, f.end) for f in secrets.TABLE.find(text)] == [(0, len(text))]


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_secret_is_found_whatever_stands_around_it(before: str, after: str) -> None:
    token = "ghp_" + drawn(36, MIXED)
    text = f"{before} {token} {after}"

    found = secrets.TABLE.find(text.encode(errors="ignore").decode())

    assert any(finding.end - finding.start >= len(token) for finding in found)
