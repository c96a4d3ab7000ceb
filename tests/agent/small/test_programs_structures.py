"""Structures of molecules as tables of atoms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.small.programs.inside.loading import load
from agent.small.programs.inside.structures import atoms_in
from agent.small.programs.inside.telling import tell

PDB = """HEADER    MADE-UP STRUCTURE
ATOM      1  N   GLU A   1       0.525   0.569   0.947  1.00 20.00           N
ATOM      2  CA  GLU A   1       2.162  -0.739   0.507  1.00 20.00           C
ATOM      3  CA  SER B  -2     -12.000 100.500  -0.114  1.00 20.00           C
HETATM    4  O   HOH B 101       3.877  -3.595  -0.815  1.00 20.00           O
END
"""
CIF = """data_MADE
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.auth_asym_id
_atom_site.auth_seq_id
_atom_site.pdbx_PDB_ins_code
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
ATOM   1 "C1'" GLU A 1 ? 0.5 0.25 -1.5
HETATM 2 O HOH B 101 ? 3.5 1.0 2.0
#
_cell.length_a 10.0
"""


def test_each_atom_of_a_pdb_file_is_a_row():
    atoms, rest = atoms_in(PDB, "pdb")
    assert list(atoms["residue"]) == ["GLU", "GLU", "SER", "HOH"]
    assert list(atoms["number"]) == [1, 1, -2, 101]
    assert atoms[atoms["atom"] == "CA"][["x", "y", "z"]].values.tolist() == [
        [2.162, -0.739, 0.507],
        [-12, 100.5, -0.114],
    ]
    assert rest == "HEADER    MADE-UP STRUCTURE\nEND"
    assert not {"model", "insertion", "alternate"} & set(atoms.columns)


def test_models_and_other_places_are_told_where_they_differ():
    twice = f"MODEL        1\n{PDB}ENDMDL\nMODEL        2\n{PDB}ENDMDL\n"
    atoms, _ = atoms_in(twice, "pdb")
    assert list(atoms["model"]) == [1] * 4 + [2] * 4


def test_each_atom_of_an_mmcif_file_is_a_row():
    atoms, rest = atoms_in(CIF, "cif")
    assert atoms[["atom", "chain", "number", "x"]].values.tolist() == [["C1'", "A", 1, 0.5], ["O", "B", 101, 3.5]]
    assert "_cell.length_a 10.0" in rest
    assert "HOH" not in rest


def test_programs_get_the_atoms_and_the_rest(tmp_path):
    path = tmp_path / "made.pdb"
    path.write_text(PDB)
    named = load(
        [{"name": "made.pdb", "path": str(path), "kind": "pdb", "text": str(path), "tables": False, "facts": {}}]
    )
    assert list(named) == ["atoms", "text"]
    assert "atoms: DataFrame of 4 rows with the columns:" in tell(named)


def test_a_file_without_atoms_is_a_text(tmp_path):
    path = tmp_path / "empty.cif"
    path.write_text("data_x\n")
    named = load(
        [{"name": "empty.cif", "path": str(path), "kind": "cif", "text": str(path), "tables": False, "facts": {}}]
    )
    assert named == {"text": "data_x"}


@given(st.text(alphabet="ATOM HETMODEL_loop.site#?'\"\n-19C", max_size=300), st.sampled_from(["pdb", "cif"]))
def test_no_text_breaks_it(text, kind):
    atoms, rest = atoms_in(text, kind)
    assert len(atoms) + len(rest.splitlines()) <= len(text.splitlines()) + 1
