"""Key rings: where they come from, what is refused, and that nothing shows a key."""

import base64
import os
import sys
import traceback
from pathlib import Path

import pytest

from simonides.api.open.models import choose_keys
from simonides.domain.errors import ConfigurationError, KeyUnavailable
from simonides.settings import Settings
from simonides.storage.encryption.key_ring import HeldKeys, new_key
from simonides.storage.integrity.codes import RowMacs

KEY = bytes(range(32))
SAID = base64.b64encode(KEY).decode()
RING = f"# the newest first\n\n2026-11 = {SAID}\n2025 = {base64.b64encode(KEY[::-1]).decode()}\n"


def private(path: Path, text: str = RING, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def shown(error: BaseException) -> str:
    """All that a log could show of an error: itself, what led to it, and their attributes."""
    chain, texts = [error], []
    while chain:
        each = chain.pop()
        texts += [repr(each), str(each), repr(vars(each)), repr(each.args)]
        chain += [led for led in (each.__cause__, each.__context__) if led is not None]
    return "\n".join([*texts, *traceback.format_exception(error)])


def test_the_first_key_is_the_current_one() -> None:
    ring = HeldKeys.of_text(RING)

    assert ring.current == "2026-11"
    assert (ring.key("2026-11"), ring.key("2025")) == (KEY, KEY[::-1])


def test_a_new_key_is_a_line_of_a_ring_and_another_each_time() -> None:
    one, two = new_key("a"), new_key("b")

    ring = HeldKeys.of_text(f"{one}\n{two}")
    assert ring.current == "a"
    assert ring.key("a") != ring.key("b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no key"),
        ("# nothing\n", "holds no key"),
        (f"{SAID}", "line 1"),
        (f"a = {SAID}\nno separator", "line 2: must be"),
        (f"a = {SAID}\na = {SAID}", "line 2: names a key"),
        (f"a b = {SAID}", "the name of a key"),
        (f" = {SAID}", "the name of a key"),
        (f"{'n' * 65} = {SAID}", "the name of a key"),
        (f"a = {SAID[:-1]}!", "not base64"),
        (f"a = {SAID[:20]}", "line 1"),
        (f"a = {base64.b64encode(KEY[:16]).decode()}", "has 32 bytes, not 16"),
        ("\udcff", "line 1"),
    ],
    ids=range(12),
)
def test_a_text_that_is_no_ring_is_refused_by_its_line(text: str, said: str) -> None:
    with pytest.raises(KeyUnavailable, match=said) as refused:
        HeldKeys.of_text(text)
    assert SAID[:12] not in shown(refused.value).replace(text, "")


def test_a_key_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyUnavailable, match="has no key '2024'") as refused:
        HeldKeys.of_text(RING).key("2024")
    assert refused.value.key_id == "2024"


def test_nothing_shows_a_key() -> None:
    ring = HeldKeys.of_text(RING)
    codes = RowMacs("2026-11", KEY, bytes(16))

    for text in (repr(ring), str(ring), repr(codes), repr(Settings(keys=RING))):
        assert SAID not in text
        assert KEY.hex() not in text
        assert repr(KEY) not in text


def test_a_file_of_its_user_alone_is_read(tmp_path: Path) -> None:
    assert HeldKeys.of_file(private(tmp_path / "ring")).current == "2026-11"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666], ids=oct)
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(KeyUnavailable, match="chmod 600"):
        HeldKeys.of_file(private(tmp_path / "ring", mode=mode))


def test_a_file_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyUnavailable, match="cannot be read"):
        HeldKeys.of_file(tmp_path / "nothing")
    with pytest.raises(KeyUnavailable):
        HeldKeys.of_file(tmp_path)
    with pytest.raises(KeyUnavailable, match="longer than"):
        HeldKeys.of_file(private(tmp_path / "long", "#" * 70_000))


@pytest.mark.skipif(os.name == "nt", reason="needs chown")
@pytest.mark.skipif(os.name != "nt" and os.geteuid() != 0, reason="needs root to give files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = private(tmp_path / "ring")
    os.chown(file, 12345, -1)

    # Root may read it all the same, and must not take another's word for its keys.
    with pytest.raises(KeyUnavailable, match="another user"):
        HeldKeys.of_file(file)


def says(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_command_prints_the_ring() -> None:
    ring = HeldKeys.of_command(says(f"print({RING!r})"), timeout_s=30)

    assert ring.key("2026-11") == KEY


def test_a_command_is_run_without_a_shell(tmp_path: Path) -> None:
    with pytest.raises(KeyUnavailable, match="cannot be run"):
        HeldKeys.of_command([f"cat {private(tmp_path / 'ring')}"], timeout_s=30)


@pytest.mark.parametrize(
    ("code", "timeout_s", "said"),
    [
        (f"print({RING!r}); raise SystemExit(3)", 30.0, "exit code 3"),
        (f"import time; print({RING!r}, flush=True); time.sleep(60)", 0.5, "no answer within 0.5"),
        (f"import sys; sys.stdout.buffer.write(b'\\xff' + {RING.encode()!r})", 30.0, "line 1"),
    ],
    ids=["fails", "hangs", "garbles"],
)
def test_a_command_that_fails_shows_nothing_of_what_it_said(
    code: str, timeout_s: float, said: str
) -> None:
    with pytest.raises(KeyUnavailable, match=said) as refused:
        HeldKeys.of_command(says(code), timeout_s=timeout_s)
    # The traceback shows this test's own source; the error and what led to it are the point.
    error: BaseException | None = refused.value
    while error is not None:
        assert SAID not in f"{error!r} {vars(error)!r} {error.args!r}"
        error = error.__cause__ or error.__context__


def test_settings_name_one_ring(tmp_path: Path) -> None:
    file = private(tmp_path / "ring")
    command = tuple(says(f"print({RING!r})"))

    assert choose_keys(Settings(), None) is None
    for settings in (Settings(keys=RING), Settings(keys_file=file), Settings(keys_command=command)):
        ring = choose_keys(settings, None)
        assert ring is not None
        assert ring.key("2026-11") == KEY
    with pytest.raises(ConfigurationError, match="keys, keys_file"):
        choose_keys(Settings(keys=RING, keys_file=file), None)


def test_the_environment_names_a_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMONIDES_KEYS", RING)
    ring = choose_keys(Settings(), None)

    assert ring is not None
    assert ring.current == "2026-11"
