"""Chooses the language model and says why others are left out: a part of the composition root."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from simonides.domain.errors import ConfigurationError, MissingExtra
from simonides.domain.value import shown
from simonides.domain.writing.decision import Usage
from simonides.ports import Capability, LanguageModel
from simonides.providers.language_models.circuit_breaker import (
    Closed,
    GuardedModel,
    HalfOpen,
    Open,
)

if TYPE_CHECKING:
    from simonides.settings import Settings

GIVEN = "given"
"""Provider name of a model that the caller passed."""

Build: TypeAlias = "Callable[[Settings], LanguageModel]"


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The language model of an open simonides.

    Attributes:
        model: The model, or None: then rules capture, judge and plan.
        provider: Its provider's name in the settings; :data:`GIVEN` if the caller passed it.
        left_out: For each other provider with a key, why it is not used.
        problems: Unmet expectations, for ``status``.
        prices: Of a million tokens of questions and of answers, or None where they are not known.
    """

    model: LanguageModel | None = None
    provider: str | None = None
    left_out: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[str, ...] = ()
    prices: tuple[float, float] | None = None

    def report(self) -> dict[str, Any]:
        """Return its part of ``status``; a model without a guard has no circuit."""
        report: dict[str, Any] = {
            "provider": self.provider,
            "model": None if self.model is None else self.model.model_id,
            "left_out": dict(self.left_out),
        }
        if isinstance(self.model, GuardedModel):
            report |= _health(self.model)
            report["cost"] = None if self.prices is None else _cost(self.model.spent, self.prices)
        return report

    def ailments(self) -> tuple[str, ...]:
        """Return its present problems, for ``status``."""
        model = self.model
        is_out = isinstance(model, GuardedModel) and not isinstance(model.circuit, Closed)
        out = (f"model: {self.provider} does not answer; rules are used",) if is_out else ()
        return (*self.problems, *out)


def _cost(spent: Usage, prices: tuple[float, float]) -> float:
    tokens = (spent.input_tokens, spent.output_tokens)
    return sum(count * price for count, price in zip(tokens, prices, strict=True)) / 1e6


def _health(model: GuardedModel) -> dict[str, Any]:
    circuit = model.circuit
    match circuit:
        case Closed():
            state = "closed"
        case Open():
            state = "open"
        case HalfOpen():
            state = "half_open"
        case never:
            assert_never(never)
    return {
        "circuit": state,
        "failures": circuit.failures if isinstance(circuit, Closed) else None,
        "asked_again_in_s": round(model.left_s, 1),
        "usage": model.spent.to_dict(),
    }


def choose_model(
    settings: Settings,
    given: LanguageModel | str | None,
    monotonic: Callable[[], float],
    *,
    hidden: bool,
) -> ChosenModel:
    """Return the model that the caller passed, else the settings'.

    Either is guarded by a breaker and a limit, unless it answers without suspending: then no
    provider can fail. Incognito mode uses none.

    Args:
        settings: Of the open simonides.
        given: The caller's model, or the name of one.
        monotonic: Clock of the breaker.
        hidden: Whether nothing may leave the process (incognito).

    Raises:
        ConfigurationError: If the name is of no known provider, or the named one has no key.
        MissingExtra: If it is not installed.
    """
    settings, given = _named(settings, given)
    chosen = _chosen(settings, given, monotonic, hidden=hidden)
    prices = (settings.model_input_price, settings.model_output_price)
    if prices == (None, None):
        return chosen
    return replace(chosen, prices=(prices[0] or 0.0, prices[1] or 0.0))


def _named(
    settings: Settings, given: LanguageModel | str | None
) -> tuple[Settings, LanguageModel | None]:
    """Return the settings that a model's name changes, and the model that the caller passed.

    Args:
        settings: Of the open simonides.
        given: A model; a name such as ``openai:gpt-5-mini``; a provider alone, ``openai``, for the
            settings' model of it; or ``none``.

    Raises:
        ConfigurationError: If the name is of no known provider.
    """
    if not isinstance(given, str):
        return settings, given
    provider, separator, name = given.partition(":")
    is_complete = bool(name) if separator else True
    if provider not in (*_BUILDERS, "none") or not is_complete or (provider == "none" and name):
        near = difflib.get_close_matches(provider, _BUILDERS, n=1)
        hint = f"; did you mean {near[0]}:{name or '…'}?" if near else ""
        raise ConfigurationError(
            f"model must be a language model, none, or provider:name with one of the providers "
            f"{', '.join(_BUILDERS)}, not {shown(given)}{hint}"
        )
    named = {f"{provider}_model": name} if name else {}
    return settings.model_copy(update={"model_provider": provider, **named}), None


def _chosen(
    settings: Settings,
    given: LanguageModel | None,
    monotonic: Callable[[], float],
    *,
    hidden: bool,
) -> ChosenModel:
    keyed = tuple(name for name in _BUILDERS if _key(settings, name) is not None)
    if hidden:
        return ChosenModel(left_out=dict.fromkeys(keyed, "incognito uses no model"))
    if given is not None:
        left_out = dict.fromkeys(keyed, "the caller passed another model")
        return ChosenModel(_guarded(given, settings, monotonic), GIVEN, left_out)
    if settings.model_provider == "none":
        return ChosenModel(left_out=dict.fromkeys(keyed, "the setting model_provider is none"))
    if settings.model_provider is not None:
        return _by_name(settings, settings.model_provider, keyed, monotonic)
    return _first(settings, keyed, monotonic)


def _by_name(
    settings: Settings, name: str, keyed: tuple[str, ...], monotonic: Callable[[], float]
) -> ChosenModel:
    if name not in keyed:
        raise ConfigurationError(
            f"setting model_provider: {name} takes a key, {name.upper()}_API_KEY"
        )
    others = [other for other in keyed if other != name]
    left_out = dict.fromkeys(others, f"the setting model_provider is {name}")
    return ChosenModel(_guarded(_BUILDERS[name](settings), settings, monotonic), name, left_out)


def _first(
    settings: Settings, keyed: tuple[str, ...], monotonic: Callable[[], float]
) -> ChosenModel:
    """Return the first available model. A key in the environment may be meant for another program.
    Without the extra the next provider is used, or the rules, and ``status`` reports it.
    """
    chosen: tuple[str, LanguageModel] | None = None
    left_out: dict[str, str] = {}
    missing: list[str] = []
    for name in keyed:
        if chosen is not None:
            left_out[name] = f"{chosen[0]} comes first; the setting model_provider can change that"
            continue
        try:
            chosen = name, _BUILDERS[name](settings)
        except MissingExtra as error:
            left_out[name] = str(error)
            missing.append(name)
    if chosen is None:
        problems = [
            f"{name.upper()}_API_KEY is set but no model is used: {left_out[name]}"
            for name in missing
        ]
        return ChosenModel(left_out=left_out, problems=tuple(problems))
    return ChosenModel(_guarded(chosen[1], settings, monotonic), chosen[0], left_out)


def _guarded(
    model: LanguageModel, settings: Settings, monotonic: Callable[[], float]
) -> LanguageModel:
    if Capability.INLINE in model.capabilities:
        return model
    return GuardedModel(
        model,
        failures=settings.model_failures,
        rest_s=settings.model_rest_seconds,
        at_once=settings.model_at_once,
        monotonic=monotonic,
    )


def _key(settings: Settings, name: str) -> str | None:
    key = getattr(settings, f"{name}_api_key")
    return None if key is None else str(key.get_secret_value())


def _arguments(settings: Settings, name: str) -> dict[str, Any]:
    return {
        "api_key": _key(settings, name),
        "base_url": getattr(settings, f"{name}_base_url"),
        "model": getattr(settings, f"{name}_model"),
        "timeout_s": getattr(settings, f"{name}_timeout_seconds"),
    }


# An extra is imported only when chosen.


def _openai(settings: Settings) -> LanguageModel:
    from simonides.providers.language_models.openai import OpenAIModel

    return OpenAIModel(**_arguments(settings, "openai"))


def _anthropic(settings: Settings) -> LanguageModel:
    from simonides.providers.language_models.anthropic import AnthropicModel

    return AnthropicModel(**_arguments(settings, "anthropic"))


def _gemini(settings: Settings) -> LanguageModel:
    from simonides.providers.language_models.gemini import GeminiModel

    return GeminiModel(**_arguments(settings, "gemini"))


_BUILDERS: Mapping[str, Build] = MappingProxyType(
    {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}
)
"""In order of preference."""
