"""`--agent`, and files that the question names, from the command line to the run."""

from __future__ import annotations

import json

from support.fibonacci import decide

MARKED = "[IMPORTANT CONTEXT: file {}] What is the key?"


def test_a_specialist_is_addressed_and_stays_with_its_run(terminal):
    script = terminal.script(decide("run_code", code="print(6 * 7)", final_answer="{}"))
    told = json.loads(terminal.call("--agent", "math", "--json", "--model", script, "How much is it, all told?").out)
    assert (told["answer"], told["agent"]) == ("42", "math")
    assert terminal.call("runs", "replay", "-q", terminal.runs[0].name).out == "42\n"
    wrong = terminal.call("ask", "--agent", "cook", "How much is it, all told?")
    assert (wrong.code, len(terminal.runs)) == (2, 1)
    assert "cook is not one of web, code, files, math, browser" in wrong.err


def test_a_file_that_the_question_names_is_attached_and_one_that_a_pipe_names_is_not(terminal):
    (terminal.here / "my note.txt").write_text("The key is limpet.")
    script = terminal.script(decide("answer", answer="limpet"))

    def attached(*words: str, stdin: str | None = None) -> list[str]:
        how = terminal.call if stdin is None else terminal.run
        ended = how("--no-cache", "--model", script, *words, stdin=stdin or "")
        assert ended.out == "limpet\n", ended.err
        run = max(terminal.runs, key=lambda folder: (folder / "run.json").stat().st_mtime)
        return [file["path"].rpartition("/")[2] for file in json.loads((run / "run.json").read_text())["files"]]

    assert attached(MARKED.format("my note.txt")) == ["my note.txt"]
    assert attached("What is the key?", stdin=MARKED.format("my note.txt")) == []
    gone = terminal.call("--no-cache", "--model", script, MARKED.format('"gone.txt"'))
    assert (gone.code, "gone.txt cannot be read" in gone.err) == (2, True)
