#!/bin/sh
# What hardstone-soak.service runs. `measure` continues the last recording, or begins one; `ended`
# notes whether it is complete, and writes the metrics of the last run. Variables, as in
# /etc/default/hardstone-soak:
#
#   HARDSTONE           the command (default: hardstone)
#   HARDSTONE_SOAK      options of hardstone latstat, separated by spaces (default: -D 7d)
#   HARDSTONE_NIGHT     how long it measures each time (default: 8h)
#   HARDSTONE_METRICS   file of the metrics, for the node exporter's text-file collector; empty: none
#                       (default: /var/lib/prometheus/node-exporter/hardstone.prom)
#
# systemd sets STATE_DIRECTORY, the folder of the runs, and EXIT_STATUS, how `measure` ended.
set -u
set -f

hardstone=${HARDSTONE:-hardstone}
store=${STATE_DIRECTORY:-hardstone-runs}
begun=$store/soak-begun # has the name of the recording that is not complete
metrics=${HARDSTONE_METRICS-/var/lib/prometheus/node-exporter/hardstone.prom}

# timeout sends what Ctrl-C sends, and passes on what it gets itself.
latstat() {
    exec timeout --signal=INT --kill-after=2m --preserve-status "${HARDSTONE_NIGHT:-8h}" \
        "$hardstone" latstat --store "$store" --quiet "$@"
}

case ${1:-} in
measure)
    mkdir -p "$store"
    if [ -s "$begun" ]; then
        latstat --resume "$(cat "$begun")"
    fi
    name=soak-$(date -u +%Y%m%dT%H%M%SZ)
    echo "$name" >"$begun"
    # shellcheck disable=SC2086 # each option is a word of its own
    latstat --name "$name" ${HARDSTONE_SOAK:--D 7d}
    ;;
ended)
    # Ended by a signal, also by a power cut (then nobody calls this): there is more to measure.
    case ${EXIT_STATUS:-} in
    130 | 143 | 129 | [A-Z]*) ;;
    *) rm -f "$begun" ;;
    esac
    [ -n "$metrics" ] || exit 0
    exec "$hardstone" export last --store "$store" --format openmetrics -o "$metrics"
    ;;
*)
    echo "usage: soak.sh measure|ended" >&2
    exit 2
    ;;
esac
