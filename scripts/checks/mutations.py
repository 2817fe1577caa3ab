"""Each mutation of tests/mutations fits the sources: its text occurs once in its file, and its tests exist.

Also the reader of these lists, for scripts/mutations. tests/mutations/README.md describes the format.
"""

import collections
import re
import tomllib

DIRECTORY = "tests/mutations/"
REQUIRED = ("file", "before", "after", "breaks", "tests")
OPTIONAL = ("in", "build")
BUILDS = ("release", "tsan")

Mutation = collections.namedtuple("Mutation", "name list file scope before after breaks tests build")
# A test of a list: a program of the build, and the filter of GoogleTest that it runs with.
Test = collections.namedtuple("Test", "program filter")


# `const std::size_t end = ...;`
DECLARATION = re.compile(r"(?!return\b)(?:const(?:expr)? )?[A-Za-z_][\w:]*(?:<[^;=]*>)?[&*]? [&*]?(\w+) = ")


KEYWORD = re.compile(r"(?:if|for|while|return|else|throw|const|case)\b")


class Problem(Exception):
    pass


def check(tree):
    sources = "\n".join(tree.text(f) for f in tree.files if f.startswith("tests/") and f.endswith((".cpp", ".hpp")))
    cases = set(re.findall(r"\bTEST\w*\(\s*(\w+)\s*,\s*(\w+)\s*\)", sources))
    cmake = "\n".join(tree.text(f) for f in tree.files if f.startswith("tests/") and f.endswith("CMakeLists.txt"))
    programs = set(re.findall(r"\b(?:amity_test|add_executable)\((\w+)", cmake))
    places = collections.defaultdict(list)
    for file in lists(tree):
        try:
            mutations = read(tree, file)
        except Problem as problem:
            yield str(problem)
            continue
        for mutation in mutations:
            try:
                places[mutation.file].append((*locate(tree.text(mutation.file), mutation), mutation))
            except Problem as problem:
                yield str(problem)
            for test in mutation.tests:
                for problem in test_problems(test, programs, cases):
                    yield f"{file}: {mutation.name}: {problem}"
    for file in sorted(places):
        try:
            rewrite(tree.text(file), places[file])
        except Problem as problem:
            yield str(problem)


def test_problems(test, programs, cases):
    if test.program not in programs:
        yield f"no test program is called {test.program}"
    for pattern in test.filter.replace("-", ":").split(":"):
        # PREFIX/SUITE.CASE/PARAMETER; a pattern with wildcards in the names of suite and case may match anything.
        match = re.fullmatch(r"(?:[\w*]+/)?(\w+)\.(\w+)(?:/[\w*]+)?", pattern)
        if match and match.groups() not in cases:
            yield f"no test is called {match.group(1)}.{match.group(2)}"


def lists(tree):
    return [f for f in tree.files if f.startswith(DIRECTORY) and f.endswith(".toml")]


def read(tree, file):
    """The mutations of one list, in its order."""
    try:
        groups = tomllib.loads(tree.text(file))
    except tomllib.TOMLDecodeError as error:
        raise Problem(f"{file}: {error}") from None
    layer = file.removeprefix(DIRECTORY).removesuffix(".toml")
    mutations = []
    for group, records in groups.items():
        if not isinstance(records, dict):
            raise Problem(f"{file}: {group} is not a group; begin it with [{group}]")
        shared = {key: value for key, value in records.items() if not isinstance(value, dict)}
        for name, record in records.items():
            if name not in shared:
                mutations.append(mutation_of(file, f"{layer}/{group}/{name}", shared | record))
    return mutations


def mutation_of(file, name, record):
    where = f"{file}: {name}"
    missing = [key for key in REQUIRED if key not in record]
    unknown = [key for key in record if key not in REQUIRED + OPTIONAL]
    if missing:
        raise Problem(f"{where}: {missing[0]} is missing")
    if unknown:
        raise Problem(f"{where}: {unknown[0]} is unknown; use {', '.join(REQUIRED + OPTIONAL)}")
    build = record.get("build", "release")
    if build not in BUILDS:
        raise Problem(f"{where}: {build} is not a build; use {', '.join(BUILDS)}")
    if not record["tests"]:
        raise Problem(f"{where}: tests is empty")
    return Mutation(
        name=name, list=file, file=record["file"], scope=record.get("in"), before=record["before"].strip(),
        after=record["after"].strip(), breaks=record["breaks"],
        tests=[Test(*(test.split(maxsplit=1) + ["*"])[:2]) for test in record["tests"]], build=build)


def locate(text, mutation):
    """Begin and end of the mutation's text in the text of its file."""
    where = f"{mutation.list}: {mutation.name}"
    if not text:
        raise Problem(f"{where}: {mutation.file} is missing")
    begin, end = 0, len(text)
    if mutation.scope is not None:
        if text.count(mutation.scope) != 1:
            raise Problem(f"{where}: `{mutation.scope}` occurs {text.count(mutation.scope)} times in {mutation.file}")
        begin = text.index(mutation.scope)
        end = end_of_block(text, begin)
    found = text.count(mutation.before, begin, end)
    if found != 1:
        block = f" in the block of `{mutation.scope}`" if mutation.scope is not None else ""
        raise Problem(f"{where}: its text occurs {found} times in {mutation.file}{block}")
    if not is_statement(mutation.before) and not mutation.after:
        raise Problem(f"{where}: an expression cannot be replaced by nothing")
    for replaced in (mutation.before, mutation.after):
        if any(replaced.count(first) != replaced.count(last) for first, last in ("()", "[]", "{}")):
            raise Problem(f"{where}: the brackets of `{replaced}` do not match; take whole statements or one expression")
        if not is_statement(replaced) and KEYWORD.match(replaced):
            raise Problem(f"{where}: `{replaced}` is neither an expression nor a whole statement")
    at = text.index(mutation.before, begin, end)
    declared = DECLARATION.match(mutation.before)
    if is_statement(mutation.before) and declared:
        rest_of_block = text[at + len(mutation.before):end_of_enclosing_block(text, at + len(mutation.before))]
        if re.search(rf"\b{declared.group(1)}\b", rest_of_block):
            raise Problem(f"{where}: later statements use {declared.group(1)}; replace its initializer")
    return at, at + len(mutation.before)


def end_of_enclosing_block(text, begin):
    """Where the block ends that `begin` is in."""
    depth = 0
    for match in re.finditer(r"[{}]", text[begin:]):
        depth += 1 if match.group() == "{" else -1
        if depth < 0:
            return begin + match.start()
    return len(text)


def end_of_block(text, begin):
    """The end of the block whose first line contains `begin`: the line with the closing brace at the same indentation."""
    start_of_line = text.rfind("\n", 0, begin) + 1
    first, *rest = text[start_of_line:].split("\n")
    length = start_of_line + len(first) + 1
    if first.endswith(("}", ";")):
        return length
    indentation = first[:len(first) - len(first.lstrip())]
    for line in rest:
        length += len(line) + 1
        if line.startswith(indentation + "}"):
            break
    return min(length, len(text))


def is_statement(text):
    return text.endswith((";", "}"))


def rewrite(text, places):
    """The text with all mutations in it as switches; `places` has (begin, end, mutation)."""
    return rewrite_part(text, 0, len(text), sorted(places, key=lambda place: (place[0], -place[1])))


def rewrite_part(text, begin, end, places):
    parts, at = [], begin
    while places:
        (first, last, mutation), *places = places
        inner = [place for place in places if place[0] < last]
        places = places[len(inner):]
        for _, inner_last, other in inner:
            if inner_last > last:
                raise Problem(f"{other.list}: {other.name} overlaps with {mutation.name}; let one contain the other")
        parts += [text[at:first], switch(mutation, rewrite_part(text, first, last, inner))]
        at = last
    return "".join(parts + [text[at:end]])


def switch(mutation, before):
    chosen = f'::amity_mutation("{mutation.name}")'
    if is_statement(mutation.before):
        return f"{{ if ({chosen}) {{ {mutation.after} }} else {{ {before} }} }}"
    return f"({chosen} ? ({mutation.after}) : ({before}))"
