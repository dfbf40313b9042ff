"""Every setting, in one frozen value built once; the only reader of the environment. Sources, first
wins: arguments, environment (``SIMONIDES_…``, and ``OPENAI_…``, ``ANTHROPIC_…`` and ``GEMINI_…``
for the language model), the YAML file that ``SIMONIDES_CONFIG`` names.
"""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from simonides.domain.errors import ConfigurationError

PREFIX = "SIMONIDES_"
"""Of the variables of the environment that are read."""

ELSEWHERE = ("config", "user", "org", "session", "task", "agent", "actor", "purpose", "json")
"""Variables that are no settings: the file of settings, and options of the command line."""


def _bare(name: str) -> AliasChoices:
    """Return the names of a setting that uses the vendor's variable, without our prefix."""
    return AliasChoices(name, name.upper())


class Settings(BaseSettings):
    """The configuration of an open simonides.

    Attributes:
        store: Path or URL; None means a file in the user's data directory.
        mode: ``local``, ``incognito`` (``guest``) or ``synced``, where the caller does not name a
            store (docs/operations.md).
        require_org: Whether each principal must be named with its organisation.
        policy: Policy file, or a directory with one per org; None means the built-in policy.
        synchronous: ``full`` makes every acknowledged write durable against power loss, ``normal``
            against the end of the process only.
        busy_timeout_s: Longest wait for another writer, in seconds.
        pool_size: PostgreSQL: most connections of this process at a time.
        call_timeout_s: PostgreSQL: longest wait for a connection, and for each answer, in seconds.
        embedder: ``static`` for the embedded model, ``minilm`` or ``multilingual`` for a larger one
            on this machine, ``openai`` for an endpoint, ``none`` for keyword recall only.
        embeddings_model: Endpoint: name of the model.
        embeddings_dimensions: Endpoint: components of a vector.
        embeddings_base_url: Endpoint: address, None for the one of the language model.
        embeddings_api_key: Endpoint: key; an address of its own never gets the language model's
            key.
        embeddings_timeout_seconds: Endpoint: longest time for one batch of texts, in seconds.
        embeddings_scripts: Endpoint: Unicode scripts that the model knows; queries in others are
            answered by keyword.
        embeddings_unrelated: Endpoint: the model's cosine of unrelated texts; None measures it.
        embeddings_query_prefix: Endpoint: the model's prefix for queries.
        embeddings_passage_prefix: Endpoint: its prefix for stored texts.
        rerank_base_url: Address that ``/rerank`` is appended to; None for no reranker.
        rerank_model: Name of its model.
        rerank_api_key: Its key.
        rerank_timeout_seconds: Longest time for reranking one query, in seconds.
        rerank_candidates: How many of the best memories it reads for a query.
        reindex: ``background`` rebuilds index entries of another model or analyser in the
            background; ``manual`` leaves it to ``simonides admin reindex``.
        gc: ``daily`` collects aged memories once a day, of the owners that a long-lived process
            reads; ``manual`` leaves it to ``simonides admin gc``.
        remote: Mode ``synced``: path or URL of the remote store.
        remote_keys_file: Its key ring file, if its keys differ from the local store's.
        remote_key_vault: Its key vault, if encrypted and not in a file next to it; see
            ``key_vault``.
        sync_every_seconds: Mode ``synced``: interval of a long-lived process, in seconds.
        history_days: How long superseded and evicted memories and old receipts are kept, in days:
            the reach of time travel.
        safety_days: How long safety records are kept, in days (docs/privacy.md).
        feedback_days: How long session feedback is kept, in days.
        alerts: Thresholds other than the built-in ones for ``admin.metrics`` (docs/operations.md).
        session_idle_minutes: A session counts as abandoned so long after its last entry, in
            minutes.
        end_sessions_on_close: Whether closing the store ends the sessions that this process began;
            a server, whose sessions go on elsewhere, turns it off.
        session_hot_entries: Entries of one session that stay in memory.
        session_hot_entries_per_user: The same for all sessions of a user.
        session_hot_minutes: How long they stay without being used, in minutes.
        session_eviction: Eviction there: ``lru``, ``fifo`` or ``ttl`` (docs/sessions.md).
        session_hot_sessions: Sessions of all users with entries in memory.
        session_extraction: ``background`` extracts memories soon after each turn, in a long-lived
            process; ``manual`` at checkpoints and at the end.
        backup_dir: Directory for backups of the whole store; a long-lived process then takes them
            regularly. None: only on request, into a directory next to the store.
        backup_every_minutes: Interval of backups, in minutes.
        backup_keep: How many of the newest are kept.
        keys: The key ring itself, one key a line; for the environment (docs/privacy.md).
        keys_file: File that holds the key ring, readable by its user alone.
        keys_command: Program and arguments that print the key ring; run once, without a shell.
        keys_timeout_seconds: Longest wait for that program, in seconds.
        anchor: File, away from the store, that records each owner's position; None for none.
        encrypt: Whether everything is encrypted; a store in plain is then refused
            (docs/privacy.md).
        key_vault: File of the owners' encryption keys, or ``postgresql://…`` of a separate
            database; None for a file next to the store's. Setting it implies ``encrypt``.
        working_observations: Tasks: most observations in a prompt.
        working_observation_chars: Tasks: longest observation there, in characters.
        working_constraints: Tasks: most constraints there.
        working_scratchpad_chars: Tasks: longest scratchpad, in characters.
        conversation_tokens: Tasks: tokens of conversation before the older half is summarised.
        conversation_warn_at: Tasks: share of that from which there is a warning.
        task_kept_chars: Tasks: longest stored text of one observation or note, in characters.
        task_days: Tasks with a session of their own: how long a stopped one is kept, in days.
        tokenizer: A ``tokenizer.json`` to count tokens; None for an estimate
            (docs/sessions.md).
        knowledge: Folders of documents that all users may read; in the environment, separated by
            commas.
        knowledge_timeout_seconds: How long a read waits for its sources of documents, in seconds.
        second_look: ``model`` has the language model check suspicious texts again before they are
            stored; ``none`` relies on the first detector.
        index_budget_mb: Memory for cached owner indexes, in MiB.
        fusion: How recall ranks: ``conversational``, ``rrf``, ``weighted`` or ``hybrid``.
        hybrid_weight: For ``hybrid``: 0 keyword only … 1 vector only.
        rrf_k: For ``rrf``: the damping.
        model_provider: Provider of the language model: ``openai``, ``anthropic``, ``gemini``, or
            ``none`` whatever keys are set. None: the first in this order that has a key.
        model_at_once: Concurrent questions of this process.
        model_failures: Questions in a row without an answer after which it is paused.
        model_rest_seconds: Length of that pause, in seconds.
        model_input_price: Price of a million tokens of questions, in any currency; with the next
            one, ``status`` reports the cost of this process.
        model_output_price: Price of a million tokens of answers.
        openai_api_key: Key of the OpenAI-compatible endpoint; setting it enables the model.
        openai_base_url: Address of the endpoint, None for OpenAI's own.
        openai_model: Name of the model.
        openai_timeout_seconds: Longest wait for one answer, in seconds.
        anthropic_api_key: Key of Anthropic's API; setting it enables the model.
        anthropic_base_url: Its address without ``/v1``, None for Anthropic's own.
        anthropic_model: Name of the model.
        anthropic_timeout_seconds: Longest wait for one answer, in seconds.
        gemini_api_key: Key of the Gemini API; setting it enables the model.
        gemini_base_url: Address of its OpenAI-compatible endpoint, None for Google's own.
        gemini_model: Name of the model.
        gemini_timeout_seconds: Longest wait for one answer, in seconds.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", populate_by_name=True
    )

    store: str | None = None
    mode: Literal["local", "incognito", "guest", "synced"] = "local"
    require_org: bool = False
    policy: Path | None = None
    synchronous: Literal["full", "normal"] = "full"
    busy_timeout_s: float = Field(default=30.0, gt=0)
    pool_size: int = Field(default=10, ge=1)
    call_timeout_s: float = Field(default=10.0, gt=0)
    embedder: Literal["static", "minilm", "multilingual", "openai", "none"] = "static"
    embeddings_model: str = "text-embedding-3-small"
    embeddings_dimensions: int = Field(default=512, ge=1, le=1024)
    embeddings_base_url: str | None = None
    embeddings_api_key: SecretStr | None = None
    embeddings_timeout_seconds: float = Field(default=10.0, gt=0)
    embeddings_scripts: tuple[str, ...] = ("Latin",)
    embeddings_unrelated: float | None = Field(default=None, gt=-1, lt=1)
    embeddings_query_prefix: str = ""
    embeddings_passage_prefix: str = ""
    rerank_base_url: str | None = None
    rerank_model: str = "rerank"
    rerank_api_key: SecretStr | None = None
    rerank_timeout_seconds: float = Field(default=5.0, gt=0)
    rerank_candidates: int = Field(default=30, ge=1, le=1000)
    reindex: Literal["background", "manual"] = "background"
    gc: Literal["daily", "manual"] = "daily"
    history_days: float = Field(default=90.0, ge=1)
    safety_days: float = Field(default=90.0, gt=0, le=36_500)
    feedback_days: float = Field(default=180.0, gt=0, le=36_500)
    alerts: dict[str, float] = Field(default_factory=dict)
    remote: str | None = None
    remote_keys_file: Path | None = None
    remote_key_vault: str | Path | None = None
    sync_every_seconds: float = Field(default=60.0, gt=0)
    session_idle_minutes: float = Field(default=20.0, gt=0)
    end_sessions_on_close: bool = True
    session_hot_entries: int = Field(default=100, ge=0)
    session_hot_entries_per_user: int = Field(default=1_000, ge=0)
    session_hot_minutes: float = Field(default=60.0, gt=0)
    session_eviction: Literal["lru", "fifo", "ttl"] = "lru"
    session_hot_sessions: int = Field(default=256, ge=1)
    session_extraction: Literal["background", "manual"] = "background"
    backup_dir: Path | None = None
    backup_every_minutes: float = Field(default=30.0, gt=0)
    backup_keep: int = Field(default=48, ge=1)
    keys: SecretStr | None = None
    keys_file: Path | None = None
    keys_command: tuple[str, ...] | None = None
    keys_timeout_seconds: float = Field(default=10.0, gt=0)
    anchor: Path | None = None
    encrypt: bool = False
    key_vault: str | Path | None = None
    working_observations: int = Field(default=5, ge=1, le=1_000)
    working_observation_chars: int = Field(default=200, ge=20, le=100_000)
    working_constraints: int = Field(default=8, ge=1, le=1_000)
    working_scratchpad_chars: int = Field(default=500, ge=40, le=100_000)
    conversation_tokens: int = Field(default=8_000, ge=100)
    conversation_warn_at: float = Field(default=0.7, gt=0, le=1)
    task_kept_chars: int = Field(default=2_000, ge=40, le=60_000)
    task_days: float = Field(default=7.0, gt=0, le=3_650)
    tokenizer: Path | None = None
    knowledge: Annotated[tuple[Path, ...], NoDecode] = ()
    knowledge_timeout_seconds: float = Field(default=5.0, gt=0)
    second_look: Literal["model", "none"] = "none"
    index_budget_mb: int = Field(default=256, ge=1)
    fusion: Literal["conversational", "rrf", "weighted", "hybrid"] = "conversational"
    hybrid_weight: float = Field(default=0.5, ge=0, le=1)
    rrf_k: int = Field(default=60, ge=1)
    model_provider: Literal["openai", "anthropic", "gemini", "none"] | None = None
    model_at_once: int = Field(default=8, ge=1)
    model_failures: int = Field(default=5, ge=1)
    model_rest_seconds: float = Field(default=30.0, gt=0)
    model_input_price: float | None = Field(default=None, ge=0)
    model_output_price: float | None = Field(default=None, ge=0)
    openai_api_key: SecretStr | None = Field(default=None, validation_alias=_bare("openai_api_key"))
    openai_base_url: str | None = Field(default=None, validation_alias=_bare("openai_base_url"))
    openai_model: str = Field(default="gpt-5-mini", validation_alias=_bare("openai_model"))
    openai_timeout_seconds: float = Field(
        default=60.0, gt=0, validation_alias=_bare("openai_timeout_seconds")
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None, validation_alias=_bare("anthropic_api_key")
    )
    anthropic_base_url: str | None = Field(
        default=None, validation_alias=_bare("anthropic_base_url")
    )
    anthropic_model: str = Field(
        default="claude-haiku-5-5", validation_alias=_bare("anthropic_model")
    )
    anthropic_timeout_seconds: float = Field(
        default=60.0, gt=0, validation_alias=_bare("anthropic_timeout_seconds")
    )
    gemini_api_key: SecretStr | None = Field(default=None, validation_alias=_bare("gemini_api_key"))
    gemini_base_url: str | None = Field(default=None, validation_alias=_bare("gemini_base_url"))
    gemini_model: str = Field(default="gemini-3.5-flash", validation_alias=_bare("gemini_model"))
    gemini_timeout_seconds: float = Field(
        default=60.0, gt=0, validation_alias=_bare("gemini_timeout_seconds")
    )

    @field_validator("knowledge", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        """Split a text into paths at commas."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("key_vault", "remote_key_vault", mode="before")
    @classmethod
    def _nonempty(cls, value: object) -> object:
        """Treat an empty variable as unset; reject NUL, which no file name can have."""
        if isinstance(value, str) and "\0" in value:
            raise ValueError("must be the path of a file, or a URL, without NUL")
        return value or None

    def __init__(self, **given: Any) -> None:
        """Build the settings.

        Raises:
            ConfigurationError: With the name of the wrong setting, and the nearest right name for
                an unknown one; for variables of the environment as well.
        """
        _check_environment()
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ConfigurationError(_explain(error)) from error
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"settings cannot be read: {error}") from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then the file; no .env and no secrets directory."""
        del dotenv_settings, file_secret_settings
        path = os.environ.get("SIMONIDES_CONFIG")
        files = (YamlConfigSettingsSource(settings_cls, path),) if path else ()
        return (init_settings, env_settings, *files)


def default_store() -> Path:
    """Return the default store: a file in the user's data directory."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "simonides" / "memory.db"


def _check_environment() -> None:
    """Check that each variable with our prefix is one that we read.

    Raises:
        ConfigurationError: With the nearest right name.
    """
    fields = Settings.model_fields.items()
    bare = {name.upper() for name, field in fields if field.validation_alias is not None}
    ours = {f"{PREFIX}{name.upper()}" for name, field in fields if field.validation_alias is None}
    known = ours | {f"{PREFIX}{name.upper()}" for name in ELSEWHERE}
    unknown = sorted(name for name in os.environ if _is_ours(name) and name.upper() not in known)
    problems = []
    for name in unknown:
        named = name.upper()
        without = named.removeprefix(PREFIX)
        near = [without] if without in bare else difflib.get_close_matches(named, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        problems.append(f"unknown environment variable {name}{hint}")
    if problems:
        raise ConfigurationError("; ".join(problems))


def _is_ours(name: str) -> bool:
    # Variables are read without regard to case.
    return name.upper().startswith(PREFIX)


def _explain(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_input=False, include_url=False):
        name = ".".join(map(str, problem["loc"]))
        text = f"setting {name}: {problem['msg']}"
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            text = f"unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
        problems.append(text)
    return "; ".join(problems)
