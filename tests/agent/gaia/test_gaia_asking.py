"""What the events of a run say about its attempt."""

from agent.gaia.pool import Asked, AttemptJob


async def test_programs_and_attached_scripts_are_no_tools_of_the_library():
    asked = Asked(AttemptJob("q1", 1, "?"))
    for event, told in (
        ("step_started", {"action": "run_code"}),
        ("tool_called", {"name": "tides.py", "ok": True, "server": ""}),
        ("tool_called", {"name": "program", "ok": False, "server": ""}),
        ("step_started", {"action": "use_tool"}),
        ("tool_called", {"name": "tide_height", "ok": True, "server": ""}),
    ):
        asked.note({"event": event, **told})
    attempt = asked.attempt()
    assert attempt.tools_reused == ("tide_height",)
    assert attempt.tools_failed == ()
    assert attempt.routes == ("run_code", "use_tool")
