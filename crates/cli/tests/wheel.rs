//! The Python package: builds the wheel into a scratch environment and runs `tests/python` there.
//!
//! The wheel is built while the libraries of the tests are installed, and two tests run at a time.
//! `SSDLAB_ENVIRONMENT` names an environment that is used in place of a scratch one, so that libraries need not be installed again.
//! Without a Python that can do so the test says what is missing and passes; with `SSDLAB_PYTHON=1` it fails.
//! `SSDLAB_PROFILE=release` builds and tests the wheel that would be published, and its size; this takes 18 minutes of CPU time more.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names of interpreters, the system's own first.
const NAMES: [&str; 6] = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
/// The free-threaded one.
const FREE: &str = "python3.14t";
/// What builds the wheel.
const MATURIN: &str = "maturin==1.16.0";
/// Succeeds on an interpreter that will do.
const FITS: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

fn run(command: &mut Command) -> Result<Output, String> {
    let shown = format!("{command:?}");
    let done = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if done.status.success() {
        return Ok(done);
    }
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    Err(format!("{shown} failed\n{out}\n{err}"))
}

/// An interpreter of Python 3.11 or newer with venv.
fn interpreter() -> Option<&'static str> {
    NAMES.into_iter().find(|name| run(Command::new(name).args(["-c", FITS])).is_ok())
}

/// An environment with maturin: its interpreter. It is a scratch one, unless one is `ready`.
fn environment(python: &str, scratch: &Path, ready: Option<PathBuf>) -> Result<PathBuf, String> {
    let home = ready.clone().unwrap_or_else(|| scratch.join("environment"));
    if ready.is_none() {
        run(Command::new(python).args(["-m", "venv"]).arg(&home))?;
    }
    let own = if cfg!(windows) { home.join("Scripts/python.exe") } else { home.join("bin/python") };
    run(install(&own).arg(MATURIN))?;
    Ok(own)
}

/// Installs into an environment. Tests import a small part of it, which Python compiles then.
fn install(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
    pip
}

/// Installs the tools and libraries of the tests, and the wheel that is built meanwhile: its path.
fn prepare(python: &Path, root: &Path, scratch: &Path) -> Result<PathBuf, String> {
    let libraries = || run(install(python).arg("--requirement").arg(root.join("tests/python/requirements.txt")));
    let (wheel, installed) = std::thread::scope(|threads| {
        let installed = threads.spawn(libraries);
        (wheel(python, root, scratch), installed.join().expect("pip runs"))
    });
    installed?;
    run(install(python).arg("--no-deps").arg(&wheel)).unwrap_or_else(|error| panic!("{error}"));
    Ok(wheel)
}

/// Whether the wheel is the one that would be published.
fn released() -> bool {
    std::env::var_os("SSDLAB_PROFILE").is_some_and(|value| value == "release")
}

/// The wheel, compiled as the tests are unless it is released. It takes what they compiled as far as features are the same: see
/// CONTRIBUTING.md.
fn wheel(python: &Path, root: &Path, scratch: &Path) -> PathBuf {
    let out = scratch.join("wheel");
    let profile = if released() { "wheel" } else { "dev" };
    let arguments = ["-m", "maturin", "build", "--profile", profile, "--locked", "--out"];
    let build = run(Command::new(python).args(arguments).arg(&out).current_dir(root));
    build.unwrap_or_else(|error| panic!("{error}"));
    let mut wheels =
        std::fs::read_dir(out).expect("the wheel's directory").map(|entry| entry.expect("an entry").path());
    wheels.next().expect("a wheel")
}

/// Runs the tests with the wheel, in an environment of their own: two at a time, or one where they measure times.
fn test(python: &Path, root: &Path, scratch: &Path, variables: &[(&str, &str)]) -> Result<(), String> {
    let wheel = prepare(python, root, scratch)?;
    let alone = std::env::var_os("SSDLAB_TIMING").is_some_and(|value| value == "1");
    let parallel: &[&str] = if alone { &["-p", "no:xdist"] } else { &["-n", "2", "--dist", "worksteal"] };
    // The sources of the package are next to the tests: they must not be found in place of the wheel.
    let mut tests = Command::new(python);
    tests.args(["-P", "-m", "pytest", "-q", "-rs", "--durations=20", "-p", "no:cacheprovider"]).args(parallel);
    tests.arg(root.join("tests/python")).current_dir(scratch).envs(variables.iter().copied());
    tests.env("PYTHONPYCACHEPREFIX", scratch.join("bytecode"));
    tests.env("SSDLAB_BINARY", env!("CARGO_BIN_EXE_ssdlab"));
    if released() {
        tests.env("SSDLAB_WHEEL", &wheel);
    }
    match run(&mut tests) {
        Ok(done) => println!("{}", String::from_utf8_lossy(&done.stdout)),
        Err(error) => panic!("{error}"),
    }
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

#[test]
fn the_python_package_passes_its_tests() {
    let required = std::env::var_os("SSDLAB_PYTHON").is_some_and(|value| value == "1");
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let found = interpreter().ok_or_else(|| "no Python 3.11 or newer with venv".to_string());
    let ready = std::env::var_os("SSDLAB_ENVIRONMENT").map(PathBuf::from);
    let ready = found.and_then(|python| environment(python, scratch.path(), ready));
    match ready.and_then(|python| test(&python, &root(), scratch.path(), &[])) {
        Ok(()) => {}
        Err(missing) if required => panic!("SSDLAB_PYTHON=1: {missing}"),
        Err(missing) => {
            println!("the Python package is not tested: {}", missing.lines().next().unwrap_or_default());
        }
    }
}

/// A free-threaded Python has a wheel of its own. Nothing needs one.
#[test]
fn the_package_passes_its_tests_without_the_global_lock() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let found = run(Command::new(FREE).args(["-c", FITS])).map_err(|_| format!("no {FREE} with venv"));
    let ready = found.and_then(|_| environment(FREE, scratch.path(), None));
    match ready.and_then(|python| test(&python, &root(), scratch.path(), &[("PYTHON_GIL", "0")])) {
        Ok(()) => {}
        Err(missing) => println!("free-threaded Python is not tested: {}", missing.lines().next().unwrap_or_default()),
    }
}
