"""Each header compiles alone, with warnings as errors, whatever was included before it."""

import multiprocessing.pool
import os
import subprocess


def check(tree):
    compiler = os.environ.get("CXX", "g++")

    def compile_alone(header):
        result = subprocess.run(
            [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
             "-I" + tree.root, "-x", "c++", "-"],
            input=f'#include "{header}"\n', capture_output=True, text=True, cwd=tree.root)
        if result.returncode == 0:
            return None
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        return f"{header}:1: does not compile alone: {(errors or [result.stderr.strip()])[0]}"

    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        for problem in pool.imap(compile_alone, tree.headers):
            if problem:
                yield problem
