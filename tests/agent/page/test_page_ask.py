"""Asking on the page, in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from support.fibonacci import ANSWER, QUESTION
from support.openai_server import OpenAIServer
from support.page import Site, picture

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("page")]


def ask(page: Page, question: str) -> None:
    page.get_by_placeholder("Ask a question").fill(question)
    page.get_by_placeholder("Ask a question").press("Enter")


def test_a_tool_is_kept_once_its_code_was_shown_and_allowed(page: Page, site: Site) -> None:
    ask(page, QUESTION)
    asked = page.get_by_role("alert")
    expect(asked).to_contain_text("Keep this tool? nth_fibonacci(n: int) -> int")
    expect(asked).to_contain_text("a, b = b, a + b")
    expect(asked).to_contain_text("deliberate bugs")
    expect(asked).to_contain_text("nth_fibonacci(n=")
    picture(page, "approval")
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(page.locator(".answer")).to_have_text(ANSWER)
    expect(asked).to_be_hidden()
    expect(page.locator(".took")).to_contain_text("answered · ")
    assert list(site.home.parent.rglob("tools/nth_fibonacci.py"))


def test_files_are_read_and_a_follow_up_knows_what_was_said(page: Page, tmp_path: Path, model: OpenAIServer) -> None:
    table = tmp_path / "<img src=x onerror=alert(1)>.csv"
    table.write_text("region,sold\nnorth,4\nsouth,5\nwest,6\n")
    page.locator("input[type=file]").set_input_files(table)
    ask(page, "How many rows has the table?")
    expect(page.locator(".answer")).to_have_text("It has three rows.")
    ask(page, "Draw a chart of it.")
    expect(page.locator(".answer").last).to_have_text("The chart is drawn.")
    assert "How many rows has the table?" in str(model.requests[-1]["messages"])
    shown = page.locator(".outputs img")
    expect(shown).to_be_visible()
    assert shown.evaluate("image => image.naturalWidth") > 100
    page.locator(".steps > summary").last.click()
    page.locator("details.step summary").last.click()
    expect(page.locator("details.step pre").last).to_contain_text("drawn")
    picture(page, "chart")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_an_answer_is_text_and_loads_nothing(page: Page) -> None:
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if ":9/" in request.url else None)
    ask(page, "Be hostile")
    answer = page.locator(".answer")
    expect(answer).to_contain_text("Read <img src=x")
    expect(answer).to_contain_text("${document.title='taken'} {{value}}")
    assert answer.locator("img, script").count() == 0
    links = [link.get_attribute("href") for link in answer.locator("a").all()]
    assert links == ["http://127.0.0.1:9/remote.png", "https://example.org/"]
    assert (page.title(), elsewhere) == ("alita", [])


def test_stop_ends_the_run_and_the_next_question_is_answered(page: Page) -> None:
    ask(page, "Be slow")
    expect(page.locator(".step").first).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    ask(page, "How many rows has the table?")
    expect(page.locator(".answer")).to_have_text("It has three rows.")


def test_the_key_is_nowhere_on_the_page(page: Page, visitor: BrowserContext, site: Site) -> None:
    config = visitor.request.get(f"{site.url}config").text()
    assert "thekeythatnobodyshows" not in page.content() + config
    ask(page, "Repeat sk-thekeythatnobodyshows1234567890")
    expect(page.locator(".answer")).to_be_visible()
    assert "thekeythatnobodyshows" not in page.locator("#conversation").inner_text()


def test_two_visitors_ask_at_once_and_each_sees_its_own(page: Page, site: Site, chromium: Browser) -> None:
    with chromium.new_context() as other:
        second = other.new_page()
        second.goto(site.address)
        ask(page, "Be slow")
        expect(page.locator(".step").first).to_be_visible()
        ask(second, "How many rows has the table?")
        expect(second.locator(".answer")).to_have_text("It has three rows.")
        expect(page.locator("#conversation")).not_to_contain_text("rows")
        expect(second.locator("#conversation")).not_to_contain_text("slow")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()


def test_tools_are_found_shown_and_run_and_runs_replayed(page: Page) -> None:
    ask(page, "How many rows has the table?")
    expect(page.locator(".answer")).to_have_text("It has three rows.")
    page.get_by_role("tab", name="Tools").click()
    page.get_by_label("double_number — Double a number.").click()
    expect(page.locator("#tool")).to_contain_text("0 in 0 questions")
    page.get_by_label("n: integer, required").fill("21")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#result")).to_contain_text("42")
    page.get_by_role("button", name="Versions").first.click()
    page.get_by_role("button", name="Compare versions").click()
    expect(page.locator("#difference")).to_contain_text("+    return n + n")
    page.get_by_role("button", name="Export").first.click()
    page.get_by_role("button", name="Export the tool").click()
    with page.expect_download() as taken:
        page.locator("#exported a").click()
    assert taken.value.suggested_filename == "double_number.zip"
    picture(page, "tools")
    page.get_by_role("tab", name="Runs").click()
    page.locator("#runs label", has_text="How many rows").first.click()
    expect(page.locator("#run")).to_contain_text("It has three rows.")
    expect(page.locator("#run pre")).to_contain_text("step 1")
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("#replayed")).to_contain_text("Replayed without a model")
    page.get_by_label("Compare with").click()
    page.get_by_role("option").first.click()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#compared")).to_contain_text("Steps")
    picture(page, "runs")


def test_a_setting_is_changed_and_everything_checked(page: Page, site: Site) -> None:
    page.get_by_role("tab", name="Settings").click()
    expect(page.locator("#settings")).to_contain_text("max_steps")
    page.get_by_label("Setting", exact=True).click()
    page.get_by_role("option", name="replan_steps").click()
    expect(page.get_by_label("Value")).to_have_value("6")
    page.get_by_label("Value").fill("many")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#settings-told")).to_contain_text("it is not a whole number")
    page.get_by_label("Value").fill("8")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#settings-told")).to_have_text("replan_steps is set.")
    expect(page.locator("#settings tr", has_text="replan_steps")).to_contain_text("config.toml")
    picture(page, "settings")
    page.get_by_role("tab", name="Doctor").click()
    page.get_by_role("button", name="Check everything").click()
    expect(page.locator("#doctor")).to_contain_text("questions go to gpt-test")
    assert "thekeythatnobodyshows" not in page.content()
    picture(page, "doctor")


def test_a_form_is_made_from_the_parameters_and_nothing_in_it_is_markup(page: Page) -> None:
    page.get_by_role("tab", name="Tools").click()
    page.get_by_label("show_parts").click()
    expect(page.get_by_label("points: array, required")).to_have_value("[1, 2]")
    expect(page.get_by_label("way: string, optional")).to_have_value("down")
    page.get_by_label("points: array, required").fill("[1, x]")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#result")).to_contain_text("points: '[1, x]' is not valid JSON, such as [1, 2]")
    picture(page, "form")
    page.get_by_label("points: array, required").fill('["x"]')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#result")).to_contain_text("points[0]: 'x' is not a whole number")
    page.get_by_label("way: string, optional").click()
    page.get_by_role("option", name="<img").click()
    page.get_by_label("points: array, required").fill("[3]")
    page.get_by_label("deep: boolean, optional").click()
    page.get_by_role("option", name="true").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#result")).to_contain_text('"deep": true')
    assert page.locator("img[src=x]").count() == 0
    assert page.title() == "alita"


def test_a_page_that_is_loaded_again_shows_its_conversation_and_its_run_goes_on(
    page: Page, visitor: BrowserContext, site: Site
) -> None:
    ask(page, "How many rows has the table?")
    expect(page.locator(".answer")).to_have_text("It has three rows.")
    ask(page, "Be slow")
    expect(page.locator(".steps[open] .step").first).to_be_visible()
    page.reload()
    expect(page.locator(".answer")).to_have_text("It has three rows.")
    expect(page.locator(".busy")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    page.get_by_text("Model, specialist and conversations").click()
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".answer")).to_have_count(0)
    page.get_by_label("Earlier conversations").click()
    page.get_by_role("option", name="How many rows").first.click()
    expect(page.locator(".answer")).to_have_text("It has three rows.")
