"""Tests of the script that writes functions of MPI: wrappers_test.py WRAPPERS.PY PREPROCESSED_MPI_H."""

import os
import subprocess
import sys
import tempfile
import unittest

WRAPPERS, HEADER = sys.argv[1:3]


def written(declarations):
    """Returns the result of the script for these declarations, and what it has written."""
    with tempfile.TemporaryDirectory() as directory:
        header, output = os.path.join(directory, "mpi.i"), os.path.join(directory, "wrappers.cpp")
        with open(header, "w", encoding="utf-8") as file:
            file.write(declarations)
        result = subprocess.run([sys.executable, WRAPPERS, header, output], capture_output=True, text=True, timeout=60)
        if not os.path.exists(output):
            return result, ""
        with open(output, encoding="utf-8") as file:
            return result, file.read()


def real_header():
    with open(HEADER, encoding="utf-8") as file:
        return file.read()


class WrappersTest(unittest.TestCase):
    def refused(self, declarations, *expected):
        result, source = written(declarations)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(source, "")
        for part in expected:
            self.assertIn(part, result.stderr)

    def test_real_header(self):
        result, source = written(real_header())
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("Barrier", "Recv", "Waitall", "Comm_split", "Test", "File_open"):
            self.assertIn(f" PMPI_{name}(", source)
            self.assertIn(f" MPI_{name}(", source)
        for name in ("Win_create", "Init"):
            self.assertNotIn(f" PMPI_{name}(", source)
            self.assertIn(f" MPI_{name}(", source)
        for name in ("Win_get_name", "Type_commit"):
            self.assertNotIn(f"MPI_{name}(", source)

    def test_unknown_function(self):
        self.refused(real_header() + "\nint MPI_Comm_iconfer(MPI_Comm comm, MPI_Request *request);\n",
                     "functions without a kind: MPI_Comm_iconfer", "add each to KINDS")

    def test_unknown_extension(self):
        self.refused(real_header() + "\nint MPIX_Comm_confer(MPI_Comm comm);\n", "MPIX_Comm_confer")

    def test_functions_of_tools(self):
        result, source = written(real_header() + "\nint MPI_T_confer(int value);\nint PMPI_Confer(int value);\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("onfer", source)

    def test_collective_without_nonblocking_form(self):
        self.refused("int MPI_Barrier(MPI_Comm comm);", "mpi.h has no MPI_Ibarrier")

    def test_nonblocking_form_with_other_arguments(self):
        self.refused("int MPI_Barrier(MPI_Comm comm); int MPI_Ibarrier(MPI_Comm comm, int way, MPI_Request *request);",
                     "MPI_Ibarrier does not take the arguments of MPI_Barrier and a request")

    def test_flawed_nonblocking_form(self):
        declarations = """typedef struct {mark} *MPI_Comm;
            int MPI_Alltoallw(const void *from, void *to, MPI_Comm comm);
            int MPI_Ialltoallw(const void *from, void *to, MPI_Comm comm, MPI_Request *request);"""
        for mark, expected in (("ompi_communicator_t", "meet(comm);"), ("communicator", "native_ialltoallw, from, to")):
            result, source = written(declarations.replace("{mark}", mark))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(expected, source.split("PMPI_Alltoallw(", 1)[1])

    def test_header_without_functions(self):
        self.refused("typedef int MPI_Comm;", "declares no function of MPI")

    def test_attributes_and_arrays(self):
        result, source = written("""
            typedef int MPI_Copy_function(MPI_Comm comm, int key);
            __attribute__((visibility("default"))) int MPI_Startall(int count, MPI_Request requests[])
              __attribute__((__nonnull__(2)));""")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("int PMPI_Startall(int count, MPI_Request requests[])", source)
        self.assertIn("return native_startall(count, requests);", source)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
