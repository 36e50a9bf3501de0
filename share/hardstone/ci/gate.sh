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
#   HARDSTONE_OUT      folder of report.html, summary.md, junit.xml, gate.json (default:
#                      hardstone-results)
#   HARDSTONE_GATE     more options of hardstone gate, separated by spaces: --lava
#
# Exit code: that of the gate (0 PASS, 1 FAIL, 3 INCONCLUSIVE), or of hardstone run if it could not
# measure (2 wrong usage, 4 not reached, 5 no privilege, 130 interrupted).
set -u
set -f

hardstone=${HARDSTONE:-hardstone}
target=${HARDSTONE_TARGET:-local}
store=${HARDSTONE_STORE:-hardstone-runs}
out=${HARDSTONE_OUT:-hardstone-results}
repeat=${HARDSTONE_REPEAT:-3}
limits=${HARDSTONE_LIMITS:-}
baseline=${HARDSTONE_BASELINE:-}

die() {
    echo "gate.sh: $1" >&2
    exit 2
}

[ -n "$limits$baseline" ] || die "nothing to hold the runs against: set HARDSTONE_LIMITS or HARDSTONE_BASELINE"
case $repeat in
'' | *[!0-9]* | 0*) die "HARDSTONE_REPEAT=$repeat is no count" ;;
esac
mkdir -p "$out" || die "cannot make $out"

several=
[ "$repeat" -eq 1 ] || several="--repeat $repeat"
name=ci-$(date -u +%Y%m%dT%H%M%SZ)-$$
# shellcheck disable=SC2086 # each of their words is an option
"$hardstone" run ${HARDSTONE_TESTS:-TMR-P-LAT} --target "$target" --store "$store" \
    --name "$name" $several --quiet ${HARDSTONE_RUN:-} >"$out/runs.txt"
code=$?
cat "$out/runs.txt"
case $code in
0 | 1 | 3) ;; # measured: the gate says what the runs are worth
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

summary=$out/summary.md
worst=0
gate() { # one gate; its outcome counts if it is worse than those before
    # shellcheck disable=SC2086
    "$hardstone" gate "$@" --store "$store" --junit "$out/junit-$kind.xml" \
        --github "$out/gate-$kind.md" ${HARDSTONE_GATE:-}
    found=$?
    cat "$out/gate-$kind.md" >>"$summary" 2>/dev/null
    # FAIL is a fact, INCONCLUSIVE is not decided, and an error decided nothing.
    case $found in
    0) ;;
    1) [ "$worst" -eq 0 ] || [ "$worst" -eq 3 ] && worst=1 ;;
    3) [ "$worst" -eq 0 ] && worst=3 ;;
    *) worst=$found ;;
    esac
}

: >"$summary"
if [ -n "$limits" ]; then
    kind=limits
    gate "$@" --limits "$limits"
fi
if [ -n "$baseline" ]; then
    kind=baseline
    gate "$@" --baseline "$baseline"
fi

for run in "$@"; do last=$run; done
"$hardstone" report "$last" --store "$store" -o "$out/report.html"
"$hardstone" export "$last" --store "$store" --format markdown >>"$summary"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$summary" >>"$GITHUB_STEP_SUMMARY"; fi
exit "$worst"
