"""C++ files are formatted as .clang-format says (scripts/check names the file; clang-format -i mends it)."""

import multiprocessing.pool
import os
import re
import shutil
import subprocess


def check(tree):
    # Releases of clang-format disagree in details; Debian 12's is the one that decides.
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None:
        yield "clang-format is not installed; scripts/setup test installs it"
        return
    files = [f for f in tree.headers + tree.sources if f.endswith((".hpp", ".cpp", ".h", ".c"))]

    def badly_formatted(some):
        """Lines that are to be formatted, each with its file."""
        result = subprocess.run([program, "--dry-run", "-Werror"] + [tree.path(file) for file in some],
                                capture_output=True, text=True)
        return re.findall(r"^(.+?):(\d+):\d+: error:", result.stderr, re.MULTILINE)

    # Starting the program takes as long as a file: each run looks at many.
    shares = [files[begin::32] for begin in range(32)]
    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        first_lines = {}
        for found in pool.imap(badly_formatted, shares):
            for path, line in found:
                first_lines.setdefault(os.path.relpath(path, tree.root), line)
    for file, line in first_lines.items():
        yield f"{file}:{line}: is not formatted; run clang-format -i {file}"
