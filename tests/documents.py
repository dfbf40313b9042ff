"""Documents that tests write: a handbook in four formats and three scripts, and real PDFs."""

from __future__ import annotations

import io
import os
from pathlib import Path

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

LONG_AGO_NS = 1_700_000_000_000_000_000
"""14 November 2023, 22:13:20 UTC: when what tests write was last changed."""


def pdf_of(pages: list[str], title: str = "") -> bytes:
    """Return a PDF with a line of Latin text for each line of its pages."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(width=595, height=842)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
                NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        lines = b"".join(
            b"(" + line.encode("cp1252").replace(b"(", rb"\(").replace(b")", rb"\)") + b") Tj T* "
            for line in text.splitlines()
        )
        stream = DecodedStreamObject()
        stream.set_data(b"BT /F1 12 Tf 14 TL 60 780 Td " + lines + b"ET")
        page[NameObject("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def write(folder: Path, name: str, content: str | bytes, *, at_ns: int = LONG_AGO_NS) -> Path:
    """Write a document below a folder, as of some time."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, ns=(at_ns, at_ns))
    return path


def handbook(folder: Path) -> int:
    """Write a hundred documents and more, of every format; return how many."""
    count = 0
    for number in range(40):
        city = f"City{number:02d}"
        text = (
            f"# Office {number}\n\nThe office of {city} has {number + 3} desks.\n\n## Parking\n\n"
        )
        text += f"Cars are left in garage G{number:03d} of {city}.\n"
        write(folder, f"offices/office-{number:02d}.md", text)
        count += 1
    for number in range(30):
        page = f"<html><head><title>Device {number}</title></head><body><h1>Device {number}</h1>"
        page += f"<p>Serial prefix <b>SX{number:03d}</b>, kept in rack R{number}.</p>"
        page += "<script>alert('no')</script></body></html>"
        write(folder, f"devices/device-{number:02d}.html", page)
        count += 1
    for number in range(20):
        text = f"Meeting of week {number}.\n\nWe chose the supplier Supplier{number} for paper.\n"
        write(folder, f"notes/week-{number:02d}.txt", text)
        count += 1
    for number in range(6):
        pages = [f"Contract number {number}", f"Penalty clause: {number + 10} percent a month"]
        write(folder, f"contracts/contract-{number}.pdf", pdf_of(pages, f"Contract {number}"))
        count += 1
    chinese = "# 差旅规定\n\n## 酒店\n\n每晚酒店费用不得超过八百元人民币。\n\n"
    chinese += "## 机票\n\n国内航班只报销经济舱。\n"
    write(folder, "中文/差旅.md", chinese)
    russian = "# Отпуск\n\nСотрудник получает двадцать восемь дней отпуска.\n\n"
    russian += "## Больничный\n\nСправку от врача сдают в отдел кадров.\n"
    write(folder, "русский/отпуск.md", russian)
    write(folder, "русский/пропуск.txt", "Пропуск в здание выдаёт охрана на первом этаже.\n")
    greek = "<title>Άδεια</title><p>Η άδεια εγκρίνεται από τον διευθυντή.</p>"
    write(folder, "ελληνικά/άδεια.html", greek)
    return count + 4
