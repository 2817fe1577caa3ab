"""No file is dead: sources are compiled, headers are included, scripts and data are named somewhere."""

import os
import re

# Found by their place, not by their name.
ENTRY_POINTS = re.compile(r"(^|/)(CMakeLists\.txt|CMakePresets\.json)$|^\.|^[^/]*\.md$|^LICENSE$|^tests/fuzz/\w+/\w+$")


def check(tree):
    compiled = {source for source, _, _ in tree.compile_commands}
    alive = {source for source in compiled if source not in tree.sources}  # CMake made them
    for source in tree.sources:
        # What must not compile is compiled by its test alone.
        if source in compiled or (source.startswith("tests/") and named_by_cmake(tree, source)):
            alive.add(source)
        else:
            yield f"{source}: is compiled by no target of the build"

    reached = set().union(*map(tree.reached, alive))
    for header in tree.headers:
        if header not in reached:
            yield f"{header}: is included by nothing that is compiled"

    code = set(tree.sources + tree.headers)
    for file in tree.files:
        # Pages are the business of the check `documents`.
        if file in code or file.endswith(".md") or ENTRY_POINTS.search(file):
            continue
        if not named(tree, file):
            yield f"{file}: is named by no other file"


def named_by_cmake(tree, file):
    """Whether a CMake file of the same directory or of one above it names the file (compile-failure tests do)."""
    base = os.path.basename(file)
    # Lists of what must not compile leave the ending away.
    stem = os.path.splitext(base)[0] if "/rejected/" in file else base
    name = re.compile(rf"(?<![\w.-])({re.escape(base)}|{re.escape(stem)})(?![\w.-])")
    directories = {os.path.dirname(file)}
    while "" not in directories:
        directories |= {os.path.dirname(d) for d in directories}
    return any(
        name.search(tree.text(f)) for f in tree.files
        if os.path.dirname(f) in directories and (f.endswith("CMakeLists.txt") or f.endswith(".cmake")))


def named(tree, file):
    base = os.path.basename(file)
    # A Python module is imported by its stem, a template (*.in) is often written as ${name}.in.
    stem = base[:-3] if base.endswith(".py") else base
    name = re.compile(rf"(?<![\w.-]){re.escape(stem)}(?![\w-])")
    return any(name.search(tree.text(other)) for other in tree.files if other != file)
