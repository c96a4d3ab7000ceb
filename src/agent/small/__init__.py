"""Everything that only a small model needs: small questions, rules beside the model, votes.

`agent.strategy` alone imports this package.
"""

from agent.small.strategy import Small

__all__ = ["Small"]
