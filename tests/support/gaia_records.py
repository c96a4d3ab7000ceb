"""Synthetic records in the dataset's form, with a canary in every field that the agent may not see."""

from __future__ import annotations

from typing import Any

CANARY = "canary-7f3a91"


def record(task_id: str, level: int | str = 1, answer: str | None = None, file_name: str = "") -> dict[str, Any]:
    """A record with all fields of the dataset; its answer is a canary unless told."""
    return {
        "task_id": task_id,
        "Question": f"Which word is written on card {task_id}?",
        "Level": str(level),
        "Final answer": f"{CANARY}-{task_id}" if answer is None else answer,
        "file_name": file_name,
        "file_path": f"2023/validation/{file_name}" if file_name else "",
        "Annotator Metadata": {"Steps": f"{CANARY}: look at the card", "Tools": f"{CANARY}: eyes"},
    }
