#!/usr/bin/env python3
"""Each check of scripts/check passes a small tree that keeps the rules, and fails, with the right sentence, once the
tree breaks the one under test. Further cases run scripts/tidy on files that changed.

usage: check_self_test.py PATH-OF-SCRIPTS/CHECK [unittest arguments]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop(1))

CLEAN = {
    "README.md": "A [page](docs/page.md).\n\n<!-- example: hello -->\n```cpp\nint main() {}\n```\n",
    "docs/page.md": "Back to the [start](../README.md). `scripts/tool` helps.\n",
    "scripts/tool": "#!/bin/sh\n",
    ".clang-format": "BasedOnStyle: Google\n",
    "amity/CMakeLists.txt": "add_library(amity base/a.cpp world/w.cpp)\ninclude(public_headers.cmake)\n",
    "amity/public_headers.cmake": "set(AMITY_PUBLIC_HEADERS\n  base/a.hpp\n  fabric/fabric.hpp\n)\n",
    "amity/base/a.hpp": "#pragma once\nint a();\n",
    "amity/base/a.cpp": '#include "amity/base/a.hpp"\n\nint a() { return 1; }\n',
    "amity/fabric/fabric.hpp": '#pragma once\n#include "amity/base/a.hpp"\n',
    "amity/fabric/shm/shm.hpp": '#pragma once\n#include "amity/fabric/fabric.hpp"\n',
    "amity/fabric/sim/sim.hpp": '#pragma once\n#include "amity/fabric/fabric.hpp"\n',
    "amity/core/core.hpp": '#pragma once\n#include "amity/fabric/fabric.hpp"\n',
    "amity/message/m.hpp": '#pragma once\n#include "amity/core/core.hpp"\n',
    "amity/window/v.hpp": '#pragma once\n#include "amity/core/core.hpp"\n',
    "amity/world/w.cpp": '#include "amity/fabric/shm/shm.hpp"\n#include "amity/fabric/sim/sim.hpp"\n'
                         '#include "amity/message/m.hpp"\n#include "amity/window/v.hpp"\n',
    "tools/CMakeLists.txt": "add_executable(tool main.cpp)\n",
    "tools/main.cpp": '#include "amity/base/a.hpp"\n\nint main() { return a(); }\n',
    "tests/CMakeLists.txt": "amity_compile_failure_test(bad bad.cpp)\n",
    "tests/bad.cpp": '#include "amity/fabric/shm/shm.hpp"\n',
}
BUILT = ("amity/base/a.cpp", "amity/world/w.cpp", "tools/main.cpp")


class CheckTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="amity-check-")
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        for file, text in CLEAN.items():
            self.write(file, text)

    def write(self, file, text, mode="w"):
        path = os.path.join(self.root, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode) as opened:
            opened.write(text)

    def append(self, file, text):
        self.write(file, text, "a")

    def build(self, sources=BUILT, precompiled=None):
        """Compiles the sources as a build would, and leaves its compile_commands.json."""
        build = os.path.join(self.root, "build", "release")
        os.makedirs(build, exist_ok=True)
        commands = []
        for source in sources:
            compiled = source.replace("/", "_") + ".o"
            command = f"g++ -std=c++20 -I{self.root} -c {self.root}/{source} -o {compiled}"
            if precompiled:
                self.write("build/release/cmake_pch.hxx", f'#include "{self.root}/{precompiled}"\n')
                command += f" -include {build}/cmake_pch.hxx"
            subprocess.run(command.split(), check=True, cwd=build)
            commands.append({"directory": build, "file": f"{self.root}/{source}", "command": command})
        with open(os.path.join(build, "compile_commands.json"), "w") as opened:
            json.dump(commands, opened)

    def build_piece(self, *sources):
        piece = "build/release/Unity/unity_0_cxx.cxx"
        self.write(piece, "".join(f'#include "{self.root}/{source}"\n' for source in sources))
        self.build([piece])

    def run_check(self, name):
        result = subprocess.run([sys.executable, CHECK, "--root", self.root, name], capture_output=True, text=True)
        return result.returncode, result.stdout + result.stderr

    def expect_ok(self, name):
        status, output = self.run_check(name)
        self.assertEqual(status, 0, output)

    def expect(self, name, sentence):
        status, output = self.run_check(name)
        self.assertIn(sentence, output)
        self.assertEqual(status, 1, output)

    def expect_each(self, name, cases, prepare=lambda: None):
        """For each case, appends texts to files of a tree of its own, and expects the sentence."""
        for *changes, sentence in cases:
            with self.subTest(changes):
                CheckTest.setUp(self)
                prepare()
                for file, text in changes:
                    self.append(file, text)
                self.expect(name, sentence)


class CleanTree(CheckTest):
    def test_passes(self):
        for name in ("imports", "headers", "documents", "format", "words", "mutations"):
            with self.subTest(name):
                self.expect_ok(name)
        self.build()
        for name in ("sources", "dead_files"):
            with self.subTest(name):
                self.expect_ok(name)


class Imports(CheckTest):
    def test_breaches(self):
        self.expect_each("imports", [
            (("amity/base/a.cpp", '#include "amity/core/core.hpp"\n'),
             "amity/base/a.cpp:4: imports amity/core/core.hpp: amity/core is above amity/base"),
            (("apps/app.hpp", "#pragma once\n"), ("amity/world/w.cpp", '#include "apps/app.hpp"\n'),
             "apps is above amity/world"),
            (("amity/message/m.hpp", '#include "amity/window/v.hpp"\n'), "amity/message and amity/window are siblings"),
            (("amity/fabric/shm/shm.hpp", '#include "amity/fabric/sim/sim.hpp"\n'),
             "fabric shm does not import fabric sim"),
            (("amity/core/core.hpp", '#include "amity/fabric/shm/shm.hpp"\n'), "only amity/world knows fabric shm"),
            (("amity/fabric/fabric.hpp", '#include "amity/fabric/shm/shm.hpp"\n'), "only amity/world knows fabric shm"),
            (("tools/main.cpp", '#include "amity/core/core.hpp"\n'),
             "tools/main.cpp:4: imports amity/core/core.hpp, which is no public header"),
            (("amity/fabric/secret.hpp", "#pragma once\n"),
             ("amity/fabric/fabric.hpp", '#include "amity/fabric/secret.hpp"\n'),
             "a public header imports amity/fabric/secret.hpp, which is not public"),
            (("amity/base/a.hpp", "#include <fmt/core.h>\n"), "a public header includes <fmt/core.h>"),
            (("amity/attic/x.hpp", "#pragma once\n"), "amity/attic/x.hpp: stands on no floor"),
            (("amity/base/a.cpp", '#include "a.hpp"\n'),
             'includes "a.hpp"; write it from the root of the tree: "amity/base/a.hpp"'),
            (("amity/base/a.cpp", '#include "amity/base/gone.hpp"\n'),
             "includes amity/base/gone.hpp, which does not exist"),
            (("amity/base/b.hpp", '#pragma once\n#include "amity/base/c.hpp"\n'),
             ("amity/base/c.hpp", '#pragma once\n#include "amity/base/b.hpp"\n'),
             "amity/base/b.hpp -> amity/base/c.hpp -> amity/base/b.hpp"),
        ])

    def test_public_header_is_missing(self):
        os.remove(os.path.join(self.root, "amity/fabric/fabric.hpp"))
        self.expect("imports", "lists amity/fabric/fabric.hpp, which does not exist")


class Headers(CheckTest):
    def test_header_that_needs_another(self):
        needs_another = ("amity/base/b.hpp", "#pragma once\ninline std::size_t b() { return 0; }\n")
        problem = "amity/base/b.hpp:1: does not compile alone"
        self.expect_each("headers", [
            (needs_another, problem),
            (("amity/base/b.hpp", "#pragma once\ninline int b(int unused) { return 0; }\n"), problem),
            (needs_another, ("amity/base/a.cpp", '#include "amity/base/b.hpp"\n'), problem),
            (needs_another, ("tests/b_test.cpp", '#include "amity/base/b.hpp"\n'), problem),
        ])

    def test_public_header_after_macros(self):
        box = "template <int I>\nclass box {};\n"
        self.write("amity/base/b.hpp", "#pragma once\n" + box)
        self.expect_ok("headers")  # it is not public
        self.expect_each("headers", [
            (("amity/base/a.hpp", box), "amity/base/a.hpp:3: does not compile after macros of other headers"),
            (("amity/base/a.hpp", "enum class filter { None };\n"), "rename `None`"),
            (("amity/base/a.hpp", "int count_of(int);\n"), "rename `count_of`"),
            (("amity/base/a.hpp", "inline int b(unsigned c) { return c; }\n"), "sign-conversion]"),
        ])

    def test_header_that_the_build_compiles_alone(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline int b(int unused) { return 0; }\n")
        self.write("amity/base/b.cpp", '#include "amity/base/b.hpp"\n')
        self.build(["amity/base/b.cpp"])
        self.expect_ok("headers")

    def test_header_that_comes_first_in_the_second_source_of_a_piece(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline int b() { return a(); }\n")
        self.write("amity/base/b.cpp", '#include "amity/base/b.hpp"\n')
        self.build_piece("amity/base/a.cpp", "amity/base/b.cpp")
        self.expect("headers", "amity/base/b.hpp:1: does not compile alone")

    def test_precompiled_header_that_the_source_includes(self):
        self.build(["amity/base/a.cpp", "tools/main.cpp"], precompiled="amity/base/a.hpp")
        self.expect_ok("headers")

    def test_precompiled_header_that_the_source_does_not_include(self):
        self.write("amity/base/b.cpp", "int b() { return 2; }\n")
        self.build(["amity/base/b.cpp"], precompiled="amity/base/a.hpp")
        self.expect("headers", "amity/base/b.cpp:1: does not include amity/base/a.hpp, which is precompiled for it")

    def test_header_that_comes_after_a_precompiled_one(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline int b() { return a(); }\n")
        self.write("amity/base/b.cpp", '#include "amity/base/b.hpp"\n#include "amity/base/a.hpp"\n')
        self.build(["amity/base/b.cpp"], precompiled="amity/base/a.hpp")
        self.expect("headers", "amity/base/b.hpp:1: does not compile alone")


class Sources(CheckTest):
    def test_include_that_only_another_source_of_the_piece_has(self):
        self.write("amity/base/b.cpp", "int b() { return a(); }\n")
        self.build_piece("amity/base/a.cpp", "amity/base/b.cpp")
        self.expect("sources", "amity/base/b.cpp:1: does not compile alone")


class DeadFiles(CheckTest):
    def test_sources_that_are_compiled_in_one_piece(self):
        self.build_piece(*BUILT)
        self.expect_ok("dead_files")

    def test_no_build(self):
        self.expect("dead_files", "compile_commands.json is missing")

    def test_breaches(self):
        self.expect_each("dead_files", [
            (("amity/base/b.cpp", "int b() { return 2; }\n"),
             "amity/base/b.cpp: is compiled by no target of the build"),
            (("tests/base/forgotten.cpp", "int main() {}\n"),
             "tests/base/forgotten.cpp: is compiled by no target of the build"),
            (("amity/base/b.hpp", "#pragma once\n"), "amity/base/b.hpp: is included by nothing that is compiled"),
            (("amity/base/b.hpp", '#pragma once\n#include "amity/base/c.hpp"\n'), ("amity/base/c.hpp", "#pragma once\n"),
             "amity/base/c.hpp: is included by nothing that is compiled"),
            (("scripts/forgotten", "#!/bin/sh\n"), "scripts/forgotten: is named by no other file"),
        ], self.build)

    def test_rejected_source_that_no_cmake_file_names(self):
        self.build()
        self.write("tests/rejected/wrong.cpp", "int main() { return }\n")
        self.expect("dead_files", "tests/rejected/wrong.cpp: is compiled by no target of the build")
        self.append("tests/CMakeLists.txt", "rejected(wrong)\n")
        self.expect_ok("dead_files")


class Documents(CheckTest):
    def test_breaches(self):
        self.expect_each("documents", [
            (("docs/lonely.md", "Nobody comes here.\n"), "docs/lonely.md:1: no link leads here from README.md"),
            (("README.md", "\n[gone](docs/gone.md)\n"), "README.md:8: links to docs/gone.md, which does not exist"),
            (("docs/page.md", "See `amity/base/gone.hpp` and `amity/base/a.hpp`.\n"),
             "docs/page.md:2: names amity/base/gone.hpp, which does not exist"),
            (("docs/page.md", "```cpp\nint main() {}\n```\n"),
             "docs/page.md:2: a block of C++ or C that no test compiles"),
        ])

    def test_undeclared_name_in_reference(self):
        self.append("amity/base/a.hpp", "struct ring {\n  int push();  // never calls pop\n};\n")
        self.append("README.md", "\n[reference](docs/architecture.md)\n")
        self.write("docs/architecture.md", "Call `ring::push(1)` and `(const T&)`.\n")
        self.expect_ok("documents")
        self.write("docs/architecture.md", "Call `ring::pop()`.\n")
        self.expect("documents", "docs/architecture.md:1: names ring::pop, which amity does not declare")


class Format(CheckTest):
    def test_unformatted(self):
        self.append("tools/main.cpp", "int   b( );\n")
        self.expect("format", "tools/main.cpp:4: is not formatted")


class State(CheckTest):
    def test_constants_are_no_state(self):
        self.append("amity/base/a.cpp", """
            #include <string_view>
            struct shape { virtual int sides() const { return 0; } };
            struct square : shape { int sides() const override { return 4; } };
            const shape& any() { static constexpr std::string_view names[] = {"a", "b"};
              static const square one; (void)names; return one; }
            constexpr int table[] = {1, 2, 3};
            const char* const words[] = {"x", "y"};
            void fails();
            const int* first() { try { fails(); } catch (...) { return nullptr; } return table; }
            const char* second(int i) { return words[i]; }
            """)
        self.build()
        self.expect_ok("state")

    def test_breaches(self):
        for code, name in (
                ("int counter = 3;\n", "counter (in .data)"),
                ("namespace { int calls; }\nint next() { return ++calls; }\n", "(anonymous namespace)::calls (in .bss)"),
                ("int next() { static int calls; return ++calls; }\n", "next()::calls (in .bss)"),
                ("inline int calls = 1;\nint next() { return ++calls; }\n", "calls (in .data.calls)"),
                ("thread_local int calls;\nint next() { return ++calls; }\n", "calls (in .tbss)")):
            with self.subTest(code):
                CheckTest.setUp(self)
                self.append("amity/base/a.cpp", code)
                self.build()
                self.expect("state", f"amity/base/a.cpp:1: has mutable state at namespace scope: {name}")


class Words(CheckTest):
    def test_path_of_one_machine(self):
        self.write("scripts/tool", "cd /" "work/main\n")
        self.expect("words", "scripts/tool:1: has '/" "work/m'")

    def test_placeholder_in_page(self):
        self.write("cmake/page.md.in", "version @VERSION@\n")
        self.expect_ok("words")
        self.append("docs/page.md", "version @VERSION@\n")
        self.expect("words", "docs/page.md:")

    def test_wording_below_and_above_ceiling(self):
        line = "It does not fail any" " more.\n"
        self.write("scripts/checks/wordings.json", json.dumps({"no_longer": {"docs": 1}}))
        self.append("docs/page.md", line)
        self.expect_ok("words")
        self.append("docs/page.md", line)
        self.expect("words", "docs/page.md:3: has the wording 'no_longer' (2 lines of docs")


class Classes(CheckTest):
    def test_friend(self):
        for folder in ("amity/core", "amity/window"):
            self.write(f"{folder}/ring.hpp", "#pragma once\nclass ring {\n  friend class other;\n};\n")
            self.expect("classes", f"{folder}/ring.hpp:2: ")


class Lines(CheckTest):
    CEILINGS = "scripts/checks/lines.json"

    def lower(self):
        subprocess.run([sys.executable, CHECK, "--root", self.root, "--lower", "lines"], check=True, capture_output=True)
        with open(os.path.join(self.root, self.CEILINGS)) as opened:
            return json.load(opened)

    def test_ceilings_only_fall(self):
        self.expect("lines", "amity/base has no ceiling")
        self.write(self.CEILINGS, "{}")
        first = self.lower()
        self.assertEqual(first["amity/base"], 5)
        self.assertEqual(first["installed headers"], 2)
        self.expect_ok("lines")
        self.append("amity/base/a.cpp", "// a line\n")
        self.expect("lines", "amity/base: 6 lines, and 5 are permitted")
        self.expect("lines", f"amity: {first['amity'] + 1} lines")
        self.assertEqual(self.lower(), first)
        self.write("amity/base/a.cpp", "")
        self.expect_ok("lines")
        self.assertEqual(self.lower()["amity/base"], 2)

    def test_installed_header(self):
        self.write(self.CEILINGS, "{}")
        self.lower()
        self.write("amity/public_headers.cmake", "set(AMITY_PUBLIC_HEADERS\n  base/a.hpp core/core.hpp fabric/fabric.hpp\n\n)\n")
        self.expect("lines", "installed headers: 3, and 2 are permitted")


class Gone(CheckTest):
    def test_use_of_removed_name(self):
        self.write("scripts/checks/gone.json", json.dumps({"crew": "thread_pool"}))
        self.write("docs/decisions/0001.md", "History may name a crew.\n")
        self.write("amity/base/a.hpp", "uses(crews, new_crew, crew_);\n")
        self.expect_ok("gone")
        self.write("amity/base/a.hpp", "uses(core::crew);\n")
        self.expect("gone", "amity/base/a.hpp:1: has 'crew', which no longer exists; use thread_pool")


class Mutations(CheckTest):
    MUTATION = """
[a]
file = "amity/base/a.cpp"
[a.{name}]
before = "{before}"
after = "{after}"
breaks = "It returns another number."
tests = ["a_test {filter}"]
{more}
"""

    def write_list(self, name="wrong_number", before="return 1;", after="return 2;", filter="a.*", more=""):
        self.write("tests/CMakeLists.txt", "amity_test(a_test a_test.cpp)\n")
        self.write("tests/a_test.cpp", "TEST(a, number) {}\n")
        self.write("tests/mutations/base.toml", self.MUTATION.format(
            name=name, before=before, after=after, filter=filter, more=more))

    def test_clean(self):
        self.write_list()
        self.expect_ok("mutations")

    def test_text_that_has_changed(self):
        self.write_list(before="return 3;")
        self.expect("mutations", "base/a/wrong_number: its text occurs 0 times in amity/base/a.cpp")

    def test_text_that_is_ambiguous(self):
        self.append("amity/base/a.cpp", "\nint b() { return 1; }\n")
        self.write_list()
        self.expect("mutations", "base/a/wrong_number: its text occurs 2 times in amity/base/a.cpp")
        self.write_list(more='in = "int b()"')
        self.expect_ok("mutations")

    def test_texts_that_overlap(self):
        self.append("amity/base/a.cpp", "\nint b() { return 4 + 5 + 6; }\n")
        self.write_list(before="4 + 5", after="7", more="""
[a.other_number]
before = "5 + 6"
after = "8"
breaks = "It returns another number."
tests = ["a_test"]
""")
        self.expect("mutations", "overlaps with")

    def test_part_of_statement(self):
        self.append("amity/base/a.cpp", "\nint b() { if (a() > 0) return 5; return 6; }\n")
        self.write_list(before="if (a() > 0)", after="if (true)")
        self.expect("mutations", "`if (a() > 0)` is neither an expression nor a whole statement")

    def test_declaration_that_is_used(self):
        self.append("amity/base/a.cpp", "\nint b() { const int c = a(); return c; }\nint d() { int e = a(); a(); }\n")
        self.write_list(before="const int c = a();", after="const int c = 4;")
        self.expect("mutations", "later statements use c; replace its initializer")
        self.write_list(before="int e = a();", after="")
        self.expect_ok("mutations")

    def test_test_that_does_not_exist(self):
        self.write_list(filter="a.number:p/a.number/3")
        self.expect_ok("mutations")
        self.write_list(filter="a.letter")
        self.expect("mutations", "no test is called a.letter")

    def test_program_that_does_not_exist(self):
        self.write_list()
        self.write("tests/CMakeLists.txt", "")
        self.expect("mutations", "no test program is called a_test")


class Driver(CheckTest):
    def test_unknown_name(self):
        status, output = self.run_check("spelling")
        self.assertEqual(status, 2)
        self.assertIn("no check is called spelling", output)

    def test_git_decides_what_belongs_to_the_tree(self):
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/out/\n")
        self.write("out/page.md", "TO" "DO\n")
        self.expect_ok("words")
        self.write("docs/page.md", "TO" "DO\n")
        self.expect("words", "docs/page.md:1")


class Tidy(CheckTest):
    MISTAKE = ("#include <string>\n#include <utility>\n"
               "inline auto size_of(std::string a) { std::string b = std::move(a); return a.size() + b.size(); }\n")

    def setUp(self):
        super().setUp()
        scripts = os.path.dirname(CHECK)
        shutil.copytree(scripts, os.path.join(self.root, "scripts"), dirs_exist_ok=True)
        shutil.copy(os.path.join(os.path.dirname(scripts), ".clang-tidy"), self.root)
        self.write(".gitignore", "/build/\n")
        self.build()
        self.git("init", "-q")
        self.commit()
        self.push()

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "--message", "a")

    def push(self):
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")

    def expect_tidy(self, arguments, status, *sentences, **options):
        result = subprocess.run([sys.executable, os.path.join(self.root, "scripts", "tidy"), *arguments],
                                capture_output=True, text=True, **options)
        output = result.stdout + result.stderr
        for sentence in sentences:
            self.assertIn(sentence, output)
        self.assertEqual(result.returncode, status, output)

    def test_changed_source(self):
        self.append("amity/base/a.cpp", self.MISTAKE)
        self.expect_tidy([], 1, "amity/base/a.cpp:6:75: error: 'a' used after it was moved [bugprone-use-after-move]",
                         "tidy: 1 findings in 1 files\n")

    def test_changed_header(self):
        self.append("amity/fabric/sim/sim.hpp", self.MISTAKE)
        self.expect_tidy([], 1, "amity/fabric/sim/sim.hpp:5:75: error: 'a' used after it was moved",
                         "tidy: 1 findings in 1 files\n")

    def test_commits_ahead_of_origin(self):
        self.append("amity/base/a.cpp", self.MISTAKE)
        self.commit()
        self.commit()
        self.expect_tidy([], 1, "tidy: 1 findings in 1 files\n")
        self.expect_tidy(["HEAD~1"], 0, "tidy: 0 findings in 0 files\n")

    def test_last_commits_if_all_is_pushed(self):
        self.append("amity/base/a.cpp", self.MISTAKE)
        self.commit()
        self.push()
        self.expect_tidy([], 1, "tidy: 1 findings in")

    def test_all_reports_header_once(self):
        self.append("amity/base/a.hpp", self.MISTAKE)
        self.commit()
        self.expect_tidy(["HEAD"], 0)
        self.expect_tidy(["all"], 1, "tidy: 1 findings in 3 files (1 skipped: no target compiles them)\n")

    def test_unparsable_source(self):
        self.append("amity/base/a.cpp", "int b() { return c; }\n")
        self.expect_tidy([], 1, "amity/base/a.cpp:4:18: error: use of undeclared identifier 'c'")

    def test_missing_program(self):
        self.expect_tidy([], 2, "install the package clang-tidy-19", env={"PATH": self.root})

    def test_unknown_base(self):
        self.expect_tidy(["nowhere"], 2, "scripts/tidy: 'nowhere' is not a commit")


if __name__ == "__main__":
    unittest.main()
