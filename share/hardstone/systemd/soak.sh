#!/bin/sh
# What hardstone-soak.service runs. `measure` continues the last recording, or begins one; `ended`
# notes whether it is complete, and writes the metrics of the last run. Variables, as in
# /etc/default/hardstone-soak:
#
#   HARDSTONE           the command (default: hardstone)
#   HARDSTONE_SOAK      options of hardstone latstat, separated by spaces (default: -D 7d)
#   HARDSTONE_NIGHT     how long it measures each time (default: 8h)
#   HARDSTONE_METRICS   file of the metrics, for the node exporter's text-file collector; empty: none
#                       (default: hardstone.prom in the exporter's folder on Debian, if that exists)
#
# systemd sets STATE_DIRECTORY, the folder of the runs, and EXIT_STATUS, how `measure` ended.
set -u
set -f

hardstone=${HARDSTONE:-hardstone}
store=${STATE_DIRECTORY:-hardstone-runs}
begun=$store/soak-begun # has the name of the recording that is not complete
folder=/var/lib/prometheus/node-exporter
metrics=${HARDSTONE_METRICS-$([ -d "$folder" ] && echo "$folder/hardstone.prom")}

# timeout sends what Ctrl-C sends, and passes on what it gets itself.
latstat() {
    exec timeout --signal=INT --kill-after=2m --preserve-status "${HARDSTONE_NIGHT:-8h}" \
        "$hardstone" latstat --store "$store" --quiet "$@"
}

# Whether the noted recording has something left to measure. One that is complete, or that is not
# stored (wrong options, or removed since), is forgotten. If the store cannot be read the note stays,
# and the unit fails.
goes_on() {
    [ -s "$begun" ] || return 1
    "$hardstone" runs --store "$store" >/dev/null || exit
    "$hardstone" latstat --resume "$(cat "$begun")" --store "$store" --dry-run >/dev/null
    case $? in
    0) return 0 ;;
    2) return 1 ;;
    *) exit 1 ;;
    esac
}

case ${1:-} in
measure)
    mkdir -p "$store"
    if goes_on; then
        latstat --resume "$(cat "$begun")"
    fi
    name=soak-$(date -u +%Y%m%dT%H%M%SZ)
    echo "$name" >"$begun"
    # shellcheck disable=SC2086 # each option is a word of its own
    latstat --name "$name" ${HARDSTONE_SOAK:--D 7d}
    ;;
ended)
    # 1: ended by a latency above --threshold: it is not continued.
    case ${EXIT_STATUS:-} in
    1) rm -f "$begun" ;;
    0 | 3 | 130 | 143 | 129) ;;
    *) exit 0 ;; # nothing new was measured: old metrics with a new time would hide that
    esac
    [ -n "$metrics" ] || exit 0
    exec "$hardstone" export last --store "$store" --format openmetrics -o "$metrics"
    ;;
*)
    echo "usage: soak.sh measure|ended" >&2
    exit 2
    ;;
esac
