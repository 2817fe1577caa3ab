#pragma once

/// The benchmarks, one file each, in the order in which they are listed.

#include "bench/harness.hpp"

namespace amity::bench {

extern const benchmark short_latency;
extern const benchmark medium_latency;
extern const benchmark short_flood;
extern const benchmark put_shm;
extern const benchmark memory_worlds;
extern const benchmark window_put_latency;
extern const benchmark window_get_latency;
extern const benchmark window_put_rate;
extern const benchmark window_put_bandwidth;
extern const benchmark window_atomics;
extern const benchmark window_fence;
extern const benchmark window_pscw;
extern const benchmark window_pscw_put;
extern const benchmark window_pscw_get;
extern const benchmark window_scaling;
extern const benchmark window_tcp;
extern const benchmark window_overlap;
extern const benchmark window_overlap_tcp;
extern const benchmark window_computing_target;
extern const benchmark am_latency;
extern const benchmark am_sync_time;
extern const benchmark am_flush;
extern const benchmark am_throughput;
extern const benchmark am_scaling;
extern const benchmark am_contention;
extern const benchmark amv_throughput;
extern const benchmark amv_bytes;
extern const benchmark am_shm;
extern const benchmark ghost_cells;
extern const benchmark ghost_cells_tcp;
extern const benchmark long_shm;
extern const benchmark injection_shm;
extern const benchmark long_injection;
extern const benchmark c_interface;
extern const benchmark coalesced_rate;
extern const benchmark histogram;
extern const benchmark coalesce_auto;
extern const benchmark index_gather;
extern const benchmark span_handler;
extern const benchmark large_values;
extern const benchmark combine_keys;
extern const benchmark epoch_time;
extern const benchmark polling;
extern const benchmark oversubscribed_rate;
extern const benchmark busy_machine;
extern const benchmark idle_cpu;
extern const benchmark termination_virtual;
extern const benchmark sim_events;
extern const benchmark sim_scale;
extern const benchmark small_scale_memory;
extern const benchmark threads;
extern const benchmark thread_safety_cost;
extern const benchmark exploration;
extern const benchmark graph500_bfs;
extern const benchmark graph500_sssp;
extern const benchmark pbgl_bfs;
extern const benchmark pbgl_sssp;
extern const benchmark cost_bfs;
extern const benchmark cost_sssp;
extern const benchmark real_graphs;
extern const benchmark weak_scaling;
extern const benchmark strong_scaling;
extern const benchmark mpi_short_latency;
extern const benchmark mpi_coalesced_rate;
extern const benchmark osc_put_latency;
extern const benchmark osc_get_latency;
extern const benchmark osc_put_rate;
extern const benchmark osc_put_bandwidth;
extern const benchmark osc_lock;
extern const benchmark osc_flush;
extern const benchmark osc_window;
extern const benchmark osc_atomics;
extern const benchmark osc_accumulate;
extern const benchmark osc_types;
extern const benchmark osc_passive_busy_target;
extern const benchmark osc_tcp;
extern const benchmark osc_fence;
extern const benchmark osc_pscw;
extern const benchmark osc_messages;
extern const benchmark ofi_bandwidth;
extern const benchmark long_latency;
extern const benchmark long_round_trip;
extern const benchmark ofi_short_latency;
extern const benchmark ofi_coalesced_rate;
extern const benchmark composite_overhead;
#ifdef AMITY_BENCH_SHMEM_PROGRAM
extern const benchmark shmem_transfers;
extern const benchmark shmem_messages;
extern const benchmark shmem_network;
extern const benchmark shmem_bandwidth;
extern const benchmark shmem_rate;
extern const benchmark shmem_rings;
extern const benchmark shmem_contention;
extern const benchmark shmem_salesman;
extern const benchmark shmem_busy_machine;
#endif

}  // namespace amity::bench
