"""Files to text: a workbook of 100,000 rows (P12), a PDF of 200 pages (P13), documents and slides (P14), a large CSV.

    python benchmarks/files.py [--json] [--repeat 5] [--large]

The agent's reading is `agent.files.reading`, including its worker process. The baseline is the library that reads such
a file fastest or most completely, in a new process, measured in turn. Times exclude imports in the asking process.
Memory is the peak of all processes of one reading. This script generates the files. `--large` makes the CSV file 1 GB
instead of 100 MB.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from table import Figure, as_text, at_most, ratio_at_most, time_at_most

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "while", "nobody", "looks"]
_OURS = """
import asyncio, sys, time
from pathlib import Path
from agent.files.reading import preview, read
started = time.perf_counter()
told = asyncio.run({call})
print(time.perf_counter() - started)
assert {holds}, told
"""
_THEIRS = """
import sys, time
{imports}
started = time.perf_counter()
{code}
print(time.perf_counter() - started)
"""


def ours(call: str, holds: str) -> str:
    """Return a program that reads like the agent."""
    return _OURS.format(call=call, holds=holds)


def theirs(imports: str, code: str) -> str:
    """Return a program that reads with a library alone."""
    return _THEIRS.format(imports=imports, code=code)


CALAMINE = theirs(
    "from python_calamine import CalamineWorkbook",
    "sheet = CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0)\n"
    "assert sum(1 for row in sheet.iter_rows()) == 100_001",
)
ALL_ROWS = """
import sys, time
from pathlib import Path
import python_calamine
from agent.files.contents import ReadLimits, Source
from agent.files.tables.workbook import open_workbook
started = time.perf_counter()
contents = open_workbook(Source(Path(sys.argv[1]), "xlsx"), ReadLimits())
rows = sum(section.text.count("\\n") - 1 for section in contents.sections())
print(time.perf_counter() - started)
assert rows == 100_001, rows
"""
PDFIUM = theirs(
    "import pypdfium2",
    "document = pypdfium2.PdfDocument(sys.argv[1])\n"
    "texts = [document[number].get_textpage().get_text_bounded() for number in range(len(document))]\n"
    "assert len(texts) == 200 and 'Page 200' in texts[-1]",
)
MARKITDOWN = theirs(
    "from markitdown import MarkItDown",
    "text = MarkItDown().convert(sys.argv[1]).text_content\nassert 'Chapter 40' in text or 'Slide 60' in text",
)
LINES = theirs(
    "from pathlib import Path",
    "lines = 0\nwith Path(sys.argv[1]).open('rb') as file:\n"
    "    while block := file.read(1 << 20):\n        lines += block.count(b'\\n')",
)


TO_THE_END = """
import asyncio, sys, time
from pathlib import Path
from agent.files.contents import FileProblem
from agent.files.reading import read
started = time.perf_counter()
try:
    asyncio.run(read(Path(sys.argv[1]), page=10**9))
except FileProblem as problem:
    assert problem.reason == "range"
print(time.perf_counter() - started)
"""


class Taken(NamedTuple):
    """Median time and memory of a reading."""

    ms: float
    mib: float


def make_workbook(path: Path) -> None:
    """100,000 rows of numbers, codes that look like numbers, dates, text, and truth values."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sales")
    sheet.append(["id", "code", "date", "region", "amount", "price", "note", "flag"])
    for i in range(100_000):
        day = dt.date(2020, 1, 1) + dt.timedelta(days=i % 1500)
        sheet.append([i, f"{i:05d}", day, "North", i * 3, i * 0.25, f"note {i % 1000}", bool(i % 2)])
    book.save(path)


def make_pdf(path: Path) -> None:
    """200 pages of 45 lines."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in range(1, 201):
        lines = [f"Page {page}", *(" ".join([*WORDS, str(page * line)]) for line in range(44))]
        shown = "".join(f"({line}) Tj T* " for line in lines)
        stream = f"BT /F1 10 Tf 14 TL 50 780 Td {shown}ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        content = len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % content
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count 200 /Kids [%s] >>" % b" ".join(kids)
    written, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    path.write_bytes(
        written
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n" % (size, table, size)
        + b"startxref\n%d\n%%%%EOF\n" % len(written)
    )


def make_document(path: Path) -> None:
    """40 chapters with a heading, paragraphs, a list and a table."""
    from docx import Document

    document = Document()
    for chapter in range(1, 41):
        document.add_heading(f"Chapter {chapter}", 1)
        for _ in range(4):
            document.add_paragraph(" ".join(WORDS * 6))
        document.add_paragraph("First of all", style="List Bullet")
        table = document.add_table(rows=5, cols=4)
        for row in range(5):
            for column in range(4):
                table.cell(row, column).text = f"{chapter}.{row}.{column}"
    document.save(str(path))


def make_slides(path: Path) -> None:
    """60 slides with a title, a table and notes."""
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    for number in range(1, 61):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
        table = slide.shapes.add_table(4, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
        for row in range(4):
            for column in range(3):
                table.cell(row, column).text = f"{number}.{row}.{column}"
        slide.notes_slide.notes_text_frame.text = f"Say this of slide {number}."
    deck.save(str(path))


def make_table(path: Path, size: int) -> None:
    """Write rows with a quoted field up to the size. The last row is different, so that it can be recognised."""
    block = "".join(f'{i},code{i:07d},"name, {i}",{i * 0.5},2024-05-01,some words\n' for i in range(200_000)).encode()
    with path.open("wb") as file:
        written = file.write(b"id,code,name,price,when,note\n")
        while written < size:
            written += file.write(block)
        file.write(b"-1,the last one,,,,\n")


_WHOLE = "read(Path(sys.argv[1]), to=10**6, limit=10**8)"
PROGRAMS: dict[str, dict[str, str]] = {
    "a.xlsx": {
        "ours": ours("preview(Path(sys.argv[1]))", "'| 3 | 1 | 00001 | 2020-01-02 |' in told.text"),
        "rows": ALL_ROWS,
        "theirs": CALAMINE,
    },
    "a.pdf": {"ours": ours(_WHOLE, "'Page 200' in told.text"), "theirs": PDFIUM},
    "a.docx": {"ours": ours(_WHOLE, "'# Chapter 40' in told.text"), "theirs": MARKITDOWN},
    "a.pptx": {"ours": ours(_WHOLE, "'Say this of slide 60.' in told.text"), "theirs": MARKITDOWN},
    "a.csv": {
        "ours": TO_THE_END,
        "preview": ours("preview(Path(sys.argv[1]))", "'6 columns' in told.summary"),
        "theirs": LINES,
    },
}
"""For each file, the programs that read it."""


def make(path: Path, table_size: int) -> None:
    """Make the file with this name."""
    if path.suffix == ".csv":
        make_table(path, table_size)
        return
    made = {".xlsx": make_workbook, ".pdf": make_pdf, ".docx": make_document, ".pptx": make_slides}
    made[path.suffix](path)


def once(program: str, path: Path) -> Taken:
    """Run a program in a new process. Returns the time that it prints, and the peak memory of all its processes."""
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise SystemExit(f"reading {path.name} failed")
    return Taken(1000 * float(said), used.ru_maxrss / 1024)


def measure(table_size: int, repeat: int) -> dict[str, dict[str, Taken]]:
    """Return medians by file and program. The first round warms the disk cache."""
    figures: dict[str, dict[str, Taken]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for file, programs in PROGRAMS.items():
            path = Path(folder) / file
            # in a child, because a new process is charged with the memory that its parent had at the start
            subprocess.run([sys.executable, __file__, "--make", str(path), str(table_size)], check=True)
            runs: dict[str, list[Taken]] = {name: [] for name in programs}
            for turn in range(repeat + 1):
                for name, program in programs.items():
                    one = once(program, path)
                    if turn:
                        runs[name].append(one)
            figures[file] = {
                name: Taken(statistics.median(one.ms for one in taken), max(one.mib for one in taken))
                for name, taken in runs.items()
            }
            path.unlink()
    return figures


def table(found: dict[str, dict[str, Taken]], size: str) -> list[Figure]:
    """Return the figures with their baselines and targets."""
    book, pdf, docx, pptx, large = (found[f"a.{kind}"] for kind in ("xlsx", "pdf", "docx", "pptx", "csv"))
    return [
        time_at_most("P12", "100,000-row workbook, preview, ms (calamine)", book["ours"].ms, 700, book["theirs"].ms),
        at_most("P12", "the same, peak memory, MiB (calamine)", book["ours"].mib, 120, book["theirs"].mib),
        Figure("", "the same, every row as text, ms (calamine)", book["rows"].ms, book["theirs"].ms),
        at_most("P12", "the same, peak memory, MiB (calamine)", book["rows"].mib, 120, book["theirs"].mib),
        time_at_most("P13", "200-page PDF to text, ms (pypdfium2)", pdf["ours"].ms, 350, pdf["theirs"].ms),
        ratio_at_most("P14", "docx to Markdown, ms (markitdown)", docx["ours"].ms, docx["theirs"].ms, 1),
        ratio_at_most("P14", "pptx to Markdown, ms (markitdown)", pptx["ours"].ms, pptx["theirs"].ms, 1),
        Figure("", f"csv of {size}, preview, ms (its line feeds counted)", large["preview"].ms, large["theirs"].ms),
        Figure("", "the same, to its very end, ms (its line feeds counted)", large["ours"].ms, large["theirs"].ms),
        at_most("", "the same, peak memory, MiB", max(large["ours"].mib, large["preview"].mib), 64),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeat", type=int, default=5, help="readings of each kind")
    parser.add_argument("--large", action="store_true", help="a table of 1 GB instead of 100 MB")
    parser.add_argument("--make", nargs=2, metavar=("FILE", "BYTES"), help="only make one of the files")
    options = parser.parse_args()
    if options.make:
        make(Path(options.make[0]), int(options.make[1]))
        return
    found = measure(10**9 if options.large else 10**8, options.repeat)
    rows = table(found, "1 GB" if options.large else "100 MB")
    if options.json:
        figures: dict[str, Any] = {name: {k: v._asdict() for k, v in one.items()} for name, one in found.items()}
        print(json.dumps({"benchmark": "files", "rows": [row._asdict() for row in rows], "figures": figures}))
        return
    print(as_text(rows))


if __name__ == "__main__":
    main()
