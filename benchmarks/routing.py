"""How often the coordinator chooses the right action: benchmarks/routing.jsonl with the configured model.

python benchmarks/routing.py                # all rows, with the model alone and with the rules beside it
python benchmarks/routing.py --split dev    # the rows that prompts and rules may be tuned on
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from agent.decisions import decision_messages, decision_schema
from agent.errors import ModelOutputError
from agent.layers import read_settings
from agent.models.protocol import Model, Role
from agent.models.roles import model_settings, open_models
from agent.rules import second_opinion
from agent.state import Decision, Step
from mcp_tools.prompt import data_block

ROWS = Path(__file__).with_name("routing.jsonl")
Row = dict[str, Any]


async def decide(row: Row, model: Model) -> tuple[str, str]:
    """The action of the model alone, and with the rules."""
    evidence = "\n".join(data_block(f"step {i}", text) for i, text in enumerate(row["evidence"], 1))
    messages = decision_messages(row["question"], row["files"], row["tools"], evidence)
    schema = decision_schema(row["tools"])
    try:
        completion = await model.complete(messages, schema=schema, temperature=0, max_tokens=500)
        decision = Decision.from_json(completion.parsed)
    except ModelOutputError:
        decision = Decision("answer")
    steps = [
        Step(number=i, action="read_file" if row["files"] else "search", input="", ok=True, finding=text, value=None)
        for i, text in enumerate(row["evidence"], 1)
    ]
    return decision.action, second_opinion(decision, row["question"], row["files"], row["tools"], steps).action


async def measure(rows: list[Row]) -> None:
    """Asks every row and prints what was wrong, then the rates."""
    models = open_models(model_settings(read_settings({})))
    model = models.for_role(Role.COORDINATOR)
    alone = together = 0
    by_label: dict[str, list[bool]] = {}
    paraphrases: list[bool] = []
    for row in rows:
        first, second = await decide(row, model)
        alone += first in row["accept"]
        right = second in row["accept"]
        together += right
        by_label.setdefault(row["accept"][0], []).append(right)
        if row["paraphrase_of"]:
            paraphrases.append(right)
        if not right:
            print(f"wrong  {row['id']:22} {second:12} wanted {'/'.join(row['accept'])}: {row['question'][:70]!r}")
    await models.aclose()
    for label, results in sorted(by_label.items()):
        print(f"{label:24} {sum(results)} of {len(results)}")
    print(f"{'paraphrases':24} {sum(paraphrases)} of {len(paraphrases)}")
    print(f"{'model alone':24} {alone} of {len(rows)} = {alone / len(rows):.0%}")
    print(f"{'with rules':24} {together} of {len(rows)} = {together / len(rows):.0%}")


def main() -> None:
    """Measures the chosen rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--split", choices=["dev", "test"])
    options = parser.parse_args()
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    asyncio.run(measure([row for row in rows if options.split in (None, row["split"])]))


if __name__ == "__main__":
    main()
