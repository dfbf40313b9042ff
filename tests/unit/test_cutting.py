"""Documents become passages: whole paragraphs of a section, no text lost, none too long."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from documents import pdf_of
from simonides.providers.knowledge.blocks import Document, markdown, plain
from simonides.providers.knowledge.chunking import MAX_CHARS, passages
from simonides.providers.knowledge.documents import (
    Unreadable,
    read_html,
    read_markdown,
    read_pdf,
    read_text,
)


def cut(document: Document, **options: int) -> list[tuple[str, str]]:
    return [(p.heading, p.text) for p in passages("a", document, **options)]


def test_paragraphs_of_a_section_stay_together_as_long_as_there_is_room() -> None:
    text = "# One\n\nfirst\n\nsecond\n\n# Two\n\nthird\n"

    assert cut(markdown(text)) == [("One", "first\n\nsecond"), ("Two", "third")]
    assert cut(markdown(text), max_chars=10) == [
        ("One", "first"),
        ("One", "second"),
        ("Two", "third"),
    ]


def test_a_passage_says_under_which_headings_and_in_which_line_it_stands() -> None:
    text = "lead\n\n# Guide\n\n## Regions ##\n\nuse eu\n\nSetext\n------\nyes\n\n# Next\nno\n"

    found = passages("guide.md", markdown(text))

    assert [(p.heading, p.line, p.text) for p in found] == [
        ("", 1, "lead"),
        ("Guide > Regions", 7, "use eu"),
        ("Guide > Setext", 11, "yes"),
        ("Next", 14, "no"),
    ]
    assert {p.title for p in found} == {"Guide"}


def test_number_signs_in_code_are_no_headings_and_code_is_not_parted_by_blank_lines() -> None:
    text = "# Run\n\n```\n# not a heading\n\nmake demo\n```\n"

    assert cut(markdown(text)) == [("Run", "```\n# not a heading\n\nmake demo\n```")]


def test_a_rule_below_a_table_or_a_paragraph_is_no_heading() -> None:
    text = "| a | b |\n---\n\none\ntwo\n---\nthree\n"

    assert [heading for heading, _ in cut(markdown(text))] == [""]


def test_front_matter_gives_the_title_and_is_no_text() -> None:
    found = passages("a.md", markdown("---\ntitle: 'The Guide'\nx: 1\n---\n# Else\n\nbody\n"))

    assert [(p.title, p.text, p.line) for p in found] == [("The Guide", "body", 7)]


def test_a_heading_with_nothing_below_it_is_not_lost() -> None:
    alone = [("Title", "Only this\n\nAnd this"), ("", "Last")]

    assert cut(markdown("# Title\n\n## Only this\n\n## And this\n# Last")) == alone
    page = "<h1>Title</h1><h2>Only this</h2><h2>And this</h2><h1>Last</h1>"
    assert cut(read_html(page.encode())) == alone


def test_a_long_paragraph_is_parted_where_a_sentence_ends() -> None:
    text = " ".join(f"Sentence number {n} says a thing." for n in range(100))

    found = passages("a.txt", plain(text))

    assert all(len(p.text) <= MAX_CHARS for p in found)
    assert all(p.text.endswith("thing.") for p in found)
    assert " ".join(p.text for p in found) == text


def test_lines_are_counted_through_a_paragraph_that_is_parted() -> None:
    text = "\n".join(f"line {n} " + "x" * 60 for n in range(1, 101))

    for passage in passages("a.txt", plain(text)):
        assert passage.text.startswith(f"line {passage.line} ")


def test_a_page_shows_what_a_person_would_see_of_it() -> None:
    page = """<html><head><title>A &amp; B</title><style>p{}</style></head><body>
      lead <b>in</b><script>evil()</script><h1>Top</h1><p>Hi&nbsp;you<!-- secret --></p>
      <p hidden>unseen one</p><div style="Display : none">unseen two</div>
      <span aria-hidden="true">unseen three</span><p style="font-size:0">unseen four</p>
      <template>unseen five</template><noscript>unseen six</noscript>
      <ul><li>first<li>second</ul><pre>a
  b</pre><table><tr><th>Key<th>Value<tr><td>1<td>2</table></body></html>"""

    document = read_html(page.encode())

    assert document.title == "A & B"
    text = "\n".join(block.text for block in document.blocks)
    assert "unseen" not in text
    assert not any(word in text for word in ("evil", "secret", "p{}"))
    assert [block.text for block in document.blocks] == [
        "lead in", "Hi you", "first", "second", "a\n  b", "Key | Value", "1 | 2",
    ]  # fmt: skip
    assert document.blocks[-1].heading == ("Top",)


def test_a_pdf_is_read_page_by_page() -> None:
    raw = pdf_of(["Notice period\nThree months to the end of a quarter.", "Signed in Hamburg"])

    found = passages("c.pdf", read_pdf(raw), fallback_title="c")

    assert [(p.page, p.title) for p in found] == [(1, "c"), (2, "c")]
    assert "Three months" in found[0].text
    assert found[1].text == "Signed in Hamburg"


def test_text_is_read_by_its_byte_order_mark_and_never_guessed() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert cut(read_text("Größe 中文".encode(encoding))) == [("", "Größe 中文")]


# -- laws -----------------------------------------------------------------------------------------

TEXTS = st.text(
    alphabet=st.characters(codec="utf-8") | st.sampled_from("#-=`~ \n\n\n.|>"), max_size=600
)


def letters(text: str) -> str:
    """All that is no white space and no mark of Markdown's, in order."""
    return "".join(c for c in text if not c.isspace() and c not in "#-=`~'\"\0")


@given(TEXTS, st.integers(min_value=40, max_value=200))
def test_no_word_of_a_text_is_lost_and_none_is_added(text: str, most: int) -> None:
    found = passages("a", plain(text), max_chars=most)

    assert all(len(p.text) <= most for p in found)
    assert all(p.text.strip() for p in found)
    told = "".join(p.text for p in found)
    assert letters("".join(told.split())) == letters(text.replace("\0", ""))


@given(TEXTS)
def test_markdown_loses_nothing_but_its_marks_and_front_matter(text: str) -> None:
    if text.lstrip("\ufeff").startswith("-"):
        return
    document = markdown(text)
    lines = [p.line for p in passages("a", document) if p.line is not None]

    told = letters("".join(block.text for block in document.blocks))
    headed = letters("".join("".join(block.heading) for block in document.blocks))
    assert all(1 <= line <= len(text.splitlines()) for line in lines)
    assert set(letters(text)) <= set(told) | set(headed)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused_by_name(raw: bytes) -> None:
    for read in (read_text, read_markdown, read_html, read_pdf):
        with suppress(Unreadable):
            assert all(isinstance(block.text, str) for block in read(raw).blocks)
