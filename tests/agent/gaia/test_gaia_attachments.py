"""Files of questions: the order of the places, names that lead elsewhere, what is kept, and what is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.configuration.settings_sources import read_settings
from agent.errors import DatasetError
from agent.gaia.attachments import Attachments, usual_attachments
from agent.gaia.attempt import Task
from agent.gaia.course import CourseApi
from agent.gaia.dataset import Hub
from support.course_server import CourseServer
from support.hub_server import COMMIT, OTHER_TOKEN, TOKEN, HubServer

TASK = Task("b2", "Which word?", 1, "b2.txt")


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def both(hub: HubServer, course: CourseServer, tmp_path: Path) -> Attachments:
    """Every place holds the file, each with other content, but for the first folder."""
    course.files["b2"] = ('attachment; filename="b2.txt"', b"of the course")
    folders = [tmp_path / "attached", tmp_path / "gaia_files"]
    for folder in folders:
        folder.mkdir()
    return Attachments(
        folders,
        tmp_path / "cache",
        hub=Hub(tmp_path / "hub", TOKEN, COMMIT),
        course=CourseApi(course.url, waits=()),
    )


def content(found: object) -> bytes:
    path = getattr(found, "path")  # noqa: B009 - any object with a path
    return path.read_bytes() if path else b""


def test_the_places_in_their_order(both: Attachments, hub: HubServer, course: CourseServer, tmp_path: Path) -> None:
    """Each place is used when none before it has the file: from the last to the first."""
    del hub.files["2023/validation/b2.txt"]
    found = both.resolve(TASK)
    assert (found.status, content(found)) == ("found", b"of the course")
    found.path.unlink()  # type: ignore[union-attr]

    hub.files["2023/test/b2.txt"] = b"of the hub"
    found = both.resolve(TASK)
    assert content(found) == b"of the hub"
    asked = len(hub.asked), len(course.asked)

    found = both.resolve(TASK)
    assert content(found) == b"of the hub"

    put(tmp_path / "gaia_files", "b2.txt", b"of gaia_files")
    found = both.resolve(TASK)
    assert content(found) == b"of gaia_files"

    put(tmp_path / "attached", "b2.txt", b"attached")
    found = both.resolve(TASK)
    assert content(found) == b"attached"
    assert found.path == tmp_path / "attached" / "b2.txt"
    assert (len(hub.asked), len(course.asked)) == asked
    assert course.violations == []


def test_a_copy_of_the_whole_dataset_is_a_folder_to_look_into(tmp_path: Path) -> None:
    blob = put(tmp_path, "blobs/1234", b"of the snapshot")
    link = tmp_path / "snapshots/1/2023/validation/b2.txt"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    for folder in (tmp_path / "snapshots/1", link.parent):
        found = Attachments([folder], tmp_path / "cache").resolve(TASK)
        assert (found.path, content(found)) == (link, b"of the snapshot")


@pytest.mark.parametrize(
    ("link", "to"),
    [
        ("data/b2.txt", "secret/b2.txt"),
        ("data/2023", "secret"),
        ("data/2023/validation/b2.txt", "secret/b2.txt"),
        ("gaia_files", "secret"),
        ("gaia_files/b2.txt", "data/link"),
        ("snapshots/1/b2.txt", "secret/b2.txt"),
        ("blobs", "secret"),
    ],
)
def test_no_link_beside_the_questions_leads_out_of_their_folder(
    link: str, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "secret/b2.txt", b"secret")
    put(tmp_path, "secret/validation/b2.txt", b"secret")
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / "data/link").symlink_to(tmp_path / "secret/b2.txt")
    (project / "snapshots/1").mkdir(parents=True)
    (project / "snapshots/1/b2.txt").symlink_to("../../blobs/b2.txt")
    if link.startswith("snapshots"):
        (project / link).unlink()
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(project / to if to.startswith("data") else tmp_path / to)
    monkeypatch.chdir(project)
    for folder in (Path("data"), Path("gaia_files"), Path("snapshots/1")):
        assert Attachments([folder], tmp_path / "cache").resolve(TASK).status == "missing"


UNSAFE = [
    "../secret.txt",
    "/etc/passwd",
    "a/../../secret.txt",
    "..",
    "..\\secret.txt",
    "C:/x",
    "a\0b",
    "a\nb",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_a_name_that_leads_elsewhere_counts_as_missing(
    both: Attachments, hub: HubServer, course: CourseServer, tmp_path: Path, name: str
) -> None:
    put(tmp_path, "secret.txt", b"secret")
    found = both.resolve(Task("b2", "?", 1, name))
    assert (found.status, found.path) == ("missing", None)
    assert "is not a plain file name" in found.message
    assert hub.asked == []
    assert course.asked == []


@given(st.text(min_size=1), st.text(min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_leads_out_of_its_folder(tmp_path: Path, name: str, task_id: str) -> None:
    inside = tmp_path / "outer/inside"
    inside.mkdir(parents=True, exist_ok=True)
    found = Attachments([inside], inside / "cache").resolve(Task(task_id, "?", 1, name))
    assert found.status == "missing"
    assert found.message


@pytest.mark.parametrize("task_id", ["../../up", "/root", "x" * 200])
def test_an_id_leads_nowhere_but_into_the_cache(course: CourseServer, tmp_path: Path, task_id: str) -> None:
    course.files[task_id] = ('inline; filename="../../evil.txt"', b"data")
    cache = tmp_path / "outer/cache"
    found = Attachments([], cache, course=CourseApi(course.url)).resolve(Task(task_id, "?", 1, "b2.txt"))
    assert found.status == "found"
    assert found.path is not None
    assert found.path.resolve().is_relative_to(cache)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [found.path]


@pytest.mark.parametrize("token", [None, OTHER_TOKEN])
def test_what_is_missing_says_where_it_was_looked_for_and_what_to_do(
    hub: HubServer, course: CourseServer, tmp_path: Path, token: str | None
) -> None:
    looking = Attachments(
        [tmp_path / "a", tmp_path / "b"],
        tmp_path / "cache",
        hub=Hub(tmp_path / "hub", token, COMMIT),
        course=CourseApi(course.url),
    )
    found = looking.resolve(TASK)
    assert (found.status, found.path) == ("missing", None)
    assert found.message.startswith(
        f"The file 'b2.txt' is missing: it is not in {tmp_path / 'a'} or {tmp_path / 'b'}; hub: "
    )
    assert "sign in and accept the terms" in found.message
    assert "course: " in found.message
    assert "returned status 404: No file path associated with task_id b2" in found.message
    asked = len(hub.asked)
    assert "hub: " in looking.resolve(Task("c3", "?", 1, "c3.txt")).message
    assert len(hub.asked) == asked, "who has no access once is not asked for each question"


def test_a_file_that_breaks_off_is_not_kept(course: CourseServer, tmp_path: Path) -> None:
    course.fails.append((-1, None))
    found = Attachments([], tmp_path / "cache", course=CourseApi(course.url)).resolve(TASK)
    assert found.status == "missing"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_cache_that_cannot_be_written_is_told(course: CourseServer, tmp_path: Path) -> None:
    course.files["b2"] = ("", b"data")
    put(tmp_path, "cache", b"a file where a folder is wanted")
    found = Attachments([], tmp_path / "cache", course=CourseApi(course.url)).resolve(TASK)
    assert found.status == "missing"
    assert "course: the file cannot be stored in" in found.message


def test_a_run_looks_in_the_usual_places(
    hub: HubServer, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "gaia_files", "one.txt", b"1")
    put(tmp_path / "own", "two.txt", b"2")
    put(tmp_path / "questions", "three.txt", b"3")
    alita = read_settings(environment={"ALITA_HOME": str(home), "HF_TOKEN": TOKEN})
    looking = usual_attachments(alita, attached=tmp_path / "own", beside=tmp_path / "questions")
    names = ("one.txt", "two.txt", "three.txt")
    assert [content(looking.resolve(Task("1", "?", 1, name))) for name in names] == [b"1", b"2", b"3"]
    assert TOKEN not in repr(looking.__dict__)
    with pytest.raises(DatasetError, match=r"--attached_files_dir .*nowhere is not a folder"):
        usual_attachments(alita, attached=tmp_path / "nowhere")
