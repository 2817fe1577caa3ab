"""Runs a job, and checks how it ends: its status, what it prints, and that it leaves no process and no file.

usage: job_test.py [--fails] [--prints TIMES REGEX]... [--silent REGEX]... -- COMMAND...

--fails    the status of the job is not 0
--prints   the output has so many matches
--silent   the output has no match
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid

JOB_SECONDS = 90  # without an end: it hangs
END_SECONDS = 10  # for processes that the launcher is ending


def processes_with(mark):
    """The processes that have the mark in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environment:
                if mark.encode() in environment.read():
                    found.append(int(name))
        except OSError:  # it has ended
            pass
    return found


def kill(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.kill(process, signal.SIGKILL)


def files_of_amity():
    return {name for name in os.listdir("/dev/shm") if "amity" in name}


def run(command):
    """Returns the status, the output, and processes that are left."""
    mark = uuid.uuid4().hex
    job = subprocess.Popen(command, env={**os.environ, "AMITY_TEST_JOB_MARK": mark}, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
    try:
        output = job.communicate(timeout=JOB_SECONDS)[0]
    except subprocess.TimeoutExpired:
        kill(processes_with(mark))
        return None, job.communicate()[0], []
    limit = time.monotonic() + END_SECONDS
    while processes_with(mark) and time.monotonic() < limit:
        time.sleep(0.05)
    left = processes_with(mark)
    kill(left)
    return job.returncode, output, left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fails", action="store_true")
    parser.add_argument("--prints", nargs=2, action="append", default=[])
    parser.add_argument("--silent", action="append", default=[])
    parser.add_argument("command", nargs="+")
    wanted = parser.parse_args()
    files = files_of_amity()
    status, output, left = run(wanted.command)
    problems = []
    if status is None:
        problems.append(f"the job has not ended in {JOB_SECONDS} s")
    elif (status != 0) != wanted.fails:
        problems.append(f"the status is {status}")
    if left:
        problems.append(f"{len(left)} processes are left")
    if files_of_amity() - files:
        problems.append(f"files are left: {files_of_amity() - files}")
    for times, regex in wanted.prints:
        found = len(re.findall(regex, output))
        if found != int(times):
            problems.append(f"{found} matches of {regex}, and not {times}")
    problems += [f"a match of {regex}" for regex in wanted.silent if re.search(regex, output)]
    print(output)
    for problem in problems:
        print(f"job_test.py: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
