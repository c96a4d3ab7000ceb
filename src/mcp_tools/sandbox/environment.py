"""The environment of a warm interpreter: what its calls can read and import. Each has an interpreter of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_tools.sandbox import interpreter
from mcp_tools.sandbox.protocol import Job

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

VARIABLES = {
    "PATH": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    # each further arena of the C library takes 64 MiB of address space, which is what the memory limit counts
    "MALLOC_ARENA_MAX": "2",
}
"""All that stands in the environment of tool code, besides HOME and TMPDIR."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What calls share: granted paths and packages."""

    read: tuple[str, ...] = ()
    """Absolute paths of granted files and folders."""
    packages: tuple[str, ...] = ()
    """Packages as the job names them."""

    @classmethod
    def of(cls, job: Job) -> Environment:
        """The environment that a job wants."""
        read = {str(Path(path).absolute()) for path in job.read}
        return cls(tuple(sorted(read)), tuple(sorted(set(job.packages))))

    @property
    def found(self) -> interpreter.Packages:
        """The files of the packages."""
        return interpreter.find_packages(self.packages)

    @property
    def problem(self) -> str:
        """Why this environment cannot be had; empty when it can."""
        for path in self.read:
            if not Path(path).exists():
                return f"the granted path {path!r} does not exist"
        if self.found.missing:
            name = self.found.missing[0]
            return f"the package {name!r} is not installed here: pip install {name}"
        return ""

    @property
    def search_path(self) -> tuple[str, ...]:
        """`sys.path` inside, without the folder of the sandbox's own source."""
        return (*interpreter.library_folders(), *self.found.folders)

    @property
    def readable(self) -> tuple[str, ...]:
        """Every path that calls may read."""
        return (*interpreter.system_paths(), interpreter.inside_source(), *self.found.paths, *self.read)
