"""Imports: how fast, whether recall finds the same afterwards, and whether counts are exact.

    python -m benchmarks.imports speed FOLDER [--profile]   # turns of realmem, beam_100k and locomo
    python -m benchmarks.imports recall FOLDER              # everyday and locomo
    python -m benchmarks.imports counts [--turns 20000]     # every format

FOLDER holds the sets of the retrieval evaluation. `recall` gives the same turns by `session.add`,
from an export of ChatGPT and from plain lines. It fails if recall@10 differs by more than .01.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import json
import pstats
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import simonides
from simonides.testing import ManualClock

Row = dict[str, Any]
MOST_APART = 0.01
BEGUN = datetime(2026, 1, 5, 9, tzinfo=UTC)


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows_of(corpus: Iterable[Row], second: str = "assistant") -> list[Row]:
    """Return the turns of a set as plain rows; `second` speaks as the assistant."""
    return [
        {
            "id": row["item_id"],
            "role": "assistant" if row["speaker"].lower() == second.lower() else "user",
            "session": row["session_id"],
            "content": row["text"],
            "at": moment(row["timestamp"]).isoformat(),
        }
        for row in corpus
    ]


def moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def write_lines(path: Path, rows: Iterable[Row]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


# -- speed -----------------------------------------------------------------------------------------


def speed(sets: Path, folder: Path, *, profiled: bool) -> None:
    names = ("realmem", "beam_100k", "locomo")
    rows = [row for name in names for row in rows_of(read(sets / name / "dev" / "corpus.jsonl"))]
    path = write_lines(folder / "rows.jsonl", rows)
    profile = cProfile.Profile()
    with simonides.open(folder / "store.db") as store:
        memory = store.memory(user="ana")
        wall, cpu = time.perf_counter(), time.thread_time()
        if profiled:
            profile.enable()
        report = memory.data.import_from(path)
        profile.disable()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        print(f"{len(rows):,} turns in {report.conversations:,} conversations: {report.reasons}")
        print(f"{len(rows) / wall:,.0f} a second, {len(rows) / cpu:,.0f} of the processor's")
        if profiled:
            pstats.Stats(profile).sort_stats("cumtime").print_stats(60)
            pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        store._engine.worker.stop()  # the turns are not read here


# -- recall ----------------------------------------------------------------------------------------


def as_chatgpt(rows: Sequence[Row]) -> list[Row]:
    talks: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        talks[row["session"]].append(row)
    return [chatgpt(name, talk) for name, talk in talks.items()]


def given(memory: simonides.Memory, clock: ManualClock, rows: Sequence[Row], _: Path) -> None:
    for row in rows:
        clock.set(datetime.fromisoformat(row["at"]))
        message = {"role": row["role"], "content": row["content"], "at": row["at"]}
        memory.session(row["session"].replace("/", "_")).add(message)


def from_chatgpt(memory: simonides.Memory, _: ManualClock, rows: Sequence[Row], to: Path) -> None:
    path = to / "conversations.json"
    path.write_text(json.dumps(as_chatgpt(rows)))
    memory.data.import_from(path)


def from_plain(memory: simonides.Memory, _: ManualClock, rows: Sequence[Row], to: Path) -> None:
    memory.data.import_from(write_lines(to / "rows.jsonl", rows))


def people(sets: Path) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Yield the set, the turns and the questions of each person."""
    for person in sorted(each for each in (sets / "everyday").iterdir() if each.is_dir()):
        corpus, queries = (read(person / f"{kind}.jsonl") for kind in ("corpus", "queries"))
        yield "everyday", rows_of(corpus), queries
    corpus, queries = (read(sets / f"locomo/dev/{kind}.jsonl") for kind in ("corpus", "queries"))
    for conversation in sorted({row["conv_id"] for row in corpus}):
        of = [row for row in corpus if row["conv_id"] == conversation]
        second = next(row["speaker"] for row in of if row["speaker"] != of[0]["speaker"])
        asked = [each for each in queries if each["conv_id"] == conversation]
        yield "locomo", rows_of(of, second), asked


def recall(sets: Path, folder: Path) -> None:
    ways: dict[str, Callable[..., None]] = {
        "session.add": given, "chatgpt": from_chatgpt, "plain": from_plain,
    }  # fmt: skip
    found: dict[str, Counter[str]] = {name: Counter() for name in ways}
    asked: Counter[str] = Counter()
    for name, rows, queries in people(sets):
        queries = [each for each in queries if not each["abstain"] and each["evidence_item_ids"]]
        asked[name] += len(queries)
        for way, give in ways.items():
            found[way][name] += found_of(give, rows, queries, folder)
    figures = {
        way: {name: counts[name] / asked[name] for name in asked} for way, counts in found.items()
    }
    for way, shares in figures.items():
        line = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
        print(f"{way:12} recall@10 {line}", flush=True)
    apart = max(
        abs(shares[name] - figures["session.add"][name])
        for shares in figures.values() for name in asked
    )  # fmt: skip
    if apart > MOST_APART:
        sys.exit(f"recall@10 differs by {apart:.3f}")


def found_of(
    give: Callable[..., None], rows: Sequence[Row], queries: Sequence[Row], folder: Path
) -> float:
    clock = ManualClock(datetime.fromisoformat(rows[0]["at"]))
    text = {row["id"]: row["content"].strip() for row in rows}
    last = max(datetime.fromisoformat(row["at"]) for row in rows)
    found = 0.0
    with simonides.open(":memory:", clock=clock) as store:
        memory = store.memory(user="ana")
        if give is not given:
            clock.set(last + timedelta(days=1))
        give(memory, clock, rows, folder)
        clock.set(last + timedelta(days=1))
        store._engine.worker.flush()
        for query in queries:
            clock.set(moment(query["question_date"]) if query.get("question_date") else last)
            gold = {text[id] for id in query["evidence_item_ids"] if id in text}
            hits = {hit.content for hit in memory.recall(query["question"], limit=10)}
            found += len(gold & hits) / max(len(gold), 1)
    return found


# -- counts: a conversation of ten turns in each format, and what is to be left of it --------------


def chatgpt(name: str, talk: Sequence[Row]) -> Row:
    nodes: dict[str, Row] = {"root": {"id": "root", "parent": None, "message": None}}
    last = "root"
    for row in talk:
        message = {
            "id": row["id"], "author": {"role": row["role"]},
            "create_time": datetime.fromisoformat(row["at"]).timestamp(),
            "content": {"content_type": "text", "parts": [row["content"]]},
        }  # fmt: skip
        nodes[row["id"]] = {"id": row["id"], "parent": last, "message": message}
        last = row["id"]
    return {"conversation_id": name, "current_node": last, "mapping": nodes}


def chatgpt_with_losses(name: str, talk: Sequence[Row]) -> list[Row]:
    value = chatgpt(name, talk)
    first = talk[0]["id"]
    message = {**value["mapping"][first]["message"], "id": "old"}
    value["mapping"]["old"] = {"id": "old", "parent": "root", "message": message}
    hidden = {**message, "id": "h", "metadata": {"is_visually_hidden_from_conversation": True}}
    value["mapping"]["h"] = {"id": "h", "parent": "root", "message": hidden}
    value["mapping"][first]["parent"] = "h"
    return [value]


def claude(name: str, talk: Sequence[Row]) -> list[Row]:
    messages = [
        {
            "uuid": row["id"], "text": row["content"], "created_at": row["at"],
            "sender": "human" if row["role"] == "user" else "assistant",
            "attachments": [{"file_name": "a.txt"}] if number == 0 else [],
        }
        for number, row in enumerate(talk)
    ]  # fmt: skip
    return [{"uuid": name, "chat_messages": messages}]


def open_webui(name: str, talk: Sequence[Row]) -> list[Row]:
    messages, last = {}, None
    for row in talk:
        messages[row["id"]] = {
            "id": row["id"], "parentId": last, "role": row["role"], "content": row["content"],
            "timestamp": int(datetime.fromisoformat(row["at"]).timestamp()),
        }  # fmt: skip
        last = row["id"]
    messages["old"] = {**messages[talk[-1]["id"]], "id": "old"}
    return [{"id": name, "chat": {"history": {"currentId": last, "messages": messages}}}]


def claude_code(name: str, talk: Sequence[Row]) -> list[Row]:
    lines = [
        {
            "type": row["role"], "uuid": row["id"], "sessionId": name, "timestamp": row["at"],
            "message": {"role": row["role"], "content": row["content"]},
        }
        for row in talk
    ]  # fmt: skip
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "Done."}]
    tool = {**lines[0], "uuid": f"{name}-t", "message": {"role": "user", "content": result}}
    return [{**lines[0], "isMeta": True}, *lines, {**lines[1], "isSidechain": True}, tool]


def codex(name: str, talk: Sequence[Row]) -> list[Row]:
    lines: list[Row] = [{"type": "session_meta", "payload": {"id": name}}]
    for row in talk:
        part = {"type": "input_text", "text": row["content"]}
        item = {"type": "message", "role": row["role"], "content": [part]}
        event = {"type": f"{row['role']}_message".replace("assistant", "agent")}
        for kind, payload in (
            ("response_item", item), ("event_msg", {**event, "message": row["content"]}),
        ):  # fmt: skip
            lines.append({"type": kind, "timestamp": row["at"], "payload": payload})
    return lines


def letta(name: str, talk: Sequence[Row]) -> list[Row]:
    messages = [
        {
            "id": row["id"], "role": row["role"], "created_at": row["at"],
            "content": [{"type": "text", "text": (
                json.dumps({"type": "user_message", "message": row["content"]})
                if row["role"] == "user" else row["content"]
            )}],
        }
        for row in talk
    ]  # fmt: skip
    messages += [{"role": "system", "content": "You are an agent."}]
    messages += [{"role": "user", "content": '{"type": "heartbeat"}'}]
    return [{"agents": [{"id": name, "messages": messages}], "blocks": []}]


def zep(name: str, talk: Sequence[Row]) -> list[Row]:
    episodes = [
        {
            "uuid": row["id"], "thread_id": name, "group_id": "ana", "source": "message",
            "content": f"{row['role']}: {row['content']}", "valid_at": row["at"],
        }
        for row in talk
    ]  # fmt: skip
    return [*episodes, {**episodes[0], "source": "text"}, {"uuid": name, "group_id": "ana"}]


def plain(_: str, talk: Sequence[Row]) -> list[Row]:
    return [*talk, {**talk[0], "user_id": "bo"}]


WRITERS: Mapping[str, tuple[Callable[[str, Sequence[Row]], list[Row]], Counter[str]]] = {
    "chatgpt": (chatgpt_with_losses, Counter({"left:other_branch": 1, "left:hidden": 1})),
    "claude": (claude, Counter({"left:attachment": 1})),
    "open-webui": (open_webui, Counter({"left:other_branch": 1})),
    "claude-code": (
        claude_code, Counter({"left:harness": 1, "left:subagent": 1, "left:tool": 1}),
    ),
    "codex": (codex, Counter({"left:harness": 1, "left:said_twice": 10})),
    "letta": (letta, Counter({"left:harness": 2})),
    "zep": (zep, Counter({"left:not_a_message": 1, "left:not_a_fact": 1})),
    "plain": (plain, Counter({"left:other_user": 1})),
}  # fmt: skip
"""Of each format, how a conversation is written, and what is left of it."""


# -- the same of formats of memories ---------------------------------------------------------------


def mem0(_: str, talk: Sequence[Row]) -> list[Row]:
    rows = [
        {
            "id": row["id"], "memory": row["content"], "hash": row["id"], "user_id": "ana",
            "created_at": row["at"],
        }
        for row in talk
    ]  # fmt: skip
    return [*rows, {**rows[0], "user_id": "bo"}]


def zep_facts(name: str, talk: Sequence[Row]) -> list[Row]:
    rows = [
        {"uuid": row["id"], "fact": row["content"], "valid_at": row["at"], "group_id": "ana"}
        for row in talk
    ]
    node = {"uuid": name, "name": "island", "group_id": "ana"}
    return [*rows, {**rows[0], "expired_at": rows[1]["valid_at"]}, node]


def mcp_memory(name: str, talk: Sequence[Row]) -> list[Row]:
    said = [row["content"] for row in talk]
    entity = {"type": "entity", "name": name, "entityType": "trip", "observations": said}
    return [entity, {**entity, "name": "Nobody", "observations": []}]


def langgraph(_: str, talk: Sequence[Row]) -> list[Row]:
    rows = [
        {
            "namespace": ["memories", "ana"], "key": row["id"], "value": {"text": row["content"]},
            "created_at": row["at"], "updated_at": row["at"],
        }
        for row in talk
    ]  # fmt: skip
    return [*rows, {**rows[0], "namespace": ["memories", "bo"]}]


def letta_block(name: str, talk: Sequence[Row]) -> list[Row]:
    value = "\n".join(row["content"] for row in talk)
    system = {"role": "system", "content": "You are an agent."}
    agents = [{"id": name, "messages": [system]}]
    return [{"agents": agents, "blocks": [{"label": "human", "value": value}]}]


def rows_of_facts(_: str, talk: Sequence[Row]) -> list[Row]:
    rows = [
        {"id": row["id"], "text": row["content"], "at": row["at"], "user_id": "ana"} for row in talk
    ]
    return [*rows, {**rows[0], "user_id": "bo"}]


def note(name: str, talk: Sequence[Row]) -> str:
    lines = [f"- [fact] {row['content']}" for row in talk]
    return "\n".join([f"---\ntitle: {name}\n---", f"# {name}", "Some prose.", *lines, ""])


MEMORIES: Mapping[str, tuple[str, Callable[[str, Sequence[Row]], Any], Counter[str]]] = {
    "mem0": ("jsonl", mem0, Counter({"left:other_user": 1})),
    "zep": ("jsonl", zep_facts, Counter({"left:ended": 1, "left:not_a_fact": 1})),
    "mcp-memory": ("jsonl", mcp_memory, Counter({"left:empty": 1})),
    "langgraph": ("jsonl", langgraph, Counter({"left:other_user": 1})),
    "letta": ("jsonl", letta_block, Counter({"left:harness": 1})),
    "plain": ("csv", rows_of_facts, Counter({"left:other_user": 1})),
    "basic-memory": ("md", note, Counter({"left:prose": 1})),
}  # fmt: skip
"""Of each format of memories, its kind of file, how ten of them are written, what is left."""


def write_memories(folder: Path, name: str, talks: int) -> Path:
    """Write ten memories a talk in a format, and return the file or the folder."""
    suffix, write, _ = MEMORIES[name]
    parts = [write(f"Island {number}", talk_of(number)) for number in range(talks)]
    path = folder / f"{name}.memories.{suffix}"
    if suffix == "md":
        path.mkdir()
        for number, part in enumerate(parts):
            (path / f"island-{number}.md").write_text(part)
    elif suffix == "csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(parts[0][0]))
            table.writeheader()
            for part in parts:
                table.writerows(part)
    else:
        write_lines(path, (row for part in parts for row in part))
    return path


def counts(turns: int, folder: Path) -> None:
    talks = turns // 10
    wrong = []
    for format, (write, losses) in WRITERS.items():
        path = folder / f"{format}.jsonl"
        lines = (line for talk in range(talks) for line in write(f"talk-{talk}", talk_of(talk)))
        write_lines(path, lines)
        wrong += counted(format, path, talks, losses, conversations=talks)
    for format, (_, _, losses) in MEMORIES.items():
        path = write_memories(folder, format, talks)
        wrong += counted(format, path, talks, losses, conversations=0)
    if wrong:
        sys.exit(f"not exact: {', '.join(wrong)}")


def counted(
    format: str, path: Path, talks: int, losses: Counter[str], *, conversations: int
) -> list[str]:
    """Import a file twice; return its format if a count differs from what was written."""
    with simonides.open(path.with_suffix(".db"), embedder="none") as store:
        memory = store.memory(user="ana")
        began = time.perf_counter()
        report = memory.data.import_from(path)
        took = time.perf_counter() - began
        again = memory.data.import_from(path)
        store._engine.worker.stop()
    expected = {reason: count * talks for reason, count in losses.items()}
    is_exact = (report.format, report.stored, report.conversations, report.reasons) == (
        format, 10 * talks, conversations, expected,
    ) and (again.stored, again.known) == (0, 10 * talks)  # fmt: skip
    print(
        f"{path.name:24} {report.stored:,} stored, {report.left:,} left, {again.known:,} known "
        f"again; {'exact' if is_exact else report}; {10 * talks / took:,.0f} a second",
        flush=True,
    )
    return [] if is_exact else [path.name]


def talk_of(number: int) -> list[Row]:
    return [
        {
            "id": f"m{number}-{turn}",
            "role": "assistant" if turn % 2 else "user",
            "session": f"talk-{number}",
            "content": f"Trip {number}: on day {turn} we took the ferry to island {number % 97}.",
            "at": (BEGUN + timedelta(minutes=30 * number + turn)).isoformat(),
        }
        for turn in range(10)
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("speed", "recall", "counts"))
    parser.add_argument("sets", type=Path, nargs="?")
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        match given.part:
            case "speed":
                speed(given.sets, Path(folder), profiled=given.profile)
            case "recall":
                recall(given.sets, Path(folder))
            case _:
                counts(given.turns, Path(folder))


if __name__ == "__main__":
    main()
