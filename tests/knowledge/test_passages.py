"""A text is cut where a reader would cut it."""

import pytest

from simonides.knowledge.extract import NotRead, text_of
from simonides.knowledge.passages import PASSAGE_CHARS, passages_of

SENTENCE = "The quick brown fox jumps over the lazy dog of the house. "


def test_paragraphs_are_joined_and_headings_stay_with_what_follows():
    paragraph = SENTENCE * 6
    text = f"# Foxes\n\n{paragraph}\n\n## Dogs\n{paragraph}\n\nShort.\n\nShort too."
    first, second = passages_of(text)
    assert first == f"# Foxes\n{paragraph.strip()}"
    assert second == f"## Dogs\n{paragraph.strip()}\n\nShort.\n\nShort too."


def test_a_long_paragraph_is_cut_after_a_sentence():
    parts = list(passages_of(SENTENCE * 100))
    assert all(part.endswith("house.") and len(part) <= PASSAGE_CHARS for part in parts)
    assert " ".join(parts) == (SENTENCE * 100).strip()


@pytest.mark.parametrize("text", ["word " * 1_000, "x" * 5_000, "line\n" * 1_000, "# h\n" * 1_000])
def test_nothing_is_lost_of_what_has_no_sentences(text):
    parts = list(passages_of(text))
    assert all(len(part) <= 2 * PASSAGE_CHARS for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("Käse".encode("utf-16"), None, "Käse"),
        ("Käse".encode("latin-1"), "latin-1", "Käse"),
        (b"\xef\xbb\xbfa\r\nb\x00"[:-1], None, "a\nb"),
        ("می\u200cخواهم a\u200cb".encode(), None, "می\u200cخواهم ab"),
    ],
)
def test_text_is_decoded_by_its_mark_or_its_server(content, charset, text):
    assert text_of(content, "text", charset, float("inf")) == text


@pytest.mark.parametrize("content", ["Käse".encode("latin-1"), b"a\0b", b"", b"\xff\xfe\x00"])
def test_what_is_no_text_is_not_read(content):
    with pytest.raises(NotRead):
        text_of(content, "text", None, float("inf"))


def test_a_page_gives_its_text_without_scripts():
    page = (
        b"<meta charset=latin-1><title>T</title><h1>K\xe4se &amp; more</h1><script>if (a<b) {}"
        b"</script><ul><li>one<li>two</ul><pre>a\n  b</pre><p>a<br>b<svg><p>c</svg>d"
    )
    assert text_of(page, "html", None, float("inf")) == (
        "T\n\n# Käse & more\n\n- one\n- two\n\na\n  b\n\na\nbd"
    )


@pytest.mark.parametrize("tag", [b"<a ", b"<svg>", b"</svg>", b"<!--", b"&"])
def test_a_page_of_broken_tags_takes_no_time(tag):
    page = b"<p>Tea" + tag * 100_000
    assert text_of(page, "html", None, float("inf")).startswith("Tea")
