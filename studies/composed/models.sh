#!/bin/sh
# Each workload model of the papers and each bundled shape that writes, three seeds, for docs/composed.md:
# `sh studies/composed/models.sh [requests]` in the root of the repository, with ssdlab in the PATH.
set -e
limit=${1:-30000}
rows=$(mktemp)
model=$(mktemp)
trap 'rm -f "$rows" "$model"' EXIT
files=
for name in zero-cost serial preemptive composed; do files="$files${files:+,}studies/composed/$name.toml"; done

printf '| workload | zero-cost mean | serial | preemptive | composed | zero-cost p99.9 | serial | preemptive | composed | zero-cost erases | composed |\n'
printf '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n'
for file in workloads/*.toml; do
    load=$(basename "$file" .toml)
    case $load in random-read | sequential-read) continue ;; esac
    # A range beyond the study's device is shrunk to it, as the workload's own key says; the name gets a star.
    { echo 'scale = true'; cat "$file"; } > "$model"
    range=$(awk -F'"' '/^range = .*KiB/ { if ($2 + 0 > most) most = $2 + 0 } END { print most + 0 }' "$file")
    name=$load
    [ "$range" -le 6710784 ] || name="$load*"
    ssdlab compare --preset composed --workload "$model" --limit "$limit" --repeat 3 --check off --quiet --csv --vary "file=$files" > "$rows"
    # A ratio whose difference is within the half-width of its 95 % interval is marked: it may be noise.
    awk -F, -v load="$name" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        function size(x) { return x < 0 ? -x : x }
        function ratio(key) {
            if ($at[key] == "" || $at[key "_ratio"] == "") return "-"
            return sprintf("%.3fx%s", $at[key "_ratio"], size($at[key "_difference"]) <= $at[key "_half_width"] ? " ~" : "")
        }
        NR == 2 { mean = sprintf("%.0f us", $at["all_mean_ns"] / 1e3); tail = sprintf("%.2f ms", $at["all_p99_9_ns"] / 1e6); count = $at["erases"]; next }
        { mean = mean " | " ratio("all_mean_ns"); tail = tail " | " ratio("all_p99_9_ns"); erases = ratio("erases") }
        END { printf "| %s | %s | %s | %.0f | %s |\n", load, mean, tail, count, erases }' "$rows"
done
