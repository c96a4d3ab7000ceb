"""Kinds of questions, told by rules from a question and its files; gap records are kept and found by them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from agent.answering.arithmetic import compute
from agent.web.address import addresses_in
from agent.web.reading.videos import video_id

KINDS = (
    "table", "document", "picture", "sound or film", "archive", "program", "data file",
    "film on the web", "web page", "calculation", "lookup",
)  # fmt: skip
_BY_ENDING = {
    **dict.fromkeys(("xlsx", "xls", "ods", "csv", "tsv", "parquet", "sqlite", "db"), "table"),
    **dict.fromkeys(("pdf", "docx", "pptx", "odt", "epub", "txt", "md", "html", "eml"), "document"),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "tif", "tiff", "bmp", "svg"), "picture"),
    **dict.fromkeys(("mp3", "m4a", "wav", "flac", "ogg", "aac", "mov", "mp4", "webm", "mkv"), "sound or film"),
    **dict.fromkeys(("zip", "tar", "gz", "tgz", "7z"), "archive"),
    **dict.fromkeys(("py", "ipynb", "js", "c", "java", "sh", "r"), "program"),
}
_COMPUTES = re.compile(
    r"\b(?:calculat|comput|how (?:many|much|long|far)|sum|total|average|mean|median|product|percent|probabilit|convert"
    r"|solve|equation|integral|distance|area|volume|ratio|round(?:ed)?|decimal)",
    re.IGNORECASE,
)


def kind_of(question: str, files: Iterable[str] = ()) -> str:
    """The kind of a question: that of its first file, else of its address, else what its words ask for."""
    for name in files:
        return _BY_ENDING.get(PurePath(name).suffix.lower().lstrip("."), "data file")
    addresses = addresses_in(question)
    if any(map(video_id, addresses)):
        return "film on the web"
    if addresses:
        return "web page"
    computes = compute(question) is not None or (_COMPUTES.search(question) and re.search(r"\d", question))
    return "calculation" if computes else "lookup"
