"""What a server offers beside the library and the usual constant tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mcp_tools.serving.call import ConstantTool
from mcp_tools.serving.lists.prompts import Prompt
from mcp_tools.serving.lists.resources import Document


@dataclass(frozen=True, slots=True)
class Extra:
    """More of each kind; nothing unless told."""

    tools: Sequence[ConstantTool] = ()
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    """By name."""
    documents: Sequence[Document] = ()
