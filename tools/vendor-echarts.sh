#!/bin/sh
# Replaces the vendored ECharts: tools/vendor-echarts.sh VERSION. It needs npm and b3sum.
set -eu
version=${1:?usage: tools/vendor-echarts.sh VERSION}
here=$(cd "$(dirname "$0")/../crates/report/assets/echarts" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "echarts@$version" > /dev/null
tar xzf "echarts-$version.tgz"
cp package/dist/echarts.min.js package/LICENSE package/NOTICE "$here"
printf '%s\n%s\n' "$version" "$(b3sum --no-names "$here/echarts.min.js")" > "$here/VERSION"
