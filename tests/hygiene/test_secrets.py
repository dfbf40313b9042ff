"""Detection of secrets, and of texts that only resemble them."""

import base64
import hashlib
import json
import re
import string
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.hygiene.rules import MAX_MATCHES
from simonides.hygiene.secrets import find_secrets

HERE = Path(__file__).parent
CORPORA = Path(__file__).parents[2].parent / "shared" / "data" / "security"
MIXED = string.ascii_letters + string.digits


def drawn(size: int, alphabet: str = MIXED, *, salt: str = "") -> str:
    """Return the same random-looking text each time, so that this file holds no token."""
    digest, said = hashlib.sha512(f"{size}{alphabet}{salt}".encode()).digest(), ""
    while len(said) < size:
        said += "".join(alphabet[byte % len(alphabet)] for byte in digest)
        digest = hashlib.sha512(digest).digest()
    return said[:size]


def jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Ana"})
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return b".".join(coded).decode() + "." + drawn(43)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("aws-access-key", "AKIA" + drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
        ("gcp-api-key", "AIza" + drawn(35)),
        ("azure-storage-key", "AccountKey=" + drawn(86) + "=="),
        ("github-token", "ghp_" + drawn(36)),
        ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + drawn(60)),
        ("openai-key", "sk-proj-" + drawn(48)),
        ("anthropic-key", "sk-ant-api03-" + drawn(93) + "AA"),
        ("stripe-key", "sk_live_" + drawn(24)),
        ("slack-token", "xoxb-" + drawn(12, string.digits) + "-" + drawn(24)),
        ("telegram-bot-token", drawn(10, "123456789") + ":AA" + drawn(33)),
        ("private-key", f"-----BEGIN PRIVATE KEY-----\n{drawn(64)}\n-----END PRIVATE KEY-----"),
        ("jwt", jwt()),
        ("url-credentials", "postgresql://ana:" + drawn(12) + "@db.internal:5432/x"),
        ("curl-credentials", "curl -u ana:" + drawn(10) + " https://host"),
        ("http-header", "Authorization: Bearer " + drawn(32)),
        ("vendor-key", "datadog => " + drawn(40)),
        ("assigned", "client_secret: '" + drawn(30) + "'"),
        ("assigned", "client_secret: '" + drawn(3000) + "'"),
        ("card-number", "4111 1111 1111 1111"),
        ("card-number", "3782-822463-10005"),
        ("card-number", "card 3590730093437731"),
    ],
)
def test_known_formats_are_found_inside_prose(name: str, token: str) -> None:
    text = f"Für später 🔑: {token} , so that we do not forget it."

    (found,) = find_secrets(text)

    span = text[found.start : found.end]
    assert found.name == name
    assert span in token or token in span
    assert token[-8:] not in repr(found)


@pytest.mark.parametrize(
    ("text", "password"),
    [
        ("my password is hunter2", "hunter2"),
        ("The password for the router is Blue-Falcon-77.", "Blue-Falcon-77."),
        ("mein Passwort ist Sommer2024!", "Sommer2024!"),
        ("mon mot de passe est azerty123", "azerty123"),
        ("Mi contraseña del wifi es Perro#88", "Perro#88"),
        ("Пароль от почты это zima2020!", "zima2020!"),
        ("我的密码是abc12345", "abc12345"),
        ("パスワードはneko1234です", "neko1234"),
        ("PGPASSWORD=abcd1234 psql", "abcd1234"),
        ('db_password = "v3ry-s3cret"', "v3ry-s3cret"),
        ("My bank PIN is 9034", "9034"),
    ],
)
def test_passwords_are_found_by_the_words_around_them(text: str, password: str) -> None:
    assert [text[each.start : each.end] for each in find_secrets(text)] == [password]


@pytest.mark.parametrize(
    "text",
    """
    my password is rotated every 90 days
    I changed my password on 2026-11-20.
    password = getPassword()
    password_reset_ttl = 3600
    The door code is 4711
    la contraseña es muy larga
    The env var is called OPENAI_API_KEY and is read at start-up.
    export API_KEY=$OPENAI_API_KEY
    password = os.environ["DB_PASSWORD"]
    def login(user: str, password: str) -> None:
    The token is <YOUR_TOKEN>, or glpat-xxxxxxxxxxxxxxxxxxxx
    AKIAIOSFODNN7EXAMPLE
    The partition key is customer_region_2024_v2
    max_tokens=4096, model=gpt-4o-2024-08-06
    Commit 4f2a9c81d3e0b7a6c5d4e3f2a1b0c9d8e7f6a5b4 introduced the regression.
    The request id was 550e8400-e29b-41d4-a716-446655440000.
    curl -u $USER:$PASSWORD https://host
    pin the message, press any key, tokens: 1200 in, 300 out
    the order 4111 1111 1111 1112 and the build 4111111111111111-7
    """.strip().splitlines(),
)
def test_talk_about_secrets_is_no_secret(text: str) -> None:
    assert find_secrets(text.strip()) == ()


@pytest.mark.parametrize("text", (HERE / "secrets.txt").read_text("utf-8").splitlines())
def test_a_secret_is_found_by_its_noun_and_the_shape_of_its_value(text: str) -> None:
    assert find_secrets(text)


@pytest.mark.parametrize("text", (HERE / "harmless.txt").read_text("utf-8").splitlines())
def test_a_noun_of_secrets_alone_is_no_secret(text: str) -> None:
    assert find_secrets(text) == ()


def test_a_bare_seed_phrase_counts_from_twelve_words_on() -> None:
    words = "acid adult afford again agent ahead aim air alarm album alert alien".split()

    assert [found.name for found in find_secrets(" ".join(words))] == ["seed-phrase"]
    assert find_secrets(" ".join(words[1:])) == ()


def technical_lines(turn: int) -> Iterator[str]:
    """Yield the lines of ``technical.txt`` with random values, other ones in each turn."""
    alphabets = {
        "hex": "0123456789abcdef", "n": string.digits, "b64": MIXED + "+/", "id": MIXED + "_-",
        "b32": string.ascii_lowercase + "234567",
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        salt = f"{turn}{match.start()}{match.string}"
        return drawn(int(match[2]), alphabets[match[1]], salt=salt)

    for each in (HERE / "technical.txt").read_text("utf-8").splitlines():
        line = each.replace("{uuid}", "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}")
        yield re.sub(r"{(\w+):(\d+)}", value, line)


def test_technical_lines_without_secrets_raise_few_alarms() -> None:
    lines = [line for turn in range(6) for line in technical_lines(turn)]

    assert len(lines) > 1000
    assert sum(map(bool, map(find_secrets, lines))) <= 0.005 * len(lines)


def test_the_earlier_rule_counts_where_matches_overlap() -> None:
    (found,) = find_secrets(f"token=ghp_{drawn(36)}==a1b2c3")

    assert (found.name, found.start, found.end) == ("github-token", 6, 46)


def test_invisible_characters_do_not_hide_a_secret() -> None:
    token = "ghp_\u200b" + drawn(18) + "\U000e0041" + drawn(18)

    (found,) = find_secrets(f"it is {token}.")

    assert (found.start, found.end) == (6, 6 + len(token))


@given(st.text(st.characters(), max_size=200), st.text(st.characters(), max_size=200))
def test_a_secret_is_found_in_any_text_without_overlaps(before: str, after: str) -> None:
    text = f"{before} ghp_{drawn(36)} {after}"

    found = find_secrets(text)

    covered = [place for each in found for place in range(each.start, each.end)]
    assert set(range(len(before) + 1, len(before) + 41)) <= set(covered)
    assert covered == sorted(set(covered))


@pytest.mark.parametrize(
    "chunk", ["pwd=aaaa ", "a1B.", "密码是abcd", "key", "4111 1111 ", "(", "curl auth: ", "ey"]
)
def test_hostile_texts_cost_linear_time(chunk: str) -> None:
    text = (chunk * 65_536)[:65_536]
    find_secrets(text)

    start = time.perf_counter()
    find_secrets(text)

    assert time.perf_counter() - start < 10  # square time takes minutes


def test_too_many_matches_make_the_whole_text_one_secret() -> None:
    text = "pwd=aaaa " * (MAX_MATCHES + 1)

    assert [(each.start, each.end) for each in find_secrets(text)] == [(0, len(text))]


def corpus(name: str) -> Iterator[tuple[str, str]]:
    file = CORPORA / f"{name}.dev.jsonl"
    if not file.exists():
        pytest.skip(f"needs the corpus shared/data/security/{file.name} beside the repository")
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["text"], row["label"]


def test_most_secrets_of_the_corpus_are_found() -> None:
    texts = [text for text, label in corpus("secrets") if label == "secret"]

    assert sum(map(bool, map(find_secrets, texts))) >= 0.95 * len(texts)


@pytest.mark.parametrize("name", ["benign_memory", "benign_prompt", "benign_notinject"])
def test_benign_texts_raise_few_alarms(name: str) -> None:
    texts = [text for text, _ in corpus(name)]

    assert sum(map(bool, map(find_secrets, texts))) <= 0.01 * len(texts)
