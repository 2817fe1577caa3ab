#!/usr/bin/env python3
"""Writes the include graph of one Boost header as an edge list: "header included kB-of-included" on each line.

usage: boost_includes.py INCLUDE_FOLDER HEADER | gzip -9n > FILE
An edge stands for an #include of a header that exists in the folder, whatever conditions are around it.
"""

import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](boost/[^>"]+)[>"]')


def included(folder, header):
    with open(os.path.join(folder, header), encoding="utf-8", errors="replace") as text:
        names = dict.fromkeys(match[1] for match in map(INCLUDE.match, text) if match)
    return [name for name in names if os.path.isfile(os.path.join(folder, name))]


def main():
    folder, root = sys.argv[1:]
    queue, seen = [root], {root}
    print(f"# Which headers {root} includes, directly and through others; then the size in kB of the included header.")
    for header in queue:
        for name in included(folder, header):
            print(header, name, os.path.getsize(os.path.join(folder, name)) / 1000)
            if name not in seen:
                seen.add(name)
                queue.append(name)


main()
