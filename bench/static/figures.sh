#!/bin/sh
# The figures of the static engine that need no other project: run on an otherwise idle machine.
#
#   JDK=/path/to/a/jdk bench/static/figures.sh
#
# 1. all classes of that JDK: read, fingerprinted and graphed, against `jdeps -v` on the same folder
# 2. the closure of 110 tests in a graph of 41,960 nodes and about 509,946 edges
# 3. a project of 2,000 classes without a change, start to end of the tamis process
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=${WORK:-$here/../work}
jdk=${JDK:-${JAVA_HOME:?give JDK or JAVA_HOME}}
runs=${RUNS:-5}
mkdir -p "$work"
(cd "$root" && cargo build --release -q -p tamis --bin tamis && cargo build --release -q -p tamis-select-static --example static_figures)
figures=$root/target/release/examples/static_figures
tamis=$root/target/release/tamis

classes=$work/jdk-classes
if [ ! -d "$classes" ]; then
    "$jdk/bin/jimage" extract --dir "$work/jdk-raw" "$jdk/lib/modules"
    mkdir "$classes"
    for module in "$work"/jdk-raw/*/; do cp -rn "$module"/* "$classes"/; done
    find "$classes" -type f ! -name '*.class' -delete
    rm -rf "$work/jdk-raw"
    # Otherwise jdeps takes the whole folder for the module java.base.
    rm -f "$classes/module-info.class"
fi
echo "== classes of $jdk: $(find "$classes" -name '*.class' | wc -l)"
"$figures" graph "$classes" "$runs"
if [ "${JDEPS:-yes}" = yes ]; then
    began=$(date +%s%N)
    "$jdk/bin/jdeps" -v "$classes" > "$work/jdeps.out" 2>&1
    ended=$(date +%s%N)
    echo "jdeps -v, one run: $(((ended - began) / 1000000)) ms, $(wc -l < "$work/jdeps.out") lines"
fi

echo "== closure"
"$figures" closure "$runs"

echo "== 2,000 classes, no change"
small=$work/two-thousand
rm -rf "$small" "$work/two-thousand-store"
mkdir -p "$small"
(cd "$classes" && find java javax -name '*.class' | sort | head -2000 | tar -c -T - -f - | tar -x -C "$small" -f -)
cd "$work"
"$tamis" --store "$work/two-thousand-store" static --test-classes "$small" select --update > /dev/null 2>&1
# Files that were written a moment ago are read once more.
sleep 3
"$tamis" --store "$work/two-thousand-store" static --test-classes "$small" select > /dev/null 2>&1
i=0
while [ $i -lt "$runs" ]; do
    began=$(date +%s%N)
    "$tamis" --store "$work/two-thousand-store" static --test-classes "$small" select > /dev/null 2>&1
    ended=$(date +%s%N)
    echo "$(((ended - began) / 10000))" | sed 's/..$/.& ms/'
    i=$((i + 1))
done
