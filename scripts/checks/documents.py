"""Pages can be reached from README.md, links lead somewhere, what is named exists, blocks of C++ and C are compiled by the tests."""

import os
import re

from checks import declared_names

LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)|(?:src|href)=\"([^\"#]+)\"")
# `amity/core/endpoint.hpp` names a file or directory, `endpoint::try_open(dest)` a member of a class.
NAMED_PATH = re.compile(r"`((?:amity|apps|tools|bench|tests|scripts|docs|cmake|data)/[\w./-]*)`")
NAMED_MEMBER = re.compile(r"`(?:\w+::)*(\w+)::(\w+)(?:\([^`]*\))?`")
# Pages that describe the code as it is: names of functions in their code spans must be declared.
REFERENCES = re.compile(r"docs/(architecture|contracts/[\w-]+)\.md$")
CODE_NAME = re.compile(r"`((?:\w+::)*)(\w+)(?=([`({<.&]))")
PAGE_IN_CODE = re.compile(r"\b(docs/[\w./-]+\.md)\b")
FENCE = re.compile(r"^\s*```(\w*)")
# The mark that tests/docs compiles and runs (scripts/docs_examples).
EXAMPLE = re.compile(r"^<!-- example: (\w+) -->$")


def check(tree):
    declared = declared_names.DeclaredNames(tree)
    pages = [f for f in tree.files if f.endswith(".md")]
    links = {}
    for page in pages:
        links[page] = set()
        for number, line in prose(tree, page):
            for match in LINK.finditer(line):
                name = match.group(1) or match.group(2)
                if "://" in name or name.startswith("mailto:"):
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(page), name))
                if not os.path.exists(tree.path(target)):
                    yield f"{page}:{number}: links to {name}, which does not exist"
                links[page].add(target)
            problems = list(missing_paths(tree, line))
            problems += undeclared_names(declared, line) if REFERENCES.match(page) else missing_members(tree, line)
            yield from (f"{page}:{number}: {problem}" for problem in problems)
        yield from unmarked_examples(tree, page)

    for file in tree.files:
        if file not in links and not file.startswith("tests/checks/"):
            for number, line in tree.lines(file):
                for name in PAGE_IN_CODE.findall(line):
                    if not os.path.exists(tree.path(name)):
                        yield f"{file}:{number}: names {name}, which does not exist"

    reached, waiting = {"README.md"}, ["README.md"]
    while waiting:
        for target in links.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    for page in pages:
        if page not in reached:
            yield f"{page}:1: no link leads here from README.md"


def missing_paths(tree, line):
    for match in NAMED_PATH.finditer(line):
        if not os.path.exists(tree.path(match.group(1))):
            yield f"names {match.group(1)}, which does not exist"


def undeclared_names(declared, line):
    """For names in code spans: `owner::name` must be declared in the owner or its bases, `name(...)` anywhere in amity."""
    for prefix, name, behind in CODE_NAME.findall(line):
        scopes = declared.scopes_of(name)
        if prefix:
            is_declared = prefix.startswith("std::") or declared.has_member(prefix.removesuffix("::"), name)
        else:
            is_declared = behind != "(" or scopes
        if not is_declared:
            others = f"; {name} is declared in: {', '.join(scopes)}" if scopes else ""
            yield f"names {prefix}{name}, which amity does not declare{others}"


def missing_members(tree, line):
    for owner, member in NAMED_MEMBER.findall(line):
        words = re.compile(rf"\b{owner}\b"), re.compile(rf"\b{member}\b")
        if not any(all(word.search(tree.text(file)) for word in words) for file in tree.headers + tree.sources):
            yield f"names {owner}::{member}, which no file of the code mentions"


def prose(tree, page):
    """The lines outside of code blocks."""
    inside = False
    for number, line in tree.lines(page):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def unmarked_examples(tree, page):
    before, inside = "", False
    for number, line in tree.lines(page):
        fence = FENCE.match(line)
        if fence:
            if not inside and fence.group(1) in ("cpp", "c++", "c") and not EXAMPLE.match(before):
                yield f"{page}:{number}: a block of C++ or C that no test compiles; put <!-- example: NAME --> on the line above"
            inside = not inside
        before = line.strip()
