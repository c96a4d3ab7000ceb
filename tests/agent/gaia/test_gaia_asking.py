"""What the events of a run say about its attempt."""

from agent.events import StepStarted, ToolCalled
from agent.gaia.worker import Watched


def test_programs_and_attached_scripts_are_no_tools_of_the_library():
    watched = Watched(lambda event: None)
    for event in (
        StepStarted(1, 9, "run_code"),
        ToolCalled("tides.py"),
        ToolCalled("program", ok=False),
        StepStarted(2, 9, "use_tool"),
        ToolCalled("tide_height"),
    ):
        watched.listen(event)
    members = watched.as_members()
    assert members["tools_reused"] == ("tide_height",)
    assert members["tools_failed"] == ()
    assert members["routes"] == ("run_code", "use_tool")
