"""Deciding the next action: a strong model in one structured call, a weak one in small questions, rules beside it."""

from agent.deciding.choose import choose
from agent.deciding.one_call import ATTEMPTS

__all__ = ["ATTEMPTS", "choose"]
