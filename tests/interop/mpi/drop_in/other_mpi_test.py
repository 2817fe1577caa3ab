"""Compiles the library for an MPI that it has no name for, as the standard's binary interface of MPI-5 is.

usage: other_mpi_test.py SOURCES [--undefine NAME]... -- COMPILER OPTION...

SOURCES is the directory of the library's sources. The options have the directory of the mpi.h, by -isystem. --undefine
gives the names by which sources know an MPI, and which they do not see here. All sources are compiled at once, without code.
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=280)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources")
    parser.add_argument("--undefine", action="append", default=[])
    parser.add_argument("compiler", nargs="+")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        header, declarations, wrappers, everything = (
            os.path.join(directory, name) for name in ("mpi.h", "mpi.i", "wrappers.cpp", "all.cpp"))
        with open(header, "w", encoding="utf-8") as file:
            file.write("#pragma GCC system_header\n#include_next <mpi.h>\n")
            file.writelines(f"#undef {name}\n" for name in wanted.undefine)
        compiler = [wanted.compiler[0], "-isystem", directory, *wanted.compiler[1:]]
        run([*compiler, "-E", "-P", "-x", "c", "-include", "mpi.h", "/dev/null", "-o", declarations])
        run([sys.executable, "-B", os.path.join(wanted.sources, "wrappers.py"), declarations, wrappers])
        sources = [*sorted(glob.glob(os.path.join(wanted.sources, "*.cpp"))), wrappers]
        with open(everything, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{source}"\n' for source in sources)
        run([*compiler, "-std=c++20", "-fsyntax-only", everything])


if __name__ == "__main__":
    main()
