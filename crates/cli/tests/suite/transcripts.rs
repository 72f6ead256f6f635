//! The output of the command, word by word. `TRYCMD=overwrite cargo test -p ssdlab --test suite transcripts::` updates it.

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
