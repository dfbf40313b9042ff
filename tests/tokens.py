"""Tokens that look drawn by lot, so that none stands in a file."""

import hashlib

HEX = "0123456789abcdef"
MIXED = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def drawn(size: int, alphabet: str = "0123456789abcdefghijklmnopqrstuvwxyz") -> str:
    """Text that looks drawn by lot and is the same each time; no token stands in this file."""
    digest, said = hashlib.sha512(f"{size}{alphabet}".encode()).digest(), ""
    while len(said) < size:
        said += "".join(alphabet[byte % len(alphabet)] for byte in digest)
        digest = hashlib.sha512(digest).digest()
    return said[:size]
