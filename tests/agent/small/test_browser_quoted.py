"""What a task quotes or names is used without a model; what is not sure is left to it."""

from __future__ import annotations

import pytest

from agent.small.browser.task import next_named, next_quoted, quotes, repeated
from agent.small.browser.view import view_of

FORM = view_of(
    "http://a.example/",
    """
- textbox "Full name" [ref=e1]
- textbox "E-mail" [ref=e2]
- combobox "Walk" [ref=e3]:
  - option "Cliff path" [selected]
  - option "Seal bay"
- radio "Sea Holly" [ref=e4]
- link "Ferry timetable" [ref=e5]
- link "More" [ref=e6]
- link "More news" [ref=e7]
- link "More news" [ref=e8]
- checkbox "With a packed lunch" [ref=e9]
- button "Book" [ref=e10]
""",
)


def test_quotes_of_every_kind_are_found_in_order_with_the_words_before_them():
    found = list(quotes("Name \"Ada\", mail “a@b.example”, and it's 'so' here"))
    assert [quote.value for quote in found] == ["Ada", "a@b.example", "so"]
    assert found[0].before == "Name "


@pytest.mark.parametrize(
    ("task", "used", "done"),
    [
        ('Book for Name "Ada Finch".', set(), 'type "Ada Finch" into textbox "Full name"'),
        ('Type "Ada" in the field Full name and press "Book".', set(), 'type "Ada" into textbox "Full name"'),
        ('Enter "Ada" into "E-mail", then press "Book".', set(), 'type "Ada" into textbox "E-mail"'),
        (
            'Write to "a@b.example" by e-mail "x@y.example".',
            {"a@b.example"},
            'type "x@y.example" into textbox "E-mail"',
        ),
        ('Take the walk "seal bay".', set(), 'select "Seal bay" in combobox "Walk"'),
        ('Vote for "Sea Holly".', set(), 'click radio "Sea Holly"'),
        ('Take the walk "Cliff path".', set(), None),
        ('Do something with "Unknown".', set(), None),
        ('Vote for "Sea Holly".', {"Sea Holly"}, None),
    ],
)
def test_a_quoted_text_is_used_where_it_surely_belongs(task, used, done):
    found = next_quoted(task, FORM, used)
    assert (str(found[1]) if found else None) == done


@pytest.mark.parametrize(
    ("task", "followed", "done"),
    [
        ("Open the ferry timetable.", set(), 'click link "Ferry timetable"'),
        ("Open the ferry timetable.", {"ferry timetable"}, None),
        ("Book with a packed lunch.", set(), 'click checkbox "With a packed lunch"'),
        ("Show more.", set(), None),
        ("Show more news.", set(), None),
    ],
    ids=["link", "followed before", "box", "a single word", "two of one name"],
)
def test_what_the_task_names_by_several_words_is_clicked(task, followed, done):
    action = next_named(task, FORM, followed)
    assert (str(action) if action else None) == done


@pytest.mark.parametrize("task", ["Sign up without a packed lunch, please.", 'Book it, but not "With a packed lunch".'])
def test_what_is_not_wanted_is_not_used(task):
    assert next_named(task, FORM, set()) is None
    assert next_quoted(task, FORM, set()) is None


@pytest.mark.parametrize(
    ("task", "pressed"),
    [
        ('Which page explains what happens after "Book"?', False),
        ('Press "Book" and tell me what the page says.', True),
        ('What is said about the "Ferry timetable"?', True),
    ],
)
def test_what_is_asked_about_a_button_does_not_press_it(task, pressed):
    assert (next_quoted(task, FORM, set()) is not None) is pressed


@pytest.mark.parametrize(
    ("task", "first", "second", "again"),
    [
        ('Register with the password "moss7".', "Password", "Confirm password", True),
        ('Register with the password "moss7".', "Password", "Type it again", True),
        ('Enter "moss7" into both text fields.', "One", "Other", True),
        ('Register with the password "moss7".', "Street", "Confirm password", False),
        ('Enter "moss7" as the name of both boats.', "Name", "Owner", False),
    ],
)
def test_a_value_is_typed_again_where_it_is_wanted_twice(task, first, second, again):
    held = "moss7" if first != "Street" else "elsewhere"
    form = view_of("", f'- textbox "{first}" [ref=e1]: {held}\n- textbox "{second}" [ref=e2]')
    found = repeated(task, form)
    assert (found is not None) is again
    if found is not None:
        assert (found.on, found.text) == (form.elements[1], "moss7")
    full = view_of("", f'- textbox "{first}" [ref=e1]: {held}\n- textbox "{second}" [ref=e2]: moss7')
    assert repeated(task, full) is None
