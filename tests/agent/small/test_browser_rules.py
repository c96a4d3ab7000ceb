"""Rules beside the model: banners, logins, what is possible, and when a task is done."""

from __future__ import annotations

import pytest

from agent.browser.logins import Login
from agent.small.browser.actions import Action
from agent.small.browser.questions import asked_value, banner, choices, does_first, finished, log_in, questions_in
from agent.small.browser.task import Memory, is_asked
from agent.small.browser.view import View, view_of


def view(snapshot: str, url: str = "http://a.example/") -> View:
    return view_of(url, snapshot)


@pytest.mark.parametrize(
    ("snapshot", "clicked"),
    [
        (
            '- text: We use cookies.\n- button "Accept all" [ref=e1]\n- button "Only necessary" [ref=e2]',
            "Only necessary",
        ),
        ('- dialog "Cookie consent" [ref=e9]:\n  - text: Cookies\n  - button "Got it" [ref=e1]', "Got it"),
        ('- text: Cookies are baked at 180 degrees.\n- list:\n  - listitem:\n    - button "Buy" [ref=e1]', None),
        ('- text: Do you agree?\n- button "Accept" [ref=e1]', None),
        (
            '- dialog "Delete account?" [ref=e9]:\n  - button "Cancel" [ref=e1]\n  - button "OK" [ref=e2]\n'
            "- contentinfo:\n  - text: About us\n  - paragraph: Cookie policy",
            None,
        ),
        ('- text: We use cookies.\n- link "What are necessary cookies?" [ref=e1]', None),
    ],
    ids=[
        "as little as possible",
        "only one way",
        "a recipe",
        "another question",
        "another dialog",
        "a link",
    ],
)
def test_a_banner_is_closed_with_as_little_consent_as_it_offers(snapshot, clicked):
    action = banner(view(snapshot), set())
    assert (action.on.name if action and action.on else None) == clicked


LOGIN = """
- textbox "Search" [ref=e1]
- textbox "User name" [ref=e2]
- textbox "Password" [ref=e3]
- button "Sign in" [ref=e4]
"""


def test_a_login_is_filled_in_by_placeholders():
    actions = log_in(view(LOGIN), Login("a.example", "anna", "s3cret"))
    assert [str(action) for action in actions] == [
        'type "<user>" into textbox "User name"',
        'type "<password>" into textbox "Password"',
        'click button "Sign in"',
    ]
    assert log_in(view(LOGIN), None) == []
    assert log_in(view('- textbox "Search" [ref=e1]'), Login("a.example", "anna", "s3cret")) == []


def test_a_password_is_never_made_up():
    page = view(LOGIN)
    possible = choices(page, Memory("Sign in."), page.elements, may_go_back=False, more=False)
    assert possible == ["type 1", "type 2", "click 4", "done"]


def test_nothing_is_done_twice_on_the_same_page():
    page = view('- link "Home" [ref=e1]:\n  - /url: /\n- button "More" [ref=e2]\n- checkbox "A" [disabled] [ref=e3]')
    memory = Memory("Find it.")
    assert choices(page, memory, page.elements, may_go_back=True, more=True) == [
        "click 1",
        "click 2",
        "read",
        "back",
        "done",
    ]
    memory.note(page, Action("click", page.elements[1]))
    memory.note(page, Action("done"))
    assert choices(page, memory, page.elements, may_go_back=False, more=False) == ["click 1"]


def test_a_link_is_not_followed_again_until_something_was_submitted():
    page = view('- link "Home" [ref=e1]:\n  - /url: /\n- button "Send" [ref=e2]')
    other = view('- heading "Other" [ref=e9]\n- link "Start" [ref=e1]:\n  - /url: /', "http://a.example/other")
    memory = Memory("Find it.")
    memory.note(page, Action("click", page.elements[0]), changed=True)
    assert memory.was_done(other, "click", other.elements[0])
    memory.note(page, Action("click", page.elements[1]), changed=True)
    assert not memory.was_done(other, "click", other.elements[0])


@pytest.mark.parametrize(
    ("task", "heading", "done"),
    [
        ('Subscribe "a@b.example".', "Thank you", True),
        ('Subscribe "a@b.example".', "Newsletter", False),
        ('Subscribe "a@b.example" and "c@d.example".', "Thank you", False),
        ('Subscribe "a@b.example". What is the number?', "Thank you", False),
    ],
    ids=["confirmed", "not confirmed", "something is left", "something is asked"],
)
def test_a_task_without_a_question_is_done_when_the_page_confirms_it(task, heading, done):
    form = view('- textbox "E-mail" [ref=e1]\n- button "Subscribe" [ref=e2]')
    memory = Memory(task)
    memory.used.add("a@b.example")
    memory.note(form, Action("click", form.elements[1]), changed=True)
    assert finished(view(f'- heading "{heading}" [level=1] [ref=e1]'), memory) is done


@pytest.mark.parametrize(
    ("task", "asked", "questions"),
    [
        ("How many boats are there?", True, 1),
        ("How many seals were counted, and who counted them?", True, 2),
        ('Sign the book with the name "What Ever".', False, 0),
        ("Sign in and change the telephone number.", False, 0),
        ("Send the form and report the number.", True, 0),
    ],
)
def test_a_task_asks_something_or_has_something_done(task, asked, questions):
    assert (is_asked(task), questions_in(task)) == (asked, questions)


def test_a_field_gets_what_the_task_says_of_it_and_nothing_that_is_not_sure():
    field, choice = view(
        '- textbox "Street" [ref=e1]\n- combobox "Size" [ref=e2]:\n  - option "small"\n  - option "large"'
    ).elements
    assert asked_value('Apply for plate "OX 1", street "Hemp Lane".', field) == "Hemp Lane"
    assert asked_value("Apply for a permit.", field) is None
    assert asked_value("Order the large one.", choice) == "large"
    assert asked_value("Order a small or a large one.", choice) is None


def test_a_lone_button_that_sends_nothing_leaves_the_model_a_choice():
    memory = Memory('Type "tent" into the filter.')
    page = view('- textbox "Filter" [ref=e1]: tent\n- button "Delete all rows" [ref=e2]')
    memory.note(page, Action("type", page.elements[0], "tent"))
    assert choices(page, memory, page.elements, may_go_back=False, more=False) == ["click 2", "done"]
    page = view('- textbox "Filter" [ref=e1]: tent\n- button "Search" [ref=e2]')
    assert choices(page, memory, page.elements, may_go_back=False, more=False) == ["click 2"]
    asked = Memory('Type "tent" into the filter and tell me how many rows are left.')
    asked.note(page, Action("type", page.elements[0], "tent"))
    assert choices(page, asked, page.elements, may_go_back=False, more=True) == ["click 2", "read", "done"]


def test_a_banner_does_not_finish_a_task():
    shop = view('- heading "Recently added tents" [level=1]\n- button "Reject all" [ref=e1]')
    memory = Memory("Order the tent Luna to my address.")
    memory.note(shop, Action("click", shop.elements[0], aside=True), changed=True)
    assert not finished(shop, memory)


def test_a_heading_that_was_there_before_confirms_nothing():
    before = view('- heading "Recently added tents" [level=1]\n- button "Order" [ref=e1]')
    after = view('- heading "Recently added tents" [level=1]\n- text: Choose a colour')
    memory = Memory("Order it.")
    memory.see(after, before)
    memory.note(before, Action("click", before.elements[0]), changed=True)
    assert not finished(after, memory)


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("Put Luna into the basket and tell me the total.", True),
        ("Go to the shop and tell me the price.", False),
        ("What does Luna cost?", False),
        ("Subscribe to the newsletter.", False),
    ],
)
def test_what_is_to_be_done_before_it_is_asked(task, first):
    assert does_first(task) is first


def test_a_banner_that_the_task_quotes_is_used():
    memory = Memory('Click "Only necessary" and tell me who leads the walk.')
    page = view('- text: We use cookies.\n- button "Only necessary" [ref=e1]')
    memory.note(page, Action("click", page.elements[0], aside=True), changed=True)
    assert memory.is_all_used
