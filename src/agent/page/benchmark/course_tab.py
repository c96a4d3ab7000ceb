"""The tab for the Agents Course, which downloads questions, answers them as a benchmark, and submits the answers."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.gaia.configuration import BenchmarkPaths
from agent.gaia.course import COURSE_URL, CourseApi
from agent.gaia.outputs import PAYLOAD_LOG
from agent.gaia.submission import Submission, course_run, fetch_questions, send_submission, submission_from
from agent.page.benchmark import views
from agent.page.benchmark.panel import Panel
from agent.page.html import bad, text
from agent.store.redact import Redactor
from mcp_tools.errors import AlitaError

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.page.benchmark.running import PageBenchmarks

_FIRST = '<p class="bad">Press Dry run first, and review what would be sent.</p>'


def fetched(address: str) -> tuple[str, str]:
    """Download the course's questions. Return a message, and the questions as HTML."""
    notes: list[str] = []
    try:
        dataset = fetch_questions(CourseApi(address), notes.append)
    except AlitaError as error:
        return bad(error), ""
    return _notes(notes), views.questions(dataset)


def shown_first(settings: Settings, form: Profile) -> tuple[str, Submission | None]:
    """Render and log a submission without sending it, and return it so that it can be sent later."""
    without_keys = Redactor(settings.secrets).text
    try:
        made = form.submission()
        send_submission(CourseApi(form.course), made, send=False)
    except AlitaError as error:
        return without_keys(bad(error)), None
    note = f"<p>Nothing was sent. This is what Submit sends; it is also in {PAYLOAD_LOG}.</p>"
    return note + without_keys(views.submission(made)), made


def sent(settings: Settings, form: Profile, seen: Submission | None) -> tuple[str, Submission | None]:
    """Send the submission that was shown, and render its score. If the submission has changed, it is not sent."""
    if seen is None:
        return _FIRST, None
    try:
        if form.submission() != seen:
            return '<p class="bad">The answers or the profile changed.</p>' + _FIRST, None
        result = send_submission(CourseApi(form.course), seen, send=True)
    except AlitaError as error:
        return Redactor(settings.secrets).text(bad(error)), seen
    assert result is not None
    score = f"{result.score:g} % ({result.correct_count} correct, {result.total_attempted} answered)"
    return f'<div class="tool"><p class="good">{text(score)}</p><p>{text(result.message)}</p></div>', None


class Profile(NamedTuple):
    """Form values: the submitter, the course's server, and the results file."""

    output: str
    course: str
    username: str
    agent_code: str

    @property
    def paths(self) -> BenchmarkPaths:
        """Paths of the results and the ledger."""
        return BenchmarkPaths(Path(self.output or "course.json").expanduser().absolute())

    def submission(self) -> Submission:
        """Return the answers to submit.

        Raises:
        UserError: An answer cannot be submitted, or the profile is incomplete.
        """
        return submission_from(CourseApi(self.course), self.paths.ledger, self.username or "", self.agent_code or "")


def show(gr: Any, benchmarks: PageBenchmarks, tab: Any) -> None:
    """Add the questions, the run and the submission to the page."""
    with gr.Row():
        output = gr.Textbox("course.json", label="Results", max_lines=1)
        model = gr.Textbox(benchmarks.settings.model, label="Model", max_lines=1)
        most = gr.Number(0, label="Most questions (0: all)", precision=0, minimum=0)
        course = gr.Textbox(COURSE_URL, label="Course server", max_lines=1)
    with gr.Row():
        fetch, start = gr.Button("Fetch questions"), gr.Button("Start", variant="primary")
        resume = gr.Button("Continue")
    message = gr.HTML(padding=False, elem_id="course-told")
    asked = gr.HTML(padding=False, elem_id="course-questions")
    panel = Panel(gr, benchmarks, "course")
    with gr.Row():
        username = gr.Textbox(label="Hugging Face user name", max_lines=1)
        code = gr.Textbox(label="URL of the agent's code", placeholder="https://huggingface.co/spaces/…/tree/main")
    with gr.Row():
        dry, send = gr.Button("Dry run"), gr.Button("Submit", variant="primary")
    outcome = gr.HTML(padding=False, elem_id="course-outcome")
    seen = gr.State(None)
    profile = [output, course, username, code]

    async def entered(name: str) -> dict[Any, Any]:
        ledger = Profile(name, "", "", "").paths.ledger
        return await panel.show(ledger if await asyncio.to_thread(ledger.exists) else None)

    async def begin(name: str, model: str, most: float | None, address: str, *, goes_on: bool) -> dict[Any, Any]:
        notes: list[str] = []
        own = {"resume": goes_on, "max_questions": int(most) if most and most >= 1 else None}
        results = Profile(name, address, "", "").paths.output
        try:
            fetching = partial(course_run, CourseApi(address), results, benchmarks.settings, notes.append, **own)
            choices, ledger = await asyncio.to_thread(fetching)
            await benchmarks.start(choices, model=(model or "").strip())
        except AlitaError as error:
            return {message: f'<div role="alert">{Redactor(benchmarks.settings.secrets).text(bad(error))}</div>'}
        return {
            message: Redactor(benchmarks.settings.secrets).text(_notes(notes)),
            asked: "",
            **await panel.show(ledger),
        }

    async def begun(*given: Any) -> dict[Any, Any]:
        return await begin(*given, goes_on=False)

    async def resumed(*given: Any) -> dict[Any, Any]:
        return await begin(*given, goes_on=True)

    def looked(*given: str) -> tuple[str, Submission | None]:
        return shown_first(benchmarks.settings, Profile(*given))

    def handed(*given: Any) -> tuple[str, Submission | None]:
        return sent(benchmarks.settings, Profile(*given[:-1]), given[-1])

    tab.select(entered, [output], panel.parts, show_progress="hidden")
    fetch.click(fetched, [course], [message, asked])
    for button, handler in ((start, begun), (resume, resumed)):
        button.click(handler, [output, model, most, course], [message, asked, *panel.parts])
    dry.click(looked, profile, [outcome, seen])
    send.click(handed, [*profile, seen], [outcome, seen])


def _notes(notes: list[str]) -> str:
    return f'<p class="empty">{text(chr(10).join(notes))}</p>' if notes else ""
