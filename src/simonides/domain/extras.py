"""How to install the packages of an extra, from the metadata of the installed distribution."""

from __future__ import annotations


def install_command(extra: str, *options: str) -> str:
    """Return the command that installs the packages of an extra.

    It names the packages themselves, because simonides is not on a package registry.

    Args:
        extra: Name of the extra in ``pyproject.toml``, for example ``openai``.
        options: Options of ``pip install``.
    """
    words = ["pip install", *options]
    packages = requirements(extra)
    if packages:
        return " ".join([*words, *(f"'{package}'" for package in packages)])
    return " ".join([*words, f"'.[{extra}]' in the simonides checkout"])


def requirements(extra: str) -> tuple[str, ...]:
    """Return the requirements of an extra; empty if simonides runs without being installed."""
    # Imported here, because it costs 20 ms and only an error message needs it.
    from importlib import metadata

    try:
        lines = metadata.requires("simonides") or []
    except metadata.PackageNotFoundError:
        return ()
    parted = (line.partition(";") for line in lines)
    wanted = f"extra == '{extra}'"
    return tuple(name.strip() for name, _, marker in parted if wanted in marker.replace('"', "'"))
