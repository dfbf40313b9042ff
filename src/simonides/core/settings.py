"""Settings of a program: arguments first, then ``SIMONIDES_*`` variables of the environment."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from simonides.core.errors import ConfigurationError
from simonides.core.validation import invalid, nearest, text

PREFIX = "SIMONIDES_"

COMMAND_LINE = ("user", "org", "session", "agent", "purpose", "actor", "json")
"""Variables with our prefix that the command line reads."""

Checked = BeforeValidator(lambda v: v if isinstance(v, (Path, SecretStr)) else text("value", v))


class Settings(BaseModel):
    """All settings; each has a default, and a variable ``SIMONIDES_`` and its name in capitals.

    Attributes:
        store: Path or URL of the store, or of a server; None means a file in the user's data
            directory.
        owner_url: Address of a PostgreSQL store as the role that owns its tables; only backup and
            restore use it.
        mode: ``local``; ``synced``, where the store is on a server; or ``incognito`` (alias
            ``guest``), which keeps everything in memory.
        token: The credential for a server.
        require_org: Whether every caller must name the organisation.
        policy: Policy file; None means the built-in policy.
        key: Encryption key of a SQLite file: 64 hexadecimal digits, or a passphrase.
        audit_key: Key of the audit chain's codes; without it they only show accidents.
        synchronous: SQLite: ``full`` survives a power cut; ``normal`` may lose the last commits.
        busy_timeout_s: How long a call waits for another writer, in seconds.
        pool_size: Maximum number of connections at once.
        index_budget_mb: Memory for the indexes of owners, in MiB.
        fusion: How recall ranks: ``conversational``, ``rrf``, ``weighted`` or ``hybrid``.
        hybrid_weight: For ``hybrid``: 0 is words only, 1 is vectors only.
        rrf_k: For ``rrf``: the damping.
        rerank_candidates: Hits that a reranker looks at.
        model: Language model that reads what was said, for example ``openai:gpt-5-mini``; None
            means that rules read it, and nothing leaves the machine.
        model_timeout_s: Most time for one question to the model, in seconds.
        model_calls_per_day: Maximum requests for one user a day; beyond it the rules take over.
        idle_minutes: Quiet time after which a conversation ends by itself.
        receipt_days: Days after which the receipt of a digest is deleted.
        backup_to: Folder for backups that the worker makes; None makes none. It must exist.
        backup_hours: Time between two of them, in hours.
        backup_keep: How many of them stay; older ones are deleted.
        end_on_close: Whether `Store.close` ends the conversations that this program began, as far
            as there is time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: Annotated[str, Checked] | None = Field(
        default=None, repr=False
    )  # it may hold a password
    owner_url: Annotated[SecretStr, Checked] | None = None
    mode: Literal["local", "synced", "incognito", "guest"] = "local"
    token: Annotated[SecretStr, Checked] | None = None
    require_org: bool = False
    policy: Annotated[Path, Checked] | None = None
    key: Annotated[SecretStr, Checked] | None = None
    audit_key: Annotated[SecretStr, Checked] | None = None
    synchronous: Literal["full", "normal"] = "full"
    busy_timeout_s: float = Field(default=30.0, gt=0, le=3_600)
    pool_size: int = Field(default=10, ge=1, le=1_000)
    index_budget_mb: int = Field(default=256, ge=1)
    fusion: Literal["conversational", "rrf", "weighted", "hybrid"] = "conversational"
    hybrid_weight: float = Field(default=0.5, ge=0, le=1)
    rrf_k: int = Field(default=60, ge=1)
    rerank_candidates: int = Field(default=30, ge=1, le=1_000)
    model: Annotated[str, Checked] | None = None
    model_timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    model_calls_per_day: int = Field(default=1_000, ge=0)
    idle_minutes: float = Field(default=20.0, gt=0, le=100_000)
    receipt_days: float = Field(default=30.0, gt=0, le=36_500)
    backup_to: Annotated[Path, Checked] | None = None
    backup_hours: float = Field(default=1.0, ge=0.1, le=24)
    backup_keep: int = Field(default=24, ge=1, le=10_000)
    end_on_close: bool = True

    def __init__(self, **given: Any) -> None:
        """Take the given settings, and the others from the environment.

        Raises:
            ConfigurationError: With the name of the wrong setting or variable, and the nearest
                right name of an unknown one.
        """
        try:
            super().__init__(**{**_from_environment(os.environ), **given})
        except ValidationError as error:
            problem = invalid(error, tuple(type(self).model_fields))
            raise ConfigurationError(f"setting {problem}") from error


def server_named(target: object, settings: Settings) -> str | None:
    """Return the address of the server that has the store, or None."""
    named = settings.store if target is None else target
    is_url = isinstance(named, str) and named.startswith(("https://", "http://"))
    return str(named) if is_url else None


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that variables name.

    Raises:
        ConfigurationError: If a variable with our prefix names no setting.
    """
    settings = {}
    for name, value in environment.items():
        if not name.upper().startswith(PREFIX):
            continue
        setting = name[len(PREFIX) :].lower()
        if setting in Settings.model_fields:
            if value:
                settings[setting] = value
        elif setting not in COMMAND_LINE:
            known = [f"{PREFIX}{each.upper()}" for each in (*Settings.model_fields, *COMMAND_LINE)]
            hint = nearest(name.upper(), known)
            raise ConfigurationError(f"unknown environment variable {name}{hint}")
    return settings


def program_environment(**more: str) -> dict[str, str]:
    """Return the variables for a program that is started: ours, but for our settings, and more."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {**ours, **more}


def default_store() -> Path:
    """Return the default store: a file in the user's data directory."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "simonides" / "memory.db"


class Home(NamedTuple):
    """Where the programs of a user keep their settings.

    Attributes:
        user: The home directory.
        apps: Settings of desktop programs, one folder each.
        claude: Folder that ``CLAUDE_CONFIG_DIR`` names for Claude Code, or None.
        codex: Folder that ``CODEX_HOME`` names for Codex, or None.
    """

    user: Path
    apps: Path
    claude: Path | None = None
    codex: Path | None = None


def home() -> Home:
    """Return where the settings of this user's programs are, on this system."""
    user = Path.home()
    if sys.platform == "win32":
        apps = Path(os.environ.get("APPDATA") or user / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        apps = user / "Library" / "Application Support"
    else:
        apps = Path(os.environ.get("XDG_CONFIG_HOME") or user / ".config")
    claude, codex = (os.environ.get(name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"))
    return Home(user, apps, Path(claude) if claude else None, Path(codex) if codex else None)


def openai_url() -> str | None:
    """Return the address of an OpenAI-compatible server that the environment names, or None."""
    return os.environ.get("OPENAI_BASE_URL") or None


def openai_model() -> str | None:
    """Return the model that the environment's ``OPENAI_*`` names, or None without a key."""
    if not os.environ.get("OPENAI_API_KEY"):
        return None
    return f"openai:{os.environ.get('OPENAI_MODEL') or 'gpt-5-mini'}"


def openai_seconds() -> float:
    """Return the time for one request that the environment names.

    Raises:
        ConfigurationError: If it is no positive number.
    """
    named = os.environ.get("OPENAI_TIMEOUT_SECONDS") or "60"
    try:
        seconds = float(named)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3_600:
        raise ConfigurationError(f"OPENAI_TIMEOUT_SECONDS is {named!r}; give seconds up to 3600")
    return seconds
