"""The atoms of a molecule's structure as a table: PDB files (format 3.3) and mmCIF files."""

from __future__ import annotations

import shlex
from typing import Any

_PDB = {
    "record": (0, 6),
    "serial": (6, 11),
    "atom": (12, 16),
    "alternate": (16, 17),
    "residue": (17, 20),
    "chain": (21, 22),
    "number": (22, 26),
    "insertion": (26, 27),
    "x": (30, 38),
    "y": (38, 46),
    "z": (46, 54),
    "occupancy": (54, 60),
    "element": (76, 78),
}
"""Where on its line each value of an atom stands."""
_CIF = {
    "group_PDB": "record",
    "id": "serial",
    "auth_atom_id": "atom",
    "label_atom_id": "atom",
    "label_alt_id": "alternate",
    "auth_comp_id": "residue",
    "label_comp_id": "residue",
    "auth_asym_id": "chain",
    "label_asym_id": "chain",
    "auth_seq_id": "number",
    "label_seq_id": "number",
    "pdbx_PDB_ins_code": "insertion",
    "Cartn_x": "x",
    "Cartn_y": "y",
    "Cartn_z": "z",
    "occupancy": "occupancy",
    "type_symbol": "element",
    "pdbx_PDB_model_num": "model",
}
"""The same in an mmCIF file; of two items for one, the first is what the authors named it."""
_LOOP = "_atom_site."
_WHOLE = ("serial", "number", "model")
_REAL = ("x", "y", "z", "occupancy")
_SELDOM = ("alternate", "insertion", "model", "occupancy")
"""Columns that are left out where they say the same of every atom."""


def atoms_in(text: str, kind: str) -> tuple[Any, str]:
    """A row for each atom, and the file without these lines.

    Args:
        text: The file.
        kind: `pdb` or `cif`.
    """
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    rows, rest = _of_pdb(text) if kind == "pdb" else _of_cif(text)
    table = pd.DataFrame(rows, dtype=str)
    for name in {*_WHOLE, *_REAL} & set(table.columns):
        table[name] = pd.to_numeric(table[name], errors="coerce")
        if name in _WHOLE and table[name].notna().all():
            table[name] = table[name].astype("int64")
    same = [name for name in _SELDOM if name in table and _is_same(table[name])]
    return table.drop(columns=same), "\n".join(rest)


def _is_same(column: Any) -> bool:
    return bool(column.nunique(dropna=False) <= 1)


def _of_pdb(text: str) -> tuple[list[dict[str, str]], list[str]]:
    rows, rest, model = [], [], "1"
    for line in text.splitlines():
        if line.startswith(("ATOM  ", "HETATM")):
            row = {name: line[begin:end].strip() for name, (begin, end) in _PDB.items()}
            rows.append({**row, "model": model})
            continue
        model = line[6:].strip() if line.startswith("MODEL ") else model
        rest.append(line)
    return rows, rest


def _of_cif(text: str) -> tuple[list[dict[str, str]], list[str]]:
    names: list[str] = []
    rows, rest = [], []
    is_table = False
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_LOOP):
            names.append(bare.split()[0].removeprefix(_LOOP))
            is_table = True
        elif is_table and bare and bare[0] not in "#_" and not bare.startswith(("loop_", "data_")):
            rows.append(_named(names, _values(bare)))
            continue
        else:
            is_table = False
        rest.append(line)
    return rows, rest


def _values(line: str) -> list[str]:
    try:
        return shlex.split(line, posix=True) if '"' in line else line.split()
    except ValueError:
        return line.split()


def _named(names: list[str], values: list[str]) -> dict[str, str]:
    given = dict(zip(names, values, strict=False))
    row: dict[str, str] = {}
    for item, name in _CIF.items():
        if item in given:
            row.setdefault(name, "" if given[item] in "?." else given[item])
    return row
