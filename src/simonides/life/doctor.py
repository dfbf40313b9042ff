"""Looks at the set-up of a store as an operator would before users come: what is wrong, and what
mends it.

Nothing is changed. Checks of files and settings work where the store does not open.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from itertools import chain
from pathlib import Path

from simonides.core.clock import DAY_MS, MINUTE_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import ConfigurationError, ScopeDenied, SimonidesError
from simonides.core.policy import Action, Policy
from simonides.core.scope import GLOBAL, Principal, Right, scope_of
from simonides.core.settings import Settings
from simonides.govern import audit
from simonides.govern.alerts import alerts_of
from simonides.govern.policy_file import load
from simonides.govern.tokens import tokens
from simonides.life.jobs import backups, lacking
from simonides.life.metrics import store_metrics
from simonides.life.results import Diagnosis, Finding
from simonides.storage import statements
from simonides.storage.files import BESIDE, check_copy, key_pragma
from simonides.storage.transaction import GC

MIB = 1 << 20
LEAST_FREE, MOST_LOG = 1024 * MIB, 64 * MIB
"""Bytes that are to be free, at least, and that a log may have. Set by judgement: SQLite empties
its log at 4 MiB unless a reader stays open."""

LATE_MS = 60 * MINUTE_MS
"""Age of a backup, and lateness of a job, from which something is wrong."""

GRACE_MS = 5 * MINUTE_MS
"""Time for the worker to look, and to copy; and by which clocks may differ. Set by judgement."""

SAMPLE, DIGESTS = 50, 1_000
"""Owners that are looked at without ``full``, another part each day; and for a digest."""

MOST_TRIES = 3
"""How often a job may have been begun in vain."""


Findings = Iterator[Finding]


def doctor(engine: Engine, who: Principal, *, full: bool = False) -> Diagnosis:
    """Look at all of a store's set-up.

    Args:
        engine: The store.
        who: An administrator of the whole store.
        full: Look at every owner instead of some.

    Raises:
        ScopeDenied: If the caller does not administer the store.
        StoreError: If the store cannot be read.
    """
    if not who.is_admin or who.home != GLOBAL:
        raise ScopeDenied(GLOBAL.path, Right.ADMIN, "open store.admin(actor=…)")
    engine.journal.flush()
    is_file = engine.db.backend == "sqlite" and engine.db.location != ":memory:"
    path = Path(engine.db.location) if is_file else None
    every = engine.db.owners()
    step = 1 if full else max(1, len(every) // SAMPLE)
    owners = every[engine.clock.now_ms() // DAY_MS % step :: step]
    checks: tuple[Callable[[Engine], Findings], ...] = (
        _backups, _old_databases, _rules, _jobs, partial(_digests, owners=every[:DIGESTS]),
        partial(_integrity, owners=owners), partial(_days, owners=owners),
        partial(_vectors, owners=owners), partial(_tokens, who=who),
    )  # fmt: skip
    stored = _finding("store", f"{engine.db.backend} at {engine.db.location} opens")
    found = (each for check in checks for each in check(engine))
    files = of_files(engine.settings, path, engine.db.backend)
    return Diagnosis(findings=(stored, *files, *found))


def unopened(error: SimonidesError, settings: Settings, path: Path | None) -> Diagnosis:
    """Say why a store does not open, and what its files and settings show."""
    closed = _finding("store", f"does not open: {error}", error.hint)
    return Diagnosis(findings=(closed, *of_files(settings, path, "sqlite" if path else "")))


def _finding(name: str, found: str, remedy: str = "", *, ok: bool = False) -> Finding:
    """Make a finding; it is well without a remedy, or where ``ok`` says so."""
    is_well = ok or not remedy
    return Finding(name=name, ok=is_well, found=found, remedy="" if is_well else remedy)


# -- files and settings ----------------------------------------------------------------------------


def of_files(settings: Settings, path: Path | None, backend: str) -> Findings:
    """Look at what needs no open store."""
    keyed = settings.audit_key is not None
    yield _finding(
        "audit key", "set" if keyed else "none: who can write the file can forge its history",
        "set SIMONIDES_AUDIT_KEY before a store is made, and keep the key outside of it", ok=keyed,
    )  # fmt: skip
    yield _finding(
        "isolation", f"require_org is {str(settings.require_org).lower()}",
        "set SIMONIDES_REQUIRE_ORG=true: a caller without an organisation is then refused",
        ok=settings.require_org,
    )  # fmt: skip
    yield from _versions()
    if path is not None:
        yield from _file(settings, path)
    elif backend == "sqlite":
        yield _finding("file", "the store is in memory: nothing stays", "name a file with --store")
    elif backend:
        roles = "the role owns no table and bypasses no row-level security (checked at opening)"
        yield _finding("role", roles)


def _file(settings: Settings, path: Path) -> Findings:
    is_keyed = settings.key is not None
    yield _finding(
        "encryption", "on" if is_keyed else "the file is readable to who copies it",
        "set SIMONIDES_KEY; an existing file stays as it is: restore a backup of it with a key",
        ok=is_keyed,
    )  # fmt: skip
    if not path.is_file():
        problem = "the first write makes it; another one is named with --store"
        yield _finding("file", f"{path} is not there", problem)
        return
    if os.name == "posix":
        yield from _rights(path)
    yield from _space(settings, path)
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.is_file() else 0
    yield _finding(
        "log", f"{log.name} has {size // MIB} MiB",
        "a reader stays open: restart the programs that have the store open", ok=size <= MOST_LOG,
    )  # fmt: skip
    left = sorted(each.name for each in path.parent.glob(f"{path.name}.before-*"))
    yield from _old("files", left, f"delete {path.parent / left[0]}" if left else "")


def _old(kind: str, names: list[str], remedy: str) -> Findings:
    if names:
        found = f"{', '.join(names)} may hold what was forgotten since a restore"
        yield _finding(f"old {kind}", found, f"{remedy} when you do not need it any more")


def _rights(path: Path) -> Findings:
    there = [each for end in ("", *BESIDE, "-lock") if (each := Path(f"{path}{end}")).is_file()]
    open_to = [each for each in there if each.stat().st_mode & 0o077]
    yield _finding(
        "file rights", ", ".join(f"{each.name} {each.stat().st_mode & 0o777:o}" for each in there),
        f"run: chmod 600 {' '.join(map(str, open_to))}", ok=not open_to,
    )  # fmt: skip
    mode = path.parent.stat().st_mode
    yield _finding(
        "folder rights", f"{path.parent} {mode & 0o777:o}",
        f"run: chmod go-w {path.parent}: others can replace the file", ok=not mode & 0o022,
    )  # fmt: skip


def _space(settings: Settings, path: Path) -> Findings:
    needed = max(LEAST_FREE, 2 * path.stat().st_size)
    for folder in filter(None, (path.parent, settings.backup_to)):
        if folder.is_dir():
            free = shutil.disk_usage(folder).free
            yield _finding(
                "disk", f"{free // MIB:,} MiB are free at {folder}",
                f"free space: {needed // MIB:,} MiB are to be free, twice the store",
                ok=free >= needed,
            )  # fmt: skip


def _versions() -> Findings:
    try:
        key_pragma("probe")
        named = metadata.requires("simonides") or []
    except (ConfigurationError, metadata.PackageNotFoundError) as error:
        yield _finding("packages", str(error), "run: pip install --force-reinstall simonides")
        return
    wrong, extras = [], set[str]()
    for line in named:
        requirement = re.match(r"([\w.-]+)(?:\[.*?\])?>=([\d.]+)(?:.*extra == .(\w+))?", line)
        name, least, extra = requirement.groups() if requirement else (line, "0", "")
        try:
            have = metadata.version(name)
        except metadata.PackageNotFoundError:
            wrong += [] if extra else [f"{name} is missing"]
            continue
        wrong += [f"{name} {have} is older than {least}"] if _parts(have) < _parts(least) else []
        extras.add(extra or "")
    import apsw  # the version of SQLite, nothing else

    about = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    parts = f"{about}, extras: {', '.join(sorted(extras - {'', 'all'})) or 'none'}"
    remedy = "run: pip install --upgrade simonides, with the extras that you use"
    yield _finding("packages", "; ".join(wrong) or parts, remedy, ok=not wrong)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])[:3]))


# -- an open store ---------------------------------------------------------------------------------


def _backups(engine: Engine) -> Findings:
    is_server = engine.db.backend == "postgresql"
    folder, now = engine.settings.backup_to, engine.clock.now_ms()
    if folder is None and is_server:
        yield _finding("backup", "none is scheduled; those of the server are not looked at here")
        return
    if is_server and engine.settings.owner_url is None:
        remedy = "set SIMONIDES_OWNER_URL to the address of the store as its tables' owner"
        yield _finding("backup", "the application's role does not see all rows", remedy)
        return
    if folder is None:
        yield _finding("backup", "none is scheduled", "set SIMONIDES_BACKUP_TO to a folder")
        return
    made = backups(engine)
    if not made:
        yield _finding("backup", f"none is in {folder}", "run: simonides worker --once")
        return
    stamp = re.search(r"(\d{8}T\d{6})Z\.db$", made[0].name)
    then = f"{to_datetime(now - LATE_MS - GRACE_MS):%Y%m%dT%H%M%S}"
    yield _finding(
        "backup", f"{len(made)} in {folder}, the last one is {made[0].name}",
        "the last one is older than an hour: set SIMONIDES_BACKUP_HOURS=1, and let "
        "`simonides worker` run", ok=stamp is not None and stamp[1] >= then,
    )  # fmt: skip
    try:
        _check_backup(engine, made[0])
    except SimonidesError as error:
        remedy = f"delete {made[0]}, and run: simonides admin backup NEW_FILE"
        yield _finding("backup content", str(error), remedy)
    else:
        yield _finding("backup content", f"{made[0].name} opens and is whole")


def _old_databases(engine: Engine) -> Findings:
    if engine.db.backend == "postgresql":
        from simonides.storage.postgres_backup import old_databases  # with its driver

        names = old_databases(engine.db)
        yield from _old("databases", names, f"run DROP DATABASE {names[0]}" if names else "")


def _check_backup(engine: Engine, path: Path) -> None:
    if engine.db.backend == "postgresql":
        from simonides.storage.postgres_backup import check_dump  # with its driver

        check_dump(path)
        return
    key = engine.settings.key
    check_copy(path, key_pragma(None if key is None else key.get_secret_value()))


def _rules(engine: Engine) -> Findings:
    file = engine.settings.policy
    found = {(None, None): engine.policies.for_org(None)} if file is None else load(file)
    yield _finding("policy", "built-in" if file is None else f"{file} is valid")
    checks = (_endless, _gates, _hygiene)
    wrong = {
        (problem, remedy): f"{org or 'every organisation'}{f', agent {agent}' if agent else ''}"
        for (org, agent), policy in reversed(found.items())
        for problem, remedy in chain.from_iterable(check(policy) for check in checks)
    }
    for (problem, remedy), whose in wrong.items():
        yield _finding(problem.partition(":")[0], f"{problem} ({whose})", f"policy file: {remedy}")
    for name in ("lifetimes", "repeats", "secrets", "personal data", "injection"):
        if not any(problem.startswith(name) for problem, _ in wrong):
            yield _finding(name, "as they should be" if name in ("lifetimes", "repeats") else "on")


Problems = Iterator[tuple[str, str]]


def _endless(policy: Policy) -> Problems:
    for name, each in policy.categories.items():
        if each.admit and each.soft_ttl_days is None and each.hard_ttl_days is None:
            remedy = f"categories: {{{name}: {{hard_ttl_days: 365}}}}"
            yield f"lifetimes: {name} is kept for ever, and nobody reviews it", remedy


def _gates(policy: Policy) -> Problems:
    if policy.gates.near_text >= 1 or policy.gates.near_meaning >= 1:
        remedy = "gates: {near_text: 0.85, near_meaning: 0.9}"
        yield "repeats: statements that say the same are stored twice", remedy


def _hygiene(policy: Policy) -> Problems:
    rules = policy.hygiene
    if rules.secrets is Action.ALLOW:
        yield "secrets: passwords and keys are stored", "hygiene: {secrets: block}"
    if rules.personal is Action.ALLOW:
        yield "personal data: is stored unmarked", "hygiene: {personal: flag}"
    if rules.injection is Action.ALLOW:
        yield "injection: commands to a model are stored", "hygiene: {injection: block}"


def _jobs(engine: Engine) -> Findings:
    now, first = engine.clock.now_ms(), {"at": -(2**62), "owner": "", "job": ""}
    with engine.db.read() as connection:
        late = connection.rows(statements.DUE, {"now": now - LATE_MS, **first})
        failing = connection.rows(statements.DUE_FAILING, {"tries": MOST_TRIES})
    waits = f"{late[0][2].split()[0]} of {late[0][1]} waits since" if late else ""
    run = "let `simonides worker` or a server run"
    yield _finding(
        "worker", f"{waits} {to_datetime(late[0][0]):%Y-%m-%d %H:%M}" if late else "nothing waits",
        run, ok=not late,
    )  # fmt: skip
    # A daily job is due a day after it ran.
    unseen = [owner for at, owner, job, _ in late if job == GC and at < now - DAY_MS]
    yield _finding(
        "collection",
        f"expiry and the look for contradictions last ran over two days ago for {unseen[0]}"
        if unseen
        else "expiry and the look for contradictions ran in the last two days",
        f"{run}; for one user: simonides maintenance gc, simonides maintenance hygiene",
        ok=not unseen,
    )
    found = "; ".join(f"{job.split()[0]} of {owner}, {n} times" for owner, job, n in failing[:3])
    yield _finding(
        "jobs", f"failing: {found}" if found else "none fails again and again",
        "read the log `simonides.life`: it says why", ok=not failing,
    )  # fmt: skip


def _digests(engine: Engine, owners: list[str]) -> Findings:
    since = engine.clock.now_ms() - 7 * DAY_MS

    def has_read(owner: str) -> bool:
        with engine.db.read(owner) as connection:
            asked = {"owner": owner, "since": since}
            return connection.one(statements.SHOWN_SINCE, asked) is not None

    ok = any(map(has_read, owners))
    yield _finding(
        "agent loop", "prompts showed memories in the last week" if ok else "no prompt shows any",
        "put memory.digest(question) into each prompt, or use simonides.wrap(client, memory)",
        ok=ok,
    )  # fmt: skip


def _integrity(engine: Engine, owners: list[str]) -> Findings:
    reports = [audit.verify(engine, Principal(scope_of(owner, None))) for owner in owners]
    problems = [problem for report in reports for problem in report.problems]
    events = f"{sum(each.events for each in reports)} events of {len(owners)} owners hold"
    yield _finding(
        "audit", problems[0] if problems else events,
        "run: simonides audit verify --all; then restore a backup: simonides restore BACKUP",
        ok=not problems,
    )  # fmt: skip


def _days(engine: Engine, owners: list[str]) -> Findings:
    now, ahead, alerts = engine.clock.now_ms(), 0, []
    for owner in owners:
        with engine.db.read(owner) as connection:
            state = connection.one(statements.STATE, {"owner": owner})
        ahead = max(ahead, state[1] - now if state else 0)
        alerts += [(owner, each) for each in alerts_of(engine, Principal(scope_of(owner, None)))]
    whole = Principal(GLOBAL, actor="doctor", is_admin=True)
    alerts += [("this process", each) for each in store_metrics(engine, whole).alerts]
    yield _finding("metrics", "are counted")
    yield _finding(
        "clock", f"the last change is {ahead // MINUTE_MS} min in the future" if ahead else "right",
        "set the clocks of all machines by NTP", ok=ahead <= GRACE_MS,
    )  # fmt: skip
    for owner, each in alerts:
        yield _finding("alerts", f"{each.name} {each.value:g} of {owner}", each.advice)
    if not alerts:
        yield _finding("alerts", "none")


def _vectors(engine: Engine, owners: list[str]) -> Findings:
    if engine.embedder is None:
        yield _finding("vectors", "no embedder: memories are found by their words")
        return
    waits = [owner for owner in owners if lacking(engine, owner)]
    name = engine.indexes.embedder
    yield _finding(
        "vectors", f"memories of {len(waits)} owners have none of {name}" if waits else name or "",
        "run: simonides worker --once; with an embedder of your own, store.admin(…).doctor()",
        ok=not waits,
    )  # fmt: skip


def _tokens(engine: Engine, who: Principal) -> Findings:
    every = tokens(engine, who)
    endless = [each.name for each in every if each.expires is None]
    found = f"{', '.join(endless[:5])} never expire" if endless else f"{len(every)}, all expire"
    remedy = f"run: simonides token revoke {endless[0] if endless else ''}, and give one with "
    yield _finding("tokens", found, f"{remedy}--expires", ok=not endless)


# -- the size of a store ---------------------------------------------------------------------------

ROW, ROW_A_CHAR, VECTORS, VECTORS_A_CHAR = 650, 2.5, 800, 20
"""Bytes of a memory or turn in a SQLite file: its rows, events and index entries, its vectors, and
more for each character. Fitted to files of 100 to 1,000 English texts of 43, 95, 99 and 289
characters, which took 760 to 1,370 bytes a text without vectors and 2,210 to 5,860 with them."""

FACT_SHARE = 0.1
"""Facts that become of a turn. Set by judgement."""


def estimate(
    policy: Policy, *, users: int, per_day: int, days: int, chars: int = 100
) -> dict[str, int]:
    """Return how many rows a store will have, and how many bytes, within half and double.

    Args:
        policy: Its lifetimes end turns and facts.
        users: Number of users.
        per_day: Messages of one user and of the assistant in a day.
        days: Time of use.
        chars: Mean length of a message.
    """
    kept = {
        name: min(days, policy.categories[name].hard_ttl_days or days) for name in ("turn", "fact")
    }
    turns = round(users * per_day * kept["turn"])
    facts = round(users * per_day * kept["fact"] * FACT_SHARE)
    rows = round((turns + facts) * (ROW + ROW_A_CHAR * chars))
    vectors = round((turns + facts) * (VECTORS + VECTORS_A_CHAR * chars))
    return {
        "turns": turns,
        "memories": facts,
        "row_bytes": rows,
        "vector_bytes": vectors,
        "bytes": rows + vectors,
    }
