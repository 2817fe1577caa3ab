"""Hosts as network namespaces: each has one network device, of which this process holds the other end, and no loopback.

The switch between them delays frames, lets some overtake others, and loses those of a host that is cut off. It does what
`tc netem delay 1ms 1ms reorder 25%` does, on every kernel that has TAP devices, and at the moment that a test chooses.
"""

import ctypes
import fcntl
import heapq
import os
import random
import re
import select
import struct
import subprocess
import threading
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
FRAME_BYTES_MAX = 65536

DELAY_S_MAX = 0.002
OVERTAKING = 0.25  # share of frames that are not delayed


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def name_of(owner, host):
    return f"amity-{owner}-{host}"


def remove_leftovers():
    """Those of earlier runs that were killed."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    for owner, host in re.findall(r"^amity-(\d+)-(\d+)", listed, re.M):
        if not os.path.exists(f"/proc/{owner}"):
            subprocess.run(["ip", "netns", "delete", name_of(owner, host)], check=False)


def open_tap(namespace):
    """The switch's end of a new device in the namespace. Only the calling thread goes there, and comes back."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if libc.setns(fd, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns {path}")
        finally:
            os.close(fd)

    home = f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"
    back = os.open(home, os.O_RDONLY | os.O_CLOEXEC)
    enter(f"/run/netns/{namespace}")
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"net0", IFF_TAP | IFF_NO_PI))
        return tap
    finally:
        libc.setns(back, CLONE_NEWNET)
        os.close(back)


class Hosts:
    """As many hosts as asked for, while the context lasts."""

    def __init__(self, count):
        self.count = count
        self.taps = []
        self.cut = set()
        self.frames = 0
        self._ends = False
        self._random = random.Random(1)

    def address(self, host):
        return f"10.77.0.{host + 1}"

    def namespace(self, host):
        return name_of(os.getpid(), host)

    def __enter__(self):
        remove_leftovers()
        try:
            for host in range(self.count):
                namespace = self.namespace(host)
                run("ip", "netns", "add", namespace)
                self.taps.append(open_tap(namespace))
                run("ip", "-n", namespace, "address", "add", f"{self.address(host)}/24", "dev", "net0")
                run("ip", "-n", namespace, "link", "set", "net0", "up")
        except BaseException:
            self.remove()
            raise
        self._switch = threading.Thread(target=self.forward, daemon=True)
        self._switch.start()
        return self

    def __exit__(self, *unused):
        self._ends = True
        self._switch.join()
        self.remove()

    def remove(self):
        for tap in self.taps:
            os.close(tap)
        for host in range(self.count):
            subprocess.run(["ip", "netns", "delete", self.namespace(host)], check=False, stderr=subprocess.DEVNULL)

    def cut_off(self, host):
        self.cut.add(host)

    def forward(self):
        waiting = []  # (when it is due, number, to which tap, frame)
        number = 0
        while not self._ends:
            now = time.monotonic()
            timeout = min(max(waiting[0][0] - now, 0), 0.05) if waiting else 0.05
            for source in select.select(self.taps, [], [], timeout)[0]:
                for frame in self.frames_of(source):
                    delay = 0 if self._random.random() < OVERTAKING else self._random.random() * DELAY_S_MAX
                    for target in self.taps:
                        if target != source:
                            number += 1
                            heapq.heappush(waiting, (time.monotonic() + delay, number, source, target, frame))
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, source, target, frame = heapq.heappop(waiting)
                if not {self.taps.index(source), self.taps.index(target)} & self.cut:
                    self.frames += 1
                    try:
                        os.write(target, frame)
                    except OSError:
                        pass  # its queue is full, or its device down: networks lose frames

    @staticmethod
    def frames_of(tap):
        for _ in range(64):
            try:
                yield os.read(tap, FRAME_BYTES_MAX)
            except OSError:
                return
