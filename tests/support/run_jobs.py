"""Runs jobs of a table one after the other, and checks how each ends and what it prints.

usage: run_jobs.py TABLE SECTION [--programs PREFIX] [--ways WAY,...] [--ranks N,...] [--seconds S] [-- LAUNCHER...]

A table has lines of these forms; lines that begin with # are comments.

  way NAME: SETTING=VALUE... WORD...    how jobs run: settings, and words before the program
  [SECTION]                             the jobs below belong to it; "[SECTION] together": they run at the same time
  PROGRAM WAYS RANKS WORD...            a job in each way with each number of ranks; WAYS and RANKS are separated by commas
  long PROGRAM WAYS RANKS WORD...       only if LONG_TESTS is in the environment

Words SETTING=VALUE at the beginning are put into the environment, the others are arguments. A job must end with status 0.
After " | ", a line says otherwise: "prints REGEX", what it must also print; "fails REGEX", what it prints if it must end with
another status; "status N", that status.

--programs  beginning of the programs' paths
--ways      the ways that are possible here; default: all
--ranks     of several numbers of ranks, only these
--seconds   time limit of each job; default: 60, or 240 with LONG_TESTS
LAUNCHER    command that starts a job, with RANKS for the number of ranks; default: AMITY_RANKS is set instead

The exit status is 77 if none of the jobs is possible here.
"""

import argparse
import concurrent.futures
import os
import re
import shlex
import signal
import subprocess
import sys
import time

NEVER_PRINTED = re.compile(r"does not hold|\.c:[0-9]+:|deadlock")  # programs of the tests have failed
SETTING = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)


def split_settings(words):
    """The settings that words begin with, and the other words."""
    settings = {}
    for index, word in enumerate(words):
        setting = SETTING.fullmatch(word)
        if not setting:
            return settings, words[index:]
        settings[setting[1]] = setting[2]
    return settings, []


def read(path, section):
    """The ways, the lines of jobs of a section, and whether these jobs run at the same time."""
    ways, jobs, found, together, current = {}, [], False, False, None
    with open(path, encoding="utf-8") as table:
        for line in map(str.strip, table):
            if not line or line.startswith("#"):
                continue
            if way := re.fullmatch(r"way (\w+):(.*)", line):
                ways[way[1]] = split_settings(shlex.split(way[2]))
            elif header := re.fullmatch(r"\[(\w+)\](.*)", line):
                current = header[1]
                if current == section:
                    found, together = True, "together" in header[2].split()
            elif current == section:
                jobs.append(line)
    if not found:
        sys.exit(f"{path} has no section {section}")
    return ways, jobs, together


class job:
    def __init__(self, name, command, environment, expected):
        self.name, self.command, self.environment, self.expected = name, command, environment, expected

    def run(self, seconds):
        """Returns what is wrong, if anything, and what was printed."""
        # Not a session of its own: Linux 6.18 would starve the sessions of other tests (drop_in/job_test.py).
        process = subprocess.Popen(self.command, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", process_group=0)
        try:
            output = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"has not ended after {seconds} s", process.communicate()[0]
        verb, _, regex = self.expected.partition(" ")
        if verb == "status":
            return None if process.returncode == int(regex) else f"status {process.returncode}", output
        if (process.returncode != 0) != (verb == "fails"):
            return f"status {process.returncode}", output
        if not re.search(regex, output):
            return f"has not printed {regex}", output
        if unexpected := NEVER_PRINTED.search(output):
            return f"has printed {unexpected[0]}", output
        return None, output


def jobs_of(line, ways, options, launcher):
    words, _, expected = line.partition(" | ")
    expected = expected.strip()
    if expected and not re.match(r"(prints|fails|status) ", expected):
        sys.exit(f"after |, write \"prints REGEX\", \"fails REGEX\" or \"status N\": {line}")
    words = shlex.split(words)
    if words[0] == "long":
        if "LONG_TESTS" not in os.environ:
            return
        del words[0]
    program, way_names, ranks = words[0], words[1].split(","), words[2].split(",")
    settings, arguments = split_settings(words[3:])
    if options.ranks and len(ranks) > 1:
        ranks = [number for number in ranks if number in options.ranks.split(",")]
    for way in way_names:
        if way not in ways:
            sys.exit(f"way {way} not found in the table: {line}")
        if options.ways and way not in options.ways.split(","):
            continue
        way_settings, start = ways[way]
        for number in ranks:
            environment = {**way_settings, **settings}
            if not launcher:
                environment["AMITY_RANKS"] = number
            command = [number if word == "RANKS" else word for word in launcher]
            yield job(" ".join([program, way, number, *words[3:]]), [*command, *start, options.programs + program, *arguments],
                      environment, expected)


def main():
    arguments = sys.argv[1:]
    launcher = []
    if "--" in arguments:
        launcher = arguments[arguments.index("--") + 1:]
        arguments = arguments[:arguments.index("--")]
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("table")
    parser.add_argument("section")
    parser.add_argument("--programs", default="./")
    parser.add_argument("--ways")
    parser.add_argument("--ranks")
    parser.add_argument("--seconds", type=float, default=240 if "LONG_TESTS" in os.environ else 60)
    options = parser.parse_args(arguments)

    ways, lines, together = read(options.table, options.section)
    jobs = [one for line in lines for one in jobs_of(line, ways, options, launcher)]

    if not jobs:
        print("none of the jobs is possible here")
        return 77

    def run(one):
        begin = time.monotonic()
        wrong, output = one.run(options.seconds)
        return one, wrong, output, time.monotonic() - begin

    failed = []
    with concurrent.futures.ThreadPoolExecutor(len(jobs) if together else 1) as pool:
        for one, wrong, output, seconds in pool.map(run, jobs):
            print(f"{'FAILED' if wrong else 'ok':8}{seconds:6.2f} s  {one.name}{': ' + wrong if wrong else ''}", flush=True)
            if wrong:
                failed.append(one.name)
                settings = [f"{name}={value}" for name, value in one.environment.items()]
                print("  " + shlex.join(["env", *settings, *one.command]) + "\n" + output, flush=True)
    print(f"{len(jobs) - len(failed)} of {len(jobs)} jobs passed" + "".join(f"\n  failed: {name}" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
