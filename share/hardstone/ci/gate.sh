#!/bin/sh
# Measures, gates and writes what a CI system shows. The GitHub action, the GitLab job and the LAVA
# job run this file; everything is chosen by variables, none of which reaches a shell again.
#
#   HARDSTONE          the command (default: hardstone)
#   HARDSTONE_TARGET   local, ssh://[USER@]HOST, a named target, lab:KERNEL (default: local)
#   HARDSTONE_TESTS    tests, separated by spaces (default: TMR-P-LAT)
#   HARDSTONE_RUN      more options of hardstone run, separated by spaces: --load heavy -D 5m
#   HARDSTONE_REPEAT   how many runs (default: 3); each is held against the limits
#   HARDSTONE_LIMITS   file of limits: a run fails if one figure is beyond its limit
#   HARDSTONE_BASELINE name of at least 10 stored runs: fails if a run is worse than all of them
#   HARDSTONE_STORE    folder of the runs (default: hardstone-runs); keep it for a baseline
#   HARDSTONE_OUT      folder of the results (default: hardstone-results): report.html, the summary
#                      in Markdown, junit-limits.xml, junit-baseline.xml, runs.txt
#   HARDSTONE_GATE     more options of hardstone gate, separated by spaces: --lava
#
# Exit code: the worst of 0 (PASS), 3 (INCONCLUSIVE: also if a test did not end), 1 (FAIL), and what
# decided nothing: 2 (wrong usage, or a result that could not be written), 4 (not reached), 5 (no
# privilege), 70 (internal error), 127 (no hardstone), 130 (interrupted).
set -u
set -f

hardstone=${HARDSTONE:-hardstone}
target=${HARDSTONE_TARGET:-local}
store=${HARDSTONE_STORE:-hardstone-runs}
out=${HARDSTONE_OUT:-hardstone-results}
repeat=${HARDSTONE_REPEAT:-3}
limits=${HARDSTONE_LIMITS:-}
baseline=${HARDSTONE_BASELINE:-}
summary=$out/summary.md
worst=0
before= is_running=

die() {
    echo "gate.sh: $1" >&2
    exit 2
}

# A FAIL is a fact, INCONCLUSIVE is not decided, and an error decides nothing.
count() {
    case $1 in
    0) ;;
    3) [ "$worst" -ne 0 ] || worst=3 ;;
    1) case $worst in 0 | 3) worst=1 ;; esac ;;
    *) case $worst in 0 | 1 | 3) worst=$1 ;; esac ;;
    esac
}

# A job that is cancelled must not leave a load and real-time threads behind: hardstone is ended,
# keeps what it measured, and is waited for. $! itself is used: a signal may come before a copy of
# it is made.
stop() {
    trap '' INT TERM HUP
    if [ -n "$is_running" ] && [ "${!:-}" != "$before" ]; then
        kill -TERM "$!" 2>/dev/null
        wait "$!"
    fi
    exit 130
}
trap stop INT TERM HUP

# In the background, so that the shell hears of a signal while hardstone runs.
call() {
    before=${!:-}
    is_running=1
    "$hardstone" "$@" &
    wait "$!"
    ended=$?
    is_running=
    return "$ended"
}

[ -n "$limits$baseline" ] ||
    die "nothing to hold the runs against: set HARDSTONE_LIMITS or HARDSTONE_BASELINE"
case $repeat in
'' | *[!0-9]* | 0*) die "HARDSTONE_REPEAT=$repeat is no count" ;;
esac
[ -z "$limits" ] || [ -r "$limits" ] || die "HARDSTONE_LIMITS=$limits cannot be read"
mkdir -p "$out" || die "cannot make $out"
# What another job left says nothing about this one.
rm -f "$out/report.html" "$summary" "$out/runs.txt" || die "cannot remove old results in $out"
for kind in limits baseline; do
    rm -f "$out/junit-$kind.xml" "$out/gate-$kind.md" || die "cannot remove old results in $out"
done
if [ -n "$baseline" ]; then
    call show "$baseline" --store "$store" >"$out/runs.txt"
    case $? in
    0 | 3) ;;
    *) die "HARDSTONE_BASELINE=$baseline cannot be read from $store" ;;
    esac
fi

name=ci-$(date -u +%Y%m%dT%H%M%SZ)-$$
several=
[ "$repeat" -eq 1 ] || several="--repeat $repeat"
# shellcheck disable=SC2086 # each of their words is an option
call run ${HARDSTONE_TESTS:-TMR-P-LAT} --target "$target" --store "$store" \
    --name "$name" $several --quiet ${HARDSTONE_RUN:-} >"$out/runs.txt"
code=$?
cat "$out/runs.txt"
case $code in
0 | 1 | 3) count "$code" ;; # measured, perhaps not all of it: the gate says what of it is worth
*) exit "$code" ;;
esac

runs() { # the names of all runs, one a line
    number=1
    while [ "$number" -le "$repeat" ]; do
        if [ "$repeat" -eq 1 ]; then echo "$name"; else echo "$name $number of $repeat"; fi
        number=$((number + 1))
    done
}

newline='
'
old_ifs=$IFS
IFS=$newline
# shellcheck disable=SC2046 # one word a line
set -- $(runs)
IFS=$old_ifs

gate() { # KIND OPTION VALUE RUN...: one gate; it passes only if it wrote its results
    kind=$1 option=$2 against=$3
    shift 3
    # shellcheck disable=SC2086
    call gate "$@" "$option" "$against" --store "$store" --junit "$out/junit-$kind.xml" \
        --github "$out/gate-$kind.md" ${HARDSTONE_GATE:-}
    code=$?
    count "$code"
    if [ -s "$out/junit-$kind.xml" ] && [ -s "$out/gate-$kind.md" ]; then
        cat "$out/gate-$kind.md" >>"$summary" || count 2
    else
        count 2
        echo "## hardstone gate ($kind): not decided, exit code $code" >>"$summary" || count 2
    fi
}

if [ "$worst" -ne 0 ]; then
    echo "**hardstone run ended with $worst: not everything that was asked for was measured.**" \
        >>"$summary" || count 2
fi
if [ -n "$limits" ]; then gate limits --limits "$limits" "$@"; fi
if [ -n "$baseline" ]; then gate baseline --baseline "$baseline" "$@"; fi

for run in "$@"; do last=$run; done
call report "$last" --store "$store" -o "$out/report.html"
count $?
for run in "$@"; do
    call export "$run" --store "$store" --format markdown >>"$summary"
    count $?
done
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY" || count 2
fi
exit "$worst"
