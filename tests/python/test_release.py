"""Files for hosts parse, and have the parts that a host needs. (crates/cli/tests/suite/release.rs checks what they name.)"""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_jobs_with_steps(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    # YAML 1.1 reads the key `on` as true.
    assert workflow["name"] == path.stem and workflow[True]
    assert workflow["permissions"]["contents"] in ("read", "write")
    for name, job in workflow["jobs"].items():
        assert job["runs-on"] and job["steps"], name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), (name, step)
            if "uses" in step:
                assert "@" in step["uses"], (name, step)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_templates_of_issues_ask_for_the_command_that_repeats(path: Path) -> None:
    template = yaml.safe_load(path.read_text())
    if path.stem == "config":
        assert "blank_issues_enabled" in template
        return
    fields = {field["id"]: field for field in template["body"]}
    assert fields["repeat"]["validations"]["required"], path
    assert all(field["attributes"]["label"] for field in fields.values())


def test_the_citation_has_what_the_format_requires() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version"} <= citation.keys()
