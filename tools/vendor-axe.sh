#!/bin/sh
# Replaces the axe-core of the tests: tools/vendor-axe.sh VERSION. It needs npm and sha256sum.
set -eu
version=${1:?usage: tools/vendor-axe.sh VERSION}
here=$(cd "$(dirname "$0")/../tests/python/axe" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "axe-core@$version" > /dev/null
tar xzf "axe-core-$version.tgz"
cp package/axe.min.js package/LICENSE package/LICENSE-3RD-PARTY.txt "$here"
printf '%s\n%s\n' "$version" "$(sha256sum "$here/axe.min.js" | cut -d ' ' -f 1)" > "$here/VERSION"
