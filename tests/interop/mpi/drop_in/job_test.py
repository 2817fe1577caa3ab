"""Runs a job, and checks how it ends: its status, what it prints, and that it leaves no process and no file.

usage: job_test.py [--fails | --ends] [--prints TIMES REGEX]... [--mentions REGEX]... [--silent REGEX]...
                   [--shared-memory DIRECTORY] [--end-seconds SECONDS] [--memory-mib N] -- COMMAND...

--fails          the status of the job is not 0
--ends           it may be any
--prints         the output has so many matches
--mentions       the output has a match
--silent         the output has no match
--shared-memory  where no file may be left; default: /dev/shm
--end-seconds    how long processes and files may remain; default: 10
--memory-mib     what the job needs: the exit status is 77 if less is available

Amity's memory has no name in a file system: it ends with the processes that have mapped it.
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

JOB_SECONDS = 90  # without an end: it hangs; programs that watch themselves end before
FILES_OF_MPI = re.compile(r"vader_segment\.|mpich_shar_tmp|ucx_|sem\.|psm2_|osc_|sm_segment")


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


def state_of(process):
    """Its state and CPU time. Little CPU time: it sleeps, or gets no CPU. Much: it computes, perhaps without end."""
    with contextlib.suppress(OSError):  # it has ended
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as stat:
            name, fields = stat.read().split("(", 1)[1].rsplit(")", 1)
        fields = fields.split()
        ticks = os.sysconf("SC_CLK_TCK")
        return f"{name} ({process}): state {fields[0]}, CPU time {(int(fields[11]) + int(fields[12])) / ticks:.1f} s"
    return f"{process}: ended"


def kill(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.kill(process, signal.SIGKILL)


def files_in(directory):
    """Those that the MPIs and UCX do not leave themselves when a process is killed."""
    return {name for name in os.listdir(directory) if not FILES_OF_MPI.match(name)}


def files_in_use(directory):
    """Those that a process maps or has open: they belong to another job that runs."""
    found = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            with open(f"/proc/{process}/maps", errors="replace") as maps:
                found |= {os.path.basename(line.rstrip("\n")) for line in maps if f" {directory}/" in line}
            for descriptor in os.listdir(f"/proc/{process}/fd"):
                found.add(os.path.basename(os.readlink(f"/proc/{process}/fd/{descriptor}")))
    return found


def files_left(directory, before, end_seconds):
    """New files that no process uses. A job that begins may use one a moment later."""
    limit = time.monotonic() + end_seconds
    while (left := files_in(directory) - before - files_in_use(directory)) and time.monotonic() < limit:
        time.sleep(0.05)
    return left


def available_memory_mib():
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable:"))


def run(command, end_seconds):
    """Returns the status, the output, and processes that are left."""
    mark = uuid.uuid4().hex
    # Not a session of its own: Linux schedules sessions against one another, and 6.18 gives a session of threads that sleep
    # for microseconds nearly the whole CPU.
    job = subprocess.Popen(command, env={**os.environ, "AMITY_TEST_JOB_MARK": mark}, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", process_group=0)
    try:
        output = job.communicate(timeout=JOB_SECONDS)[0]
    except subprocess.TimeoutExpired:
        states = "".join(f"job_test.py: {state_of(each)}\n" for each in processes_with(mark))
        kill(processes_with(mark))
        return None, job.communicate()[0] + states, []
    limit = time.monotonic() + end_seconds
    while processes_with(mark) and time.monotonic() < limit:
        time.sleep(0.05)
    left = processes_with(mark)
    kill(left)
    return job.returncode, output, left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fails", action="store_true")
    parser.add_argument("--ends", action="store_true")
    parser.add_argument("--prints", nargs=2, action="append", default=[])
    parser.add_argument("--mentions", action="append", default=[])
    parser.add_argument("--silent", action="append", default=[])
    parser.add_argument("--shared-memory", default="/dev/shm")
    parser.add_argument("--end-seconds", type=float, default=10)
    parser.add_argument("--memory-mib", type=int, default=0)
    parser.add_argument("command", nargs="+")
    wanted = parser.parse_args()
    if available_memory_mib() < wanted.memory_mib:
        print(f"job_test.py: {available_memory_mib()} MiB of memory are available, the job needs {wanted.memory_mib}")
        return 77
    files = files_in(wanted.shared_memory)
    status, output, left = run(wanted.command, wanted.end_seconds)
    problems = []
    if status is None:
        problems.append(f"the job has not ended in {JOB_SECONDS} s")
    elif not wanted.ends and (status != 0) != wanted.fails:
        problems.append(f"the status is {status}")
    if left:
        problems.append(f"{len(left)} processes are left")
    if new_files := files_left(wanted.shared_memory, files, wanted.end_seconds):
        problems.append(f"files are left: {new_files}")
    for times, regex in wanted.prints:
        found = len(re.findall(regex, output))
        if found != int(times):
            problems.append(f"{found} matches of {regex}, and not {times}")
    problems += [f"no match of {regex}" for regex in wanted.mentions if not re.search(regex, output)]
    problems += [f"a match of {regex}" for regex in wanted.silent if re.search(regex, output)]
    print(output)
    for problem in problems:
        print(f"job_test.py: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
