"""Benchmarks and the course on the page, in a real Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.benchmarks import question_file
from support.course_server import CourseServer
from support.gaia_records import kept_benchmark
from support.page import Site, held, picture

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("page")]
ATTACK = "<img src=x onerror=\"document.title='taken'\"> ${document.title='taken'} {{value}}"


def open_form(page: Page, questions: Path, results: Path) -> None:
    page.get_by_role("tab", name="Benchmark").click()
    page.get_by_role("button", name="Run a question file").click()
    page.get_by_label("Question file").fill(str(questions))
    page.get_by_label("Results").first.fill(str(results))


def test_an_uploaded_file_is_run_shown_row_by_row_and_compared(page: Page, tmp_path: Path, site: Site) -> None:
    questions = question_file(tmp_path, 4)
    lines = [json.loads(line) for line in questions.read_text().splitlines()]
    lines[2]["Question"] += ATTACK
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    kept_benchmark(tmp_path / "before", lines, right=1)
    open_form(page, Path("absent.jsonl"), tmp_path / "mine.json")
    page.get_by_role("button", name="Start").locator("visible=true").click()
    expect(page.locator("#benchmark-told")).to_contain_text("The question file absent.jsonl cannot be read")
    page.locator("#benchmark-form input[type=file]").set_input_files(questions)
    expect(page.locator("#benchmark-form")).to_contain_text(re.compile(r"questions\s*\.jsonl"))
    page.get_by_role("button", name="Start").locator("visible=true").click()
    figures = page.locator("#benchmark-figures")
    expect(figures).to_contain_text("75.0 % right: 3 of 4")
    expect(figures).to_contain_text("3 right of 4, 75.0 % of all selected")
    assert (tmp_path / "mine.questions.jsonl").read_bytes() == questions.read_bytes()
    expect(page.locator("#benchmark-rows")).to_contain_text("Which card is number 2?<img src=x")
    page.get_by_role("button", name="t1").click()
    expect(page.locator("#benchmark-attempt")).to_contain_text("Read <img src=x")
    expect(page.locator("#benchmark-attempt pre")).to_contain_text("step 1")
    page.get_by_role("button", name="Compare").first.click()
    page.get_by_label("Earlier benchmark").fill(str(tmp_path / "before/kept.json"))
    page.get_by_label("Earlier benchmark").press("Enter")
    page.get_by_role("button", name="Compare").last.click()
    expect(page.locator("#benchmark-difference")).to_contain_text("+50.0 points on 4 common questions")
    picture(page, "benchmark")
    assert (page.title(), page.locator("#benchmark-rows img, #benchmark-attempt img").count()) == ("alita", 0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_benchmark_is_found_again_after_a_reload_started_once_stopped_and_continued(
    page: Page, tmp_path: Path, site: Site, chromium: Browser
) -> None:
    held.add("2")
    questions, results = question_file(tmp_path, 4), tmp_path / "held.json"
    open_form(page, questions, results)
    page.get_by_role("button", name="Start").locator("visible=true").click()
    figures = page.locator("#benchmark-figures")
    expect(figures).to_contain_text("Running: 3 of 4")
    page.reload()
    page.get_by_role("tab", name="Benchmark").click()
    expect(figures).to_contain_text("Running: 3 of 4")
    with chromium.new_context() as other:
        second = other.new_page()
        second.goto(site.address)
        open_form(second, questions, results)
        second.get_by_role("button", name="Continue").locator("visible=true").click()
        expect(second.locator("#benchmark-told")).to_contain_text("is running")
        expect(second.locator("#benchmark-figures")).to_contain_text("Running: 3 of 4")
    page.locator("#benchmark-stop").click()
    expect(figures).to_contain_text("Press Stop again")
    picture(page, "under-way")
    page.locator("#benchmark-stop").click()
    expect(figures).to_contain_text("1 left")
    expect(page.locator("#benchmark-stop")).to_be_hidden()
    figures.get_by_text("All figures").click()
    page.get_by_role("button", name="t1").click()
    expect(page.locator("#benchmark-attempt")).to_contain_text("raw answer")
    held.clear()
    page.get_by_role("button", name="Run a question file").click()
    page.get_by_role("button", name="Continue").locator("visible=true").click()
    expect(figures).to_contain_text("75.0 % right: 3 of 4")
    expect(figures.get_by_text("mean pass@1")).to_be_visible()


def test_the_course_is_fetched_answered_shown_and_handed_in(page: Page, tmp_path: Path) -> None:
    with CourseServer() as course:
        course.questions = [{**one, "question": f"Which card is number {n}? {ATTACK}"}
                            for n, one in enumerate(course.questions[:3])]  # fmt: skip
        course.answers = {"card-1": "0", "card-2": "1", "card-3": "2"}
        page.get_by_role("tab", name="Course").click()
        page.get_by_label("Course server").fill(course.url)
        page.get_by_label("Results").last.fill(str(tmp_path / "course.json"))
        page.get_by_role("button", name="Fetch questions").click()
        expect(page.locator("#course-questions")).to_contain_text("Which card is number 2? <img src=x")
        page.get_by_role("button", name="Start").locator("visible=true").click()
        expect(page.locator("#course-figures")).to_contain_text("3 answered of 3")
        page.get_by_label("Hugging Face user name").fill("somebody")
        page.get_by_label("URL of the agent's code").fill("https://huggingface.co/spaces/x/y/tree/main")
        outcome = page.locator("#course-outcome")
        page.get_by_role("button", name="Submit").locator("visible=true").last.click()
        expect(outcome).to_contain_text("Press Dry run first")
        page.get_by_role("button", name="Dry run").click()
        expect(outcome).to_contain_text("Nothing was sent.")
        expect(outcome).to_contain_text("somebody · https://huggingface.co/spaces/x/y/tree/main")
        assert course.submissions == []
        picture(page, "course")
        page.get_by_role("button", name="Submit").locator("visible=true").last.click()
        expect(outcome).to_contain_text("66.67 % (2 correct, 3 answered)")
    assert [one["username"] for one in course.submissions] == ["somebody"]
    assert (course.violations, page.title()) == ([], "alita")
