"""A report as one JSON object."""

from __future__ import annotations

from dataclasses import asdict

from agent.gaia.report.effort import Effort
from agent.gaia.report.opened import Report
from agent.gaia.report.summary import Group, Share, Summary
from mcp_tools.tool import Json

SCHEMA = 1
"""Members are added within it, never changed or removed."""


def as_json(report: Report) -> dict[str, Json]:
    """The object that `--format json` prints. What is unknown is null, never 0."""
    return {
        "schema": SCHEMA,
        "ledger": report.name,
        "created": report.created,
        "configuration": report.configuration,
        "notices": list(report.notices),
        **_summary(report.summary),
        "attempts": [_attempt(cell.task.task_id, cell.epoch, cell.status, cell.right) for cell in report.cells],
    }


def share_json(share: Share) -> dict[str, Json]:
    """Right, of how many, accuracy, and its interval."""
    return {"right": share.right, "of": share.of, "accuracy": share.value, "interval95": list(share.interval)}


def effort_json(effort: Effort) -> dict[str, Json]:
    """What attempts took."""
    money = effort.money
    data = {name: value for name, value in asdict(effort).items() if name != "money"}
    return {**data, "cost": money.total, "cost_of_priced": money.known, "unpriced": money.unpriced}


def _summary(summary: Summary) -> dict[str, Json]:
    repeats = summary.repeats
    is_known = summary.is_scored
    return {
        "overall": share_json(summary.share) | ({} if is_known else {"accuracy": None, "interval95": None}),
        "questions": summary.questions,
        "epochs": summary.epochs,
        "attempted": summary.attempted,
        "errors": summary.errors,
        "missing": summary.missing,
        "unscored": summary.unscored,
        "retried": summary.retried,
        "unselected": summary.unselected,
        "status": summary.statuses,
        "level": [_group(group) for group in summary.levels],
        "file_type": [_group(group) for group in summary.file_types],
        "route": [_group(group) for group in summary.routes],
        "mean_pass_at_1": repeats.mean if is_known else None,
        "pass_at_1_stdev": repeats.spread,
        "pass_at_1_by_epoch": list(repeats.by_epoch),
        "pass_at_k": {str(k): value for k, value in repeats.pass_at.items()},
        "pass_hat_k": {str(k): value for k, value in repeats.pass_hat.items()},
        "majority_at_k": {str(summary.epochs): repeats.majority} if repeats.majority is not None else {},
        "effort": effort_json(summary.effort),
        "tools": [asdict(tool) for tool in summary.tools],
        "resolutions": summary.resolutions,
        "leaks": {question: list(met) for question, met in summary.leaks.items()},
        "leaked_right": summary.leaked_right,
        "models": list(summary.models),
        "fingerprints": list(summary.fingerprints),
    }


def _group(group: Group) -> dict[str, Json]:
    return {
        "name": group.name,
        **share_json(group.share),
        "attempted": group.attempted,
        "errors": group.errors,
        "effort": effort_json(group.effort),
    }


def _attempt(task_id: str, epoch: int, status: str, right: bool) -> dict[str, Json]:
    return {"task_id": task_id, "epoch": epoch, "status": status, "right": right}
