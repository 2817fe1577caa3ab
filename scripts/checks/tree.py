"""The tree under check: which files it has, what they say, what the build made of them."""

import functools
import itertools
import json
import os
import re
import shlex
import subprocess

CODE_DIRECTORIES = ("amity/", "apps/", "tools/", "bench/", "tests/")
HEADER_ENDINGS = (".hpp", ".h")
SOURCE_ENDINGS = (".cpp", ".c")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

UNITY_SOURCE = re.compile(r"/Unity/unity_\d+_\w+\.\w+$")


class Tree:
    def __init__(self, root, build=None):
        self.root = os.path.abspath(root)
        self.build = os.path.abspath(build or os.path.join(self.root, "build", "release"))

    @functools.cached_property
    def files(self):
        """Every file that belongs to the project, relative to the root, sorted: what git has or would take."""
        if os.path.exists(os.path.join(self.root, ".git")):
            listed = subprocess.run(
                ["git", "-C", self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                check=True, capture_output=True, text=True).stdout.split("\0")
        else:
            listed = []
            for directory, subdirectories, names in os.walk(self.root):
                top = directory == self.root
                subdirectories[:] = [d for d in subdirectories if d != ".git" and not (top and d == "build")]
                listed += [os.path.relpath(os.path.join(directory, name), self.root) for name in names]
        return sorted(set(f for f in listed if f and os.path.isfile(self.path(f))))

    @property
    def headers(self):
        return [f for f in self.files if f.startswith(CODE_DIRECTORIES) and f.endswith(HEADER_ENDINGS)]

    @property
    def sources(self):
        return [f for f in self.files if f.startswith(CODE_DIRECTORIES) and f.endswith(SOURCE_ENDINGS)]

    def path(self, file):
        return os.path.join(self.root, file)

    @functools.cache
    def text(self, file):
        """What the file says; empty where it is not text."""
        with open(self.path(file), "rb") as opened:
            content = opened.read()
        return "" if b"\0" in content else content.decode("utf-8", errors="replace")

    def read_json(self, file):
        """What a JSON file of the tree holds; an empty dictionary if there is none."""
        return json.loads(self.text(file)) if os.path.exists(self.path(file)) else {}

    def write_json(self, file, content):
        with open(self.path(file), "w") as opened:
            json.dump(content, opened, indent=2)
            opened.write("\n")

    def lines(self, file):
        """(number, line), counted from 1."""
        return enumerate(self.text(file).splitlines(), 1)

    @functools.cache
    def includes(self, file):
        """(line number, quote, name as written, file of this tree or None) for each #include."""
        found = []
        for number, line in self.lines(file):
            match = INCLUDE.match(line)
            if match:
                quote, name = match.groups()
                beside = os.path.normpath(os.path.join(os.path.dirname(file), name))
                candidates = [name] if quote == "<" else [name, beside]
                target = next((c for c in candidates if os.path.isfile(self.path(c))), None)
                found.append((number, quote, name, target))
        return found

    @functools.cached_property
    def public_headers(self):
        """The list that CMake installs, relative to the root."""
        text = self.text("amity/public_headers.cmake")
        listed = re.search(r"set\(AMITY_PUBLIC_HEADERS\s([^)]*)\)", text).group(1)
        return ["amity/" + name for name in listed.split()]

    @functools.cache
    def reached(self, file):
        """The files of this tree that the file includes, directly or not."""
        found, waiting = set(), [file]
        while waiting:
            for _, _, _, target in self.includes(waiting.pop()):
                if target and target not in found:
                    found.add(target)
                    waiting.append(target)
        return found

    def relative(self, path):
        """The path of a file of this tree relative to its root; None outside."""
        relative = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root))
        return None if relative.startswith("..") else relative

    def made(self, path):
        """The files of this tree that a file made by CMake includes."""
        with open(path) as opened:
            names = [match.group(2) for match in map(INCLUDE.match, opened) if match]
        return [self.relative(os.path.join(self.root, name)) for name in names]

    def git(self, *arguments):
        """The lines that git prints; None if it fails."""
        result = subprocess.run(["git", "-C", self.root, *arguments], capture_output=True, text=True)
        return result.stdout.split("\n")[:-1] if result.returncode == 0 else None

    def differing(self, commit):
        """Files that differ between a commit and the working tree, relative to the root."""
        return set(self.git("diff", "--name-only", commit, "--") + self.git("ls-files", "--others", "--exclude-standard"))

    @functools.cached_property
    def changed(self):
        """Files that differ from origin/main; if none does, as in a clone of main, those that the last 20 commits changed.

        All files if there are no such commits.
        """
        fork = self.git("merge-base", "HEAD", "origin/main")
        if fork and (found := self.differing(fork[0])):
            return found
        before = self.git("rev-parse", "--verify", "--quiet", "HEAD~20")
        return self.differing(before[0]) if before else set(self.files)

    @property
    def is_configured(self):
        return os.path.exists(os.path.join(self.build, "compile_commands.json"))

    def read_compile_commands(self):
        """(directory, words of the command, source files) for each object file of the build."""
        file = os.path.join(self.build, "compile_commands.json")
        if not self.is_configured:
            raise SystemExit(f"{file} is missing; build first (cmake --preset release && cmake --build --preset release)")
        with open(file) as opened:
            for command in json.load(opened):
                path = os.path.join(command["directory"], command["file"])
                sources = self.made(path) if UNITY_SOURCE.search(path) else [self.relative(path)]
                yield command["directory"], shlex.split(command["command"]), [source for source in sources if source]

    @functools.cached_property
    def compiler_options(self):
        """(directory, options) with which the build compiles each source, without its warnings and precompiled header."""
        known = set(self.sources)
        found = {}
        for directory, words, sources in self.read_compile_commands():
            options = []
            words = itertools.dropwhile(lambda word: not word.startswith("-"), words)
            for word in words:
                if word in ("-o", "-c", "-include", "-MT", "-MF"):
                    next(words)
                elif not word.startswith(("-W", "-M")):
                    options.append(word)
            for source in sources:
                if source in known:  # others are generated
                    found.setdefault(source, (directory, options))
        return found

    @functools.cached_property
    def compile_commands(self):
        """(source, object file, precompiled headers) for each source of this tree that the build compiles.

        Sources that are compiled in one piece have the same object file. Sources and headers are relative to the root.
        """
        found = []
        for directory, words, sources in self.read_compile_commands():
            compiled = os.path.join(directory, words[words.index("-o") + 1])
            precompiled = []
            if "-include" in words:
                precompiled = self.made(os.path.join(directory, words[words.index("-include") + 1]))
            found += [(source, compiled, precompiled) for source in sources]
        return found
