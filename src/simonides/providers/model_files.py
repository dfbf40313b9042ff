"""Model weights in third-party packages: found, and checked before use."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from simonides.domain.errors import ConfigurationError, MissingExtra
from simonides.domain.extras import install_command


def require(extra: str, purpose: str, *modules: str) -> None:
    """Check that modules can be imported, without importing them.

    Raises:
        MissingExtra: If one is not installed, with the command that installs it.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(extra, purpose)


def folder_of(module: str) -> Path:
    """Return the folder of an installed package without running any of its code."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(f"{module} is installed but is not a package; reinstall it")
    return Path(spec.submodule_search_locations[0])


def checked(path: Path, sha256: str, extra: str) -> Path:
    """Return a file of weights after comparing its digest.

    Raises:
        ConfigurationError: If the file is missing or has another digest.
    """
    advice = f"run: {install_command(extra, '--force-reinstall')}"
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"{path}: the model cannot be read ({error}); {advice}") from error
    if found != sha256:
        raise ConfigurationError(f"{path}: is not the model that this version expects; {advice}")
    return path
