//! The output of the command, word by word. `TRYCMD=overwrite cargo test -p ssdlab --test suite transcripts::` updates it.

use std::path::Path;

#[test]
fn messages_and_lists_are_as_written_down() {
    trycmd::TestCases::new()
        .case("tests/cmd/*.md")
        .case("../../README.md")
        .case("../../docs/explain.md")
        .case("../../docs/first-results.md")
        .case("../../docs/whatif.md")
        .run();
}

/// The page about traces makes its file itself, so it runs in a folder of its own.
#[test]
fn the_page_about_traces_is_as_written_down() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md");
    let text = std::fs::read_to_string(&page).expect("the page");
    let blocks = |kind: &'static str| text.split(kind).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let folder = tempfile::tempdir().expect("a folder");
    let (copy, files) = (folder.path().join("traces.md"), folder.path().join("traces.in"));
    std::fs::create_dir(&files).expect("a folder");
    std::fs::write(files.join("disk.csv"), blocks("```csv\n").next().expect("a file")).expect("it is written");
    std::fs::write(files.join("study.toml"), blocks("```toml\n").next().expect("a study")).expect("it is written");
    assert!(blocks("```console\n").count() >= 6, "the page shows what it describes");
    // What a run took is another time each time.
    let took = text.lines().find(|line| line.starts_with("simulated in ")).unwrap_or("simulated in [..]");
    let any = |text: &str| text.replace(took, "simulated in [..]");
    std::fs::write(&copy, any(&text)).expect("a copy");
    let done = std::panic::catch_unwind(|| trycmd::TestCases::new().case(&copy).run());
    let now = std::fs::read_to_string(&copy).expect("the copy");
    if now != any(&text) {
        // With TRYCMD=overwrite.
        std::fs::write(page, now.replace("simulated in [..]", took)).expect("the page");
    }
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    for line in blocks("```sh\n").flat_map(str::lines) {
        let done = crate::readme::shell(&files, line);
        assert!(done.status.success(), "{line}\n{}", String::from_utf8_lossy(&done.stderr));
    }
    assert!(std::fs::read(files.join("fig.pdf")).expect("the figure").starts_with(b"%PDF-"));
}
