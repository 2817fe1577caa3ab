"""Changed sources compile alone, although the build compiles several in one piece: a missing include shows.

If LONG_TESTS is set, all sources of the library, the applications and the tools are compiled. Sources of tests do not count.
"""

import multiprocessing.pool
import os
import subprocess


def check(tree):
    wanted = set(tree.sources) if "LONG_TESTS" in os.environ else tree.changed & set(tree.sources)
    wanted = sorted(source for source in wanted if source in tree.compiler_options and not source.startswith("tests/"))

    def compile_alone(source):
        directory, options = tree.compiler_options[source]
        compiler = [os.environ.get("CXX", "g++")] if source.endswith(".cpp") else ["cc"]
        result = subprocess.run(compiler + options + ["-fsyntax-only", tree.path(source)], capture_output=True, text=True,
                                cwd=directory)
        if result.returncode == 0:
            return None
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        return f"{source}:1: does not compile alone: {(errors or [result.stderr.strip()])[0]}"

    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        yield from filter(None, pool.imap(compile_alone, wanted))
