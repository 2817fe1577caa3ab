"""Jobs on several hosts that one machine plays: hosts_test.py AMITY WORLD_PROGRAM [TEST].

The ranks are started by `amity run`, and each enters its host. Whether packets take the network is seen at the switch.
Ends with 77, "skipped", where network namespaces cannot be made.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import hosts as network

SKIPPED = 77
SECONDS_MAX = 60

# What a rank's process does before it becomes the program.
ENTER = 'host=$((AMITY_RANK / RANKS_A_HOST)) && export AMITY_OFI_ADDRESS=10.77.0.$((host + 1)) && ' \
        'exec ip netns exec "$HOSTS-$host" "$@"'


def start(hosts, ranks_a_host, amity, program, **settings):
    environment = {**os.environ, "AMITY_FABRIC": "composite", "HOSTS": hosts.namespace(0).rsplit("-", 1)[0],
                   "RANKS_A_HOST": str(ranks_a_host), **settings}
    words = [amity, "run", "-n", str(hosts.count * ranks_a_host), "sh", "-c", ENTER, "sh", *program]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(job, seconds_max=SECONDS_MAX):
    try:
        output = job.communicate(timeout=seconds_max)[0]
    except subprocess.TimeoutExpired:
        job.send_signal(signal.SIGTERM)
        output = job.communicate()[0]
        raise AssertionError(f"the job did not end within {seconds_max} s; it has said:\n{output}") from None
    return job.returncode, output


def expect_success(job, *sentences):
    status, output = finish(job)
    assert status == 0, f"status {status}:\n{output}"
    for sentence in sentences:
        assert sentence in output, f"'{sentence}' is missing:\n{output}"


def test_ranks_of_several_hosts_are_one_job(amity, world_program):
    with network.Hosts(3) as hosts:
        expect_success(start(hosts, 2, amity, [world_program, "sum"], AMITY_FABRIC_SHOWN="1"),
                       "rank 5 of 6: sum 15", "fabric: composite: ")
        assert hosts.frames > 20, f"{hosts.frames} frames went through the switch"


def test_ranks_that_are_alone_on_their_hosts_need_no_shared_memory(amity, world_program):
    with network.Hosts(3) as hosts:
        expect_success(start(hosts, 1, amity, [world_program, "sum"], AMITY_FABRIC_SHOWN="1"),
                       "rank 2 of 3: sum 3", "fabric: ofi: ")


def test_a_graph_is_searched_over_a_network_that_delays_and_reorders(amity, _):
    with network.Hosts(2) as hosts:
        expect_success(start(hosts, 2, amity, [amity, "graph", "bfs", "--kronecker", "10", "--no-progress"]),
                       "distances and paths are right")
        assert hosts.frames > 100, f"{hosts.frames} frames went through the switch"


def test_a_rank_that_is_killed_ends_the_job(amity, world_program):
    with network.Hosts(2) as hosts:
        status, output = finish(start(hosts, 2, amity, [world_program, "kill"]), 20)
        assert status == 128 + signal.SIGKILL, f"status {status}:\n{output}"
        assert "rank 3" in output, output


def cut_off_host_is_named(amity, world_program):
    """Not among the tests yet: connections of a host that is cut off do not break by themselves."""
    with network.Hosts(2) as hosts:
        job = start(hosts, 2, amity, [world_program, "wait"], AMITY_OFI_PEER_SECONDS="4")
        for _ in range(4):
            assert job.stdout.readline().startswith("ready")
        hosts.cut_off(1)
        begin = time.monotonic()
        status, output = finish(job, 15)
        assert status != 0 and "has vanished" in output, f"status {status}:\n{output}"
        print(f"noticed after {time.monotonic() - begin:.1f} s:\n{output}")


def can_make_hosts():
    if os.geteuid() != 0 or shutil.which("ip") is None or not os.path.exists("/dev/net/tun"):
        return False
    try:
        with network.Hosts(1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def main():
    amity, world_program, *wanted = sys.argv[1:]
    if not can_make_hosts():
        print("skipped: network namespaces and TAP devices need root, iproute2 and /dev/net/tun")
        return SKIPPED
    for name, test in list(globals().items()):
        if name in wanted or (not wanted and name.startswith("test_")):
            print(name, flush=True)
            test(amity, world_program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
