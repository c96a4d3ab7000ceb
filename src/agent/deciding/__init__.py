"""Deciding the next action: a strong model in one structured call, a weak one in small questions, rules beside it."""

from agent.deciding.choose import ATTEMPTS, choose

__all__ = ["ATTEMPTS", "choose"]
