"""Codec of consents; the time is stored separately."""

from __future__ import annotations

import json

from simonides.domain.canonical_json import canonical_json
from simonides.domain.governance.consent import RECALL_NAME, About, Consent
from simonides.domain.value import from_us


def encode_consent(consent: Consent) -> bytes:
    """Encode a consent without its time, as canonical JSON."""
    named = {"about": consent.about.value, "name": consent.name}
    return canonical_json({**named, "allowed": consent.allowed, "by": consent.by})


def decode_consent(at: int, body: bytes) -> Consent:
    """Decode a stored consent.

    Raises:
        ValueError: If it is not a consent; also ``LookupError`` or ``TypeError``.
    """
    said = json.loads(body)
    name, allowed, by = said["name"], said["allowed"], said["by"]
    if not (isinstance(name, str) and isinstance(by, str) and isinstance(allowed, bool)):
        raise ValueError("a consent has a name, a speaker, and says yes or no")
    about = About(said["about"])
    if about is About.RECALL and name != RECALL_NAME:
        raise ValueError("there is one consent about recall")
    return Consent(about, name, allowed, from_us(at), by)
