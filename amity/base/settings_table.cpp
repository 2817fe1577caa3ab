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
    {"AMITY_AM_ADAPTIVE", integer, "0 or 1", "1", 0, 1, "",
     "1: targets of active messages on windows keep space in their buffers for origins that send, which then make no "
     "requests; 0: none is kept, and the list of all space is asked for again after a flush. Must be equal on all "
     "ranks."},
    {"AMITY_AM_DETECT_EXCLUSIVE", integer, "0 or 1", "1", 0, 1, "",
     "1: a rank that holds the lock of a window exclusively asks once for all space for active messages there, and "
     "then "
     "makes no other request; 0: it makes a request for each unit, as others do."},
    {"AMITY_AM_PACK_BELOW", text, "fraction", "auto", 0, 0, "",
     "Vector active messages: the output of a unit is packed if the handler has generated less than this part of the "
     "largest output (0 to 1); otherwise all of it is sent. auto: 0.8."},
    {"AMITY_AM_PENDING", integer, "messages", "4096", 1, 1 * gib, "",
     "Active messages of a rank on one window that are not complete. A further one waits until one is complete."},
    {"AMITY_AM_SYSTEM_BYTES", integer, "bytes", "8k", 0, 1 * gib, "",
     "Memory for active messages on windows that each target has for each origin, without buffers of the program. Must "
     "be equal on all ranks."},
    {"AMITY_AM_UNIT_BYTES", integer, "bytes", "0", 0, 1 * gib, "",
     "Input and output of the units into which active messages on windows are divided, or one segment if it is larger; "
     "0: half of AMITY_AM_SYSTEM_BYTES."},
    {"AMITY_COALESCE_BYTES", integer, "bytes", "8k", 64, 1 * mib, "",
     "Default size limit of a coalescing buffer; a buffer is at most as large as a packet of the fabric."},
    {"AMITY_CORE_ATTENTIVENESS", integer, "0 or 1", "0", 0, 1, "",
     "1: each rank measures the time between its polls and the time in its handlers, for stall reports and "
     "engine::attention."},
    {"AMITY_CORE_SPILL_BYTES_HIGH_WATER", integer, "bytes", "16m", 0, no_max, "",
     "Memory of messages that wait for a credit above which a send outside a handler makes progress before it "
     "continues; "
     "at most half of AMITY_CORE_SPILL_BYTES_MAX."},
    {"AMITY_CORE_SPILL_BYTES_MAX", integer, "bytes", "4g", 64 * kib, no_max, "",
     "Largest memory of what waits to be sent on one thread of a rank, such as messages of handlers without a credit. "
     "A "
     "handler that would exceed it gets an error."},
    {"AMITY_CORE_STALL_SECONDS", integer, "s", "30", 0, 86400, "",
     "Time without progress after which a waiting rank prints a stall report; 0: no reports."},
    {"AMITY_EPOCH_DETECTOR", text, "name", "colored", 0, 0, "colored|four_counter",
     "Algorithm that detects the end of an epoch."},
    {"AMITY_FABRIC", text, "name", "shm", 0, 0, "shm|threads|sim|mpi|ofi|composite",
     "Transport between ranks: shared memory between processes (shm) or threads (threads), simulation (sim), MPI "
     "(mpi), libfabric (ofi), or shared memory within a node and libfabric between nodes (composite). Unset: the best "
     "transport that the launcher and the nodes of the job permit."},
    {"AMITY_FABRIC_CHECKED", integer, "0 or 1", "0", 0, 1, "",
     "1: checks every call of the fabric against its contract."},
    {"AMITY_FABRIC_SHOWN", integer, "0 or 1", "0", 0, 1, "",
     "1: prints at start-up which fabric is used and why the others are not."},
    {"AMITY_FABRIC_TRACED", integer, "0 or 1", "0", 0, 1, "",
     "1: counts packets and bytes per peer and prints them when the job ends."},
    {"AMITY_JOB_FD", integer, "file descriptor", "-1", -1, 1 << 20, "", "Shared memory of the job.", form::any, true},
    {"AMITY_LONG_PENDING", integer, "operations", "256", 1, 65536, "",
     "Number of pending Long messages, puts, gets and atomics of a rank above which the next one makes progress "
     "first."},
    {"AMITY_LONG_PROTOCOL", text, "name", "auto", 0, 0,
     "auto|packed|ordered|put_sync_send|chained|rendezvous|reassembly",
     "Protocol of Long messages; auto: chosen by the capabilities of the fabric. Must be equal on all ranks."},
    {"AMITY_LONG_SLOTS", integer, "slots per peer", "64", 1, 64, "",
     "Long messages per peer that a target can reassemble at the same time."},
    {"AMITY_MESSAGE_COUNTERS", integer, "0 or 1", "0", 0, 1, "",
     "1: prints counters of each message type, summed over all ranks, when the job ends. SIGUSR1 and SIGTERM print "
     "the counters of each rank so far, also while a handler is stuck, unless the program handles or ignores the "
     "signal."},
    {"AMITY_MPI", integer, "0 or 1", "1", 0, 1, "",
     "1: libamity-mpi serves the windows of a program of MPI that has loaded it; 0: the MPI serves them. Must be "
     "equal on all ranks."},
    {"AMITY_MPI_CREDITS", integer, "packets per peer", "64", 1, 32768, "",
     "Packets in flight from one rank to another. Must be equal on all ranks."},
    {"AMITY_MPI_LIBRARY", text, "name", "auto", 0, 0, "auto|openmpi|mpich",
     "MPI that the fabric mpi loads if neither the program nor its launcher determines it; auto: the only MPI with a "
     "module. Must be equal on all ranks."},
    {"AMITY_MPI_PACKET_BYTES", integer, "bytes", "8k", 1 * kib, 1 * mib, "",
     "Largest packet, sent as one MPI message; a multiple of 64. Must be equal on all ranks.", form::multiple_of_64},
    {"AMITY_MPI_RECEIVES", integer, "receives", "32", 1, 4096, "",
     "Receives from any source that a rank keeps posted."},
    {"AMITY_MPI_REPORT", integer, "0 or 1", "0", 0, 1, "",
     "1: libamity-mpi prints its version when MPI begins and, when MPI ends, how many one-sided calls each process has "
     "passed to the MPI."},
    {"AMITY_NODE", text, "name", "", 0, 0, "",
     "Name of the node of this process; ranks with equal names share memory. Unset: detected."},
    {"AMITY_OFI_ADDRESS", text, "address", "", 0, 0, "",
     "Local address that ofi binds to. Unset: the loopback address if all ranks run on one node, otherwise the first "
     "address that libfabric offers."},
    {"AMITY_OFI_CONNECT_SECONDS", integer, "s", "60", 1, 86400, "", "Time limit for connecting all ranks at start-up."},
    {"AMITY_OFI_CREDITS", integer, "packets per peer", "16", 2, 4096, "",
     "Receive buffers that each thread of a rank provides per peer; limits the packets in flight."},
    {"AMITY_OFI_PACKET_BYTES", integer, "bytes", "8k", 1 * kib, 1 * mib, "", "Largest packet of ofi; a multiple of 64.",
     form::multiple_of_64},
    {"AMITY_OFI_PEER_SECONDS", integer, "s", "10", 4, 86400, "",
     "Time within which a waiting rank detects a failed process or an unreachable host; also the longest time that a "
     "finished rank waits for the shutdown packets of its peers."},
    {"AMITY_OFI_PROVIDER", text, "name", "", 0, 0, "",
     "libfabric provider, as `fi_info -t FI_EP_RDM` names it. Unset: the first provider with the required "
     "capabilities."},
    {"AMITY_OFI_REGISTER_LOCAL", integer, "0 or 1", "0", 0, 1, "",
     "1: registers the local memory of sends, puts and gets also for a libfabric provider that does not require it; 0: "
     "only if the provider requires it."},
    {"AMITY_OFI_SEALED", integer, "0 or 1", "1", 0, 1, "",
     "1: authenticates each packet of ofi, and sends puts, gets and atomics as packets. 0: only for trusted networks; "
     "uses the remote memory of the provider. Must be equal on all ranks."},
    {"AMITY_PROGRESS_THREAD", integer, "0 or 1", "0", 0, 1, "",
     "1: each rank has an additional thread that handles messages and requests, and serves windows, while the rank "
     "computes. Must be equal on all ranks, except in programs of MPI with libamity-mpi."},
    {"AMITY_RANK", integer, "rank", "-1", -1, 1 << 20, "", "Rank of this process.", form::any, true},
    {"AMITY_RANKS", integer, "ranks", "1", 1, 65536, "", "Number of ranks of the job."},
    {"AMITY_SHMEM_PROGRESS_THREAD", integer, "0 or 1", "0", 0, 1, "",
     "1: each OpenSHMEM PE has an additional thread that runs handlers of active messages and serves requests of other "
     "nodes while the program computes."},
    {"AMITY_SHM_BUFFERS", integer, "buffers per peer", "32", 2, 64, "",
     "Receive buffers per peer; limits the large packets in flight."},
    {"AMITY_SHM_PACKET_BYTES", integer, "bytes", "8k", 1 * kib, 1 * mib, "",
     "Size of a receive buffer, and so of the largest packet; a multiple of 64.", form::multiple_of_64},
    {"AMITY_SHM_RING_SLOTS", integer, "slots per peer", "256", 16, 65536, "",
     "Slots of the ring from each peer; limits the packets in flight. A power of two.", form::power_of_two},
    {"AMITY_SIM_BACK_PRESSURE_PERCENT", integer, "%", "0", 0, 100, "",
     "Share of packets whose credit returns late; until then, sends to that peer may be refused."},
    {"AMITY_SIM_BYTE_PS", integer, "ps per byte", "40", 0, 1000000, "", "LogGP G: time per additional byte."},
    {"AMITY_SIM_COMPUTE_PERCENT", integer, "%", "0", 0, 100000, "",
     "Virtual time of a computation as a percentage of its measured CPU time. 0: computing takes no virtual time, and "
     "equal seeds give equal runs."},
    {"AMITY_SIM_CREDITS", integer, "packets per peer", "64", 1, 65536, "",
     "Packets in flight from one rank to another; also operations on remote memory in flight per rank."},
    {"AMITY_SIM_DELAY_NS_MAX", integer, "ns", "0", 0, 1000000000, "",
     "Upper bound of the random delay that is added to the latency of each packet and operation."},
    {"AMITY_SIM_FAULTS", text, "faults", "", 0, 0, "",
     "Faults of single ranks, separated by ';': slow:rank=3,factor=10; stop:rank=2,at=1ms,for=5ms; "
     "kill:rank=5,at=2ms."},
    {"AMITY_SIM_GAP_NS", integer, "ns", "50", 0, 1000000, "", "LogGP g: shortest time between two packets of a rank."},
    {"AMITY_SIM_HANDLERS_BYTE_PS", text, "costs", "", 0, 0, "",
     "Values of AMITY_SIM_HANDLER_BYTE_PS for single message types, by name, separated by ';': edge=500; long unsigned "
     "int=60."},
    {"AMITY_SIM_HANDLERS_NS", text, "costs", "", 0, 0, "",
     "Values of AMITY_SIM_HANDLER_NS for single message types, by name, separated by ';': edge=500ns; long unsigned "
     "int=2us."},
    {"AMITY_SIM_HANDLER_BYTE_PS", integer, "ps per byte", "0", 0, 1000000000, "",
     "Virtual time that a handler takes per byte of payload."},
    {"AMITY_SIM_HANDLER_NS", integer, "ns", "0", 0, 1000000000, "",
     "Virtual time that handling takes per packet, in addition to the time per byte."},
    {"AMITY_SIM_LATENCY_NS", integer, "ns", "1500", 1, 1000000000, "", "LogGP L: network latency."},
    {"AMITY_SIM_NODE_LATENCY_NS", integer, "ns", "300", 1, 1000000000, "",
     "LogGP L between ranks of one node; used if AMITY_SIM_NODE_RANKS is greater than 1."},
    {"AMITY_SIM_NODE_RANKS", integer, "ranks per node", "1", 1, 65536, "",
     "Simulated ranks per node, in the order of ranks; the last node may have fewer."},
    {"AMITY_SIM_ORDERED", integer, "0 or 1", "1", 0, 1, "",
     "0: delayed packets of a pair of ranks may overtake each other, as with adaptive routing."},
    {"AMITY_SIM_OVERHEAD_NS", integer, "ns", "300", 0, 1000000, "", "LogGP o: CPU time of a send or a receive."},
    {"AMITY_SIM_PACKET_BYTES", integer, "bytes", "4160", 576, 1 * mib, "", "Largest packet of the simulated network."},
    {"AMITY_SIM_REMOTE_DELAY_NS_MAX", integer, "ns", "0", 0, 1000000000, "",
     "Upper bound of the random delay of each operation on remote memory; packets can overtake delayed operations."},
    {"AMITY_SIM_REORDER_PERCENT", integer, "%", "0", 0, 100, "",
     "Share of packets that may overtake earlier packets of the same pair of ranks."},
    {"AMITY_SIM_REPORT", text, "table or file", "", 0, 0, "",
     "Report of how each rank spent its time. table: extremes, on standard error; FILE.csv or FILE.json: all ranks."},
    {"AMITY_SIM_SEED", integer, "seed", "1", 0, no_max, "", "Seed of all random choices of the simulator."},
    {"AMITY_SIM_STACK_BYTES", integer, "bytes", "256k", 16 * kib, 1 * gib, "", "Stack size of a simulated rank."},
    {"AMITY_SIM_TRACE", text, "file", "", 0, 0, "",
     "File for a trace of all packets and operations on remote memory, in the JSON format of Perfetto and Chrome."},
    {"AMITY_SIM_WITNESS", text, "file", "", 0, 0, "", "File that receives one byte when a simulated job has completed.",
     form::any, true},
    {"AMITY_THREADS", integer, "threads per rank", "1", 1, 256, "",
     "Threads per rank that send and handle messages. Must be equal on all ranks."},
    {"AMITY_WINDOW_CHECKED", integer, "0 or 1", "0", 0, 1, "",
     "1: windows verify window_assert promises and report wrong ones as errors; operations are slow. Must be equal on "
     "all ranks."},
    {"AMITY_WINDOW_PROTOCOL", text, "name", "automatic", 0, 0, "automatic|send_recv|buffered|rma",
     "Protocol of operations on windows; automatic: chosen for each one by its size and the path to its target."},
});

static_assert(std::ranges::is_sorted(table, {}, &setting_info::name), "keep the table sorted by name");

}  // namespace

std::span<const setting_info> setting_table() noexcept { return table; }

}  // namespace amity
