"""No mutable state at namespace scope: `sim` and `threads` run many ranks in one process.

Looks at what the compiler made, not at how it was written: an object with a symbol in a writable section is state,
be it a global, a static member, a thread_local, an inline variable or a static of a function. Constants land in
sections that are read-only, or are so once relocated.
"""

import re
import subprocess

DIRECTORIES = ("amity/", "apps/", "tools/", "bench/")
WRITABLE = re.compile(r"^(\.data(?!\.rel\.ro)|\.bss|\.tdata|\.tbss|\*COM\*)")
# objdump -t: value, flags (7 columns), section, size, name.
SYMBOL = re.compile(r"^[0-9a-f]+ .{7} (\S+)\s+[0-9a-f]+ +(?:\.hidden |\.internal |\.protected )?(.+)$")
# CLI::, including its tables that are const but are filled at start: the headers of CLI11.
# boost::, in programs that compare with it: the tables of its serialisation.
# std::__ioinit: the standard streams', which <iostream> defines in every object. DW.ref: the compiler's, for catch.
FOREIGN = re.compile(r"^(std::|CLI::|boost::|DW\.ref\.|guard variable for )|^\.(data|bss|tdata|tbss)")
# The functions of OpenSHMEM have no parameter for the process that they are called in: one object knows it
# (docs/decisions/0017-openshmem.md).
# A library registers functions for async while it is loaded, before anything can pass it an object: the process has one
# table (amity/base/code_address.hpp), with an entry for each instantiation of async.
ACCEPTED = {
    ("amity/base/code_address.cpp", "amity::(anonymous namespace)::async_functions"),
    # Nor have the functions of MPI: the data types of a process, and what each thread remembers of them.
    ("amity/interop/mpi/drop_in/datatype_store.cpp", "amity::mpi::(anonymous namespace)::all_types"),
    ("amity/interop/mpi/drop_in/drop_in.cpp", "amity::mpi::(anonymous namespace)::self"),
    ("amity/interop/mpi/drop_in/datatype_store.cpp", "amity::mpi::(anonymous namespace)::recent_types"),
    # Addresses of functions of the MPI and of its C++ and Fortran libraries.
    ("amity/interop/mpi/drop_in/cxx_handlers.cpp", "amity::mpi::(anonymous namespace)::bindings"),
    ("amity/interop/mpi/drop_in/cxx_handlers.cpp", "MPII_Errhandler_set_cxx::next"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "MPII_Win_get_attr::next"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "MPII_Win_set_attr::next"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "ompi_win_get_attr_f::handle_of"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "ompi_win_get_name_f::next"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "ompi_win_get_attr_f::next"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "ompi_win_set_attr_f::handle_of"),
    ("amity/interop/mpi/drop_in/fortran.cpp", "ompi_win_set_attr_f::next"),
    ("amity/interop/shmem/process.cpp", "amity::shmem::self"),
    ("amity/interop/shmem/addon/process.cpp", "amity::shmem::addon::self"),
    # The functions that `exit` calls have no parameter either.
    ("amity/world/exit_watch.cpp", "amity::detail::(anonymous namespace)::self"),
    # A signal handler has no parameter either: whom it passes signals on to.
    ("amity/world/crash_report.cpp", "amity::detail::(anonymous namespace)::installed"),
    # Nor has the one that prints counters: which jobs it prints.
    ("amity/world/counters_on_signal.cpp", "amity::detail::(anonymous namespace)::reporting"),
}
# Addresses of the MPI's functions, each found at its first call: the same for all callers.
MPI_FUNCTION = re.compile(r"^amity::mpi::native::\w+$")
TABLE_ENTRY = re.compile(r"^amity::detail::remote_calls<amity::world>::registered<")
# Constants of which each thread has one, so that they lie where variables of threads do: their addresses are of use.
CONSTANTS = {"amity::thread_mark"}
# How deep a thread is in functions of an MPI that call functions of MPI, and how many error C++ handlers it has called.
OF_THREADS = {"amity::mpi::nested_calls::depth", "amity::mpi::cxx_handler_calls::calls",
              "amity::mpi::handler_call::current"}
# Programs of OpenSHMEM are one PE a process, as any program for it.
OPENSHMEM_PROGRAMS = "bench/shmem/"


def check(tree):
    sources_of = {}
    for source, compiled, _ in tree.compile_commands:
        if source.startswith(DIRECTORIES) and not source.startswith(OPENSHMEM_PROGRAMS):
            sources_of.setdefault(compiled, []).append(source)
    for compiled, sources in sources_of.items():
        listing = subprocess.run(["objdump", "-t", "-C", compiled], capture_output=True, text=True)
        if listing.returncode != 0:
            yield f"{sources[0]}: {compiled} cannot be read; build first ({listing.stderr.strip()})"
            continue
        others = f"; or one of {', '.join(sources[1:])}, which are compiled with it" if len(sources) > 1 else ""
        for line in listing.stdout.splitlines():
            match = SYMBOL.match(line)
            if match and WRITABLE.match(match.group(1)) and not is_accepted(match.group(2), sources):
                yield (f"{sources[0]}:1: has mutable state at namespace scope: {match.group(2)} (in {match.group(1)})"
                       f"{others}")


def is_accepted(symbol, sources):
    return (FOREIGN.match(symbol) or TABLE_ENTRY.match(symbol) or MPI_FUNCTION.match(symbol)
            or symbol in CONSTANTS | OF_THREADS or any((source, symbol) in ACCEPTED for source in sources))
