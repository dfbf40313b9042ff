"""Every line of a transcript is looked at before the first is stored."""

import json
from pathlib import Path
from typing import Any

import pytest

from simonides import Draft, InvalidInput
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.settings import Settings
from simonides.transfer.transcripts import BATCH

PLACE = BATCH + 51


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"text": "x" * (64 * 1024 + 1)}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"turn": 2**40}, "turn"),
        ({"speaker": "x" * 600}, "speaker"),
        ({"session_id": "x" * 600}, "session_id"),
        ({"session_id": "a\u200bb"}, "session_id"),
        ({"session_id": " s"}, "session_id"),
        ({"session_id": "a\nb"}, "session_id"),
    ],
)
def test_a_wrong_line_of_a_later_batch_stores_nothing(
    tmp_path: Path, wrong: dict[str, Any], field: str
) -> None:
    lines = [{"session_id": "s", "text": f"Line {number}"} for number in range(1, PLACE + 10)]
    lines[PLACE - 1] |= wrong
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    with Store(assemble(":memory:", settings=Settings(), inline=True)) as store:
        ana = store.memory(user="ana")
        with pytest.raises(InvalidInput) as caught:
            ana.data.import_from(file)

        assert caught.value.field == f"line {PLACE}: {field}"
        assert str(caught.value).count(field) == 1
        assert ana.list() == ()


def test_the_policy_of_the_principal_says_how_long_a_text_may_be(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("callers:\n  max_content_bytes: 10\n")
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps({"session_id": "s", "text": "x" * 11}), encoding="utf-8")

    with (
        Store(assemble(":memory:", settings=Settings(policy=policy), inline=True)) as store,
        pytest.raises(InvalidInput, match=r"^line 1: text: "),
    ):
        store.memory(user="ana").data.import_from(file)


def test_the_error_of_a_batch_names_its_field_once() -> None:
    with (
        Store(assemble(":memory:", settings=Settings(), inline=True)) as store,
        pytest.raises(InvalidInput) as caught,
    ):
        store.memory(user="ana").remember_many([Draft("Fine"), Draft("")])

    assert caught.value.field == "drafts[1].content"
    assert str(caught.value).count("content:") == 1


@pytest.mark.parametrize("name", ["2023/05/08", "conv 26: session 1", "日本語", "x" * 512])
def test_whatever_session_a_transcript_names_can_be_named_again(
    cli: Any, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps({"session_id": name, "text": "I saw a heron"}), encoding="utf-8")
    assert cli("session", "import", str(file)).returncode == 0

    assert cli("--session", name, "remember", "Ana likes birds").returncode == 0

    found = cli("list", "--filter", json.dumps({"session": name})).stdout
    assert ("heron" in found, "birds" in found) == (True, True)
    # Alone it is whose memory it is, and then an id.
    alone = cli("--session", name, "list", user=None)
    assert alone.returncode == (0 if name == "日本語" else 2)
