"""Settings of assistants: what others wrote stays as it is, and uninstalling brings it back."""

import io
import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simonides.cli import main
from simonides.core.errors import ConfigurationError
from simonides.core.settings import Home
from simonides.server.clients import BACKUP, NAMES, Change, apply, clients, entry_for, plan

DOCS = (Path(__file__).parents[2] / "docs" / "mcp-clients.md").read_text("utf-8")
ENTRY = {"command": "/opt/venv/bin/simonides", "args": ["mcp", "--user", "ana"]}
OLDER = {"command": "/old/bin/simonides", "args": ["mcp"], "env": {"A": "b"}}
JSON_CLIENTS = tuple(name for name in NAMES if name != "codex")


def home_in(folder):
    return Home(Path(folder), Path(folder) / "apps")


def install(client, home, entry=ENTRY):
    change = plan(client, home, entry)
    apply(change)
    return change


def uninstall(client, home):
    change = plan(client, home, None)
    apply(change)
    return change


def write(client, home, content):
    path = clients(home)[client].file
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        path.write_bytes(content)
    return path


def ours(client, entry=ENTRY):
    return {"type": "stdio", **entry} if clients(home_in("/"))[client].is_typed else entry


def read_json(raw):
    """Parse JSON with comments and trailing commas, character by character."""
    text, kept, at = raw.decode("utf-8-sig"), [], 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            kept.append(text[at : end + 1])
            at = end + 1
        elif text.startswith("//", at):
            at = min([at for at in (text.find(c, at) for c in "\r\n") if at >= 0] or [len(text)])
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            if text[at] in "]}" and kept and kept[-1] == ",":
                kept.pop()
            kept += text[at].strip()
            at += 1
    return json.loads("".join(kept) or "{}")


# Settings files in many layouts

WORDS = ["a", "b c", "https://x.io/*y*/", 'say "no"', "back\\slash", "né", "{", ",}", "//", ""]
SCALARS = st.one_of(
    st.sampled_from(WORDS), st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False,
    allow_infinity=False),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=6,
)
SERVERS = st.dictionaries(
    st.sampled_from(["memory", "git hub", "files"]),
    st.fixed_dictionaries({"command": st.sampled_from(WORDS)}, optional={"env": VALUES}),
    max_size=3,
)
OTHERS = st.dictionaries(st.sampled_from(["hooks", "theme", "numStartups"]), VALUES, max_size=3)


@st.composite
def json_files(draw):
    """Return a client, the bytes of its settings or None, and those of an older entry of ours."""
    client = draw(st.sampled_from(JSON_CLIENTS))
    section = clients(home_in("/"))[client].section
    if (kind := draw(st.integers(0, 19))) < 3:
        return client, (None, b"", b" \n")[kind], None
    data = draw(OTHERS) | ({"hooks": None} if draw(st.booleans()) else {})
    if draw(st.integers(0, 3)):
        servers = draw(SERVERS) | ({"simonides": OLDER} if draw(st.booleans()) else {})
        names = draw(st.permutations(list(servers)))
        data[section] = {name: servers[name] for name in names}
    data = {name: data[name] for name in draw(st.permutations(list(data)))}
    rng = draw(st.randoms(use_true_random=False))
    unit = draw(st.sampled_from(["\t", "  ", "    ", " ", "", None]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    older = []
    has_comments, has_commas = draw(st.booleans()), draw(st.booleans())

    def note():
        if not has_comments or rng.random() < 0.6:
            return ""
        if unit is None:
            return ' /* "simonides": {}, */ '
        return rng.choice([" // a, {note} ", "/* [one], */", " // é"]) + newline

    def text(value, depth):
        if not isinstance(value, (dict, list)):
            return json.dumps(value, ensure_ascii=rng.random() < 0.5)
        brackets = "{}" if isinstance(value, dict) else "[]"
        start = "" if unit is None else newline + unit * (depth + 1)
        items = [
            f"{start}{note()}{json.dumps(each)}{rng.choice([':', ': ', ' : '])}"
            f"{text(value[each], depth + 1)}" if isinstance(value, dict)
            else f"{start}{note()}{text(each, depth + 1)}"
            for each in value
        ]  # fmt: skip
        last = "," if has_commas and items and rng.random() < 0.7 else ""
        end = "" if unit is None or (not items and rng.random() < 0.5) else newline + unit * depth
        inner = (note() + ",").join(items) + note() + last + note()
        made = brackets[0] + inner + end + brackets[1]
        if value is OLDER:
            older.append(made.encode())
        return made

    made = note() + text(data, 0) + rng.choice(["", newline, " " + note()])
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return client, mark + made.encode(), older[0] if older else None


def length_in_common(first, second):
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


def changed_part(before, after):
    """Return what differs between a common beginning and a common end, of both."""
    begin = length_in_common(before, after)
    end = length_in_common(before[begin:][::-1], after[begin:][::-1])
    return before[begin : len(before) - end], after[begin : len(after) - end]


def is_only_ours(before, after, older):
    """Say whether the texts differ by our entry and a comma only."""
    if older:
        head, tail = before.split(older)
        return after.startswith(head) and after.endswith(tail)
    old, new = changed_part(before, after)
    rest = new.replace(old, b"", 1).decode()  # comments between the comma and our entry
    if old not in new:
        return False
    rest = re.sub(r'"(mcpServers|servers|simonides|type|command|args)"\s*:', "", rest)
    for value in ("stdio", ENTRY["command"], *ENTRY["args"]):
        rest = rest.replace(json.dumps(value), "")
    return not rest.strip(" \t\r\n{}[],")


@settings(max_examples=300)
@given(json_files())
def test_installing_adds_our_entry_and_uninstalling_brings_the_bytes_back(file):
    client, before, older = file
    with TemporaryDirectory() as folder:
        home = home_in(folder)
        path = write(client, home, before)
        change = install(client, home)
        after = path.read_bytes()
        assert after == change.after
        section = clients(home)[client].section
        data = {} if before is None else read_json(before)
        data[section] = data.get(section, {}) | {"simonides": ours(client)}
        assert read_json(after) == data
        assert is_only_ours(before or b"", after, older)
        assert plan(client, home, ENTRY).kind == "none"
        install(client, home, {**ENTRY, "args": ["mcp", "--user", "bob"]})
        uninstall(client, home)
        assert (path.read_bytes() if path.exists() else None) == before
        assert not path.with_name(path.name + BACKUP).exists()


@settings(max_examples=200)
@given(json_files())
def test_only_our_entry_goes_from_a_file_that_others_changed(file):
    client, before, older = file
    with TemporaryDirectory() as folder:
        home = home_in(folder)
        path = write(client, home, before)
        install(client, home)
        theirs = path.read_bytes() + b"\n// theirs\n"
        path.write_bytes(theirs)
        uninstall(client, home)
        section = clients(home)[client].section
        data = {section: {}} | ({} if before is None else read_json(before))
        data[section].pop("simonides", None)
        after = path.read_bytes()
        assert read_json(after) == data
        assert after.endswith(b"\n// theirs\n")
        if not older and data[section]:
            assert after == before + b"\n// theirs\n"
        for comment in re.findall(
            rb'//[^\r\n"]*|/\*[^"]*?\*/', (before or b"").replace(older or b"\0", b"")
        ):
            assert comment.strip() in after


# TOML

OLDER_TABLES = "[mcp_servers.simonides]\ncommand = 'old'\n\n[mcp_servers.simonides.env]\nA = 'b'"
TOML_PARTS = [
    "# [mcp_servers.simonides]\n", "\n", "[[skills]]\nname = 'a'\nwhen = 2026-11-29\n\n",
    '[mcp_servers.memory] # mine\ncommand = "npx"\nargs = [\n  "[x]", # [y]\n]\n',
    '[mcp_servers.memory.env]\nTEXT = """\n[mcp_servers.simonides]\n"""\n',
    "[features]\nhooks = true", "  [tui]\n\ttheme = 'dark'\n\n\n", f"{OLDER_TABLES}\n# end\n",
]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(TOML_PARTS), unique=True), st.booleans(), st.booleans())
def test_a_table_is_added_to_codex_and_taken_out_again(parts, is_windows, has_mark):
    def coded(text):
        return text.replace("\n", "\r\n" if is_windows else "\n").encode()

    text = "\n".join(['model = "gpt"\nratio = 0.10\n', *parts])
    before = (b"\xef\xbb\xbf" if has_mark else b"") + coded(text)
    with TemporaryDirectory() as folder:
        home = home_in(folder)
        path = write("codex", home, before)
        install("codex", home)
        after = path.read_bytes()
        data = tomllib.loads(text)
        data["mcp_servers"] = data.get("mcp_servers", {}) | {"simonides": ENTRY}
        assert tomllib.loads(after.decode("utf-8-sig").replace("\r\n", "\n")) == data
        head, _, tail = before.partition(coded(OLDER_TABLES))
        assert after.startswith(head)
        assert after.endswith(tail)
        assert plan("codex", home, ENTRY).kind == "none"
        install("codex", home, {**ENTRY, "args": ["mcp", "--user", "bob"]})
        theirs = path.read_bytes() + b"# theirs\n"
        uninstall("codex", home)
        assert path.read_bytes() == before
        path.write_bytes(theirs)
        uninstall("codex", home)
        left = path.read_bytes()
        if not tail:
            gap = b"" if before.endswith(b"\n") else coded("\n")
            assert left == before + gap + b"# theirs\n"
        assert b'"bob"' not in left
        assert left.startswith(head.rstrip())
        assert left.endswith(tail + b"# theirs\n")


def test_floats_of_others_that_equal_nothing_are_no_hindrance(tmp_path):
    path = write("codex", home_in(tmp_path), b"ratio = nan\n")
    install("codex", home_in(tmp_path))
    assert path.read_bytes().startswith(b"ratio = nan\n\n[mcp_servers.simonides]\n")


OURS = b'"simonides": {"command": "x", "env": {}}'
REMOVALS = [
    (b'{"mcpServers": {%s, "b": {}}}', b'{"mcpServers": { "b": {}}}'),
    (b'{"mcpServers": {"a": {}, %s}}', b'{"mcpServers": {"a": {}}}'),
    (b'{"mcpServers": {"a": 1 /* a */, /* b */ %s}}', b'{"mcpServers": {"a": 1 /* a */ /* b */}}'),
    (b'{"mcpServers": {\n  %s\n}}', b'{"mcpServers": {\n}}'),
    (b'{"mcpServers": {\n  "a": {}, // a\n  %s, // b\n  "b": {}\n}}',
     b'{"mcpServers": {\n  "a": {}, // a\n   // b\n  "b": {}\n}}'),
    (b'{"mcpServers": {\n  // a\n  %s, "b": {}\n}}', b'{"mcpServers": {\n  // a\n   "b": {}\n}}'),
    (b'{"mcpServers": {\n  "a": {},\n  %s // b\n}}', b'{"mcpServers": {\n  "a": {}\n   // b\n}}'),
    (b'{"mcpServers": {\n  "a": {},\n  %s,\n}}', b'{"mcpServers": {\n  "a": {},\n}}'),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), REMOVALS)
def test_an_entry_that_was_pasted_by_hand_goes_with_its_comma(tmp_path, before, after):
    path = write("cursor", home_in(tmp_path), before % OURS)
    uninstall("cursor", home_in(tmp_path))
    assert path.read_bytes() == after


def test_an_entry_on_one_line_stays_on_one_line(tmp_path):
    path = write("windsurf", home_in(tmp_path), b'{"mcpServers": {%s}, "a":1}' % OURS)
    install("windsurf", home_in(tmp_path))
    made = json.dumps(ENTRY).encode()
    assert path.read_bytes() == b'{"mcpServers": {"simonides": %s}, "a":1}' % made


# Files that are refused, and how files are written

BROKEN = [
    ("cursor", b'{\n  "mcpServers": {\n', 3, "is not valid JSON"),
    ("cursor", b'{\n "a": 1\n "b": 2}', 3, "is not valid JSON"),
    ("cursor", b'{"a": [1,,]}', 1, "is not valid JSON"),
    ("cursor", b'{"a": NaN}', 1, "is not valid JSON"),
    ("cursor", b'{"a": "open}', 1, "is not valid JSON"),
    ("cursor", b"{} {}", 1, "is not valid JSON"),
    ("cursor", b"[" * 100_000, 1, "is not valid JSON"),
    ("cursor", b"[]", 1, "must hold an object"),
    ("cursor", b'{"mcpServers": []}', 1, "mcpServers must hold entries by name"),
    ("cursor", b'{"mcpServers": {},\n "mcpServers": {}}', 2, "names mcpServers twice"),
    ("cursor", b'{\n"a": "\xff"}', 2, "is not UTF-8"),
    ("cursor", '{"a": 1}'.encode("utf-16"), 1, "is not UTF-8"),
    ("codex", b"a = 1\nb = \n", 2, "is not valid TOML"),
    ("codex", b"a = 1\nmcp_servers = {}\n", 2, "has a layout that cannot be edited safely"),
    (
        "codex",
        b"[mcp_servers]\nsimonides = {command = 'x'}\n",
        1,
        "has a layout that cannot be edited safely",
    ),
    ("codex", b"mcp_servers = 3", 1, "mcp_servers must hold entries by name"),
]


@pytest.mark.parametrize(("client", "content", "line", "problem"), BROKEN)
def test_a_file_that_cannot_be_edited_is_refused_and_untouched(
    tmp_path, client, content, line, problem
):
    path = write(client, home_in(tmp_path), content)
    with pytest.raises(ConfigurationError) as refused:
        install(client, home_in(tmp_path))
    assert f"{path}:{line}: {problem}" in str(refused.value)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_file_keeps_its_mode_its_link_and_its_oldest_state(tmp_path):
    home = home_in(tmp_path)
    path = write("claude-code", home, None)
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b'{"a": 1}')
    real.chmod(0o640)
    path.symlink_to(real)
    install("claude-code", home)
    install("claude-code", home, {**ENTRY, "command": "/new/simonides"})
    backup = path.with_name(path.name + BACKUP)
    assert backup.read_bytes() == b'{"a": 1}'
    assert path.is_symlink()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (real, backup)] == [0o640, 0o640]
    assert b"/new/simonides" in real.read_bytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [path.name, backup.name, real.name]
    )


def test_a_change_that_is_no_longer_right_is_not_written(tmp_path):
    home = home_in(tmp_path)
    path = write("cursor", home, b"{}")
    change = plan("cursor", home, ENTRY)
    path.write_bytes(b'{"a": 1}')
    with pytest.raises(ConfigurationError, match="was changed meanwhile"):
        apply(change)
    assert path.read_bytes() == b'{"a": 1}'


def test_invisible_characters_do_not_get_into_a_file():
    with pytest.raises(ConfigurationError, match="has invisible characters"):
        entry_for(["--store", "a\x7fb"])


def test_a_failed_write_leaves_the_file_and_no_rest(tmp_path, monkeypatch):
    home = home_in(tmp_path)
    path = write("cursor", home, b"{}")

    def fail(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ConfigurationError, match="No space left on device"):
        install("cursor", home)
    assert path.read_bytes() == b"{}"
    assert list(path.parent.iterdir()) == [path]


def test_a_diff_shows_no_line_of_other_entries():
    before = b'{"mcpServers": {\n  "x": {\n   "env": {"KEY": "secret"}\n  }\n}}'
    before = before.replace(b"\n", b"\r\n")
    change = Change("cursor", Path("x"), before, before.replace(b"  }\r\n", b"  },\r\n  1\x1b\r\n"))
    assert change.diff[2:] == ["@@ -4 +4,2 @@", "-  }", "+  },", "+  1?"]


def test_the_module_needs_no_extra_and_no_third_party():
    program = (
        "import sys, simonides.server.clients; print(*(m for m in ('pydantic', 'fastapi', 'mcp',"
        " 'typer', 'numpy', 'yaml') if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


# The command line

PLACES = {
    "linux": {
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "claude-code": ".claude.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".config/Code/User/mcp.json",
        "codex": ".codex/config.toml",
        "windsurf": ".codeium/windsurf/mcp_config.json",
    }
}
APPS = {"linux": ".config", "darwin": "Library/Application Support", "win32": "AppData/Roaming"}
for system, apps in APPS.items():
    PLACES[system] = {
        name: place.replace(".config", apps) for name, place in PLACES["linux"].items()
    }


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a home of its own, with a line of standard input."""
    for name in [name for name in os.environ if name.startswith("SIMONIDES_")]:
        monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def call(*args, answer=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        return main(["mcp", *args]), *capsys.readouterr()

    return call


@pytest.mark.parametrize("system", APPS)
@pytest.mark.parametrize("client", NAMES)
def test_each_client_is_installed_and_uninstalled_on_each_system(
    run, tmp_path, monkeypatch, client, system
):
    monkeypatch.setattr("simonides.core.settings.sys.platform", system)
    path = tmp_path / PLACES[system][client]
    code, out, shown = run("install", client, "--user", "ana", answer="y\n")
    assert (code, f"{client}  install  {path}" in out) == (0, True)
    assert f"+++ {path}" in out
    assert shown.endswith("Write this? [y/N] ")
    content = path.read_bytes()
    is_toml = client == "codex"
    data = tomllib.loads(content.decode()) if is_toml else json.loads(content)
    [servers] = data.values()
    assert servers == {"simonides": ours(client, entry_for(["--user", "ana"]))}
    assert run("install", client, "--user", "ana", "--yes")[1].splitlines()[0].split()[1] == "False"
    assert run("uninstall", client, "--yes")[0] == 0
    assert not path.exists()


def test_variables_name_other_folders(run, tmp_path, monkeypatch):
    names = {"XDG_CONFIG_HOME": "x", "CLAUDE_CONFIG_DIR": "c", "CODEX_HOME": "d"}
    for name, folder in names.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    for client, path in (
        ("vscode", "x/Code/User/mcp.json"), ("claude-code", "c/.claude.json"),
        ("codex", "d/config.toml"),
    ):  # fmt: skip
        assert run("install", client, "--user", "ana", "--yes")[0] == 0
        assert (tmp_path / path).exists()


@pytest.mark.parametrize("answer", ["", "n\n", "\n", "maybe\n"])
def test_nothing_is_written_without_a_yes(run, tmp_path, answer):
    code, out, shown = run("install", "cursor", "--user", "ana", "--json", answer=answer)
    assert (code, json.loads(out)) == (1, {"written": False})
    assert '+    "simonides": {' in shown
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_only_shows(run, tmp_path):
    code, out, _ = run("install", "cursor", "--user", "ana", "--dry-run", "--json")
    [row] = json.loads(out)["clients"]
    assert (code, json.loads(out)["written"], row["change"]) == (0, False, "install")
    assert '+    "simonides": {' in row["diff"].splitlines()
    assert list(tmp_path.iterdir()) == []


def test_all_means_the_clients_that_are_here(run, tmp_path):
    code, _, error = run("install", "all", "--user", "ana", "--yes")
    assert (code, "no client is installed here" in error) == (2, True)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".codex").mkdir()
    rows = json.loads(run("install", "all", "--user", "ana", "--yes", "--json")[1])["clients"]
    assert [row["client"] for row in rows] == ["cursor", "codex"]


def test_one_broken_file_stops_all(run, tmp_path):
    for folder, name in ((".cursor", "mcp.json"), (".codex", "config.toml")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("" if folder == ".cursor" else "a = \n")
    code, _, error = run("install", "all", "--user", "ana", "--yes")
    assert (code, "config.toml:1: is not valid TOML" in error) == (2, True)
    assert (tmp_path / ".cursor" / "mcp.json").read_text() == ""


def test_the_command_keeps_the_options_of_the_caller_and_no_secret(run, tmp_path):
    place = ["--org", "acme", "--store", "m.db"]
    assert run("install", "cursor", "--user", "ana", *place, "--yes")[0] == 0
    servers = json.loads((tmp_path / ".cursor" / "mcp.json").read_bytes())["mcpServers"]
    store = str(Path("m.db").absolute())
    args = ["mcp", "--user", "ana", "--org", "acme", "--store", store]
    assert servers["simonides"]["args"][-len(args) :] == args
    url = "postgresql://ana:hunter2@host/db"
    code, _, error = run("install", "cursor", "--user", "ana", "--store", url, "--yes")
    assert (code, "an address may hold a password" in error, "hunter2" in error) == (2, True, False)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["install", "cursor"], "name the user that the assistant works for (--user)"),
        (["install", "emacs", "--user", "ana"], "must be one of claude-desktop, claude-code"),
        (["install", "cursor", "--user", "a/b"], "--user: "),
    ],
)
def test_wrong_use_is_named(run, tmp_path, args, problem):
    code, _, error = run(*args, "--yes")
    assert (code, problem in error) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("client", NAMES)
def test_the_documented_block_is_what_installing_writes(tmp_path, client):
    [part] = re.findall(rf"\n## [^\n]+\n\n`{client}`.*?(?=\n## |\Z)", DOCS, re.DOTALL)
    [block] = re.findall(r"```(?:json|toml)\n(.*?)```", part, re.DOTALL)
    entry = {"command": "/home/ana/.venv/bin/simonides", "args": ["mcp", "--user", "ana"]}
    install(client, home_in(tmp_path), entry)
    written = clients(home_in(tmp_path))[client].file.read_text()
    read = tomllib.loads if client == "codex" else json.loads
    assert read(block) == read(written)
