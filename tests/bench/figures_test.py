#!/usr/bin/env python3
"""From the rows of a tiny run, scripts/figures makes a CSV with every point, and a picture with a panel a network.

usage: figures_test.py PATH-OF-SCRIPTS/FIGURES ROWS.JSON [unittest arguments]
"""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FIGURES = Path(sys.argv.pop(1)).resolve()
ROWS = Path(sys.argv.pop(1)).resolve()
NETWORKS = {"aries", "tcp;ofi_rxm", "net", "shm provider", "shm"}
KIB = 1024


def made(*names):
    """{name: (lines of its CSV, its picture or None)}"""
    with tempfile.TemporaryDirectory() as directory:
        command = [FIGURES, *names, "--rows", ROWS, "--out", directory]
        if shutil.which("gnuplot") is None:
            command.append("--csv-only")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        results = {}
        for table in Path(directory).glob("*.csv"):
            with open(table, newline="", encoding="utf-8") as file:
                picture = table.with_suffix(".svg")
                results[table.stem] = (list(csv.DictReader(file)), picture.read_text() if picture.exists() else None)
        return results


class Figures(unittest.TestCase):
    def check_picture(self, picture):
        if shutil.which("gnuplot") is None:
            return
        for network in NETWORKS:
            self.assertIn(network, picture)

    def test_every_size_on_every_network(self):
        results = made("long_latency", "long_bandwidth")
        self.assertEqual(set(results), {"long_latency", "long_bandwidth"})
        for lines, picture in results.values():
            points = {(line["network"], int(line["bytes"])) for line in lines}
            self.assertEqual(points, {(network, 2 * KIB << i) for network in NETWORKS for i in range(10)})
            self.assertEqual(len(lines), len(points))
            self.check_picture(picture)

    def test_bandwidth_is_what_the_latency_means(self):
        results = made("long_latency", "long_bandwidth")
        for latency, bandwidth in zip(results["long_latency"][0], results["long_bandwidth"][0]):
            expected = 2 * int(latency["bytes"]) / float(latency["reassembly_us"])
            self.assertAlmostEqual(float(bandwidth["reassembly_mb_per_s"]) / expected, 1, delta=0.01)

    def test_every_depth_of_every_size(self):
        ((lines, picture),) = made("long_injection").values()
        points = {(line["network"], int(line["bytes"]), int(line["depth"])) for line in lines}
        # What is put at once in a tiny run is no more than 1 MiB.
        expected = {(network, size, depth) for network in NETWORKS for size in (4 * KIB, 64 * KIB, 1024 * KIB)
                    for depth in (1, 4, 16, 64, 256) if size * depth <= 1024 * KIB}
        self.assertEqual(points, expected)
        self.check_picture(picture)

    def test_the_model_shows_what_the_paper_does(self):
        for row in json.loads(ROWS.read_text()):
            self.assertGreater(row["value"], 0, row["config"])
        for line in made("long_latency")["long_latency"][0]:
            if line["network"] == "aries":
                self.assertLess(float(line["ratio"]), 1, line)

    def test_a_figure_that_is_none(self):
        failed = subprocess.run([FIGURES, "short_latency", "--rows", ROWS], capture_output=True, text=True, check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("there is no figure short_latency", failed.stderr)


unittest.main()
