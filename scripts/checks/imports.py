"""Imports go down only, between the floors of docs/architecture.md.

The table below is that page's: a file imports files of its own floor and of the floors under it. Floors on one line
are siblings and do not import one another.
"""

import re

from checks.tree import HEADER_ENDINGS

FLOORS = [  # bottom first
    ["amity/base"],
    ["amity/fabric"],
    ["amity/core"],
    ["amity/epoch"],
    ["amity/message", "amity/window"],
    ["amity/world"],
    ["amity/amity.hpp", "amity/amity.h"],
    ["amity/interop"],
    ["apps"],
    ["tools", "bench"],
    ["tests"],
]
LEVEL = {floor: level for level, floors in enumerate(FLOORS) for floor in floors}

# Whole programs, which see of the library what its users see. Tests may look inside.
PROGRAMS = ("apps", "tools", "bench")

# The one floor that knows each fabric by name; all others use the contract.
WIRING = "amity/world"

# The one way in for programs of MPI, which have its header anyway.
FOR_MPI_PROGRAMS = "amity/interop/mpi/"

# What is added to another OpenSHMEM, likewise.
FOR_OPENSHMEM_PROGRAMS = "amity/interop/shmem/addon/"

# What amity is built with; a user's compile must not need it.
PRIVATE_LIBRARIES = re.compile(r"^(fmt|boost|CLI|nlohmann|rdma|mpi\.h|zlib\.h|shmem)\b")


def floor_of(file):
    return next((floor for floor in LEVEL if file == floor or file.startswith(floor + "/")), None)


def backend_of(file):
    """"shm" for amity/fabric/shm/ring.hpp; None for the contract and for other floors."""
    parts = file.split("/")
    return parts[2] if file.startswith("amity/fabric/") and len(parts) > 3 else None


def check(tree):
    public = set(tree.public_headers)
    for header in sorted(public):
        if header not in tree.files:
            yield f"amity/public_headers.cmake: lists {header}, which does not exist"
    for file in tree.headers + tree.sources:
        floor = floor_of(file)
        if floor is None:
            yield f"{file}: stands on no floor of the import table"
            continue
        for number, quote, name, target in tree.includes(file):
            problem = judge(file, floor, quote, name, target, public)
            if problem:
                yield f"{file}:{number}: {problem}"
    yield from cycles(tree)


def judge(file, floor, quote, name, target, public):
    """What is wrong with one include, or None."""
    if target is None:
        if name.startswith("amity/"):
            return f"includes {name}, which does not exist"
        if name == "mpi.h" and file.startswith(FOR_MPI_PROGRAMS):
            return None
        if name == "shmem.h" and file.startswith(FOR_OPENSHMEM_PROGRAMS):
            return None
        if file in public and PRIVATE_LIBRARIES.match(name):
            return f"a public header includes <{name}>, which users of amity need not have"
        return None
    if floor.startswith("amity") and name != target:
        return f'includes "{name}"; write it from the root of the tree: "{target}"'

    other = floor_of(target)
    if other is None:
        return f"includes {target}, which stands on no floor of the import table"
    if LEVEL[other] > LEVEL[floor]:
        return f"imports {target}: {other} is above {floor}, and imports go down only"
    if LEVEL[other] == LEVEL[floor] and other != floor:
        return f"imports {target}: {floor} and {other} are siblings and do not import one another"

    backend, other_backend = backend_of(file), backend_of(target)
    if other_backend and other_backend != backend and floor != "tests":
        if backend:
            return f"imports {target}: fabric {backend} does not import fabric {other_backend}"
        if floor != WIRING:
            return f"imports {target}: only {WIRING} knows fabric {other_backend}; others use the contract"

    if target.startswith("amity/") and target not in public:
        if floor in PROGRAMS:
            return f"imports {target}, which is no public header (amity/public_headers.cmake)"
        if file in public:
            return f"a public header imports {target}, which is not public (amity/public_headers.cmake)"
    return None


def cycles(tree):
    """Headers that include one another; each cycle is reported once, from its first header by name."""
    done = set()

    def visit(header, path):
        if header in path:
            cycle = path[path.index(header):]
            yield f"{header}:1: is in a cycle of includes: {' -> '.join(cycle + [header])}"
            return
        if header in done:
            return
        for _, _, _, target in tree.includes(header):
            if target and target.endswith(HEADER_ENDINGS):
                yield from visit(target, path + [header])
        done.add(header)

    for header in tree.headers:
        yield from visit(header, [])
