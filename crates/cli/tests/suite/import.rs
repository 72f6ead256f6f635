//! `ssdlab import`, and `--import` of other commands.

use crate::common::Bench;

const DRIVE: &str = include_str!("../../../import/tests/import/mqsim-drive.xml");
const LOAD: &str = include_str!("../../../import/tests/import/mqsim-load.xml");
const PARAMETERS: &str = include_str!("../../../import/tests/import/page.parameters");

/// MQSim's drive, small enough to run: 96 MiB with room for GC.
fn bench() -> Bench {
    let bench = Bench::new();
    let small = DRIVE
        .replace(">2048</Block_No", ">24</Block_No")
        .replace(">256</Page_No", ">32</Page_No")
        .replace(">8192</Page_Cap", ">4096</Page_Cap")
        .replace(">0.07</Over", ">0.25</Over")
        .replace(">268435456</Data_Cache", ">1048576</Data_Cache");
    std::fs::write(bench.path().join("ssdconfig.xml"), small).unwrap();
    let short = LOAD.replace(">1000000000</Stop", ">2000000</Stop");
    std::fs::write(bench.path().join("workload.xml"), short).unwrap();
    std::fs::write(bench.path().join("page.parameters"), PARAMETERS).unwrap();
    bench
}

#[test]
fn importing_and_running_in_one_step_is_the_same_as_in_two() {
    let bench = bench();
    let direct = bench.good("run --import ssdconfig.xml --import workload.xml --json - --quiet");
    bench.good("import ssdconfig.xml workload.xml -o drive.toml --workload-out load --notes notes.json --strict");
    let indirect = bench.good("run drive.toml --workload load.toml --json - --quiet");
    assert_eq!(direct, indirect);
    let notes: serde_json::Value = serde_json::from_str(&bench.text("notes.json")).unwrap();
    assert_eq!(notes["schema"], "ssdlab.import/1");
    assert_eq!(notes["counts"]["unknown"], 0);
    // Layers after it win, and its values show their lines.
    let shown = bench.good("config show --import ssdconfig.xml --set gc.threshold=0.04");
    let line = 1 + DRIVE[..DRIVE.find("<Flash_Channel_Count>").unwrap()].matches('\n').count();
    let channels = shown.lines().find(|line| line.starts_with("channels = 8")).unwrap();
    assert!(channels.ends_with(&format!("# ssdconfig.xml:{line}")), "{channels}");
    assert!(shown.contains("threshold = 0.04                            # --set"), "{shown}");
    let compared = bench.good("compare --import ssdconfig.xml --import workload.xml --limit 200 --vary schemes.victim=greedy,fifo --quiet --csv");
    assert_eq!(
        compared.lines().filter(|line| line.contains("greedy") || line.contains("fifo")).count(),
        2,
        "{compared}"
    );
}

#[test]
fn several_flows_are_files_of_their_own() {
    let bench = bench();
    let said =
        bench.good("import ssdconfig.xml workload.xml --scenario 2 -o drive.toml --workload-out load --notes notes.md");
    assert!(said.contains("2 flows run as tenants"), "{said}");
    assert!(bench.text("load-1.toml").contains("read = 0.7") && bench.text("load-2.toml").contains("hot-cold"));
    assert!(bench.text("notes.md").contains("| mqsim") || bench.text("notes.md").contains("| ssdconfig.xml:"));
    bench.good("run drive.toml --workload load-1.toml --limit 50 --quiet");
    // The command that is printed gives what one step does.
    let printed = String::from_utf8(
        bench.run("import ssdconfig.xml workload.xml --scenario 2 -o again.toml --workload-out again").stderr,
    )
    .unwrap();
    let command =
        printed.lines().find_map(|line| line.split_once("to run it: ssdlab ")).unwrap_or_else(|| panic!("{printed}")).1;
    assert!(command.contains("--tenant flow2=workload:again-2.toml"), "{command}");
    let two = bench.good(&format!("{command} --limit 200 --json - --quiet"));
    let one = bench.good(
        "run --import ssdconfig.xml --import workload.xml --from mqsim --scenario 2 --limit 200 --json - --quiet",
    );
    assert_eq!(one, two);
    assert!(one.contains("\"flow2\": {"), "{one}");
    // The configuration on standard output, the account beside it.
    let output = bench.run("import page.parameters -o -");
    let (toml, account) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(
        toml.contains("[geometry]\nchannels = 2") && account.contains("unused by the original ("),
        "{toml}{account}"
    );
}

#[test]
fn a_trace_takes_the_place_of_imported_requests() {
    let bench = bench();
    std::fs::write(bench.path().join("small.trace"), "0 0 8 8 1\n1000000 0 16 8 0\n").unwrap();
    let traced = |more: &str| bench.good(&format!("run --import ssdconfig.xml --json - --quiet {more}"));
    let own = traced("--trace small.trace --format mqsim");
    assert!(own.contains("\"read\": 1"), "{own}");
    // Only the third scenario names the trace; alone it is the first.
    let third = format!(
        "<MQSim_IO_Scenarios>{}",
        LOAD.rsplit("<IO_Scenario>").next().map(|rest| format!("<IO_Scenario>{rest}")).unwrap()
    );
    std::fs::write(bench.path().join("third.xml"), third).unwrap();
    let followed = traced("--import third.xml --follow-traces .");
    assert!(followed.contains("\"read\": 2"), "{followed}");
    let said = bench.bad("run --import ssdconfig.xml --import third.xml", 2);
    assert!(said.contains("--follow-traces DIR"), "{said}");
}

/// The element of a flow of the sample, with its values replaced.
fn flow(kind: &str, from: usize, changes: &[(&str, &str)]) -> String {
    let open = format!("<IO_Flow_Parameter_Set_{kind}>");
    let start = LOAD.match_indices(&open).nth(from).unwrap().0;
    let end = LOAD[start..].find("</IO_Flow_Parameter_Set").unwrap();
    let element = format!("{}</IO_Flow_Parameter_Set_{kind}>", &LOAD[start..start + end]);
    changes.iter().fold(element, |element, (old, new)| {
        assert!(element.contains(old), "{old}");
        element.replace(old, new)
    })
}

fn scenario(flows: &[String]) -> String {
    format!("<MQSim_IO_Scenarios><IO_Scenario>{}</IO_Scenario></MQSim_IO_Scenarios>", flows.concat())
}

#[test]
fn a_trace_beside_a_generated_flow_runs_in_its_part_of_the_addresses() {
    let bench = bench();
    let closed = flow("Synthetic", 0, &[(">1000000000</Stop", ">0</Stop"), (">0</Total", ">50</Total")]);
    std::fs::write(bench.path().join("both.xml"), scenario(&[closed, flow("Trace_Based", 0, &[])])).unwrap();
    std::fs::write(bench.path().join("small.trace"), "0 0 8 8 1\n1000000 0 16 8 0\n").unwrap();
    let files = "ssdconfig.xml both.xml -o drive.toml --workload-out load";
    let printed = |arguments: &str| {
        let said = String::from_utf8(bench.run(arguments).stderr).unwrap();
        said.lines()
            .find_map(|line| line.split_once("to run it: ssdlab "))
            .unwrap_or_else(|| panic!("{said}"))
            .1
            .to_string()
    };
    let command = printed(&format!("import {files} --follow-traces ."));
    assert!(command.contains("--tenant flow1=workload:load.toml,depth=16"), "{command}");
    assert!(command.contains("flow2=trace:./small.trace,format=mqsim,loop=2,lba_policy=wrap"), "{command}");
    let one = "run --import ssdconfig.xml --import both.xml --follow-traces .";
    let two = bench.good(&format!("{command} --json - --quiet"));
    assert_eq!(bench.good(&format!("{one} --json - --quiet")), two);
    // Without the directory, the command says where it goes.
    assert!(printed(&format!("import {files}")).contains("trace:DIR/small.trace"));
    // Addresses of the trace lie in the second half.
    bench.good(&format!("{one} --requests requests.csv --quiet"));
    let table = bench.text("requests.csv");
    let header: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (offset, tenant) = (column("offset"), column("tenant"));
    let half = 8 * 4 * 2 * 2 * 24 * 32 * 4096 * 3 / 4 / 2;
    let of = |flow: &str| -> Vec<u64> {
        let rows = table.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        rows.filter(|row| row[tenant] == flow).map(|row| row[offset].parse().unwrap()).collect()
    };
    assert!(of("flow1").iter().all(|offset| *offset < half));
    assert_eq!(of("flow2"), [4096, 8192, 4096, 8192].map(|offset: u64| half + offset));
}

#[test]
fn options_win_over_what_a_file_says_of_its_trace() {
    let bench = bench();
    // The second request is beyond the device.
    std::fs::write(bench.path().join("small.trace"), "0 0 8 8 1\n1000000 0 9999999 8 0\n").unwrap();
    let trace = flow("Trace_Based", 0, &[(">2</Relay", ">3</Relay")]);
    std::fs::write(bench.path().join("one.xml"), scenario(std::slice::from_ref(&trace))).unwrap();
    std::fs::write(bench.path().join("two.xml"), scenario(&[trace.clone(), trace])).unwrap();
    let reads = |arguments: &str| {
        let summary: serde_json::Value =
            serde_json::from_str(&bench.good(&format!("run --import ssdconfig.xml {arguments} --json - --quiet")))
                .unwrap();
        summary["requests"]["read"].as_u64().unwrap() + summary["requests"]["write"].as_u64().unwrap()
    };
    for (file, flows) in [("one.xml", 1), ("two.xml", 2)] {
        let followed = format!("--import {file} --follow-traces .");
        assert_eq!(reads(&followed), 6 * flows, "{file}");
        assert_eq!(reads(&format!("{followed} --loop 1")), 2 * flows, "{file}");
        assert_eq!(reads(&format!("{followed} --lba-policy clip")), 3 * flows, "{file}");
        let refused = format!("run --import ssdconfig.xml {followed} --lba-policy error --quiet");
        assert!(bench.bad(&refused, 3).contains("wrap, clip or dense"), "{file}");
        assert!(!bench.run(&format!("run --import ssdconfig.xml {followed} --format msr --quiet")).status.success());
    }
    // A trace in its place is replayed as the file says.
    assert_eq!(reads("--import one.xml --trace small.trace"), 6);
    assert_eq!(reads("--import one.xml --trace small.trace --loop 2 --lba-policy clip"), 2);
    let said = String::from_utf8(
        bench
            .run("run --import ssdconfig.xml --import two.xml --trace small.trace --format mqsim --lba-policy wrap")
            .stderr,
    )
    .unwrap();
    assert!(said.contains("the trace takes the place of 2 imported flows"), "{said}");
}

#[test]
fn mistakes_name_the_fix() {
    let bench = bench();
    for (arguments, status, message) in [
        ("run --import ssdconfig.xml", 2, "give --trace FILE, --workload NAME or --tenant NAME=..."),
        ("run --import ssdconfig.xml --import workload.xml --workload quickstart", 2, "leave one of them out"),
        ("run --import - --workload quickstart", 2, "standard input can be read only once"),
        ("run --import absent.xml --workload quickstart", 4, "cannot read the import absent.xml"),
        ("run --workload quickstart --follow-traces .", 2, "--import"),
        ("import ssdconfig.xml --notes notes.txt", 2, "end the name in .md or .json"),
        ("import ssdconfig.xml -o ssdconfig.xml", 2, "would replace what the import reads"),
        ("import ssdconfig.xml --workload-out load", 2, "describe no generated requests"),
        ("run --workload quickstart --scenario 2", 2, "--import"),
        ("run --import ssdconfig.xml --import workload.xml --scenario 4", 2, "--scenario 4: the file has 3 scenarios"),
        ("run --import page.parameters --from mqsim --workload quickstart", 2, "expected a configuration file in XML"),
        ("import page.parameters --from mqsim", 2, "expected a configuration file in XML"),
        ("import page.parameters --from qemu", 2, "expected auto, mqsim, ssdsim"),
        ("import tiny.toml", 2, "a configuration of this program"),
        ("import ssdconfig.xml --scenario 2", 2, "no file has scenarios"),
        ("run --import ssdconfig.xml --scenario 2 --workload quickstart", 2, "no file has scenarios"),
        ("import ssdconfig.xml workload.xml workload.xml", 2, "each describe requests"),
    ] {
        let said = bench.bad(arguments, status);
        assert!(said.contains(message), "{arguments}: {said}");
    }
    let odd = PARAMETERS.replace("t_R = 20000", "t_RR2 = 5;\nt_R = 20000");
    std::fs::write(bench.path().join("odd.parameters"), odd).unwrap();
    assert!(bench.good("import odd.parameters").contains("unknown (1)"));
    let said = bench.bad("import odd.parameters --strict", 2);
    assert!(said.contains("odd.parameters:21: t_RR2"), "{said}");
}
