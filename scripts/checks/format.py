"""C++ files are formatted as .clang-format says (scripts/check names the file; clang-format -i mends it)."""

import multiprocessing.pool
import os
import shutil
import subprocess


def check(tree):
    # Releases of clang-format disagree in details; Debian 12's is the one that decides.
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None:
        yield "clang-format is not installed; scripts/setup test installs it"
        return
    files = [f for f in tree.headers + tree.sources if f.endswith((".hpp", ".cpp", ".h", ".c"))]

    def is_clean(file):
        result = subprocess.run([program, "--dry-run", "-Werror", tree.path(file)], capture_output=True, text=True)
        if result.returncode == 0:
            return None
        line = result.stderr.split(":", 2)[1] if result.stderr.count(":") > 1 else "1"
        return f"{file}:{line}: is not formatted; run clang-format -i {file}"

    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        for problem in pool.imap(is_clean, files):
            if problem:
                yield problem
