"""Rules for code of a model that may write its question into it. They guess; a trial that varies arguments knows."""

from mcp_tools.checks.generality.rules import generality

__all__ = ["generality"]
