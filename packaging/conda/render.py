"""Renders the recipe beside it with rattler-build's own parser, and checks what follows from it."""

from pathlib import Path

from rattler_build import Stage0Recipe

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]

variants = Stage0Recipe.from_file(str(FOLDER / "recipe.yaml")).render()
assert len(variants) == 1, variants
recipe = variants[0].recipe
recipe = (recipe() if callable(recipe) else recipe).to_dict()

source = (FOLDER / recipe["source"][0]["path"]).resolve()
assert source == ROOT, source
for file in recipe["about"]["license_file"]:
    assert (source / file).is_file(), f"{file} is not there"
script = " && ".join(recipe["build"]["script"])
for part in ("maturin build --locked", "cargo build --locked --profile dist -p ssdlab", "packaging/stage target/dist/ssdlab $PREFIX"):
    assert part in script, f"the recipe does not run `{part}`"
version = (ROOT / "Cargo.toml").read_text().split('version = "')[1].split('"')[0]
assert recipe["package"] == {"name": "ssdlab", "version": version}, recipe["package"]
names = [name.split()[0] for kind in ("build", "host") for name in recipe["requirements"][kind]]
assert {"python", "pip", "maturin"} <= set(names) and any(name.startswith("rust") for name in names), names
print("recipe:", recipe["package"]["name"], recipe["package"]["version"], "of", ", ".join(names))
