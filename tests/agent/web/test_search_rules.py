"""The specialist's rules: what a question is about, how it is searched for, what a page and a source are worth."""

import pytest

from agent.web.evidence import credibility_of, relevance_of
from agent.web.page import Page
from agent.web.queries import queries_by_rule, stems_of, terms_of
from agent.web.quoting import read_closely

HEIGHT = "How high is the Grey Point lighthouse in Oxmere?"


@pytest.mark.parametrize(
    ("aim", "queries"),
    [
        (HEIGHT, ("high Grey Point lighthouse Oxmere",)),
        (
            "Is the Grey Point lighthouse taller than the Skagen tower?",
            ("Grey Point taller lighthouse tower", "Skagen taller lighthouse tower"),
        ),
        ("Give an overview of tidal power", ("overview tidal power",)),
        (
            "Who designed the harbour wall and when was the basin dug?",
            ("designed harbour wall", "basin dug"),
        ),
        ('Who said "the sea does not ask"?', ('"the sea does not ask" said',)),
    ],
)
def test_a_plain_question_is_planned_without_a_model(aim, queries):
    assert [sorted(query.lower().split()) for query in queries_by_rule(aim)] == [
        sorted(query.lower().replace("taller ", "").split()) for query in queries
    ]


@pytest.mark.parametrize(
    ("url", "level", "why"),
    [
        ("https://www.ons.gov.uk/x", "high", "official"),
        ("https://physics.ox.ac.uk/x", "high", "university"),
        ("https://en.wikipedia.org/wiki/X", "medium", "encyclopaedia"),
        ("https://www.reddit.com/r/x", "low", "anyone"),
        ("https://some.example/x", "medium", "nothing is known"),
        ("http://127.0.0.1:80/x", "medium", "this machine"),
        ("https://news.bbc.co.uk/x", "high", "newsroom"),
        ("https://notreddit.com/x", "medium", "nothing is known"),
    ],
)
def test_a_source_is_believed_by_who_answers_for_it(url, level, why):
    grade = credibility_of(url)
    assert (grade.level, why in grade.why) == (level, True)


def test_a_page_that_has_the_question_only_in_title_and_headings_is_not_relevant():
    page = Page("https://a.example/x", HEIGHT, f"# {HEIGHT}\n\nBuy our lamps.")
    read = read_closely(page, terms_of(HEIGHT), HEIGHT)
    assert relevance_of(read.stems, terms_of(HEIGHT), stems_of(HEIGHT)) == "low"


def page(url, markdown, title="Grey Point lighthouse"):
    return read_closely(Page(url, title, markdown), terms_of(HEIGHT), HEIGHT)
