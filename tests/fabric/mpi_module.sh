#!/bin/bash
# What modules of MPI and amity's programs are linked with.
#
# mpi_module.sh MODULE     a module contains nothing of amity but its one function, and needs nothing but its MPI
# mpi_module.sh PROGRAM    a program that has not asked for an MPI is linked with none
set -euo pipefail
object=$1

fail() {
  echo "$object: $*" >&2
  exit 1
}

needed=$(objdump -p "$object" | awk '$1 == "NEEDED" { print $2 }')
case $object in
  *.so)
    defined=$(nm -D --defined-only "$object" | awk '{ print $NF }')
    [ "$defined" = amity_mpi_get_module ] || fail "defines $defined instead of amity_mpi_get_module alone"
    if nm -D --undefined-only "$object" | grep -i amity; then fail "needs the symbols above of amity"; fi
    if nm "$object" | grep _ZN; then fail "contains the C++ symbols above"; fi
    # Blocking collectives need not yield: with more processes than CPUs, each takes the time slices of the others.
    if nm -D --undefined-only "$object" |
      grep -wE 'MPI_(Allgather|Allreduce|Barrier|Bcast|Comm_dup|Comm_split|Comm_split_type|Gather|Reduce|Scatter)'; then
      fail "calls the blocking collectives above; start the nonblocking one, and yield between tests"
    fi
    grep -q '^libmpi' <<<"$needed" || fail "is not linked with an MPI, but with $needed"
    ;;
  *)
    if grep '^libmpi' <<<"$needed"; then fail "is linked with the MPI above"; fi
    ;;
esac
