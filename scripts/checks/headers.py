"""Each header compiles alone, with warnings as errors, whatever was included before it.

A header that a source includes before anything else is compiled alone by the build, and is not compiled again here.
Sources of tests do not count: a precompiled header may come before their first line.
"""

import multiprocessing.pool
import os
import subprocess

from checks.imports import FOR_MPI_PROGRAMS, FOR_OPENSHMEM_PROGRAMS


def check(tree):
    compiler = os.environ.get("CXX", "g++")

    def compile_alone(header):
        # Open MPI's header adds C++ bindings, which are not free of warnings.
        if header.startswith(FOR_MPI_PROGRAMS):
            command = ["mpicxx", "-DOMPI_SKIP_MPICXX"]
        elif header.startswith(FOR_OPENSHMEM_PROGRAMS):
            command = ["oshc++"]
        else:
            command = [compiler]
        result = subprocess.run(
            command + ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
             "-I" + tree.root, "-x", "c++", "-"],
            input=f'#include "{header}"\n', capture_output=True, text=True, cwd=tree.root)
        if result.returncode == 0:
            return None
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        return f"{header}:1: does not compile alone: {(errors or [result.stderr.strip()])[0]}"

    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        built = compiled_by_the_build(tree)
        for problem in pool.imap(compile_alone, [header for header in tree.headers if header not in built]):
            if problem:
                yield problem


def compiled_by_the_build(tree):
    """The first include of each source; the check `dead_files` sees to it that the build compiles the source."""
    firsts = [next(iter(tree.includes(source)), None) for source in tree.sources if not source.startswith("tests/")]
    return {first[3] for first in firsts if first and first[1] == '"'}
