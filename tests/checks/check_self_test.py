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

    def write(self, file, text):
        path = os.path.join(self.root, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as opened:
            opened.write(text)

    def append(self, file, text):
        with open(os.path.join(self.root, file), "a") as opened:
            opened.write(text)

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


class Imports(CheckTest):
    def test_clean(self):
        self.expect_ok("imports")

    def test_upwards(self):
        self.append("amity/base/a.cpp", '#include "amity/core/core.hpp"\n')
        self.expect("imports", "amity/base/a.cpp:4: imports amity/core/core.hpp: amity/core is above amity/base")

    def test_library_imports_program(self):
        self.write("apps/app.hpp", "#pragma once\n")
        self.append("amity/world/w.cpp", '#include "apps/app.hpp"\n')
        self.expect("imports", "apps is above amity/world")

    def test_siblings(self):
        self.append("amity/message/m.hpp", '#include "amity/window/v.hpp"\n')
        self.expect("imports", "amity/message and amity/window are siblings")

    def test_backends(self):
        self.append("amity/fabric/shm/shm.hpp", '#include "amity/fabric/sim/sim.hpp"\n')
        self.expect("imports", "fabric shm does not import fabric sim")

    def test_backend_outside_of_the_wiring(self):
        self.append("amity/core/core.hpp", '#include "amity/fabric/shm/shm.hpp"\n')
        self.expect("imports", "only amity/world knows fabric shm")

    def test_contract_knows_no_backend(self):
        self.append("amity/fabric/fabric.hpp", '#include "amity/fabric/shm/shm.hpp"\n')
        self.expect("imports", "only amity/world knows fabric shm")

    def test_program_includes_private_header(self):
        self.append("tools/main.cpp", '#include "amity/core/core.hpp"\n')
        self.expect("imports", "tools/main.cpp:4: imports amity/core/core.hpp, which is no public header")

    def test_public_header_includes_private_header(self):
        self.write("amity/fabric/secret.hpp", "#pragma once\n")
        self.append("amity/fabric/fabric.hpp", '#include "amity/fabric/secret.hpp"\n')
        self.expect("imports", "a public header imports amity/fabric/secret.hpp, which is not public")

    def test_public_header_includes_private_library(self):
        self.append("amity/base/a.hpp", "#include <fmt/core.h>\n")
        self.expect("imports", "a public header includes <fmt/core.h>")

    def test_public_header_is_missing(self):
        os.remove(os.path.join(self.root, "amity/fabric/fabric.hpp"))
        self.expect("imports", "lists amity/fabric/fabric.hpp, which does not exist")

    def test_unknown_floor(self):
        self.write("amity/attic/x.hpp", "#pragma once\n")
        self.expect("imports", "amity/attic/x.hpp: stands on no floor")

    def test_relative_include(self):
        self.append("amity/base/a.cpp", '#include "a.hpp"\n')
        self.expect("imports", 'includes "a.hpp"; write it from the root of the tree: "amity/base/a.hpp"')

    def test_missing_header(self):
        self.append("amity/base/a.cpp", '#include "amity/base/gone.hpp"\n')
        self.expect("imports", "includes amity/base/gone.hpp, which does not exist")

    def test_cycle(self):
        self.write("amity/base/b.hpp", '#pragma once\n#include "amity/base/c.hpp"\n')
        self.write("amity/base/c.hpp", '#pragma once\n#include "amity/base/b.hpp"\n')
        self.expect("imports", "amity/base/b.hpp -> amity/base/c.hpp -> amity/base/b.hpp")


class Headers(CheckTest):
    def test_clean(self):
        self.expect_ok("headers")

    def test_header_needs_another(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline std::size_t b() { return 0; }\n")
        self.expect("headers", "amity/base/b.hpp:1: does not compile alone")

    def test_warning(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline int b(int unused) { return 0; }\n")
        self.expect("headers", "amity/base/b.hpp:1: does not compile alone")

    def test_header_that_comes_second(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline std::size_t b() { return 0; }\n")
        self.append("amity/base/a.cpp", '#include "amity/base/b.hpp"\n')
        self.expect("headers", "amity/base/b.hpp:1: does not compile alone")

    def test_header_that_a_test_includes_first(self):
        self.write("amity/base/b.hpp", "#pragma once\ninline std::size_t b() { return 0; }\n")
        self.write("tests/b_test.cpp", '#include "amity/base/b.hpp"\n')
        self.expect("headers", "amity/base/b.hpp:1: does not compile alone")

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
    def test_clean(self):
        self.build()
        self.expect_ok("sources")

    def test_include_that_only_another_source_of_the_piece_has(self):
        self.write("amity/base/b.cpp", "int b() { return a(); }\n")
        self.build_piece("amity/base/a.cpp", "amity/base/b.cpp")
        self.expect("sources", "amity/base/b.cpp:1: does not compile alone")


class DeadFiles(CheckTest):
    def test_clean(self):
        self.build()
        self.expect_ok("dead_files")

    def test_sources_that_are_compiled_in_one_piece(self):
        piece = "build/release/Unity/unity_0_cxx.cxx"
        self.write(piece, "".join(f'#include "{self.root}/{source}"\n' for source in BUILT))
        self.build([piece])
        self.expect_ok("dead_files")

    def test_no_build(self):
        self.expect("dead_files", "compile_commands.json is missing")

    def test_source_out_of_the_build(self):
        self.build()
        self.write("amity/base/b.cpp", "int b() { return 2; }\n")
        self.expect("dead_files", "amity/base/b.cpp: is compiled by no target of the build")

    def test_test_that_no_cmake_file_names(self):
        self.build()
        self.write("tests/base/forgotten.cpp", "int main() {}\n")
        self.expect("dead_files", "tests/base/forgotten.cpp: is compiled by no target of the build")

    def test_rejected_source_that_no_cmake_file_names(self):
        self.build()
        self.write("tests/rejected/wrong.cpp", "int main() { return }\n")
        self.expect("dead_files", "tests/rejected/wrong.cpp: is compiled by no target of the build")
        self.append("tests/CMakeLists.txt", "rejected(wrong)\n")
        self.expect_ok("dead_files")

    def test_header_that_nobody_includes(self):
        self.build()
        self.write("amity/base/b.hpp", "#pragma once\n")
        self.expect("dead_files", "amity/base/b.hpp: is included by nothing that is compiled")

    def test_headers_that_only_include_one_another(self):
        self.build()
        self.write("amity/base/b.hpp", '#pragma once\n#include "amity/base/c.hpp"\n')
        self.write("amity/base/c.hpp", "#pragma once\n")
        self.expect("dead_files", "amity/base/c.hpp: is included by nothing that is compiled")

    def test_script_that_nobody_names(self):
        self.build()
        self.write("scripts/forgotten", "#!/bin/sh\n")
        self.expect("dead_files", "scripts/forgotten: is named by no other file")


class Documents(CheckTest):
    def test_clean(self):
        self.expect_ok("documents")

    def test_page_without_a_link_to_it(self):
        self.write("docs/lonely.md", "Nobody comes here.\n")
        self.expect("documents", "docs/lonely.md:1: no link leads here from README.md")

    def test_link_that_leads_nowhere(self):
        self.append("README.md", "\n[gone](docs/gone.md)\n")
        self.expect("documents", "README.md:8: links to docs/gone.md, which does not exist")

    def test_file_that_is_gone(self):
        self.append("docs/page.md", "See `amity/base/gone.hpp` and `amity/base/a.hpp`.\n")
        self.expect("documents", "docs/page.md:2: names amity/base/gone.hpp, which does not exist")

    def test_undeclared_name_in_reference(self):
        self.append("amity/base/a.hpp", "struct ring {\n  int push();  // never calls pop\n};\n")
        self.append("README.md", "\n[reference](docs/architecture.md)\n")
        self.write("docs/architecture.md", "Call `ring::push(1)` and `(const T&)`.\n")
        self.expect_ok("documents")
        self.write("docs/architecture.md", "Call `ring::pop()`.\n")
        self.expect("documents", "docs/architecture.md:1: names ring::pop, which amity does not declare")

    def test_example_that_no_test_compiles(self):
        self.append("docs/page.md", "```cpp\nint main() {}\n```\n")
        self.expect("documents", "docs/page.md:2: a block of C++ or C that no test compiles")


class Format(CheckTest):
    def test_clean(self):
        self.expect_ok("format")

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

    def expect_state(self, code, name):
        self.append("amity/base/a.cpp", code)
        self.build()
        self.expect("state", f"amity/base/a.cpp:1: has mutable state at namespace scope: {name}")

    def test_global(self):
        self.expect_state("int counter = 3;\n", "counter (in .data)")

    def test_zero_in_an_unnamed_namespace(self):
        self.expect_state("namespace { int calls; }\nint next() { return ++calls; }\n",
                          "(anonymous namespace)::calls (in .bss)")

    def test_static_of_a_function(self):
        self.expect_state("int next() { static int calls; return ++calls; }\n", "next()::calls (in .bss)")

    def test_inline_variable(self):
        self.expect_state("inline int calls = 1;\nint next() { return ++calls; }\n", "calls (in .data.calls)")

    def test_thread_local(self):
        self.expect_state("thread_local int calls;\nint next() { return ++calls; }\n", "calls (in .tbss)")


class Words(CheckTest):
    def test_clean(self):
        self.expect_ok("words")

    def test_path_of_one_machine(self):
        self.write("scripts/tool", "cd /" "work/main\n")
        self.expect("words", "scripts/tool:1: has '/" "work/m'")

    def test_wording_below_and_above_ceiling(self):
        line = "It does not fail any" " more.\n"
        self.write("scripts/checks/wordings.json", json.dumps({"no_longer": {"docs": 1}}))
        self.append("docs/page.md", line)
        self.expect_ok("words")
        self.append("docs/page.md", line)
        self.expect("words", "docs/page.md:3: has the wording 'no_longer' (2 lines of docs")


class Classes(CheckTest):
    def test_friend(self):
        self.write("amity/core/core.hpp", "#pragma once\nclass ring {\n  friend class other;\n};\n")
        self.expect("classes", "ring")


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
        self.expect_ok("mutations")
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
