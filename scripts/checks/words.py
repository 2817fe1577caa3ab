"""Nothing half-built, and nothing that holds on one machine only: banned words and paths."""

import re

# Written so that no pattern matches itself.
BANNED = [
    (re.compile(r"\b(TO[D]O|FI[X]ME|X[X]X)\b"), "finish it, or open an issue"),
    (re.compile(r"\b[Ff]or [n]ow\b"), "say what holds, and until when"),
    (re.compile(r"(?<![\w.\-/])/(wor[k]|roo[t])/[\w.]"), "a path of one machine"),
    (re.compile(r"\b(pypi\.|files\.pythonhosted\.|registry\.npmjs\.|crates\.|index\.crates\.|repo\.maven\.|"
                r"proxy\.golang\.|rubygems\.|conda\.anaconda\.|deb\.debian\.|archive\.ubuntu\.|snapshot\.debian\.)"
                r"(org|io|com)\b"), "a host of a package registry; the machine's own sources decide"),
]


def check(tree):
    for file in tree.files:
        for number, line in tree.lines(file):
            for pattern, remedy in BANNED:
                match = pattern.search(line)
                if match:
                    yield f"{file}:{number}: has '{match.group(0)}': {remedy}"
