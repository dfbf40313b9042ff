"""The whole day of an agent in incognito mode, under a guard; prints what it saw as JSON.

Run as a program: ``incognito_day.py EXPORT_TO``, with everything set in the environment that would
lead elsewhere. What is said is made up at run time, so that it is in no constant of this file.
"""

import gc
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from principals import capture, erase, memory_for
from simonides import Draft
from simonides.prompting import Prompting

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
CHANGES = {
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.truncate",
    "os.mkfifo",
    "os.mknod",
    "os.chmod",
    "os.utime",
    "tempfile.mkstemp",
    "tempfile.mkdtemp",
    "shutil.copyfile",
    "shutil.move",
}
STARTS = {"subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.spawn"}

broken: list[str] = []
asked_for: str | None = None


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note whatever reaches out of this process."""
    reaches_out = event.startswith(("socket.", "sqlite3.", "urllib.", "ssl.", "ftplib.", "http."))
    if reaches_out or event in STARTS:
        broken.append(event)
    elif event == "open":
        path, mode, flags = arguments
        changes = set(mode or "") & set("wax+") or (flags or 0) & WRITES
        if changes and not is_asked_for(path):
            broken.append(f"open {path!r}")
    elif event in CHANGES and not is_asked_for(arguments[0]):
        broken.append(f"{event} {arguments[0]!r}")


def is_asked_for(path: object) -> bool:
    """Whether the user has just named this file, or the hidden one that it is until it is whole."""
    if isinstance(path, int):
        return True  # opened before, and looked at then
    if asked_for is None or not isinstance(path, (str, os.PathLike)):
        return False
    folder, name = os.path.split(os.fspath(path))
    wanted_in, wanted = os.path.split(asked_for)
    return folder == wanted_in and wanted in name


def word(seed: str) -> str:
    """Return a word that nobody has ever said."""
    digest = hashlib.sha256(seed.encode()).digest()
    return "".join("bcdfghjklmnpqrstvwxz"[byte % 20] + "aeiou"[byte % 5] for byte in digest[:7])


def day(simonides: Any, export_to: str) -> dict[str, Any]:
    """Live through a day; returns what is worth looking at of it."""
    global asked_for
    found: dict[str, Any] = {}
    with simonides.open(mode="incognito") as store:
        memory = memory_for(store, user=word("user"), org="acme", session=word("thread"))
        colour, city, name = word("colour"), word("city"), word("name")
        first = memory.remember(f"Prefers {colour} above all", key="colour", category="preference")
        memory.remember_many([simonides.Draft(f"{word('note')} is the password hint owner")])
        memory.remember(Draft("Always be brief", kind="procedural", tags=[word("tag")]))
        capture(memory, f"My name is {name} and I live in {city}.", speaker=name)
        memory.add(f"Never suggest {word('brand')} to me.")
        memory.recall(f"which {colour}?", limit=3)
        found["recalled"] = [hit.record.id == first.record.id for hit in memory.recall(colour)][:1]
        digest = memory.digest(f"{colour} {city}")
        memory.receipts.verify(f"[{first.record.id}]", digest.receipt)
        memory.receipts.replay(digest.receipt)
        Prompting(memory).push(city)
        Prompting(memory).search(name)
        triggers = Prompting(memory).triggers(city)
        triggers.before_model()
        triggers.before_tool("search", {"q": word("tool")})
        triggers.turn_end()
        memory.correct("colour", f"Prefers {word('other')} by now")
        memory.undo(memory.correct("colour", word("third")).events[-1].id)
        memory.confirm("colour")
        memory.explain(first.record.id, colour)
        memory.maintenance.ageing(first.record.id)
        memory.pending.to_verify()
        memory.list()
        memory.pending.list(kind="held")
        memory.pending.list(kind="review")
        memory.receipts.list()
        memory.maintenance.scan(f"{word('scanned')} 4111 1111 1111 1111")
        memory.maintenance.scan()
        memory.privacy.refuse(key="salary")
        memory.privacy.allow(key="salary")
        Prompting(memory).note_shown(f"shown {city}")
        memory.maintenance.gc()
        memory.maintenance.hygiene()
        store.agent(memory).run(
            f"For future updates, write in English and call me {word('nick')}.",
            f"Draft an update about {word('incident')}.",
        )
        admin = store.admin(actor="root")
        admin.grant("bob", "org_write", org="acme")
        admin.remember(simonides.Draft(word("global")))
        store.admin(actor="root").gc()
        store.admin(actor="root").reindex()
        store.deliver_outbox()
        status = memory.status()
        found["status"] = {name: status[name] for name in ("mode", "backend", "embedder", "model")}
        found["audit"] = store.admin(actor="root").check_audit().ok
        try:
            store.admin(actor="root").backup()
        except simonides.CarryRefused as error:
            found["backup"] = error.reason
        found["before_export"] = list(broken)
        asked_for = export_to
        found["exported"] = memory.data.export(export_to).counts["memory"]
        asked_for = None
        memory.forget("colour")
        found["erased"] = erase(memory).state
        found["left"] = [entry.content for entry in memory.list() if colour in entry.content]
    return found


def names() -> tuple[str, ...]:
    """Return every word that was made up."""
    seeds = "user thread colour city name note tag brand tool other third scanned nick"
    return tuple(word(seed) for seed in [*seeds.split(), "incident", "global"])


def remains() -> list[str]:
    """Return where a made-up word is still found in this process, by type of what holds it."""
    gc.collect()
    sought, places = names(), []
    for holder in gc.get_objects():
        if holder is sought:
            continue
        for held in gc.get_referents(holder):
            said = held if isinstance(held, str) else None
            if isinstance(held, (bytes, bytearray)):
                said = bytes(held).decode("utf-8", "replace")
            if said and any(each in said.casefold() for each in sought):
                places.append(f"{type(holder).__name__} {getattr(holder, '__name__', '')}")
    return sorted(set(places))


def descriptors() -> list[str]:
    """Return the files that this process holds open."""
    found = []
    for each in [*Path("/proc/self/fd").iterdir()]:
        try:
            place = str(each.readlink())
        except OSError:
            continue
        if place.startswith("/") and not place.startswith(("/proc", "/dev")):
            found.append(place)
    return sorted(found)


def guard_sqlite() -> Any:
    """Note every file that SQLite opens: a database, a journal or a temporary file.

    SQLite opens them below the interpreter, where no audit hook sees it, but always through its
    file system layer. A database in memory needs no file. Keep the result: it is the guard.
    """
    import apsw

    class Guard(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("guard", "", makedefault=True)

        def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802 - apsw's name
            path = name.filename() if isinstance(name, apsw.URIFilename) else name
            broken.append(f"SQLite opened {path}")
            return super().xOpen(name, flags)

    return Guard()


def main(export_to: str) -> None:
    """Live the day under the guard and tell of it."""
    import simonides
    import simonides.api.open.assemble  # what is written while importing is not the mode's
    import simonides.api.sync
    import simonides.settings

    _guard = guard_sqlite()
    held = descriptors()
    sys.addaudithook(watch)
    found = day(simonides, export_to)
    found["broken"] = list(broken)
    found["opened"] = [each for each in descriptors() if each not in held]
    found["remains"] = remains()
    sys.stdout.write(json.dumps(found, default=str))


if __name__ == "__main__":
    main(sys.argv[1])
