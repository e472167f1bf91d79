#!/bin/sh
# Selects tests by STARTS and by tamis for the same change and compares the two answers.
#
#   bench/static/compare.sh GROUP:ARTIFACT OLD NEW [DEPENDENCY...]
#
# A DEPENDENCY is GROUP:ARTIFACT:VERSION and goes into the test classpath. Sources and test sources
# of both releases come from the Maven repositories that the user's Maven knows; the pom is ours.
# TAMIS names the tamis to use (default: tamis on the PATH). Needs mvn, a JDK 17 and unzip.
set -eu

name=$1 old=$2 new=$3
shift 3
artifact=${name#*:}
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-$here/../work}/$artifact-$old-$new
tamis=${TAMIS:-tamis}
rm -rf "$work"
mkdir -p "$work/project/src/main" "$work/project/src/test"
work=$(cd "$work" && pwd)
log=$work/log

{
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>bench</groupId><artifactId>bench</artifactId><version>1</version>'
    echo '<properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>'
    echo '<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties><dependencies>'
    for dependency in "$@"; do
        g=$(echo "$dependency" | cut -d: -f1) a=$(echo "$dependency" | cut -d: -f2) v=$(echo "$dependency" | cut -d: -f3)
        echo "<dependency><groupId>$g</groupId><artifactId>$a</artifactId><version>$v</version></dependency>"
    done
    echo '</dependencies><build><plugins>'
    echo '<plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.2</version></plugin>'
    echo '</plugins></build></project>'
} > "$work/project/pom.xml"

# Puts the sources of one release into the project and compiles them.
revision() {
    rm -rf "$work/project/src" "$work/project/target/classes" "$work/project/target/test-classes"
    for side in main:sources test:test-sources; do
        folder=$work/project/src/${side%%:*}
        mvn -q -B dependency:copy "-Dartifact=$name:$1:jar:${side#*:}" "-DoutputDirectory=$work/jars" >> "$log" 2>&1
        mkdir -p "$folder/java" "$folder/resources"
        unzip -q -o "$work/jars/$artifact-$1-${side#*:}.jar" -d "$folder/java"
        rm -rf "$folder/java/META-INF"
        # Resources stand beside the sources in these jars; documentation is no resource.
        (cd "$folder/java" && find . -type f ! -name '*.java' ! -name package.html ! -name overview.html -print0 | tar -c --null -T - -f - | tar -x -C "$folder/resources" -f -)
    done
    (cd "$work/project" && mvn -q -B test-compile >> "$log" 2>&1)
}

starts() {
    (cd "$work/project" && mvn -B edu.illinois:starts-maven-plugin:1.4:select "$@") > "$work/starts.log" 2>&1
    sed -n '/AffectedTests/,$p' "$work/starts.log" | sed -n 's/^INFO: //p' |
        grep -E '^[A-Za-z_0-9.]+$' | sort -u
}

static() {
    (cd "$work/project" && "$tamis" --store "$work/store" static "$@" 2>> "$log")
}

revision "$old"
starts -DupdateSelectChecksums=true > "$work/starts-first"
static select --update --plain | sort > "$work/tamis-first"
static record --passed "$work/tamis-first" > /dev/null
static compare .starts/deps.zlc > "$work/reached-differently"
revision "$new"
began=$(date +%s%N)
starts > "$work/starts-selected"
between=$(date +%s%N)
static select --plain | sort > "$work/tamis-selected"
ended=$(date +%s%N)
static select --explain > "$work/explained"
static --json select > "$work/selection.json"

all=$(wc -l < "$work/explained")
echo "$artifact $old -> $new: $all test classes"
echo "  first run:  STARTS $(wc -l < "$work/starts-first"), tamis $(wc -l < "$work/tamis-first")"
echo "  selected:   STARTS $(wc -l < "$work/starts-selected"), tamis $(wc -l < "$work/tamis-selected")"
echo "  types that the two give different tests (same revision): $(grep -c '^[^ ]' "$work/reached-differently" || true)"
echo "  wall time:  STARTS $(((between - began) / 1000000)) ms (with Maven), tamis $(((ended - between) / 1000000)) ms"
echo "  only STARTS:"
comm -23 "$work/starts-selected" "$work/tamis-selected" | sed 's/^/    /'
echo "  only tamis:"
comm -13 "$work/starts-selected" "$work/tamis-selected" | while read -r test; do
    grep "^run   $test  " "$work/explained" | sed 's/^run   /    /'
done
