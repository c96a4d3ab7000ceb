"""A copy of the user's folder: what is copied, what counts as a change, and what applying it can never do."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import StorageError, UsageError
from agent.material import folder_changes as of_changes
from agent.material.folder import MOST_LISTED, FolderCopy, checked_folder, listing, measure
from agent.material.folder_changes import Applied, apply, changes_of, diff


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "notes.txt").write_text("one\ntwo\n")
    (folder / "old.txt").write_text("old\n")
    (folder / "src" / "main.py").write_text("print(1)\n")
    return folder


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> FolderCopy:
    (tmp_path / "run").mkdir()
    made = FolderCopy(root, tmp_path / "run")
    made.make()
    return made


def write(folder: Path, name: str, text: str = "new\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def apply_all(copy: FolderCopy, *names: str) -> Applied:
    return apply(copy, changes_of(copy).named(names))


def test_changes_are_found_shown_and_applied(root: Path, copy: FolderCopy) -> None:
    (root / "notes.txt").chmod(0o640)
    write(copy.folder, "notes.txt", "one\nthree\n")
    write(copy.folder, "a/b/new.sh").chmod(0o755)
    (copy.folder / "old.txt").unlink()
    found = changes_of(copy)
    assert [(one.path, one.kind, one.bytes_before, one.bytes_after) for one in found.files] == [
        ("a/b/new.sh", "added", None, 4),
        ("notes.txt", "changed", 8, 10),
        ("old.txt", "removed", 4, None),
    ]
    assert diff(copy, found.files[1]).split("\n") == [
        "--- a/notes.txt",
        "+++ b/notes.txt",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "+three",
        " ",
    ]
    assert (root / "old.txt").exists()
    applied = apply(copy, found.named(()))
    assert (sorted(applied.done), applied.left) == (["a/b/new.sh", "notes.txt", "old.txt"], ())
    assert (root / "notes.txt").read_text() == "one\nthree\n"
    assert stat.S_IMODE((root / "notes.txt").stat().st_mode) == 0o640
    assert (root / "a/b/new.sh").stat().st_mode & 0o100
    assert not (root / "old.txt").exists()
    assert applied.kept is not None
    assert (applied.kept / "old.txt").read_text() == "old\n"
    assert changes_of(copy).files == ()
    write(copy.folder, "notes.txt", "later\n")  # a follow-up continues with the same copy
    assert apply_all(copy).done == ("notes.txt",)
    assert (root / "notes.txt").read_text() == "later\n"


def test_only_named_files_are_applied(root: Path, copy: FolderCopy) -> None:
    write(copy.folder, "one.txt")
    write(copy.folder, "two.txt")
    assert apply_all(copy, "./one.txt").done == ("one.txt",)
    assert not (root / "two.txt").exists()
    with pytest.raises(UsageError, match="cannot be applied: it has not changed"):
        apply_all(copy, "notes.txt")


def test_a_folder_takes_the_place_of_a_file_and_back(root: Path, copy: FolderCopy) -> None:
    (copy.folder / "old.txt").unlink()
    write(copy.folder, "old.txt/inner.txt")
    (copy.folder / "src/main.py").unlink()
    (copy.folder / "src").rmdir()
    write(copy.folder, "src")
    assert apply_all(copy).left == ()
    assert (root / "old.txt/inner.txt").read_text() == (root / "src").read_text() == "new\n"


CONFLICTS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "it changed": (lambda root: write(root, "notes.txt", "mine\n"), "notes.txt", "has changed since it was copied"),
    "it is gone": (lambda root: (root / "notes.txt").unlink(), "notes.txt", "is gone"),
    "it came": (lambda root: write(root, "new.txt", "mine\n"), "new.txt", "is there already"),
    "it is a folder": (lambda root: (root / "new.txt").mkdir(), "new.txt", "something other"),
    "it is a link": (lambda root: (root / "new.txt").symlink_to("/etc/passwd"), "new.txt", "something other"),
    "it is a pipe": (lambda root: os.mkfifo(root / "new.txt"), "new.txt", "something other"),
    "a removed one changed": (lambda root: write(root, "old.txt", "mine\n"), "old.txt", "has changed"),
}


@pytest.mark.parametrize(("happens", "name", "why"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_file_that_changed_meanwhile_stays_and_both_versions_are_kept(
    root: Path, copy: FolderCopy, happens: Callable[[Path], object], name: str, why: str
) -> None:
    write(copy.folder, "notes.txt", "theirs\n")
    write(copy.folder, "new.txt", "theirs\n")
    (copy.folder / "old.txt").unlink()
    happens(root)

    def there() -> dict[Path, tuple[int, int, int]]:
        found = {path: path.lstat() for path in root.rglob("*") if path.name == name}
        return {path: (one.st_ino, one.st_size, one.st_mtime_ns) for path, one in found.items()}

    before = there()
    applied = apply_all(copy)
    assert [path for path, _ in applied.left] == [name]
    assert why in applied.left[0][1]
    assert len(applied.done) == 2
    assert there() == before
    assert name in [one.path for one in changes_of(copy).files]


def test_nothing_is_written_through_a_link_that_takes_the_place_of_a_folder(
    root: Path, copy: FolderCopy, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("print(1)\n")
    write(copy.folder, "src/main.py", "evil\n")
    write(copy.folder, "src/deep/new.py", "evil\n")
    found = changes_of(copy).named(())
    (root / "src/main.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(outside)
    assert {path for path, _ in apply(copy, found).left} == {"src/main.py", "src/deep/new.py"}
    assert [path.name for path in outside.iterdir()] == ["main.py"]
    assert (outside / "main.py").read_text() == "print(1)\n"


def test_another_folder_in_the_place_of_the_copied_one_is_not_written(root: Path, copy: FolderCopy) -> None:
    write(copy.folder, "new.txt")
    root.rename(root.with_name("moved"))
    with pytest.raises(StorageError, match="cannot be changed"):
        apply_all(copy)
    root.symlink_to("moved")
    with pytest.raises(StorageError, match="cannot be changed"):
        apply_all(copy)
    root.unlink()
    root.mkdir()
    with pytest.raises(StorageError, match="is not the folder that was copied"):
        apply_all(copy)
    assert [*root.iterdir()] == []


@pytest.mark.parametrize("path", ["../out.txt", "/etc/out.txt", "src/../../out.txt", "", "src//x", "a\0b"])
def test_no_path_leads_out(root: Path, copy: FolderCopy, path: str) -> None:
    change = of_changes.Change(path, "added", None, 1, "", "0" * 64)
    assert [name for name, _ in apply(copy, [change]).left] == [path]
    assert not (root.parent / "out.txt").exists()


def leave(folder: Path) -> None:
    """Leave everything that a program could, if nothing stopped it."""
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "inner").symlink_to("notes.txt")
    os.mkfifo(folder / "pipe")
    (folder / "hard").hardlink_to(folder / "notes.txt")
    write(folder, "\x1b[2Jname")
    write(folder, "two\nlines")
    write(folder, "\u202etxt.exe")
    write(folder, os.fsdecode(b"\xff.txt"))
    write(folder, ".git/hooks/post-commit")
    write(folder, "module/.GIT/config")


def test_links_devices_odd_names_and_repositories_are_never_applied(root: Path, copy: FolderCopy) -> None:
    leave(copy.folder)
    found = changes_of(copy)
    assert found.files == ()
    assert {name for name, _ in found.never} == {
        *("link", "inner", "pipe", "hard", "notes.txt", ".git"),
        *("\x1b[2Jname", "two\nlines", "\u202etxt.exe", os.fsdecode(b"\xff.txt")),
    }
    with pytest.raises(UsageError, match=r"\\x1b\[2Jname cannot be applied: its name contains unprintable characters"):
        found.named(["\x1b[2Jname"])
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "old.txt", "src"]


@pytest.mark.parametrize(
    "name",
    [
        ".envrc",
        ".env",
        ".vscode/tasks.json",
        ".alita/x",
        ".mcp.json",
        "sub/.bashrc",
        "AGENTS.md",
        "alita.toml",
        "lib/site.pth",
        "generated_tools/x.py",
        ".github/workflows/ci.yml",
        "CLAUDE.local.md",
        "src/__pycache__/tool.cpython-311.pyc",
        "sitecustomize/__init__.py",
        "open me.desktop",
    ],
)
def test_files_that_act_by_being_there_are_applied_by_name_only(root: Path, copy: FolderCopy, name: str) -> None:
    write(copy.folder, name)
    assert apply_all(copy).done == ()
    assert apply_all(copy, name).done == (name,)
    assert (root / name).read_text() == "new\n"


@pytest.mark.parametrize(
    "parts", [("config", "objects/x", "refs/x"), ("config",), ("commondir",), ("Config", "hooks/x")]
)
@pytest.mark.parametrize("head", ["docs/HEAD", "docs/head", "HEAD"])
def test_a_folder_that_git_takes_for_a_repository_is_one(
    root: Path, copy: FolderCopy, head: str, parts: tuple[str, ...]
) -> None:
    inner = [head, *(f"{head[:-4]}{part}" for part in parts)]
    for name in (*inner, "docs/text", "config.txt"):
        write(copy.folder, name)
    found = changes_of(copy)
    assert [one.path for one in found.files] == ["config.txt", "docs/text"]
    assert {name for name, _ in found.never} == {*inner}


def test_a_file_that_is_called_head_is_no_repository(copy: FolderCopy) -> None:
    write(copy.folder, "docs/HEAD")
    write(copy.folder, "refs/x")
    assert [one.path for one in changes_of(copy).files] == ["docs/HEAD", "refs/x"]


def test_links_and_special_files_of_the_folder_are_not_copied(root: Path, tmp_path: Path) -> None:
    (root / "out").symlink_to("/etc")
    (root / "passwd").symlink_to("/etc/passwd")
    (root / "inner").symlink_to("notes.txt")
    os.mkfifo(root / "pipe")
    copy = FolderCopy(root, tmp_path)
    manifest = copy.make()
    assert dict(manifest.left_out) == {
        **dict.fromkeys(("out", "passwd", "inner"), "a link"),
        "pipe": "not a regular file",
    }
    assert sorted(path.name for path in copy.folder.iterdir()) == ["notes.txt", "old.txt", "src"]
    assert "4 names not copied: inner (a link), out (a link)" in copy.left_out(manifest)
    assert changes_of(copy).files == ()


def test_a_folder_that_is_too_large_is_refused_before_it_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (root / "huge.bin").open("wb") as file:
        file.truncate(10_000_000_000)  # sparse
    with pytest.raises(UsageError, match="more than 1,000,000,000 bytes or 20,000 files"):
        measure(root)
    (root / "huge.bin").unlink()
    monkeypatch.setattr("agent.material.folder.MOST_FILES", 2)
    with pytest.raises(UsageError, match="it is not copied"):
        measure(root)


def test_a_copy_that_a_killed_process_left_is_made_anew(root: Path, tmp_path: Path) -> None:
    copy = FolderCopy(root, tmp_path)
    write(copy.folder, "half.txt")
    with pytest.raises(StorageError):
        changes_of(copy)
    copy.make()
    assert changes_of(copy).files == ()
    assert not (copy.folder / "half.txt").exists()


@pytest.mark.parametrize(
    ("call", "at"), [*(("fsync", at) for at in range(1, 9)), ("link", 1), ("link", 2), ("replace", 1)]
)
def test_a_kill_leaves_each_file_whole_and_a_second_time_goes_on(
    root: Path, copy: FolderCopy, call: str, at: int
) -> None:
    for name in ("a.txt", "b.txt"):
        write(copy.folder, name, "new\n" * 1000)
    write(copy.folder, "notes.txt", "new\n" * 1000)
    (copy.folder / "old.txt").unlink()
    if (child := os.fork()) == 0:
        calls = iter(range(1, 100))
        real = getattr(os, call)

        def dies(*arguments: object, **options: object) -> None:
            real(*arguments, **options)
            if next(calls) == at:
                os._exit(9)

        setattr(os, call, dies)
        apply_all(copy)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    for path in root.rglob("*.txt"):
        assert path.read_text() in {"one\ntwo\n", "old\n", "new\n" * 1000}
    assert apply_all(copy).left == ()
    assert [*root.rglob(".alita*")] == []
    assert (root / "notes.txt").read_text() == (root / "a.txt").read_text() == "new\n" * 1000
    assert changes_of(copy).files == ()


def test_two_applies_at_once_do_each_change_once(root: Path, copy: FolderCopy) -> None:
    for number in range(40):
        write(copy.folder, f"{number}.txt", str(number))
    found = changes_of(copy).named(())
    results: list[Applied] = []
    threads = [threading.Thread(target=lambda: results.append(apply(copy, found))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(len(one.done), one.left) for one in results] == [(40, ()), (40, ())]
    assert [(root / f"{number}.txt").read_text() for number in range(40)] == [*map(str, range(40))]
    assert changes_of(copy).files == ()


def test_what_changed_after_the_user_looked_is_not_applied(root: Path, copy: FolderCopy) -> None:
    write(copy.folder, "notes.txt", "shown\n")
    write(copy.folder, "new.txt", "shown\n")
    found = changes_of(copy).named(())
    write(copy.folder, "notes.txt", "swapped\n")
    (copy.folder / "new.txt").unlink()
    (copy.folder / "new.txt").symlink_to("/etc/passwd")
    assert {path for path, _ in apply(copy, found).left} == {"notes.txt", "new.txt"}
    assert (root / "notes.txt").read_text() == "one\ntwo\n"
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "old.txt", "src"]


def test_differences_are_bounded_and_cannot_steer_a_terminal(root: Path, copy: FolderCopy) -> None:
    write(copy.folder, "notes.txt", "\x1b[2Jone\rtwo\n")
    write(copy.folder, "long.txt", "line\n" * 2_000)
    write(copy.folder, "data.bin").write_bytes(b"\0\1")
    write(copy.folder, "large.txt", "line\n" * 200_000)
    shown = {one.path: diff(copy, one) for one in changes_of(copy).files}
    assert "\x1b" not in shown["notes.txt"]
    assert "\r" not in shown["notes.txt"]
    assert shown["long.txt"].endswith("… more lines are not shown")
    assert len(shown["long.txt"].split("\n")) == 301
    assert (shown["data.bin"], shown["large.txt"]) == ("", "")


def test_the_listing_is_short_and_plain(root: Path) -> None:
    assert listing(root) == "notes.txt (8 bytes)\nold.txt (4 bytes)\nsrc/\nsrc/main.py (9 bytes)"
    for number in range(100):
        write(root, f"many/{number}\x1b.txt")
    assert len(listing(root).split("\n")) == MOST_LISTED + 1
    assert "\x1b" not in listing(root)


def test_folders_with_alitas_own_files_are_refused(root: Path, tmp_path: Path) -> None:
    own = [root / "src" / "keys"]
    for path in (root, root / "src"):
        with pytest.raises(UsageError, match="contains alita's own files"):
            checked_folder(path, own)
    with pytest.raises(UsageError, match="is not a folder"):
        checked_folder(root / "notes.txt", own)
    with pytest.raises(UsageError, match="cannot be read"):
        checked_folder(root / "none", own)
    (tmp_path / "odd\nname").mkdir()
    with pytest.raises(UsageError, match=r"odd\\nname contains unprintable"):
        checked_folder(tmp_path / "odd\nname", own)
    (tmp_path / "link").symlink_to(root)
    assert checked_folder(tmp_path / "link", []) == root.resolve()
