//! Manuals of arguments that several functions take.

/// Which requests a run serves, and how recordings are read.
macro_rules! requests_manual {
    () => {
        "\
- `trace`: recorded requests: a path, a binary file, an object with `__arrow_c_stream__`, or a dict of buffers.
- `workload`: requests to generate, in place of a trace: a name of `workloads()`, the path of a TOML file, or a dict.
- `tenants`: several of them on one device: a dict of names and texts such as `\"workload:random-read,depth=4\"`.
- `format`: the format of the trace, or `\"auto\"` to detect it.
- `device`: only requests of this volume of the trace.
- `limit`: at most this many requests, over all loops.
- `loop`: the trace or workload this many times, one after the other.
- `until`: `\"end-of-life\"` repeats them until the device accepts no more writes (`life.mode`).
- `time_scale`: arrival times are multiplied by this: a number, or a text such as `\"1/3\"`.
- `replay`: `\"arrival\"` (at the times of the trace) or `\"closed\"` (a new request when one of `device.queue_depth` completes).
- `lba_policy`: requests beyond the end of the device: `\"error\"`, `\"wrap\"`, `\"clip\"` or `\"dense\"`.
- `on_bad_line`: `\"error\"`, or `\"skip=N\"` to leave out at most so many lines that can't be read.
- `time_order`: times that go back: `\"error\"`, `\"sort\"`, `\"clamp\"` or `\"keep\"`.
- `op_codes`: which number is a read where a format leaves it open: `\"read-is-one\"` or `\"read-is-zero\"`.
- `within_second`: times of whole seconds: `\"once\"` (all at its start) or `\"even\"` (spread over it).
- `max_request`: the largest request of a trace: bytes, or a text such as `\"64MiB\"`.
- `traces`: a directory of recordings that replace the workloads that model them."
    };
}

/// How a run is simulated.
macro_rules! how_manual {
    () => {
        "\
- `seed`: seed of every random choice.
- `check`: how much the oracle checks: `\"off\"`, `\"sampled\"` or `\"full\"`; results do not depend on it.
- `count_only`: without time: the same placement, map and GC, but no latencies.
- `memory_limit`: of all devices together: bytes, or a text such as `\"2GiB\"`; by default 80 % of the free memory."
    };
}

macro_rules! progress_manual {
    () => {
        "\
- `progress`: `\"auto\"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`."
    };
}

/// Changes to try, in `explain`.
macro_rules! explain_manual {
    () => {
        "\
- `at`: which requests: `read`, `write` or `all` with a percentile or `max`, such as `\"read.p99.9\"`; `\"request:N\"`; or
  `\"time:FROM..TO\"`. By default `read.p99.9`, or `write.p99.9` without reads.
- `tries`: changes to try, each by a whole run: `\"auto\"`, `\"none\"`, or changes as a dict, a text or a list of these.
- `jobs`: runs at the same time; by default one a core, as far as memory allows.
- `top`: causes that the text shows, at most."
    };
}

/// What does not happen, in `whatif`.
macro_rules! what_if_manual {
    () => {
        "\
- `at`: the moment: `\"slowest\"`, `\"slowest:read\"`, `\"slowest:write\"`, `\"request:N\"`, or a time.
- `change`: keys that one copy has otherwise, as a dict, a text or a list of these.
- `without`: one or more of `gc`, `gc:plane=P`, `gc:job=N`, `request:N`, `tenant:NAME`, `suspend`, `writeback`.
- `before`, `after`: how much is compared: a text such as `\"50ms\"`, or a timedelta.
- `rows`: a row per request of the window, with both futures."
    };
}

macro_rules! report_manual {
    () => {
        "\
- `path`: the file of the page.
- `lite`: without its script: figures can't be zoomed and show no values, and maps and timelines have fewer marks.
- `title`: its title.
- `sections`: only these sections, by name.
- `max_size`: what is thinned to keep the page below this: bytes, or a text."
    };
}

/// Values of an axis that are policies written in Python.
macro_rules! policies_manual {
    () => {
        "\
- `victim`, `trigger`: policies written in Python, in place of those of the configuration"
    };
}
