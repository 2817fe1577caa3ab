"""Headers compile alone, with warnings as errors: public ones, and changed ones with those that include them.

If LONG_TESTS is set, all headers are compiled. A header that a source includes before anything else is compiled alone by
the build, unless other sources come before it in the same piece, and is not compiled again here. Sources of tests do not
count. A precompiled header comes first, too, and provides nothing new to a header that includes it. For the same reason
each source that is compiled alone must include what is precompiled for it, or a missing include would not show; the check
`sources` compiles others.
"""

import multiprocessing.pool
import os
import subprocess
import tempfile

from checks.imports import FOR_MPI_PROGRAMS, FOR_OPENSHMEM_PROGRAMS

OPTIONS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Compiled once for the headers that include them; the first that a header includes is used.
OFTEN_INCLUDED = ["amity/amity.hpp", "amity/core/endpoint.hpp"]


def check(tree):
    with tempfile.TemporaryDirectory(prefix="amity-headers-") as directory:
        yield from check_in(tree, directory)


def check_in(tree, directory):
    compiler = os.environ.get("CXX", "g++")

    def copy_of(header):
        return os.path.join(directory, header.replace("/", "_"))

    def precompile(header):
        if header in tree.headers:
            with open(copy_of(header), "w") as opened:
                opened.write(f'#include "{header}"\n')
            # If this fails, the compiler reads the copy itself.
            subprocess.run([compiler] + OPTIONS + ["-I" + tree.root, "-x", "c++-header", copy_of(header), "-o",
                            copy_of(header) + ".gch"], capture_output=True)

    def compile_alone(header):
        # Open MPI's header adds C++ bindings, which are not free of warnings.
        if header.startswith((FOR_MPI_PROGRAMS, "tests/interop/mpi/", "bench/mpi/")):
            command = ["mpicxx", "-DOMPI_SKIP_MPICXX"]
        elif header.startswith(FOR_OPENSHMEM_PROGRAMS):
            command = ["oshc++"]
        else:
            command = [compiler]
            included = next((often for often in OFTEN_INCLUDED if often in tree.reached(header)), None)
            # The compiler may be unable to map what is precompiled: without it, the result counts.
            if included and run(command + ["-include", copy_of(included)], header).returncode == 0:
                return None
        result = run(command, header)
        if result.returncode == 0:
            return None
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        return f"{header}:1: does not compile alone: {(errors or [result.stderr.strip()])[0]}"

    def run(command, header):
        return subprocess.run(
            command + OPTIONS + ["-fsyntax-only", "-I" + tree.root, "-x", "c++", "-"],
            input=f'#include "{header}"\n', capture_output=True, text=True, cwd=tree.root)

    precompiled, alone = {}, {}
    if tree.is_configured:
        precompiled = {source: headers for source, _, headers in tree.compile_commands if source in tree.sources}
        alone = {source: headers for source, compiled, headers in tree.compile_commands
                 if source in tree.sources and "/Unity/" not in compiled}
    for source, headers in alone.items():
        for header in headers:
            if header not in tree.reached(source) and not source.startswith("tests/"):
                yield (f"{source}:1: does not include {header}, which is precompiled for it and so hides what else it needs; "
                       "set SKIP_PRECOMPILE_HEADERS for the source in CMakeLists.txt")

    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        wanted = wanted_headers(tree) - compiled_by_the_build(tree, precompiled)
        list(pool.imap(precompile, OFTEN_INCLUDED))
        for problem in pool.imap(compile_alone, sorted(wanted)):
            if problem:
                yield problem


def wanted_headers(tree):
    headers = set(tree.headers)
    if "LONG_TESTS" in os.environ:
        return headers
    changed = tree.changed & headers
    includers = {header for header in headers if changed & {target for _, _, _, target in tree.includes(header)}}
    return changed | includers | set(tree.public_headers)


def compiled_by_the_build(tree, precompiled):
    """Headers that come first in an object file."""
    first_sources = {}
    if tree.is_configured:
        for source, compiled, _ in tree.compile_commands:
            first_sources.setdefault(compiled, source)
    found = set()
    for source in first_sources.values():
        _, quote, _, header = next(iter(tree.includes(source)), (0, "", "", None)) if source in tree.sources else [None] * 4
        if quote != '"' or source.startswith("tests/") or header is None:
            continue
        if all(before == header or before in tree.reached(header) for before in precompiled.get(source, ())):
            found.add(header)
    return found
