"""What makes two attempts comparable: the same questions under the same configuration."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from mcp_tools.tool import Json

LENGTH = 16
"""Hexadecimal digits that stand for a question set or a configuration."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The question set and the configuration of a benchmark."""

    dataset: str
    """The question set's own fingerprint."""
    configuration: dict[str, Json] = field(default_factory=dict)
    """Models, roles, limits, library, what it goes without: whatever an answer depends on."""

    @property
    def digest(self) -> str:
        """Equal for equal questions and configurations only."""
        text = json.dumps([self.dataset, self.configuration], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def differences(one: dict[str, Json], other: dict[str, Json]) -> list[str]:
    """What differs between two configurations, each as `name: one, now other`."""
    names = sorted(one.keys() | other.keys())
    return [
        f"{name}: {_shown(one, name)}, now {_shown(other, name)}" for name in names if one.get(name) != other.get(name)
    ]


def _shown(configuration: dict[str, Json], name: str) -> str:
    value = configuration.get(name)
    return "none" if value is None else json.dumps(value, ensure_ascii=False)
