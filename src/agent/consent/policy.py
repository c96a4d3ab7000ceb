"""The user's policy file, with rules that allow, ask about or deny capabilities of tools and programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mcp_tools.errors import PolicyError
from mcp_tools.hosts import read_host
from mcp_tools.small_files import SETTINGS, read_small, toml_of
from mcp_tools.text import one_line

FILE = "policy.toml"
PROGRAM = "program"
"""Name in rules for programs, and for tools that are still being proved."""
Decision = Literal["allow", "ask", "deny"]
Value = str | float
_HOST = re.compile(r"(?:(https?)://)?([a-z0-9.*?-]+)(?::(\d{1,5}|\*))?")
_WILD = re.compile(r"[*?](?!\Z)|(?<!:)[*?]")
"""Finds wildcards that match several names. A `*` for the port, as in `a.example:*`, is not one."""
_PACKAGE = re.compile(r"[a-z0-9._*?-]+")
_MAX_RULES = 1_000


def _host_pattern(text: str) -> str:
    if not _HOST.fullmatch(text.lower()):
        raise ValueError(
            f"{text!r:.80} is not a host: write a name such as api.example.com, *.example.com or a.example:8443"
        )
    return text.lower()


def _package_pattern(text: str) -> str:
    if not _PACKAGE.fullmatch(text.lower()):
        raise ValueError(f"{text!r:.80} is not a package: write a name without versions, such as scipy or sym*")
    from mcp_tools.environments.known import DISTRIBUTIONS

    name = re.sub(r"[-_.]+", "-", text).lower()
    return DISTRIBUTIONS.get(name, name)  # `sklearn` is a module; its package is `scikit-learn`


class PolicyRule(BaseModel):
    """A rule of the file: tools, capabilities and a decision."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    tools: str = Field("*", min_length=1)
    decision: Decision
    packages: list[Annotated[str, AfterValidator(_package_pattern)]] = []
    hosts: list[Annotated[str, AfterValidator(_host_pattern)]] = []
    keys: list[Annotated[str, Field(min_length=1)]] = []
    read: Literal[True] | None = None
    write: Literal[True] | None = None
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Time limit. `allow` applies up to this limit; `ask` and `deny` apply above it."""
    memory_mb: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.uses:
            raise ValueError(f"it contains no capability; add one of {', '.join(CAPABILITIES)}")
        return self

    @property
    def uses(self) -> dict[str, object]:
        """The capabilities that the rule decides about, with their values."""
        return {name: value for name in CAPABILITIES if (value := getattr(self, name)) not in (None, [])}

    def fits(self, tools: Sequence[str], capability: str, value: Value, *, is_exact: bool = False) -> bool:
        """Return True if the rule decides about this capability; see `Policy.decide` for the arguments."""
        wanted, is_wide = self.uses.get(capability), self.decision != "allow"
        if wanted is None or not any(
            _matches_tool(self.tools, tool, is_wide) for tool in (tools if is_wide else tools[:1])
        ):
            return False
        if isinstance(wanted, list):
            fits = {"hosts": _matches_host, "packages": _matches_package, "keys": _matches}[capability]
            named = [pattern for pattern in wanted if is_wide or not is_exact or not _WILD.search(pattern)]
            return any(fits(pattern, str(value), is_wide) for pattern in named)
        if wanted is True:
            return True
        assert isinstance(wanted, int | float)
        return float(value) > wanted if is_wide else float(value) <= wanted


CAPABILITIES = ("packages", "hosts", "keys", "read", "write", "seconds", "memory_mb")


class _PolicyDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    rules: list[PolicyRule] = Field([], max_length=_MAX_RULES)


class PolicyDecision(NamedTuple):
    """The decision of a rule."""

    decision: Decision
    rule: int
    """Number of the rule in the file, from 1."""

    def __str__(self) -> str:
        return f"rule {self.rule} of {FILE}"


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of the file, in order."""

    path: Path
    rules: tuple[PolicyRule, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the policy in the user's config folder; without a file, it has no rules.

        Raises:
            PolicyError: The file cannot be read, or a rule is wrong.
        """
        path = folder / FILE
        try:
            document = _PolicyDocument.model_validate(toml_of(read_small(path, SETTINGS, follow=False)))
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise _wrong(path, f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise _wrong(path, f"is not UTF-8 (byte {error.start})") from None
        except ValidationError as error:
            raise _wrong(path, f"is invalid: {_first(error)}") from None
        except ValueError as error:
            raise _wrong(path, f"is not TOML: {error}") from None
        return cls(path, tuple(document.rules))

    def decide(
        self, tools: Sequence[str], capability: str, value: Value, *, may_allow: bool = True, is_exact: bool = False
    ) -> PolicyDecision | None:
        """Return the decision of the first matching rule, or None.

        `ask` and `deny` match broadly, `allow` narrowly: a denied host is denied at every port, but an allowed host is
        allowed only at its own port.

        Args:
            tools: The name of the tool, empty for a program, then the names of the tools that it imports. `allow` must
                match the first; `ask` and `deny` may match any.
            capability: One of `CAPABILITIES`.
            value: A package, a host, the name of a key, or a number.
            may_allow: False to ignore `allow` rules, as for a tool that nobody approved.
            is_exact: True to ignore `allow` rules with `*` or `?`.
        """
        for number, rule in enumerate(self.rules, 1):
            if (may_allow or rule.decision != "allow") and rule.fits(tools, capability, value, is_exact=is_exact):
                return PolicyDecision(rule.decision, number)
        return None

    def has_rules_for(self, capability: str) -> bool:
        """Return True if any rule decides about this capability."""
        return any(capability in rule.uses for rule in self.rules)


ReadPolicy = Callable[[], Policy]
"""Reads the policy file again, so that changes apply from the next decision on."""


def rule_that_allows(tool: str, needs: Iterable[tuple[str, Value]]) -> str:
    """Return the text of a rule that the user can add to allow these needs."""
    values: dict[str, object] = {}
    for name, value in needs:
        values[name] = [*cast("list[str]", values.get(name, [])), value] if isinstance(value, str) else value
    written = ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    return f'[[rules]] tools = "{tool or PROGRAM}", {written}, decision = "allow"'


def _wrong(path: Path, what: str) -> PolicyError:
    remedy = "Nothing that needs a capability runs until the file is corrected; `alita policy` checks the file."
    return PolicyError(f"{path} {what}.", remedy=remedy)


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    place = [str(part) for part in found["loc"] if not isinstance(part, int)]
    numbers = [part for part in found["loc"] if isinstance(part, int)]
    where = f"rule {numbers[0] + 1}: " if numbers else ""
    name = one_line(place[-1], 60) if len(place) > (1 if numbers else 0) else ""
    if found["type"] == "extra_forbidden":
        known = ", ".join(["tools", "decision", *CAPABILITIES]) if numbers else "[[rules]]"
        return f"{where}there is no {name!r}; use {known}"
    return f"{where}{f'{name}: ' if name else ''}{found['msg'].removeprefix('Value error, ')}"


def _matches_tool(pattern: str, tool: str, is_wide: bool) -> bool:
    if tool == PROGRAM and pattern == PROGRAM:  # do not match a tool named `program`
        return is_wide
    return _matches(pattern, tool or PROGRAM, is_wide)


def _matches(pattern: str, name: str, is_wide: bool) -> bool:
    return fnmatchcase(name.casefold(), pattern.casefold()) if is_wide else fnmatchcase(name, pattern)


def _matches_host(pattern: str, host: str, is_wide: bool) -> bool:
    found, asked = _HOST.fullmatch(pattern), read_host(host)
    assert found is not None
    scheme, name, port = found.groups()
    usual = str(asked.port) if is_wide or asked.port == {"https": 443, "http": 80}[asked.scheme] else ""
    return (
        asked.scheme == (scheme or (asked.scheme if is_wide else "https"))
        and (port or usual) in ("*", str(asked.port))
        and fnmatchcase(asked.name, name)
    )


def _matches_package(pattern: str, package: str, is_wide: bool) -> bool:
    from mcp_tools.environments.known import known_packages

    is_exact = not {"*", "?"} & {*pattern}
    return fnmatchcase(package, pattern) and (is_wide or is_exact or package in known_packages())
