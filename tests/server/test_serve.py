"""The server as a process, and the command line as its client."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx2
import pytest

import simonides
from simonides.core.errors import StoreUnavailable


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


def command(path, *arguments, **variables):
    """Return a finished command of the command line."""
    return subprocess.run(
        [sys.executable, "-m", "simonides", "--store", str(path), *arguments],
        env=os.environ | variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture
def start(path):
    """Return a function that starts `simonides serve`, and returns its address and its process."""
    begun = []

    def started(*options, store=path):
        process = subprocess.Popen(
            [sys.executable, "-m", "simonides", "--store", str(store), "serve", "--port", "0",
             *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        begun.append(process)
        link = process.stdout.readline().split("once: ")[1].strip()
        return link, link.partition("/login")[0], process

    yield started
    for process in begun:
        process.kill()
        process.wait()
        process.stdout.close()


def test_one_command_serves_a_fresh_store_and_its_link_opens_the_api(start):
    link, url, _ = start()
    with httpx2.Client(follow_redirects=True) as browser:
        assert "the API" in browser.get(link).text
        same = {"Sec-Fetch-Site": "same-origin", "Simonides-User": "ana"}
        told = browser.post(f"{url}/v1/memories", json={"content": "Tea is green"}, headers=same)
        assert told.json()["kind"] == "created"
    assert httpx2.get(link).status_code == 401  # it was used


def test_other_hosts_are_let_in_only_with_tokens_and_tls(path):
    nobody = command(path, "serve", "--host", "0.0.0.0", "--port", "0")
    assert (nobody.returncode, "simonides token new" in nobody.stderr) == (2, True)
    assert command(path, "token", "new", "bot", "--user", "ana").returncode == 0
    clear = command(path, "serve", "--host", "0.0.0.0", "--port", "0")
    assert (clear.returncode, "--tls-certificate" in clear.stderr) == (2, True)


def test_a_taken_port_is_named(start, path):
    _, url, _ = start()
    taken = command(path, "serve", "--port", url.rpartition(":")[2])
    assert taken.returncode == 2
    assert "--port 0 takes a free one" in taken.stderr


def test_a_stop_under_load_loses_nothing_acknowledged(start, path):
    _, url, process = start()
    token = command(path, "token", "new", "bot", "--user", "ana").stdout.split()[0]
    kept, ends = [], threading.Event()

    def write(number):
        with httpx2.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            for n in range(200):
                try:
                    body = {"content": f"Parcel {number}-{n} is on the way"}
                    answer = http.post(f"{url}/v1/memories", json=body)
                except httpx2.HTTPError:
                    return
                if answer.status_code == 200:
                    kept.append(answer.json()["record"]["root"])
                if len(kept) > 20:
                    ends.set()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    assert ends.wait(30)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) in (0, -signal.SIGTERM)
    for thread in threads:
        thread.join(30)
    with simonides.open(path) as store:
        memory = store.memory(user="ana")
        assert all(memory.get(root) is not None for root in kept)
        assert memory.audit.verify()


def test_what_one_door_adds_another_finds_at_once(start, path):
    _, url, _ = start()
    token = command(path, "token", "new", "bot", "--user", "ana").stdout.split()[0]
    remote = simonides.open(url, token=token)
    memory = remote.memory(user="ana")
    memory.remember("The key lies under the mat", key="key")
    with simonides.open(path) as store:
        here = store.memory(user="ana")
        assert here.get("key").content == "The key lies under the mat"
        here.correct("key", "The key lies in the drawer")
        assert here.digest("Where is the key?").text == memory.digest("Where is the key?").text
    assert memory.get("key").content == "The key lies in the drawer"
    shown = command(path, "--user", "ana", "get", "key")
    assert "in the drawer" in shown.stdout
    remote.close()


def test_four_servers_share_conversations_work_and_tokens(start, postgres_place):
    place = postgres_place
    with simonides.open(place.target) as store:
        secret = store.admin("root").new_token("four", user="ana").secret
        urls = [start(store=place.target)[1] for _ in range(4)]
        remotes = [simonides.open(url, token=secret) for url in urls]
        doors = [remote.memory(user="ana") for remote in remotes]

        def each(work):
            threads = [threading.Thread(target=work, args=each) for each in enumerate(doors)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)

        def talk(number, memory):
            for n in range(5):
                text = f"The parcel {number}-{n} is red."
                memory.session("talk").add(text)
            memory.remember(f"My dog is called Rex{number}", key="dog")

        each(talk)
        doors[0].session("talk").note("We chose the red paint", category="decision")
        each(lambda _, memory: memory.session("talk").end())
        talk = doors[0].session("talk").messages()
        said = [each.content for each in talk if each.content != "We chose the red paint"]
        assert sorted(said) == [f"The parcel {i}-{n} is red." for i in range(4) for n in range(5)]
        assert len({memory.get("dog").content for memory in doors}) == 1
        ana = store.memory(user="ana")
        assert [each.version for each in ana.history("dog")] == [1, 2, 3, 4]
        assert [each.content for each in ana.list() if each.category == "decision"] == [
            "We chose the red paint"
        ]
        assert ana.audit.verify()
        store.admin("root").revoke_token("four")
        deadline = time.monotonic() + 30
        while doors:
            assert time.monotonic() < deadline, "a revoked token is still accepted"
            doors = [memory for memory in doors if is_let_in(memory)]
        for remote in remotes:
            remote.close()


def is_let_in(memory):
    try:
        memory.status()
    except simonides.Unauthenticated:
        return False
    return True


def test_the_command_line_works_with_a_server(start, path, tmp_path):
    _, url, process = start()
    token = command(path, "token", "new", "bot", "--user", "ana").stdout.split()[0]
    ana = ("--user", "ana")
    told = command(url, *ana, "remember", "Tea is green", "--key", "tea", SIMONIDES_TOKEN=token)
    assert told.returncode == 0, told.stderr
    found = command(url, *ana, "recall", "tea", SIMONIDES_TOKEN=token)
    assert "Tea is green" in found.stdout
    as_ben = command(url, "--user", "ben", "recall", "tea", SIMONIDES_TOKEN=token)
    assert (as_ben.returncode, "another user" in as_ben.stderr) == (2, True), as_ben.stderr
    assert "needs a token" in command(url, *ana, "recall", "tea").stderr
    process.kill()
    process.wait()
    gone = command(url, *ana, "remember", "Tea is black", SIMONIDES_TOKEN=token)
    assert gone.returncode == 3
    assert re.search("did not answer", gone.stderr)
    assert "may have been done" not in gone.stderr  # nobody took the request


async def _ask(url, token):
    async with await simonides.aopen(url, token=token) as store:
        memory = store.memory(user="ana")
        await memory.remember("Tea is green", key="tea")
        return [hit.content for hit in await memory.recall("tea")]


def test_the_async_face_works_with_a_server(start, path):
    import asyncio

    _, url, _ = start()
    token = command(path, "token", "new", "bot", "--user", "ana").stdout.split()[0]
    assert asyncio.run(_ask(url, token)) == ["Tea is green"]


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, "<html>"), (200, "null"), (200, "[]"), (200, '{"items": 3}'), (200, '{"items": []}'),
     (302, ""), (500, "5"), (502, '"code"'), (500, "[]")],
)  # fmt: skip
def test_an_answer_of_another_program_is_a_typed_error(serve_app, status, body):
    async def other(scope, receive, send):
        if scope["type"] == "lifespan":
            return
        start = {"type": "http.response.start", "status": status, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": body.encode()})

    with simonides.open(serve_app(other), token="t") as store, pytest.raises(StoreUnavailable):
        store.memory(user="ana").recall("tea")


def test_a_write_that_nobody_answered_may_have_been_done():
    def hear():
        taken, _ = listener.accept()
        taken.recv(1)
        taken.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=hear)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (
            simonides.open(url, token="t") as store,
            pytest.raises(StoreUnavailable, match="it may have been done"),
        ):
            store.memory(user="ana").remember("Tea is green")
        thread.join()
