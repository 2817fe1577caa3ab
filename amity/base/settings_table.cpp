#include <algorithm>
#include <array>
#include <limits>

#include "amity/base/settings.hpp"

namespace amity {
namespace {

using enum setting_info::kind;
using form = setting_info::form;

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;
constexpr std::int64_t gib = 1024 * mib;
constexpr std::int64_t no_max = std::numeric_limits<std::int64_t>::max();

// Sorted by name; add a setting here and nowhere else.
constexpr auto table = std::to_array<setting_info>({
    {"AMITY_COALESCE_BYTES", integer, "bytes", "8k", 64, 1 * mib, "",
     "Default bound of a coalescing buffer; the fabric's largest packet bounds it too."},
    {"AMITY_CORE_ATTENTIVENESS", integer, "0 or 1", "0", 0, 1, "",
     "1: ranks take the times between their polls, and of handlers, which stall reports and endpoint::attention show."},
    {"AMITY_CORE_SPILL_BYTES_HIGH_WATER", integer, "bytes", "16m", 0, no_max, "",
     "Sends outside handlers make progress first while more than this, or half of the most, is spilled on their rank."},
    {"AMITY_CORE_SPILL_BYTES_MAX", integer, "bytes", "4g", 64 * kib, no_max, "",
     "Messages that handlers sent and that wait for a credit may take this much memory on a rank; beyond, the job "
     "ends."},
    {"AMITY_CORE_STALL_SECONDS", integer, "s", "30", 0, 86400, "",
     "A rank that has waited this long without any progress prints a stall report; 0 turns it off."},
    {"AMITY_EPOCH_DETECTOR", text, "name", "coloured", 0, 0, "coloured|four_counter",
     "Algorithm that detects that an epoch has ended."},
    {"AMITY_FABRIC", text, "name", "shm", 0, 0, "shm|threads|sim|mpi|ofi|composite",
     "How ranks reach each other: processes or threads over shared memory, simulated under a virtual clock, processes "
     "that MPI has started, processes through libfabric, or through shared memory on a node and libfabric across. "
     "Unset: "
     "the best that the job's launcher and nodes allow."},
    {"AMITY_FABRIC_CHECKED", integer, "0 or 1", "0", 0, 1, "", "Checks every call on the fabric against its contract."},
    {"AMITY_FABRIC_SHOWN", integer, "0 or 1", "0", 0, 1, "",
     "Prints which fabric is used, and why no other, when the job begins."},
    {"AMITY_FABRIC_TRACED", integer, "0 or 1", "0", 0, 1, "",
     "Counts packets and bytes a peer, printed when the job ends."},
    {"AMITY_JOB_FD", integer, "file descriptor", "-1", -1, 1 << 20, "", "Shared memory of the job.", form::any, true},
    {"AMITY_LONG_PENDING", integer, "operations", "256", 1, 65536, "",
     "Long messages, puts, gets and atomics of a rank that wait for credits, slots or completions before the next one "
     "makes progress first."},
    {"AMITY_LONG_PROTOCOL", text, "name", "auto", 0, 0,
     "auto|packed|ordered|put_sync_send|chained|rendezvous|reassembly",
     "How Long messages travel; auto: by what the fabric can do. All ranks alike."},
    {"AMITY_LONG_SLOTS", integer, "slots a peer", "64", 1, 64, "",
     "Long messages from one peer that wait at their target for one of their parts."},
    {"AMITY_MESSAGE_COUNTERS", integer, "0 or 1", "0", 0, 1, "",
     "Prints what became of the messages of each type when the job ends, summed over the ranks."},
    {"AMITY_MPI_CREDITS", integer, "packets a peer", "64", 1, 32768, "",
     "Packets in flight from one rank to another. All ranks alike."},
    {"AMITY_MPI_LIBRARY", text, "name", "auto", 0, 0, "auto|openmpi|mpich",
     "MPI that the fabric mpi loads if neither the program nor its launcher determines it; auto: the only MPI with a "
     "module. The same on all ranks."},
    {"AMITY_MPI_PACKET_BYTES", integer, "bytes", "8k", 1 * kib, 1 * mib, "",
     "Largest packet, sent as one message of MPI. A multiple of 64. All ranks alike.", form::multiple_of_64},
    {"AMITY_MPI_RECEIVES", integer, "receives", "32", 1, 4096, "",
     "Receives that a rank keeps posted, for whichever peer sends."},
    {"AMITY_NODE", text, "name", "", 0, 0, "",
     "Names the node of this process: ranks with the same name share memory. Unset: the system says which do."},
    {"AMITY_OFI_ADDRESS", text, "address", "", 0, 0, "",
     "Address of this machine under which ofi is reached; unset: loopback on one node, else what libfabric offers "
     "first."},
    {"AMITY_OFI_CONNECT_SECONDS", integer, "s", "60", 1, 86400, "",
     "How long ranks try to reach each other when the job starts."},
    {"AMITY_OFI_CREDITS", integer, "packets a peer", "16", 2, 4096, "",
     "Receive buffers that each thread of a rank keeps ready for each of its peers: the packets in flight."},
    {"AMITY_OFI_PACKET_BYTES", integer, "bytes", "8k", 1 * kib, 1 * mib, "", "Largest packet of ofi. A multiple of 64.",
     form::multiple_of_64},
    {"AMITY_OFI_PEER_SECONDS", integer, "s", "10", 4, 86400, "",
     "A rank that waits notices within this time that a peer's process is gone or its host cut off; one that leaves "
     "waits as long for a goodbye."},
    {"AMITY_OFI_PROVIDER", text, "name", "", 0, 0, "",
     "Provider of libfabric, as `fi_info -t FI_EP_RDM` names it; unset: the first that can do what is needed."},
    {"AMITY_PROGRESS_THREAD", integer, "0 or 1", "0", 0, 1, "",
     "One more thread a rank, which handles messages and requests while the rank computes. All ranks alike."},
    {"AMITY_RANK", integer, "rank", "-1", -1, 1 << 20, "", "Rank of this process.", form::any, true},
    {"AMITY_RANKS", integer, "ranks", "1", 1, 65536, "", "Number of ranks of the job."},
    {"AMITY_SHMEM_PROGRESS_THREAD", integer, "0 or 1", "0", 0, 1, "",
     "One more thread a PE of OpenSHMEM's, which runs handlers of active messages, and does what other nodes ask for, "
     "while the program computes."},
    {"AMITY_SHM_BUFFERS", integer, "buffers a peer", "32", 2, 64, "",
     "Inbound buffers that a rank lends to each of its peers: the credits of large packets."},
    {"AMITY_SHM_PACKET_BYTES", integer, "bytes", "8k", 1 * kib, 1 * mib, "",
     "Size of an inbound buffer: the largest packet. A multiple of 64.", form::multiple_of_64},
    {"AMITY_SHM_RING_SLOTS", integer, "slots a peer", "256", 16, 65536, "",
     "Slots of the ring from each peer: the credits of packets in flight. A power of two.", form::power_of_two},
    {"AMITY_SIM_BACK_PRESSURE_PERCENT", integer, "%", "0", 0, 100, "",
     "Share of packets whose credit comes back late: senders are refused meanwhile."},
    {"AMITY_SIM_BYTE_PS", integer, "ps a byte", "40", 0, 1000000, "", "LogGP G: time of one more byte."},
    {"AMITY_SIM_COMPUTE_PERCENT", integer, "%", "0", 0, 100000, "",
     "Virtual time that passes while a rank computes, of the processor time that it takes here. 0: computing is free, "
     "and "
     "equal seeds give equal runs."},
    {"AMITY_SIM_CREDITS", integer, "packets a peer", "64", 1, 65536, "",
     "Packets in flight from one rank to another; operations on remote memory in flight from one rank."},
    {"AMITY_SIM_DELAY_NS_MAX", integer, "ns", "0", 0, 1000000000, "",
     "Each packet and operation is delayed by a random time below this, on top of the latency."},
    {"AMITY_SIM_FAULTS", text, "faults", "", 0, 0, "",
     "Faults of single ranks, separated by ';': slow:rank=3,factor=10; stop:rank=2,at=1ms,for=5ms; "
     "kill:rank=5,at=2ms."},
    {"AMITY_SIM_GAP_NS", integer, "ns", "50", 0, 1000000, "", "LogGP g: least time between two packets of a rank."},
    {"AMITY_SIM_HANDLERS_BYTE_PS", text, "costs", "", 0, 0, "",
     "AMITY_SIM_HANDLER_BYTE_PS of single message types, by name, separated by ';': edge=500; long unsigned int=60."},
    {"AMITY_SIM_HANDLERS_NS", text, "costs", "", 0, 0, "",
     "AMITY_SIM_HANDLER_NS of single message types, by name, separated by ';': edge=500ns; long unsigned int=2us."},
    {"AMITY_SIM_HANDLER_BYTE_PS", integer, "ps a byte", "0", 0, 1000000000, "",
     "Virtual time that handling takes for each byte of a packet's payload."},
    {"AMITY_SIM_HANDLER_NS", integer, "ns", "0", 0, 1000000000, "",
     "Virtual time that handling takes for each packet, whatever its size."},
    {"AMITY_SIM_LATENCY_NS", integer, "ns", "1500", 1, 1000000000, "", "LogGP L: time on the wire."},
    {"AMITY_SIM_NODE_LATENCY_NS", integer, "ns", "300", 1, 1000000000, "",
     "LogGP L between ranks of one node; matters where AMITY_SIM_NODE_RANKS is above 1."},
    {"AMITY_SIM_NODE_RANKS", integer, "ranks a node", "1", 1, 65536, "",
     "Simulated ranks that share a node, one after the other; the last node may have fewer."},
    {"AMITY_SIM_ORDERED", integer, "0 or 1", "1", 0, 1, "",
     "0: packets of one pair of ranks that are delayed overtake each other, as with dispersive routing."},
    {"AMITY_SIM_OVERHEAD_NS", integer, "ns", "300", 0, 1000000, "", "LogGP o: processor time of a send or a receive."},
    {"AMITY_SIM_PACKET_BYTES", integer, "bytes", "4160", 576, 1 * mib, "", "Largest packet of the simulated network."},
    {"AMITY_SIM_REMOTE_DELAY_NS_MAX", integer, "ns", "0", 0, 1000000000, "",
     "Each operation on remote memory is delayed by a random time below this, so that packets overtake it."},
    {"AMITY_SIM_REORDER_PERCENT", integer, "%", "0", 0, 100, "",
     "Share of packets that may overtake earlier ones of the same pair of ranks."},
    {"AMITY_SIM_REPORT", text, "table or file", "", 0, 0, "",
     "What becomes of each rank's time. table: the extremes, on standard error; FILE.csv, FILE.json: all ranks."},
    {"AMITY_SIM_SEED", integer, "seed", "1", 0, no_max, "", "Seed of every choice that the simulator makes."},
    {"AMITY_SIM_STACK_BYTES", integer, "bytes", "256k", 16 * kib, 1 * gib, "", "Stack of a simulated rank."},
    {"AMITY_SIM_TRACE", text, "file", "", 0, 0, "",
     "File for a trace of all packets and operations on remote memory, in the JSON form that Perfetto and Chrome "
     "read."},
    {"AMITY_SIM_WITNESS", text, "file", "", 0, 0, "", "Gets a byte when a simulated job has come to its end.",
     form::any, true},
    {"AMITY_THREADS", integer, "threads a rank", "1", 1, 256, "",
     "Threads of each rank that send and handle messages. All ranks alike."},
});

static_assert(std::ranges::is_sorted(table, {}, &setting_info::name), "keep the table sorted by name");

}  // namespace

std::span<const setting_info> setting_table() noexcept { return table; }

}  // namespace amity
