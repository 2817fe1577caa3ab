"""Headers compile alone, with warnings as errors: public ones, and changed ones with those that include them.

Public headers also compile after headers that define macros (FOREIGN_MACROS), with more warnings, as C++20 and C++23 with
GNU extensions, and the headers for C as C; by the compiler of the build, and by GCC and Clang if they are installed.

If LONG_TESTS is set, all headers are compiled. A header that a source includes before anything else is compiled alone by
the build, unless other sources come before it in the same piece, and is not compiled again here. Sources of tests do not
count. A precompiled header comes first, too, and provides nothing new to a header that includes it. For the same reason
each source that is compiled alone must include what is precompiled for it, or a missing include would not show; the check
`sources` compiles others.
"""

import itertools
import multiprocessing.pool
import os
import re
import shutil
import string
import subprocess
import tempfile

from checks.imports import FOR_MPI_PROGRAMS, FOR_OPENSHMEM_PROGRAMS

OPTIONS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Compiled once for the headers that include them; the first that a header includes is used.
OFTEN_INCLUDED = ["amity/amity.hpp", "amity/core/endpoint.hpp"]

# What programs may define before they include a header of amity. <complex.h> defines I.
FOREIGN_MACROS = [
    *string.ascii_uppercase,
    # X11
    "Above", "Always", "Below", "Bool", "BottomIf", "ButtonPress", "Complex", "Convex", "CopyFromParent", "CurrentTime",
    "CursorShape", "DestroyAll", "Expose", "False", "FocusIn", "FocusOut", "InputFocus", "InputOnly", "KeyPress",
    "NoSymbol", "Nonconvex", "None", "NotUseful", "Opposite", "PointerRoot", "PointerWindow", "Status", "Success",
    "TopIf", "True", "Unsorted", "WhenMapped",
    # configure scripts, system headers and libraries
    "BSD", "DEBUG", "ERR", "ERROR", "FALSE", "HAVE_CONFIG_H", "OK", "PACKAGE", "PACKAGE_NAME", "TRUE", "VERSION",
]
FOREIGN_FUNCTIONS = ["CHECK", "LOG", "MAX", "MIN", "count_of", "howmany", "major", "minor", "roundup"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
IN_EXPANSION = re.compile(r"^(\S+?):(\d+):\d+: note: (?:in expansion of|expanded from) macro [^\w]*(\w+)", re.MULTILINE)
FIRST_ERROR = re.compile(r"^(?:\./)?([^:\s]+:\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)


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
        after_macros = pool.imap(lambda how: compile_after_macros(tree, *how), compiles_after_macros(tree, compiler))
        for problem in itertools.chain(pool.imap(compile_alone, sorted(wanted)), after_macros):
            if problem:
                yield problem


def compiles_after_macros(tree, compiler):
    """(command, language, standard, headers) for each compile of the public headers after foreign macros."""
    headers = [header for header in tree.public_headers if not header.startswith((FOR_MPI_PROGRAMS, FOR_OPENSHMEM_PROGRAMS))
               and not any("/" in name for _, quote, name, _ in tree.includes(header) if quote == "<")]  # such a library has T
    for_mpi = [header for header in tree.headers if header in tree.public_headers + [FOR_MPI_PROGRAMS + "mpix_am.h"]
               and header.startswith(FOR_MPI_PROGRAMS)]
    for cxx in installed(compiler, "g++", "clang++"):
        yield from (([cxx], "c++", standard, headers) for standard in ("gnu++20", "gnu++23"))
    for cc in installed("gcc", "clang"):
        yield from (([cc], "c", standard, only_c(headers)) for standard in ("gnu99", "gnu17"))
    if for_mpi and shutil.which("mpicxx") and shutil.which("mpicc"):
        yield ["mpicxx", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"], "c++", "gnu++20", for_mpi
        yield ["mpicc"], "c", "gnu17", only_c(for_mpi)


def installed(*compilers):
    """The first name of each compiler that is installed, by this name or with the number of a version."""
    found = {}
    for compiler in compilers:
        for name in [compiler] + [f"{compiler}-{version}" for version in range(40, 10, -1)]:
            if path := shutil.which(name):
                found.setdefault(os.path.realpath(path), name)
                break
    return found.values()


def only_c(headers):
    return [header for header in headers if header.endswith(".h")]


def compile_after_macros(tree, command, language, standard, headers):
    """What the compiler says of the headers, if the macros are defined after all that amity does not define itself."""
    foreign = {name for header in headers for _, quote, name, _ in tree.includes(header) if quote == "<"}
    if language == "c":
        foreign = {name for name in foreign if name.endswith(".h")}
    lines = [f"#include <{name}>" for name in ["complex.h", *sorted(foreign)]]
    for macro in FOREIGN_MACROS + [name + "(x)" for name in FOREIGN_FUNCTIONS]:
        lines += [f"#undef {macro.split('(')[0]}", f"#define {macro} @"]
    lines += [f'#include "{header}"' for header in headers]
    result = subprocess.run(command + [f"-std={standard}"] + STRICT + ["-fsyntax-only", "-I" + tree.root, "-x", language, "-"],
                            input="\n".join(lines) + "\n", capture_output=True, text=True, cwd=tree.root)
    if result.returncode == 0:
        return None
    how = f"does not compile after macros of other headers ({command[0]} -std={standard})"
    expanded = IN_EXPANSION.search(result.stderr)
    if expanded:
        return f"{tree.relative(os.path.join(tree.root, expanded[1]))}:{expanded[2]}: {how}: rename `{expanded[3]}`"
    first = FIRST_ERROR.search(result.stderr)
    return f"{first[1]}: {how}: {first[2]}" if first else f"{headers[0]}:1: {how}: {result.stderr.strip()}"


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
