"""The page of a report shows every question, and nothing in a text of others can act in it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from agent.gaia.attempt import Task
from agent.gaia.ledger import Header
from agent.gaia.report.figures import Counted, Results
from agent.gaia.report.render import as_html, item_of
from agent.gaia.report.report import report_of
from agent.store.redact import Redactor
from support.attempts import attempt, tasks

EVIL = "</dd></style><script>document.title='owned'</script><img src=x onerror=alert(1)>\u202eback"


class Seen(HTMLParser):
    """What a browser would see: tags in balance, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words += data


def page_of(attempts: Any, selected: Any, redactor: Redactor | None = None, **more: Any) -> str:
    shown = report_of(Results(attempts, selected, name="l.jsonl", **more))
    return as_html((redactor or Redactor()).values(shown))


def test_texts_of_others_are_escaped_wherever_they_stand():
    evil = attempt("q1" + EVIL, answer=EVIL, error=EVIL, tools_created=(EVIL,), routes=(EVIL,), model=EVIL)
    html = page_of([evil], [Task("q1" + EVIL, EVIL, 1, f"a.{EVIL}")], header=Header(created=EVIL), flaws=[EVIL])
    seen = Seen(html)
    assert "default-src 'none'" in html
    assert "\u202e" not in html
    assert not {"script", "img", "link", "iframe", "a"} & {*seen.tags}
    assert not {"src", "href", "onerror", "style"} & seen.attributes
    assert EVIL.replace("\u202e", "") in seen.words


def test_every_question_is_on_the_page_attempted_or_not():
    seen = Seen(page_of([attempt("q1"), attempt("q2", False, error="it broke")], tasks(3)))
    assert seen.tags.count("details") == 3
    assert "it broke" in seen.words
    assert "missing" in seen.words
    assert "0 of 3" in Seen(page_of([], tasks(3))).words
    assert Seen(page_of([], [])).words


def test_a_question_without_its_file_is_not_called_wrong():
    made = attempt("q1", False, status="missing-file", answer="")
    assert item_of(Counted(tasks(1)[0], 1, made)).kind == "file missing"


def test_keys_are_masked_on_the_page():
    secret, shaped = "a-key-of-no-known-shape", "sk-abcdefghijklmnopqrstuvwxyz0123"
    html = page_of([attempt("q1", answer=f"{secret} {shaped}", model=secret)], tasks(1), Redactor([secret]))
    assert secret not in html
    assert shaped not in html
