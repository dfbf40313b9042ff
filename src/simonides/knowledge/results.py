"""What the verbs of sources return."""

from datetime import datetime

from simonides.core.record import Value


class SourceReport(Value):
    """What became of the documents of a source; true if it has any.

    Attributes:
        name: Its name.
        added: Number of documents that are new.
        changed: Number of those that were read again.
        removed: Number of those that are gone.
        unchanged: Number of those that were not read again.
        passages: Number of passages of all its documents now.
        skipped: Path of what was not read, each with the reason.
    """

    name: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    passages: int = 0
    skipped: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return self.passages > 0


class DocumentSource(Value):
    """A folder, file or page whose documents are stored.

    Attributes:
        name: Its name.
        place: Its path or URL.
        documents: Number of its documents.
        passages: Number of their passages.
        at: When a document of it was last read.
    """

    name: str
    place: str
    documents: int
    passages: int
    at: datetime
