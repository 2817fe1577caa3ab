#!/bin/bash
# Amity as users get it: installed or fetched, found and linked by a small program that runs on two ranks.
#
# packaging.sh install BUILD PREFIX HEADERS       installs what BUILD made; HEADERS is the public list, by spaces
# packaging.sh install_shared SOURCE PREFIX       builds amity as a shared library and installs it
# packaging.sh find_package PREFIX                a CMake project that finds the installed amity
# packaging.sh pkg_config PREFIX [--static]       one compiler command
# packaging.sh fetch_content SOURCE               a CMake project that builds amity as a part of itself
#
# Builds in a directory of its own, which it removes.
set -euo pipefail

mode=$1
consumer=$(cd "$(dirname "$0")" && pwd)/consumer
work=$(mktemp -d "${TMPDIR:-/tmp}/amity-packaging-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "packaging: $*" >&2
  exit 1
}

run() {
  AMITY_RANKS=2 "$1" 2
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
    libdir=$(dirname "$(find "$2" -name 'libamity.*' | head -1)")
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

  *) fail "no mode is called $mode" ;;
esac
