"""Compares apps/sequence_search with a dictionary of k-mers, on sequences and files made here.

usage: sequence_search_test.py ResultsTest|UseTest PROGRAM LAUNCHER...
LAUNCHER is the command that starts the ranks.
"""

import contextlib
import gzip
import io
import os
import pty
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

PROGRAM, *LAUNCHER = sys.argv[2:]
del sys.argv[2:]
COMPLEMENT = str.maketrans("ACGT", "TGCA")
METHODS = ("am", "amv", "get")


def start(*options, launcher=LAUNCHER):
    return subprocess.run([*launcher, PROGRAM, *map(str, options)], capture_output=True, text=True, timeout=60)


def kmers_of(bases, k):
    """The smaller of each k-mer and its reverse complement, without those of unknown bases."""
    bases = bases.upper()
    for i in range(len(bases) - k + 1):
        kmer = bases[i:i + k]
        if not kmer.strip("ACGT"):
            yield min(kmer, kmer.translate(COMPLEMENT)[::-1])


def expected_rows(genomes, reads, k, positions_max):
    counts = {}
    for genome in genomes:
        for kmer in kmers_of(genome, k):
            counts[kmer] = counts.get(kmer, 0) + 1
    rows = []
    for name, bases in reads:
        hits = [min(counts.get(kmer, 0), positions_max) for kmer in kmers_of(bases, k)]
        rows.append([name, str(len(hits)), str(sum(hit > 0 for hit in hits)), str(sum(hits))])
    return rows


def make_genomes(source):
    """Sequences with repeats, unknown bases and small letters."""
    random_bases = lambda count: "".join(source.choices("ACGT", k=count))
    repeat = random_bases(120)
    first = random_bases(3000) + repeat + random_bases(500) + repeat + "NNNN" + random_bases(300) + repeat
    second = repeat.translate(COMPLEMENT)[::-1] + first[100:900].lower() + random_bases(700)
    return [first, second, "ACG"]


def make_reads(source, genomes):
    reads = []
    for i in range(60):
        genome = source.choice(genomes[:2])
        begin = source.randrange(len(genome) - 50)
        bases = list(genome[begin:begin + source.randrange(1, 400)].upper())
        for place in range(0, len(bases), 40):
            bases[place] = source.choice("ACGTN")
        text = "".join(bases)
        reads.append((f"read/{i}", text.translate(COMPLEMENT)[::-1] if i % 2 else text))
    return [*reads, ("random", "".join(source.choices("ACGT", k=500))), ("repeated", "AC" * 100)]


def fasta(sequences, width):
    lines = []
    for name, bases in sequences:
        lines.append(f">{name} with a description")
        lines += [bases[i:i + width] for i in range(0, len(bases), width)]
    return ("\n".join(lines) + "\n").encode()


def fastq(sequences):
    return "".join(f"@{name} 1\n{bases}\n+\n{'@' * len(bases)}\n" for name, bases in sequences).encode()


class SearchTest(unittest.TestCase):
    """Has files with genomes and reads."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="amity-sequences-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        source = random.Random(20)
        self.genomes = make_genomes(source)
        self.reads = make_reads(source, self.genomes)
        self.reference = self.write("genomes.fasta", fasta([(f"g{i}", g) for i, g in enumerate(self.genomes)], 61))
        self.reads_file = self.write("reads.fastq", fastq(self.reads))

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def search(self, *options, reference=None, reads=None):
        """Runs the search, and returns the rows of its output file and the lines of the table."""
        output = self.path("out.tsv")
        result = start("--reference", reference or self.reference, "--reads-file", reads or self.reads_file,
                       "--output", output, *options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        with open(output, encoding="utf-8") as file:
            head, *rows = [line.rstrip("\n").split("\t") for line in file]
        self.assertEqual(head, ["read", "k-mers", "found", "hits"])
        return rows, re.findall(r"^(?:am|amv|get) .*$", result.stdout, re.MULTILINE)


class ResultsTest(SearchTest):
    def test_each_method(self):
        expected = expected_rows(self.genomes, self.reads, 21, 4)
        checksums = set()
        for method in METHODS:
            rows, lines = self.search("--method", method, "--check")
            self.assertEqual(rows, expected)
            checksums.add(lines[0].split()[-1])
        self.assertEqual(len(checksums), 1)

    def test_k_and_positions(self):
        for k, positions in ((31, 1), (4, 7)):
            rows, lines = self.search("--k", k, "--positions", positions, "--check")
            self.assertEqual(rows, expected_rows(self.genomes, self.reads, k, positions))
            self.assertEqual(len({line.split()[-1] for line in lines}), 1)
            self.assertEqual(len(lines), 3)

    def test_batches_and_buffers(self):
        expected = expected_rows(self.genomes, self.reads, 21, 4)
        sizes = (("--batch", 77, "--segment", 3, "--buffer", 600), ("--batch", 5000, "--segment", 1, "--buffer", 0),
                 ("--batch", 5000, "--segment", 7, "--guarantee", 100000))
        for options in sizes:
            rows, _ = self.search(*options, "--check")
            self.assertEqual(rows, expected)


class UseTest(SearchTest):
    def refuses(self, status, regex, *options, launcher=()):
        """Without a launcher, one process is the whole job: launchers take seconds for a job that fails."""
        result = start(*options, launcher=launcher)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertRegex(result.stderr, "sequence_search: " + regex)
        self.assertEqual(result.stderr.count("sequence_search: "), 1)

    def test_files(self):
        expected = expected_rows(self.genomes, self.reads, 21, 4)
        compressed = self.write("reads.fq.gz", gzip.compress(fastq(self.reads)))
        plain = self.write("reads.fasta", fasta(self.reads, 70).replace(b"\n", b"\r\n"))
        archive = self.path("all.tar.gz")
        with tarfile.open(archive, "w:gz", format=tarfile.USTAR_FORMAT) as tar:
            for name in (self.reference, self.reads_file):
                tar.add(name, arcname="in/" + os.path.basename(name))
        for reads in (compressed, plain, archive + ":in/reads.fastq"):
            rows, _ = self.search("--method", "amv", reads=reads, reference=archive + ":in/genomes.fasta")
            self.assertEqual(rows, expected)

    def test_several_references_and_some_reads(self):
        names = [self.write(f"{i}.fa", fasta([("g", genome)], 80)) for i, genome in enumerate(self.genomes[:2])]
        rows, _ = self.search("--reference", names[1], "--reads", 7, "--check", reference=names[0])
        self.assertEqual(rows, expected_rows(self.genomes[:2], self.reads[:7], 21, 4))

    def terminal_output(self, *options):
        """What one process writes to standard error if it is a terminal."""
        reader, terminal = pty.openpty()
        with os.fdopen(reader, "rb", buffering=0) as output:
            job = subprocess.run([PROGRAM, "--reference", self.reference, "--reads-file", self.reads_file, *options],
                                 stdout=subprocess.DEVNULL, stderr=terminal, timeout=60)
            os.close(terminal)
            self.assertEqual(job.returncode, 0)
            shown = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while part := output.read(4096):
                    shown += part
            return shown.decode()

    def test_progress_bar(self):
        self.assertRegex(self.terminal_output(), r"\ram \[[#.]{30}\] +\d+ % of the reads")
        self.assertNotIn("of the reads", self.terminal_output("--no-progress"))
        self.assertNotIn("of the reads", start("--reference", self.reference, "--reads-file", self.reads_file).stderr)

    def test_help(self):
        result = start("--help", launcher=())
        self.assertEqual(result.returncode, 0)
        for option in ("--reference FILE", "--method METHOD", "--guarantee BYTES", "--check"):
            self.assertIn(option, result.stdout)

    def test_requests_for_space(self):
        """Without credits ahead of requests, only guarantees make requests unnecessary."""
        for options, has_requests in (((), True), (("--guarantee", "200000"), False)):
            with unittest.mock.patch.dict(os.environ, AMITY_AM_ADAPTIVE="0"):
                _, lines = self.search("--batch", 5000, *options)
            for line in lines:
                method, *numbers = line.split()
                handshakes = int(numbers[7])
                self.assertEqual(handshakes > 0, has_requests and method != "get", line)

    def test_wrong_input_of_several_ranks(self):
        self.refuses(2, "--k: 0 is out of range; pass a number from 4 to 31", "--k", 0, launcher=LAUNCHER)
        self.refuses(1, "cannot open '/nowhere': No such file", "--reads-file", "/nowhere", launcher=LAUNCHER)

    def test_wrong_options(self):
        self.refuses(2, "--k: 32 is out of range; pass a number from 4 to 31", "--k", 32)
        self.refuses(2, "--batch: 'many' is not a number; pass", "--batch", "many")
        self.refuses(2, "--method: 'put' is unknown; pass am, amv, get or all", "--method", "put")
        self.refuses(2, "--quick: unknown option; see --help", "--quick")
        self.refuses(2, "--reads has no value; see --help", "--reads")
        self.refuses(2, "'reads.fa' is not an option; see --help", "reads.fa")
        self.refuses(1, "--guarantee: 500 bytes .* do not fit the buffer of 10 bytes; increase --buffer", "--reference",
                     self.reference, "--reads-file", self.reads_file, "--guarantee", 500, "--buffer", 10)

    def test_wrong_files(self):
        given = ("--reference", self.reference, "--reads-file")
        self.refuses(1, ".*:2: character 3 of the sequence has the code 49", "--reference",
                     self.write("digit.fa", b">a\nAC1\n"))
        self.refuses(1, ".*begins with code 120, and not with '>'", *given, self.write("text", b"xyz\n"))
        self.refuses(1, ".*another number of qualities", *given, self.write("short.fq", b"@a\nACGT\n+\nAA\n"))
        self.refuses(1, ".*the last record has no bases", *given, self.write("end.fq", b"@a\n"))
        whole = gzip.compress(fastq(self.reads))
        cut = self.write("cut.gz", whole[:len(whole) // 2])
        self.refuses(1, ".*reading failed: .*; check that the file is complete", *given, cut)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            tar.add(self.reads_file, arcname="reads.fastq")
        name = self.write("reads.tar", archive.getvalue())
        self.refuses(1, ".*the archive has no file 'other'; list its files", *given, name + ":other")
        self.refuses(1, "--output: cannot create '/nowhere/out'", *given, self.reads_file, "--output", "/nowhere/out")


if __name__ == "__main__":
    unittest.main()
