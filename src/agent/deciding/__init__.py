"""Deciding the next action."""

from agent.deciding.choose import next_action
from agent.deciding.one_call import ATTEMPTS, ask_until_possible
from agent.deciding.wished import ask_for_tool

__all__ = ["ATTEMPTS", "ask_for_tool", "ask_until_possible", "next_action"]
