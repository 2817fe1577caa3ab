"""The drop-in library defines the functions of MPI that the Fortran libraries of the MPI call.

usage: fortran_names_test.py WRAPPERS.PY LIBRARY PROGRAM

WRAPPERS.PY knows the functions that the library must define. PROGRAM is a Fortran program: the loader finds the Fortran
libraries of the MPI with it.
"""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

WRAPPERS, LIBRARY, PROGRAM = sys.argv[1:4]


def wrappers():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("wrappers", WRAPPERS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def names(option, library):
    """The functions of MPI that a library defines, or calls and does not define."""
    found = re.findall(r"\b(P?MPIX?_\w+)", printed("nm", "--dynamic", option, library))
    return set(found)


def fortran_libraries():
    paths = re.findall(r"=> (/\S+)", printed("ldd", PROGRAM))
    return [path for path in paths if re.match(r"libmpi_(mpifh|use)|libmpichf|libmpifort", os.path.basename(path))]


class FortranNames(unittest.TestCase):
    def test_functions_that_fortran_calls(self):
        module = wrappers()
        kinds = {*module.WRAPPED, "served"}

        def is_needed(name):
            base = re.sub(r"^P?MPI_", "", name).removesuffix("_c")
            return module.KIND_OF.get(base) in kinds

        called = set().union(*(names("--undefined-only", library) for library in fortran_libraries()))
        needed = {name for name in called if is_needed(name)}
        for name in ("Recv", "Waitall", "Allreduce", "Ssend", "Put", "Win_fence", "Init", "Comm_split", "File_open"):
            self.assertTrue(needed & {f"MPI_{name}", f"PMPI_{name}"}, f"no library of Fortran calls {name}")
        self.assertEqual(sorted(needed - names("--defined-only", LIBRARY)), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
