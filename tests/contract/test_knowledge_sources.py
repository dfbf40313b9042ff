"""Folders and searches over HTTP are sources of documents; the contract fails one that is not."""

import inspect
import shutil
from itertools import count

import pytest

from documents import handbook, write
from simonides import FolderSource, HttpSource
from simonides.ports import Capability
from simonides.testing.contracts.knowledge import KnowledgeSourceContract
from simonides.types import Found, Passage
from web import Site, listed, said


class TestFolder(KnowledgeSourceContract):
    @pytest.fixture
    def source(self, tmp_path):
        handbook(tmp_path)
        write(tmp_path, "harbour.md", "# Harbour\n\nBoats are moored at pier nine.\n")
        write(tmp_path, "picture.png", b"\x89PNG")
        return FolderSource(tmp_path, name="handbook", fresh_s=0)

    def change(self, source):
        write(source.folder, "harbour.md", "# Harbour\n\nBoats are moored at pier ten.\n")

    def cut_off(self, source):
        shutil.rmtree(source.folder)


class TestSearch(KnowledgeSourceContract):
    @pytest.fixture
    def source(self):
        results = [
            {"title": "Harbour", "url": "https://h.example/a", "text": "Boats lie at pier nine."},
            {"title": "", "url": "https://h.example/b", "text": "The harbour master is Kim."},
            {"title": 7},
        ]
        with Site({"/search": listed(results)}) as self.site:
            url = f"{self.site.url}/search?q={{query}}"
            yield HttpSource(url, hosts=[self.site.host], name="web", allow_loopback=True)

    def cut_off(self, source):
        self.site.close()


class TestPage(KnowledgeSourceContract):
    @pytest.fixture
    def source(self):
        page = "<title>Harbour</title><h1>Moorings</h1><p>Boats lie at pier nine.</p>"
        with Site({"/page": said("text/html; charset=utf-8", page.encode())}) as self.site:
            url = f"{self.site.url}/page"
            yield HttpSource(url, hosts=[self.site.host], name="page", allow_loopback=True)

    def cut_off(self, source):
        self.site.close()


class _Broken:
    """A catalogue that is wrong in what its subclass says, and else says one thing."""

    name = "broken"
    capabilities = frozenset({Capability.CATALOGUE})

    def look(self, query, *, within_s):
        return Found((Passage("a.md", "The harbour is closed."),), revision="1")

    def close(self):
        pass


class Restless(_Broken):
    """Says each time that it has changed."""

    def __init__(self):
        self._revisions = map(str, count())

    def look(self, query, *, within_s):
        return Found(
            super().look(query, within_s=within_s).passages, revision=next(self._revisions)
        )


class Blank(_Broken):
    """Gives passages without words."""

    def look(self, query, *, within_s):
        return Found((Passage("a.md", " \n"),), revision="1")


class Selective(_Broken):
    """Calls itself a catalogue and gives what bears on the query."""

    def look(self, query, *, within_s):
        whole = super().look(query, within_s=within_s)
        return whole if "harbour" in query else Found((), revision="1")


class Touchy(_Broken):
    """Takes no query that has no form in UTF-8."""

    def look(self, query, *, within_s):
        query.encode()
        return super().look(query, within_s=within_s)


class Remembering(_Broken):
    """Makes a document of what it was asked."""

    def __init__(self):
        self._asked = ()

    def look(self, query, *, within_s):
        if len(query) > 1_000:
            self._asked = (Passage("b.md", query),)
        whole = super().look(query, within_s=within_s)
        return Found((*whole.passages, *self._asked), revision="1")


class Misnamed(_Broken):
    name = "a name with blanks"


SEEN_BY = {
    Restless: "test_asked_again_it_answers_the_same",
    Blank: "test_it_finds_passages_that_can_be_shown_and_cited",
    Selective: "test_a_catalogue_gives_all_it_has_whatever_is_asked",
    Touchy: "test_any_text_may_be_asked",
    Remembering: "test_it_keeps_nothing_of_what_is_asked",
    Misnamed: "test_its_name_can_be_one_and_it_says_what_it_is",
}

# They need to know how the source changes or fails, which one that is broken does not say.
_TAKE_A_SUBCLASS = {
    "test_a_catalogue_that_changes_has_another_revision",
    "test_what_cannot_answer_says_so_without_a_word_of_the_query",
}


def failed_tests(make_source):
    failed = []
    for name, test in inspect.getmembers(KnowledgeSourceContract, inspect.isfunction):
        if name.startswith("test_") and name not in _TAKE_A_SUBCLASS:
            try:
                test(KnowledgeSourceContract(), make_source())
            except Exception:  # noqa: BLE001 - whatever the broken source provokes
                failed.append(name)
    return failed


@pytest.mark.parametrize("broken", SEEN_BY, ids=lambda broken: broken.__name__)
def test_the_contract_fails_a_broken_source(broken):
    assert SEEN_BY[broken] in failed_tests(broken)


def test_the_contract_passes_one_that_is_not_broken():
    assert failed_tests(_Broken) == []
