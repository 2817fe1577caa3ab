"""What `amity mpi` chooses, prints and refuses.

usage: command_test.py AMITY LIBRARY MPI LAUNCHER PROGRAM [--static PROGRAM] [--of-two-mpis PROGRAM]

LIBRARY is that of the MPI, which is openmpi or mpich. PROGRAM prints "done", and is linked with the MPI. The others
print "done"; one is linked statically, and one with both MPIs.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

REASONS = {"openmpi": "the program needs libmpi.so.40", "mpich": "the program needs the library of MPICH"}
VARIABLES = {"openmpi": "OMPI_COMM_WORLD_SIZE is set by the launcher of Open MPI",
             "mpich": "MPI_LOCALRANKID is set by the launcher of MPICH"}
OF_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID", "AMITY_MPI", "AMITY_MPI_LIBRARY", "LD_PRELOAD")
# A library that all programs here need, and its name of the same length for one that does not exist.
NEEDED, MISSING = b"\0libfmt.so.", b"\0libabs.so."


def parse():
    parser = argparse.ArgumentParser()
    for name in ("amity", "library", "mpi", "launcher", "program"):
        parser.add_argument(name)
    parser.add_argument("--static")
    parser.add_argument("--of-two-mpis")
    wanted = parser.parse_args()
    wanted.library = os.path.realpath(wanted.library)
    return wanted


WANTED = parse()


class Command(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = os.path.realpath(directory.name)

    def file(self, name, content="", executable=True):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        os.chmod(path, 0o755 if executable else 0o644)
        return path

    def script(self, name="script", interpreter="/bin/sh"):
        return self.file(name, f'#!{interpreter}\necho "loaded: $LD_PRELOAD"\necho "arguments: $*"\n')

    def run_command(self, *arguments, command=WANTED.amity, before=(), **environment):
        kept = {name: value for name, value in os.environ.items() if name not in OF_LAUNCHERS}
        return subprocess.run([*before, command, "mpi", *arguments], env={**kept, **environment}, cwd=self.directory,
                              capture_output=True, text=True, timeout=60, check=False)

    def starts(self, *arguments, prints="done", shows=None, **options):
        result = self.run_command(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(prints, result.stdout)
        if shows is not None:
            self.assertIn(f"amity mpi: {shows}\n", result.stderr)
        else:
            self.assertNotIn("amity mpi:", result.stderr)
        return result

    def refuses(self, *arguments, names, **options):
        """The program is not started, and the error has all these parts."""
        result = self.run_command(*arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertTrue(result.stderr.startswith("amity: mpi: "), result.stderr)
        for part in names:
            self.assertIn(part, result.stderr)

    def shown(self, reason, library=WANTED.library):
        return f"{library} ({reason})"

    # The choice of the library.

    def test_library_that_the_program_needs(self):
        result = self.starts("--show", WANTED.program, shows=self.shown(REASONS[WANTED.mpi]), AMITY_MPI_REPORT="1")
        self.assertIn("serves the windows of this job", result.stderr)
        result = self.starts(WANTED.program, AMITY_MPI_REPORT="1")
        self.assertIn("serves the windows of this job", result.stderr)

    def test_interpreter_that_needs_the_mpi(self):
        self.starts("--show", self.script(interpreter=WANTED.program), shows=self.shown(REASONS[WANTED.mpi]))

    def test_script_of_a_script(self):
        inner = self.script("inner", WANTED.program)
        self.starts("--show", self.script("outer", inner), shows=self.shown(REASONS[WANTED.mpi]))

    def test_script_under_the_launcher(self):
        self.starts("--show", self.script(), before=(WANTED.launcher, "-n", "1"), prints=f"loaded: {WANTED.library}\n",
                    shows=self.shown(VARIABLES[WANTED.mpi]))

    def test_script_without_a_launcher(self):
        self.refuses("--show", self.script(), names=(
            "neither the program nor its launcher shows which MPI it uses",
            "start it with the mpirun of its MPI, or pass --mpi openmpi or --mpi mpich"))

    def test_option(self):
        self.starts("--show", "--mpi", WANTED.mpi, self.script(), prints=f"loaded: {WANTED.library}\n",
                    shows=self.shown(f"--mpi {WANTED.mpi}"))
        result = self.run_command("--mpi", "other", self.script())
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_option_comes_before_the_launcher(self):
        other = {"openmpi": "MPI_LOCALRANKID", "mpich": "OMPI_COMM_WORLD_SIZE"}[WANTED.mpi]
        self.starts("--show", "--mpi", WANTED.mpi, self.script(), prints=f"loaded: {WANTED.library}\n",
                    shows=self.shown(f"--mpi {WANTED.mpi}"), **{other: "1"})

    def test_program_comes_before_the_launcher(self):
        other = {"openmpi": "MPI_LOCALRANKID", "mpich": "OMPI_COMM_WORLD_SIZE"}[WANTED.mpi]
        result = self.run_command("--show", WANTED.program, **{other: "1"})  # the MPI itself may fail to start
        self.assertIn(f"amity mpi: {self.shown(REASONS[WANTED.mpi])}\n", result.stderr)

    def test_setting(self):
        self.starts("--show", self.script(), prints=f"loaded: {WANTED.library}\n",
                    shows=self.shown(f"AMITY_MPI_LIBRARY={WANTED.mpi}"), AMITY_MPI_LIBRARY=WANTED.mpi)

    @unittest.skipUnless(WANTED.of_two_mpis, "only one MPI")
    def test_program_of_two_mpis(self):
        self.refuses(WANTED.of_two_mpis, names=(
            "the program is linked with Open MPI and MPICH", "link it with one MPI"))

    # Programs that cannot be served, and none that are to be.

    @unittest.skipUnless(WANTED.static, "no static programs")
    def test_static_program(self):
        self.refuses("--mpi", WANTED.mpi, WANTED.static, names=(
            f"no library can be loaded before {WANTED.static}, which is not a dynamic program",
            "link the program dynamically with its MPI, or set AMITY_MPI=0 for all processes"))
        self.starts("--show", WANTED.static, shows="no library (AMITY_MPI=0)", AMITY_MPI="0")

    def test_file_that_is_no_program(self):
        self.refuses("--mpi", WANTED.mpi, self.file("text", "words\n"), names=("which is not a dynamic program",))

    def test_switched_off(self):
        result = self.starts("--show", WANTED.program, shows=f"{self.shown(REASONS[WANTED.mpi])} (AMITY_MPI=0)",
                             AMITY_MPI="0", AMITY_MPI_REPORT="1")
        self.assertNotIn("serves the windows", result.stderr)

    def test_switched_off_without_a_library(self):
        self.starts("--show", self.script(), prints="loaded: \n", shows="no library (AMITY_MPI=0)", AMITY_MPI="0")

    # The library.

    def installation(self):
        """A copy of the command, in a directory for an installation."""
        for directory in ("bin", "lib/amity"):
            os.makedirs(os.path.join(self.directory, directory))
        return shutil.copy(WANTED.amity, os.path.join(self.directory, "bin"))

    def library(self):
        return os.path.join(self.directory, "lib/amity", os.path.basename(WANTED.library))

    def test_library_of_the_installation(self):
        command = self.installation()
        shutil.copy(WANTED.library, self.library())
        self.starts("--show", WANTED.program, command=command, shows=self.shown(REASONS[WANTED.mpi], self.library()))

    def test_library_that_is_not_installed(self):
        self.refuses("--show", WANTED.program, command=self.installation(), names=(
            f"libamity-mpi-{WANTED.mpi}.so is not installed in the installation of {self.directory}/bin",
            f"build amity where {WANTED.mpi} is installed (-DAMITY_MPI=ON)"))

    def test_library_that_is_empty(self):
        command = self.installation()
        self.file(self.library())
        self.refuses("--show", WANTED.program, command=command, names=(
            f"the loader does not accept {self.library()} (ERROR: ld.so: object", "file too short", "ldd PROGRAM"))

    def test_library_that_needs_a_missing_one(self):
        command = self.installation()
        with open(WANTED.library, "rb") as file:
            content = file.read()
        if NEEDED not in content:
            self.skipTest("fmt is linked statically")
        with open(self.library(), "wb") as file:
            file.write(content.replace(NEEDED, MISSING))
        self.refuses("--show", WANTED.program, command=command, names=(
            f"the loader does not find a library that {self.library()} or {WANTED.program} needs (libabs.so.",
            "ldd PROGRAM"))

    def test_other_libraries_that_are_preloaded(self):
        self.starts("--mpi", WANTED.mpi, self.script(), prints=f"loaded: {WANTED.library}:libm.so.6\n",
                    LD_PRELOAD="libm.so.6")

    # The program.

    def test_arguments_of_the_program(self):
        self.starts("--mpi", WANTED.mpi, self.script(), "--show", "--mpi", "x", prints="arguments: --show --mpi x\n")

    def test_program_in_the_path(self):
        self.script("programs/found")
        os.makedirs(os.path.join(self.directory, "directories/found"))
        self.file("files/found", executable=False)
        others = f"{self.directory}/missing:{self.directory}/directories:{self.directory}/files"
        self.starts("--mpi", WANTED.mpi, "found", prints="loaded: ", PATH=f"{others}:{self.directory}/programs")
        self.refuses("--mpi", WANTED.mpi, "found", names=("program 'found' not found in PATH",), PATH=others)
        self.script("here")
        for path in (f"{others}:", f":{others}"):  # the current directory
            self.starts("--mpi", WANTED.mpi, "here", prints="loaded: ", PATH=path)

    def test_closed_descriptors(self):
        """Daemons have no standard input, output or error."""
        path = self.file("writes", '#!/bin/sh\necho "loaded: $LD_PRELOAD" >"$1"\n')
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
            out = os.path.join(self.directory, f"out of {closed}")
            result = self.run_command("--mpi", WANTED.mpi, path, out,
                                      before=("/bin/sh", "-c", f'exec "$@" {closed}', "sh"))
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(out, encoding="utf-8") as file:
                self.assertEqual(file.read(), f"loaded: {WANTED.library}\n")

    def test_program_without_permission(self):
        path = self.file("text", "#!/bin/sh\n", executable=False)
        for switched_off in ({}, {"AMITY_MPI": "0"}):
            self.refuses("--mpi", WANTED.mpi, path, names=(f"program '{path}' cannot be started: Permission denied",),
                         **switched_off)
        self.refuses("--mpi", WANTED.mpi, "./", names=("program './' cannot be started: Is a directory",))
        self.refuses("--mpi", WANTED.mpi, "./missing", names=(
            "program './missing' not found: No such file or directory; check the path of the program",))

    def test_interpreter_that_is_missing(self):
        path = self.script(interpreter="/missing/interpreter")
        self.refuses("--mpi", WANTED.mpi, path, names=(
            f"the interpreter /missing/interpreter of {path} cannot be started: No such file or directory",
            "check the first line of the script"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
