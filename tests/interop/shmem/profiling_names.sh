#!/bin/sh
# Whether pshmem.h declares each profiling name that the library defines: a program that uses them all must compile. And
# whether the compiler's command refuses to link statically, but not to compile for that.
# usage: profiling_names.sh NM LIBRARY COMPILER...
set -eu
names=$("$1" -g "$2" 2>/dev/null | sed -n 's/.* T \(pshmem_[a-z0-9_]*\)$/\1/p' | sort -u)
shift 2
test "$(echo "$names" | wc -l)" -gt 1000
{
  echo '#include <pshmem.h>'
  echo 'void (*const all[])(void) = {'
  for name in $names; do echo "(void (*)(void))$name,"; done
  echo '};'
} | "$@" -Wall -Werror -fsyntax-only -
for option in -static -static-pie; do
  if errors=$("$@" "$option" /dev/null -o /dev/null 2>&1); then exit 1; fi
  echo "$errors" | grep -q "^amity-oshc[c+]*: $option is not supported: .*; link without it$"
  "$@" "$option" -fsyntax-only /dev/null
done
