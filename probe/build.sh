#!/bin/sh
# Builds the probe with a compiler alone, for another machine or on a target:
#
#     sh build.sh FOLDER PORT "PROGRAM..." [COMPILER [OPTION...]]
#
# FOLDER gets the programs (hardstone-probe, hardstone-guest). Each file of the port PORT is its
# own, or POSIX's. COMPILER is cc, gcc or clang if it is left out. Programs are linked statically
# where there are static libraries. If a file does not compile, the compiler's last lines are on
# standard error.
set -u
folder=$(mkdir -p "$1" && cd "$1" && pwd) || exit 1
port=$2 programs=$3
shift 3
cd "$(dirname "$0")/src" || exit 1

if [ $# -eq 0 ]; then
    for compiler in ${CC:-cc} gcc clang; do
        if command -v "$compiler" >/dev/null; then
            set -- "$compiler"
            break
        fi
    done
    if [ $# -eq 0 ]; then
        echo "there is no C compiler: install gcc and the headers of the C library" >&2
        exit 127
    fi
fi

# As in meson.build, which finds by programs what the headers of Linux's libraries do not claim.
options="-std=c11 -O2 -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables"
options="$options -fno-unwind-tables -ffp-contract=off ${CFLAGS:-}"
loop_options="-O3 -fno-math-errno"
loops=family/simulate/tire_step.c
if [ "$port" = linux ]; then
    options="$options -DRUSAGE_HAS_COUNTS -DHS_HAS_CPU_CLOCKS=1 -DHS_HAS_PROCESS_SCHEDULING=1"
    options="$options -DHS_HAS_QUEUED_BYTES=1 -DHS_HAS_READY_SIGNAL=1 -DHS_HAS_SYNCHRONIZED_FILES=1"
fi

objects=$folder/objects.$$
trap 'rm -rf "$objects"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$objects" || exit 1

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc 2>/dev/null)
case $jobs in '' | *[!0-9]* | 0) jobs=1 ;; esac

# compile_part COMPILER...: of `files` each that is the `part`-th of `jobs` in turn.
compile_part() {
    at=0
    for file in $files; do
        at=$(((at + 1) % jobs))
        [ $at -eq "$part" ] || continue
        [ -e "$objects/failed" ] && return
        more=
        [ "$file" = "$loops" ] && more=$loop_options
        object=$objects/$program/$(echo "$file" | tr '/.' '__').o
        # shellcheck disable=SC2086 # options are words
        "$@" $options $more $own_options -I. -c "$file" -o "$object" 2>"$object.err" && continue
        { tail -n 20 "$object.err"; echo "$file does not compile"; } >"$object.failed"
        mv "$object.failed" "$objects/failed"
        return
    done
}

# build COMPILER...: `program` of `files`.
build() {
    mkdir "$objects/$program"
    part=0
    while [ $part -lt "$jobs" ]; do
        compile_part "$@" &
        part=$((part + 1))
    done
    wait
    if [ -e "$objects/failed" ]; then
        cat "$objects/failed" >&2
        exit 1
    fi
    static=
    for choice in "-static -Wl,--gc-sections" -static -Wl,--gc-sections; do
        if "$@" $choice -o "$objects/trial" "$objects/trial.c" -lm 2>/dev/null; then
            static=$choice
            break
        fi
    done
    # shellcheck disable=SC2086
    "$@" $static ${LDFLAGS:-} -o "$objects/whole" "$objects/$program"/*.o -lpthread -lrt -lm \
        2>"$objects/link.err" || {
        tail -n 20 "$objects/link.err" >&2
        echo "$program does not link" >&2
        exit 1
    }
    mv "$objects/whole" "$folder/$program"
}

cat >"$objects/trial.c" <<'END'
#include <math.h>
int main(int count, char **words) { (void)words; return (int)sqrt(count); }
END
for program in $programs; do
    if [ "$program" = hardstone-guest ]; then
        files="$(echo ../guest/*.c) agent/child.c agent/frame.c"
        own_options="-D_GNU_SOURCE -I.."
    else
        own_options=
        files=$(find . -name '*.c' | sed 's|^[.]/||' | grep -v '^port/' | LC_ALL=C sort)
        for file in port/posix/*.c; do
            [ -e "port/$port/${file##*/}" ] || files="$files $file"
        done
        files="$files $(echo port/"$port"/*.c)"
    fi
    build "$@"
done
