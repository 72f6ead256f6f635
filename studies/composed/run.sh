#!/bin/sh
# The study of docs/composed.md: `sh studies/composed/run.sh` in the root of the repository, with ssdlab in the PATH.
# Each workload on each file of studies/composed, and on parity's; what the table takes from `compare`, as Markdown.
set -e
limit=${1:-30000}
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# workload, arguments of the workload, arguments of the comparison
study() {
    load=$1
    stretch=$2
    shift 2
    ssdlab compare --preset composed --workload "$load" --time-scale "$stretch" --limit "$limit" --check off --quiet --csv "$@" > "$rows"
    awk -F, -v load="$load" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { name = $2; sub(/.*\//, "", name); sub(/\.toml$/, "", name) }
            function ratio(key) { value = $at[key]; return value == "" ? "-" : sprintf("%.3fx", value) }
            NR == 2 { base = sprintf("%.0f us", $at["all_mean_ns"] / 1000); tail = sprintf("%.2f ms", $at["all_p99_9_ns"] / 1e6) }
            { printf "| %s | %s | %s | %s | %s | %s | %.2f |\n", load, name,
                NR == 2 ? base : ratio("all_mean_ns_ratio"), NR == 2 ? tail : ratio("all_p99_9_ns_ratio"),
                ratio("read_p99_9_ns_ratio"), NR == 2 ? sprintf("%d", $at["erases"]) : ratio("erases_ratio"), $at["write_amplification"] }' "$rows"
}

head() {
    printf '| workload | schemes | mean | p99.9 | p99.9 of reads | erases | WAF |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n'
}

files() {
    directory=$1
    shift
    list=
    for file in "$@"; do list="$list${list:+,}$directory/$file.toml"; done
    echo "$list"
}

one=$(files studies/composed zero-cost serial preemptive idle-chip pagc fastgc a-b-d no-buffer composed)
head
for load in a.hm_0 a.wdev_0 b.msnfs1 c.hm_0 d.vps e.mysql; do study $load 1 --vary "file=$one"; done
study d.financial1 0.1 --vary "file=$one"
for load in mixed-70-30 random-write zipf-write; do study $load 1 --vary "file=$one"; done
echo
parity=$(files studies/composed/parity zero-cost serial piq brr composed)
head
for load in c.hm_0 d.financial1; do study $load 0.3 studies/composed/parity.toml --vary "file=$parity"; done
for load in mixed-70-30 random-write; do study $load 1 studies/composed/parity.toml --vary "file=$parity"; done
