"""What the agent writes and proves may be served; its approvals are the user's own."""

from __future__ import annotations

import json

from agent.layers import read_settings
from mcp_tools.library import Library
from support.fibonacci import QUESTION, STORY


async def test_a_created_tool_is_approved_in_the_users_data_folder(desk) -> None:
    """A server of the same user serves it at once; the folder itself holds no approval."""
    await desk.plays(*STORY).ask(QUESTION)
    settings = read_settings({"tools_dir": str(desk.tools_dir)}, environment={"ALITA_HOME": str(desk.home)})
    assert settings.approvals_file == desk.home / "data" / "approvals.json"
    assert [tool.name for tool in Library(desk.tools_dir, settings.approvals_file).served()] == ["nth_fibonacci"]
    assert Library(desk.tools_dir).served() == []
    assert not (desk.tools_dir / ".alita" / "approvals.json").exists()
    assert [*json.loads(settings.approvals_file.read_text())["libraries"]] == [str(desk.tools_dir)]


async def test_a_resumed_and_a_replayed_run_approve_nothing_else(desk) -> None:
    """A replay registers nothing, and so changes no approval."""
    answer = await desk.plays(*STORY).ask(QUESTION)
    approvals = desk.home / "data" / "approvals.json"
    before = approvals.read_bytes()
    await desk.replay(answer.run_id)
    assert approvals.read_bytes() == before
