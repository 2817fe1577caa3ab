#!/bin/bash
# Amity as users get it: installed or fetched, found and linked by a small program that runs on two ranks.
#
# packaging.sh install BUILD PREFIX HEADERS       installs what BUILD made; HEADERS is the public list, by spaces
# packaging.sh install_shared SOURCE PREFIX       builds amity as a shared library and installs it
# packaging.sh find_package PREFIX                a CMake project that finds the installed amity
# packaging.sh pkg_config PREFIX [--static]       one compiler command
# packaging.sh fetch_content SOURCE               a CMake project that builds amity as a part of itself
# packaging.sh mpi PREFIX {LAUNCHER MPICXX}...    over each MPI: one program without MPI, and a program of that MPI
# packaging.sh mpi_windows PREFIX {MPI LAUNCHER MPICC}...    programs of each MPI whose windows amity serves
#
# The same of a program of OpenSHMEM, over amity's own:
# packaging.sh shmem_commands PREFIX              compiled and started by amity-oshcc and amity-oshrun
# packaging.sh shmem_find_package PREFIX          a CMake project
# and, with active messages as an addition, over another OpenSHMEM, with its compilers and launcher:
# packaging.sh shmemx_pkg_config PREFIX OSHCC OSHRUN
# packaging.sh shmemx_find_package PREFIX OSHCC OSHRUN OSHCXX
#
# Builds in a directory of its own, which it removes.
set -euo pipefail

mode=$1
here=$(cd "$(dirname "$0")" && pwd)
consumer=$here/consumer
shmem_consumer=$here/shmem_consumer
mpi_consumer=$here/mpi_consumer
work=$(mktemp -d "${TMPDIR:-/tmp}/amity-packaging-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "packaging: $*" >&2
  exit 1
}

run() {
  AMITY_RANKS=2 "$1" 2
}

# Open MPI 4 on one node does not survive its own end with that component.
run_over_other_shmem() {
  "$1" --allow-run-as-root --oversubscribe --mca osc ^rdma -n 2 "$2" 2
}

# Where the installation has its libraries and pkg-config files.
libdir_of() {
  dirname "$(find "$1" -name 'libamity.*' | head -1)"
}

# Nobody looks at what is built but to run it once, so it is compiled quickly.
configure() {
  cmake -S "$1" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DAMITY_UNITY_BUILD=ON "${@:2}" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "configuring failed"; }
}

build() {
  cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log"; fail "building failed"; }
}

case $mode in
  install)
    prefix=$3
    rm -rf "$prefix"
    cmake --install "$2" --prefix "$prefix" >/dev/null
    # A prefix that can be moved: nothing in it names where it was made.
    if grep -rIl -e "$(cd "$(dirname "$0")/../.." && pwd)/" -e "$(cd "$2" && pwd)/" "$prefix"; then
      fail "these installed files name the tree that they were made in"
    fi
    diff <(cd "$prefix/include/amity" && find . -type f -printf '%P\n' | LC_ALL=C sort) \
      <(printf '%s\n' $4 | LC_ALL=C sort) || fail "the installed headers are not those of public_headers.cmake"
    "$prefix/bin/amity" --version
    ;;

  install_shared)
    rm -rf "$3"
    configure "$2" -DBUILD_SHARED_LIBS=ON -DAMITY_BUILD_SHMEM=OFF -DAMITY_BUILD_TOOLS=OFF -DAMITY_BUILD_TESTS=OFF \
      -DAMITY_BUILD_BENCH=OFF
    build
    cmake --install "$work/build" --prefix "$3" >/dev/null
    ls "$3"/lib*/libamity.so >/dev/null
    ;;

  find_package)
    configure "$consumer" -DCMAKE_PREFIX_PATH="$2"
    build
    run "$work/build/consumer"
    run "$work/build/c_consumer"
    ;;

  pkg_config)
    libdir=$(libdir_of "$2")
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
    # shellcheck disable=SC2046
    g++ -std=c++20 "$consumer"/main.cpp "$consumer"/square.cpp -o "$work/consumer" \
      $(pkg-config --cflags --libs ${3:-} amity)
    LD_LIBRARY_PATH=$libdir run "$work/consumer"
    # shellcheck disable=SC2046
    cc -std=c99 -Wall -Wextra -pedantic -Werror "$consumer/main.c" -o "$work/c_consumer" \
      $(pkg-config --cflags --libs ${3:-} amity)
    LD_LIBRARY_PATH=$libdir run "$work/c_consumer"
    ;;

  fetch_content)
    configure "$consumer" -DAMITY_SOURCE="$2"
    build
    run "$work/build/consumer"
    run "$work/build/c_consumer"
    cmake --install "$work/build" --prefix "$work/prefix" >/dev/null
    [ ! -e "$work/prefix" ] || { find "$work/prefix"; fail "a fetched amity installed the files above"; }
    ;;

  mpi)
    # Both ways to find amity: neither brings an MPI into the program. The installation is moved first.
    prefix=$work/moved
    cp -r "$2" "$prefix"
    libdir=$(libdir_of "$prefix")
    if grep -rE -e '-lmpi|libmpi' "$libdir/pkgconfig/amity.pc" "$libdir/cmake/amity"; then
      fail "the installed files above name the library of an MPI"
    fi
    configure "$consumer" -DCMAKE_PREFIX_PATH="$prefix"
    build
    if objdump -p "$work/build/consumer" | grep -E 'NEEDED +libmpi'; then fail "the program is linked with an MPI"; fi
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
    export LD_LIBRARY_PATH="$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    shift 2
    while [ $# -gt 0 ]; do
      AMITY_FABRIC=mpi "$1" -n 2 "$work/build/consumer" 2
      # shellcheck disable=SC2046
      "$2" -std=c++20 -O0 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX "$here/../interop/mpi_communicators.cpp" \
        -o "$work/mpi_communicators" $(pkg-config --cflags --libs amity)
      "$1" -n 2 "$work/mpi_communicators"
      if [ -x "$prefix/bin/amity" ]; then
        AMITY_FABRIC=mpi "$1" -n 2 "$prefix/bin/amity" graph bfs --kronecker 8 --no-progress
      fi
      shift 2
    done
    ;;

  mpi_windows)
    # The installation is moved first. The program prints which library serves its windows.
    prefix=$work/moved
    cp -r "$2" "$prefix"
    libdir=$(libdir_of "$prefix")
    export PKG_CONFIG_PATH="$libdir/pkgconfig" AMITY_MPI_REPORT=1
    shift 2
    while [ $# -gt 0 ]; do
      flags=$(pkg-config --cflags --libs "amity-mpi-windows-$1")
      fortran=${3/mpicc/mpifort}
      "$fortran" --version >/dev/null 2>&1 || fortran=
      programs=("$work/mpi_consumer" "$work/message_consumer" "$work/build/mpi_consumer" "$work/build/message_consumer")
      # shellcheck disable=SC2086
      "$3" -Wall -Wextra -Werror "$mpi_consumer/main.c" -o "$work/mpi_consumer" $flags
      # shellcheck disable=SC2086
      "$3" -std=c99 -Wall -Wextra -Wpedantic -Werror "$mpi_consumer/messages.c" -o "$work/message_consumer" $flags
      if [ -n "$fortran" ]; then
        module=$(pkg-config --variable=fortran_module "amity-mpi-windows-$1")
        # shellcheck disable=SC2086
        (cd "$work" && "$fortran" "$module" "$mpi_consumer/messages.f90" -o "$work/fortran_consumer" $flags)
        programs+=("$work/fortran_consumer" "$work/build/fortran_consumer")
      fi
      rm -rf "$work/build"
      configure "$mpi_consumer" -DCMAKE_PREFIX_PATH="$prefix" -DMPI="$1" -DCMAKE_C_COMPILER="$3" -DFORTRAN="$fortran"
      build
      for program in "${programs[@]}"; do
        "$2" -n 2 "$program" 2 >"$work/output" 2>&1 || { cat "$work/output"; fail "the program has failed"; }
        grep 'libamity-mpi .* serves the windows' "$work/output" || { cat "$work/output"; fail "amity serves no window"; }
      done
      shift 3
    done
    ;;

  shmem_commands)
    "$2/bin/amity-oshcc" -Wall -Wextra -Werror "$shmem_consumer/main.c" -o "$work/shmem_consumer"
    "$2/bin/amity-oshrun" -n 2 "$work/shmem_consumer" 2
    ;;

  shmem_find_package)
    configure "$shmem_consumer" -DCMAKE_PREFIX_PATH="$2" -DCOMPONENT=shmem
    build
    run "$work/build/shmem_consumer"
    ;;

  shmemx_pkg_config)
    PKG_CONFIG_PATH=$(libdir_of "$2")/pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046
    "$3" -Wall -Wextra -Werror "$shmem_consumer/main.c" -o "$work/shmem_consumer" \
      $(pkg-config --cflags --libs amity-shmemx)
    run_over_other_shmem "$4" "$work/shmem_consumer"
    ;;

  shmemx_find_package)
    configure "$shmem_consumer" -DCMAKE_PREFIX_PATH="$2" -DCOMPONENT=shmemx -DCMAKE_C_COMPILER="$3" \
      -DCMAKE_CXX_COMPILER="$5"
    build
    run_over_other_shmem "$4" "$work/build/shmem_consumer"
    ;;

  *) fail "no mode is called $mode" ;;
esac
