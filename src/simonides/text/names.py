"""Derives aliases of names from text: short forms, initials, tags, stated aliases.

The same thing has several names: ``kubernetes`` and ``k8s``, ``New York City`` and ``NYC``, the
staging cluster and its stated alias. An index knows a text by its terms. In addition it keeps, for
each memory, alias ids that follow from the text alone:

* the **numeronym** of a long word: its first letter, the number of letters between, its last;
* the **initials** of adjacent capitalised words; small words between them do not count;
* the **names** that its writer gave a memory: its key and its tags, each as a whole;
* a flag that it **states** an alias ("X, also known as Y"). A query reads the statement itself.

Alias ids share the number space of term ids, but never equal the id of a term. There is no list of
known short forms, and other memories have no influence on the aliases of one. Letters are those of
the Latin alphabet without accents.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from simonides.text import patterns
from simonides.text.analyser import STOP_WORDS, analyse, term_id

LEAST_LETTERS = 10
"""Least letters of a word with a numeronym: ``k8s`` is the shortest in use; shorter ones look like
versions."""
MOST_INITIALS = 5
MOST_NAME_TERMS = 4
"""Most terms of a name that is looked up as a whole; a longer one is a sentence."""
MOST_ALIAS_IDS = 256
"""Alias ids for one memory; chosen, so that a text of capitals only does not inflate an index."""

_SHORT_BETWEEN = LEAST_LETTERS - 2
_LONGEST_NUMERONYM = 4
_VOWELS = frozenset("aeiou")
_BRACKETS = "\"'()[]{}<>*_\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
_BREAKS = ".,;:!?" + _BRACKETS

# Seeds hold a control character, which no term does.
STATES_ALIAS = term_id("\x00states")
"""Id on every memory that states an alias."""
_NAME_SEED = term_id("\x00name")
LEAST_NAME_ID = 0xFFFFF << 44
"""Least id of a name. Only one term in a million has an id from here up. So an index can tell name
ids from term ids. The remaining 44 bits distinguish 100,000 names."""

_STATED = (
    r"[\s,(]+(?:(?:is|are|was|who is|which is|or) )?"
    r"(?:(a\.?k\.?a\.?|(?:also|better) known as|(?:for )?short:)"
    r"|(goes by|nicknamed))\s+"
    r"|(?:, |[(]| is | are | was )(?:(also called|also spelled|abbreviated(?: as| to)?)"
    r"|(short for))\s+"
)
_HINTS = ("aka", "a.k", "known as", "short", "goes by", "nicknamed", "also ", "abbreviated")
_MAX_SAID_WORDS = 6
_MAX_STATED = 16
"""Statements per text that are examined; chosen, to limit the cost of a text full of them."""
_MAX_CHUNK_CHARS = 40
"""A longer chunk is a link or has no blanks: it is not a name, and would fill the cache."""
_KEPT_CHUNKS = 16_384
_WINDOW = _MAX_SAID_WORDS * (_MAX_CHUNK_CHARS + 1)


class Alias(NamedTuple):
    """An alias of some terms of a query.

    Attributes:
        places: Numbers of those terms.
        ids: Ids that a memory must hold instead, all of them.
        is_guess: Whether it counts only if no memory holds any of the terms themselves. Two
            letters, or a word in small letters, are ambiguous.
    """

    places: tuple[int, ...]
    ids: tuple[int, ...]
    is_guess: bool = False


def alias_ids(content: str, names: Sequence[str]) -> list[int]:
    """Return the alias ids of a memory, each once.

    Args:
        content: Its text.
        names: Its key and tags.
    """
    found = dict.fromkeys(_names(names))
    if states_alias(content):
        found[STATES_ALIAS] = None
    for form in _short_forms(content):
        if len(found) >= MOST_ALIAS_IDS:
            break
        found[_form_id(form)] = None
    return list(found)


def name_id(terms: Iterable[int]) -> int:
    """Return the id of a name from the ids of its distinct terms, in any order."""
    mixed = _NAME_SEED
    for term in terms:
        mixed ^= term
    return (mixed >> 20) | LEAST_NAME_ID


def name_ids(terms: Sequence[int]) -> list[int]:
    """Return the ids of all names that may occur in a text.

    Args:
        terms: Ids of its distinct terms in order; each run of a few of them may be a name.
    """
    found = []
    for first in range(len(terms)):
        mixed = _NAME_SEED
        for term in terms[first : first + MOST_NAME_TERMS]:
            mixed ^= term
            found.append((mixed >> 20) | LEAST_NAME_ID)
    return found


def aliases(text: str, terms: Sequence[str]) -> tuple[Alias, ...]:
    """Return aliases of a query's words, derived from the words alone.

    Args:
        text: The query.
        terms: Its distinct terms, in order.
    """
    kinds = [_kind(chunk) for chunk in text.split() if len(chunk) <= _MAX_CHUNK_CHARS]
    if _ASKS not in kinds and kinds.count(_CAPITAL) < 2:
        return ()
    return () if text.isupper() else _aliases(_chunks(text.split()), terms)


def _aliases(chunks: Sequence[_Chunk], terms: Sequence[str]) -> tuple[Alias, ...]:
    place = {term: number for number, term in enumerate(terms)}
    found: dict[Alias, None] = {}
    for chunk in chunks:
        for term, id, is_guess in chunk.asks:
            if term in place:
                found[Alias((place[term],), (id,), is_guess)] = None
    for words in itertools.chain.from_iterable(map(_parts, _runs(chunks))):
        places = tuple(dict.fromkeys(place[t] for w in words for t in analyse(w) if t in place))
        if places:
            found[Alias(places, (term_id(_initials(words)),), is_guess=len(words) == 2)] = None
    return tuple(found)


def states_alias(text: str) -> bool:
    """Return whether a text states an alias."""
    lower = text.lower()
    return any(hint in lower for hint in _HINTS) and bool(stated_aliases(text))


def stated_aliases(text: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the pairs of names, as terms, that a text states to be the same.

    A name is quoted text, or adjacent capitalised words. Otherwise it is the words back to the last
    small one, or on to the next: "the staging cluster, also known as bluebird". For ambiguous
    phrases ("time goes by", "life is short for us"), the alias must have a capital or a digit.
    """
    clean = text.encode("utf-8", "replace").decode("utf-8")
    found = []
    places = patterns.compile(_STATED, ignore_case=True).finditer(clean)
    for match in itertools.islice(places, _MAX_STATED):
        start, end = match.span()
        earlier, later = clean[max(start - _WINDOW, 0) : start], clean[end : end + _WINDOW]
        before = _name_before(_chunks(earlier.split()[-_MAX_SAID_WORDS:]))
        after = _name_after(_chunks(later.split()[:_MAX_SAID_WORDS]))
        if match.group(2) and not any(map(_is_name_like, after)):
            continue
        if match.group(4) and not _is_short_for(before, after):
            continue
        pair = _as_terms(before), _as_terms(after)
        if all(pair) and pair[0] != pair[1]:
            found.append(pair)
    return found


class _Chunk(NamedTuple):
    """The text between two blanks.

    Attributes:
        word: Without punctuation around it.
        is_small: Whether it is a stop word.
        has_capital: Whether it counts in a run of capitals.
        opens: Whether punctuation precedes it.
        closes: Whether punctuation follows it.
        asks: Term, id and doubt of each alias that a query with it looks up.
        short: Its numeronym.
    """

    word: str
    is_small: bool
    has_capital: bool
    opens: bool
    closes: bool
    asks: tuple[tuple[str, int, bool], ...]
    short: str | None


_TOO_LONG = _Chunk(
    "", is_small=False, has_capital=False, opens=True, closes=True, asks=(), short=None
)


def _chunks(found: Sequence[str]) -> list[_Chunk]:
    return [_chunk(one) if len(one) <= _MAX_CHUNK_CHARS else _TOO_LONG for one in found]


@lru_cache(maxsize=_KEPT_CHUNKS)
def _chunk(chunk: str) -> _Chunk:
    word = _bare(chunk)
    is_small = word.lower() in STOP_WORDS
    return _Chunk(
        word,
        is_small,
        word[:1].isupper() and word.isascii() and not is_small,
        chunk[0] in _BREAKS,
        chunk[-1] in _BREAKS,
        tuple(_asked_for(word)),
        numeronym(word.lower()),
    )


@lru_cache(maxsize=_KEPT_CHUNKS)
def _kind(chunk: str) -> int:
    """Classify a chunk by the aliases that a query with it may need; most need none."""
    if chunk.isdigit():
        return 0
    seen = _chunk(chunk)
    return _ASKS if seen.asks else _CAPITAL if seen.has_capital else 0


_ASKS, _CAPITAL = 1, 2


def _asked_for(word: str) -> Iterator[tuple[str, int, bool]]:
    lower, terms = word.lower(), analyse(word)
    if len(terms) != 1 or not (lower.isascii() and lower.isalnum()):
        return
    (term,) = terms
    short = numeronym(lower)
    if short is not None:
        yield term, term_id(short), False
    elif _is_numeronym(lower):
        yield term, _form_id(lower), False
    elif lower.isalpha() and 2 <= len(lower) <= MOST_INITIALS:
        if word.isupper():
            yield term, _form_id(lower), len(lower) == 2
        elif len(lower) > 2 and _VOWELS.isdisjoint(lower):
            yield term, _form_id(lower), True


def numeronym(word: str) -> str | None:
    """Return the numeronym of a word in small letters, None for one that is too short."""
    if len(word) < LEAST_LETTERS or not (word.isascii() and word.isalpha()):
        return None
    return f"{word[0]}{len(word) - 2}{word[-1]}"


def _is_numeronym(word: str) -> bool:
    middle = word[1:-1]
    if len(word) > _LONGEST_NUMERONYM or not middle.isdecimal():
        return False
    return word[0].isalpha() and word[-1].isalpha() and int(middle) >= _SHORT_BETWEEN


def _short_forms(text: str) -> Iterator[str]:
    chunks = _chunks(text.split())
    yield from [chunk.short for chunk in chunks if chunk.short]
    for run in _runs(chunks):
        yield from map(_initials, _parts(run))


def _runs(chunks: Sequence[_Chunk]) -> list[list[str]]:
    """Return runs of at least two adjacent capitalised words.

    Small words between them do not count, and neither begin nor end a run.
    """
    runs: list[list[str]] = [[]]
    for chunk in chunks:
        if chunk.opens or not (chunk.has_capital or chunk.is_small):
            runs.append([])
        if chunk.has_capital:
            runs[-1].append(chunk.word)
        if chunk.closes:
            runs.append([])
    return [run for run in runs if len(run) > 1]


def _parts(run: list[str]) -> Iterator[list[str]]:
    """Yield the words of a run that may be abbreviated by their initials.

    These are all words of a run of two, or any three to five adjacent words of a longer one.
    """
    if len(run) == 2:
        yield run
    for first in range(len(run) - 2):
        for end in range(first + 3, min(first + MOST_INITIALS, len(run)) + 1):
            yield run[first:end]


def _initials(words: Sequence[str]) -> str:
    return "".join([word[0] for word in words]).lower()


def _names(names: Sequence[str]) -> Iterator[int]:
    for name in names:
        terms = _as_terms([name])
        if 0 < len(terms) <= MOST_NAME_TERMS:
            yield name_id(map(term_id, terms))


def _name_before(chunks: Sequence[_Chunk]) -> list[str]:
    taken: list[_Chunk] = []
    for chunk in reversed(chunks):
        ends = bool(taken) and (chunk.closes or (taken[0].has_capital and not chunk.has_capital))
        if ends or chunk.is_small or not chunk.word:
            break
        taken.insert(0, chunk)
        if chunk.opens:
            break
    return [chunk.word for chunk in taken]


def _name_after(chunks: Sequence[_Chunk]) -> list[str]:
    taken: list[str] = []
    whole = bool(chunks) and (chunks[0].opens or chunks[0].has_capital)
    for place, chunk in enumerate(chunks):
        fits = chunk.has_capital or chunk.is_small or chunks[0].opens or not place
        if not fits or (chunk.is_small and not whole):
            break
        if not chunk.is_small:
            taken.append(chunk.word)
        if chunk.closes or not whole:
            break
    return taken


def _is_name_like(word: str) -> bool:
    return word[:1].isupper() or not word.isalpha()


def _is_short_for(before: Sequence[str], after: Sequence[str]) -> bool:
    if all(any(map(_is_name_like, words)) for words in (before, after)):
        return True
    return any(word.isupper() or not word.isalpha() for word in before)


def _as_terms(words: Sequence[str]) -> tuple[str, ...]:
    text = " ".join(words).replace("_", " ").replace("-", " ")
    return tuple(dict.fromkeys(analyse(text)))


def _bare(chunk: str) -> str:
    word = chunk.strip(_BREAKS)
    for mark in ("'s", "\N{RIGHT SINGLE QUOTATION MARK}s"):
        word = word.removesuffix(mark)
    return word


@lru_cache(maxsize=16_384)
def _form_id(form: str) -> int:
    return term_id(f"\x00{form}")


_NAMES = frozenset(
    """
    adobe affinity airtable alacritty alfred alpine android angular ansible anthropic apache apple
    arch arc asana astro athena atom aws azure backbone basecamp bash bazel bigquery bitbucket
    bitwarden blender bluesky bootstrap brave bubble bun canva cassandra celery centos chatgpt
    chrome chromium circleci claude clickhouse clickup clojure cloudflare cmake cobol codeberg
    colemak confluence copilot couchdb crystal css cursor cypress dart databricks datadog dbeaver
    debian delphi deno discord django docker doom drupal duckdb duckduckgo dvorak dynamodb
    eclipse elasticsearch elixir elm emacs ember erlang esbuild evernote excel express fastapi
    fastmail fedora figma firebase firefox fish flask flutter fortran gatsby gcc gcp gemini
    gentoo ghostty gimp git gitea github gitlab gmail gnome go golang google gradle grafana graphql
    hadoop haskell helix helm heroku hibernate homebrew html hugo hyprland ibm illustrator inkscape
    insomnia instagram intellij ios ipad ipados iphone java javascript jenkins jest jira jquery
    jupyterlab k8s kafka kakoune kde kde keepass kitty kotlin kubernetes laravel lastpass latex
    libreoffice linkedin linux lisp llama llvm logseq lua mac macbook macos mailchimp
    mariadb markdown mastodon matlab maven memcached mercurial meta microsoft midjourney miro
    mongo mongodb mysql nano neo4j neovim netbsd netlify newrelic nextcloud nextjs nginx nixos
    nodejs nomad notepad notion npm numpy nushell nvim nvidia obsidian ocaml office365 okta openai
    openbsd opensuse opentofu outlook pandas paypal perl perplexity php playwright podman polars
    postgres postgresql postman powershell powerpoint prettier prisma prolog prometheus protonmail
    proton pulumi puppet pycharm pytest python pytorch qwerty rails raycast react reddit redis
    redshift remix ripgrep rspec ruby rust rustdesk safari salesforce scala selenium shopify
    signal sketch slack snowflake solidjs spark splunk spotify spring sqlite stripe sublime
    subversion supabase svelte svn swift sway symfony tailscale tailwind telegram temporal
    tensorflow terraform thunderbird tmux trello twitter typescript ubuntu unity unix unreal
    usenet uv vercel vim vimium vite vscode vscodium vue webpack webstorm wezterm whatsapp windows
    wireguard wordpress workday xcode yarn youtube zed zellij zendesk zig zoom zotero zsh
    """.split()
)
# "PostgreSQL", "DuckDB", "NextJS", "NixOS": town names are not written this way.

_ENDINGS = ("SQL", "DB", "JS", "OS", "IDE", "Script")


def is_software(word: str) -> bool:
    """Whether a word, as written, names a program, system or service and not a place."""
    bare = word.strip(".,;:!?'\"()*_")
    if bare.lower() in _NAMES:
        return True
    has_small = any(map(str.islower, bare))
    return has_small and bare.endswith(_ENDINGS)
