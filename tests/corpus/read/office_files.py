"""Small PDF and docx files, written by hand, for whoever tests their reading."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence

import pypdf

CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Target="word/document.xml" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>'
)
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf_bytes(pages: Sequence[str], count: int | None = None, packed: bytes = b"") -> bytes:
    """A PDF with these pages, a printed line for each line; `packed` is a first page's content, deflated already."""
    contents = [zlib.compress(_content(page).encode("latin-1")) for page in pages]
    contents = [packed, *contents] if packed else contents
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count or len(contents)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for place, content in enumerate(contents):
        page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents"
        objects.append(f"{page} {5 + 2 * place} 0 R >>".encode())
        head = f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + content + b"\nendstream")
    file, offsets = io.BytesIO(), []
    file.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, start=1):
        offsets.append(file.tell())
        file.write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")
    table = file.tell()
    file.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    file.writelines(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    file.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode())
    return file.getvalue()


def _content(page: str) -> str:
    if not page:
        return ""
    lines = (line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in page.split("\n"))
    return "BT /F1 11 Tf 14 TL 60 780 Td " + " T* ".join(f"({line}) Tj" for line in lines) + " ET"


def encrypted_pdf(pages: Sequence[str], password: str) -> bytes:
    """The same, to be opened with a password; an empty one opens for everybody."""
    writer, file = pypdf.PdfWriter(clone_from=io.BytesIO(pdf_bytes(pages))), io.BytesIO()
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    writer.write(file)
    return file.getvalue()


def docx_bytes(body: str, doctype: str = "", **others: bytes) -> bytes:
    """A docx with this body of WordprocessingML, and other parts of the zip."""
    file = io.BytesIO()
    document = f'<?xml version="1.0"?>{doctype}<w:document {WORD}><w:body>{body}</w:body></w:document>'
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", CONTENT_TYPES)
        parts.writestr("_rels/.rels", RELATIONS)
        parts.writestr("word/document.xml", document)
        for name, content in others.items():
            parts.writestr(f"word/{name}.xml", content)
    return file.getvalue()


def paragraph(text: str) -> str:
    """A paragraph of WordprocessingML."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: Sequence[str]) -> str:
    """A table of WordprocessingML."""
    lines = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"
