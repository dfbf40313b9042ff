"""The definition of a source of documents: one pytest class, to be subclassed for each.

Every test takes a ``source`` of the subclass with at least one passage relevant to
:attr:`KnowledgeSourceContract.query`.
"""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from concurrent.futures import ThreadPoolExecutor

import pytest

from simonides.domain.errors import SourceUnavailable
from simonides.domain.reading.document import (
    Found,
    Passage,
    Skipped,
    check_source_name,
)
from simonides.ports import Capability, KnowledgeSource

WITHIN_S = 30.0
"""Seconds; longer than any source of a test takes."""

REASONS = frozenset(
    "too_large too_many binary encoding kind link special unreadable broken too_deep changing empty"
    " extra_missing".split()
)
QUERIES = (
    "", " ", "\0", "\ud800", "{query}", "../../etc/passwd", "%00%0d%0aHost: x", "x" * 10_000, "🎉",
    "SELECT * FROM documents; --", "<script>",
)  # fmt: skip


class KnowledgeSourceContract:
    """Every sentence of :class:`simonides.ports.KnowledgeSource`, as tests.

    Attributes:
        query: A query that the source of the test can answer.
    """

    query = "harbour"

    def change(self, source: KnowledgeSource) -> None:
        """Change a catalogue so that it has another passage; the subclass says how."""
        pytest.fail(f"{type(source).__name__} is a CATALOGUE: its contract overrides change()")

    def cut_off(self, source: KnowledgeSource) -> None:
        """Make the source unable to answer; the subclass says how."""
        pytest.fail(f"the contract of {type(source).__name__} overrides cut_off()")

    def looked(self, source: KnowledgeSource, query: str | None = None) -> Found:
        """Return the source's result for a query; None takes :attr:`query`."""
        return source.look(self.query if query is None else query, within_s=WITHIN_S)

    def test_its_name_can_be_one_and_it_says_what_it_is(self, source: KnowledgeSource) -> None:
        assert check_source_name(source.name) == source.name
        assert source.capabilities <= {Capability.CATALOGUE, Capability.REMOTE}

    def test_it_finds_passages_that_can_be_shown_and_cited(self, source: KnowledgeSource) -> None:
        found = self.looked(source)

        assert isinstance(found.passages, tuple)
        assert found.passages
        for passage in found.passages:
            assert isinstance(passage, Passage)
            assert passage.text.strip()
            assert passage.location.strip()
            told = (passage.text, passage.location, passage.title, passage.heading)
            for text in told:
                assert "\0" not in text
                text.encode("utf-8")
            assert (passage.page or 1) >= 1
            assert (passage.line or 1) >= 1
            assert passage.changed_at is None or passage.changed_at.tzinfo is not None

    def test_what_it_could_not_read_has_a_name_and_a_reason(self, source: KnowledgeSource) -> None:
        for skipped in self.looked(source).skipped:
            assert isinstance(skipped, Skipped)
            assert skipped.location
            assert skipped.reason in REASONS

    def test_asked_again_it_answers_the_same(self, source: KnowledgeSource) -> None:
        first = self.looked(source)

        assert self.looked(source) == first

    def test_a_catalogue_gives_all_it_has_whatever_is_asked(self, source: KnowledgeSource) -> None:
        if Capability.CATALOGUE not in source.capabilities:
            return
        first = self.looked(source)

        assert first.revision
        assert all(self.looked(source, query) == first for query in ("", "nothing of the kind"))

    def test_a_catalogue_that_changes_has_another_revision(self, source: KnowledgeSource) -> None:
        if Capability.CATALOGUE not in source.capabilities:
            return
        first = self.looked(source)

        self.change(source)

        second = self.looked(source)
        assert second.passages != first.passages
        assert second.revision != first.revision

    def test_any_text_may_be_asked(self, source: KnowledgeSource) -> None:
        for query in QUERIES:
            assert isinstance(self.looked(source, query), Found)

    def test_it_keeps_nothing_of_what_is_asked(self, source: KnowledgeSource) -> None:
        first = self.looked(source)

        for query in QUERIES:
            self.looked(source, query)

        assert self.looked(source) == first

    def test_several_may_ask_at_once(self, source: KnowledgeSource) -> None:
        first = self.looked(source)

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: self.looked(source), range(12)))

        assert answers == [first] * 12

    def test_what_cannot_answer_says_so_without_a_word_of_the_query(
        self, source: KnowledgeSource
    ) -> None:
        self.looked(source)

        self.cut_off(source)

        with pytest.raises(SourceUnavailable) as refused:
            self.looked(source, "xyzzy-plugh")
        assert refused.value.source == source.name
        assert "xyzzy" not in str(refused.value)

    def test_closing_it_twice_does_no_harm(self, source: KnowledgeSource) -> None:
        self.looked(source)

        source.close()
        source.close()
