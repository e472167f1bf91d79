#!/bin/sh
# Selects tests by STARTS and by tamis for the same change and compares the two answers.
#
#   bench/static/compare.sh GROUP:ARTIFACT OLD NEW [DEPENDENCY...]
#
# The three of bench/README.md:
#   compare.sh commons-codec:commons-codec 1.14 1.15 junit:junit:4.13 org.apache.commons:commons-lang3:3.9
#   compare.sh commons-cli:commons-cli 1.4 1.5.0 junit:junit:4.13.2
#   compare.sh org.apache.commons:commons-collections4 4.3 4.4 junit:junit:4.12 \
#     org.easymock:easymock:4.0.2 commons-io:commons-io:2.6 org.apache.commons:commons-lang3:3.9
#
# A DEPENDENCY is GROUP:ARTIFACT:VERSION and goes into the test classpath. Sources and test sources
# of both releases come from the Maven repositories that the user's Maven knows; the pom is ours.
# TAMIS names the tamis to use (default: tamis on the PATH). Needs mvn, a JDK 17, Python 3
# and unzip.
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

# Keeps the class files of a revision under a name.
kept() {
    mkdir -p "$work/$1"
    cp -r "$work/project/target/classes" "$work/project/target/test-classes" "$work/$1"
}

revision "$old"
kept old
# The other format of STARTS, in a copy of the project.
cp -r "$work/project" "$work/clz"
(cd "$work/clz" && mvn -q -B edu.illinois:starts-maven-plugin:1.4:select -DdepFormat=CLZ -DupdateSelectChecksums=true) >> "$log" 2>&1
starts -DupdateSelectChecksums=true > "$work/starts-first"
static select --update --plain | sort > "$work/tamis-first"
static record --passed "$work/tamis-first" > /dev/null
static compare .starts/deps.zlc > "$work/reached-differently"
static compare "$work/clz/.starts" > "$work/reached-differently-clz"
static export --format zlc --to "$work/deps-tamis.zlc"
static export --format clz --to "$work/clz-tamis"
revision "$new"
kept new
began=$(date +%s%N)
starts > "$work/starts-selected"
between=$(date +%s%N)
static select --plain | sort > "$work/tamis-selected"
ended=$(date +%s%N)
static select --explain > "$work/explained"
static --without resource select --plain | sort > "$work/tamis-code"
static --without resource select --explain > "$work/explained-code"
static --json diff > "$work/diff.json"

lines() { wc -l < "$1" | tr -d ' '; }
echo "$artifact $old -> $new: $(lines "$work/explained") test classes"
echo "  first run:  STARTS $(lines "$work/starts-first"), tamis $(lines "$work/tamis-first")"
echo "  selected:   STARTS $(lines "$work/starts-selected"), tamis $(lines "$work/tamis-selected"), without resources $(lines "$work/tamis-code")"
echo "  types that the two give different tests (same revision): ZLC $(grep -c '^[^ ]' "$work/reached-differently" || true), CLZ $(grep -c '^[^ ]' "$work/reached-differently-clz" || true)"
echo "    tests that differ there: $(sed -n 's/^  only/only/p' "$work/reached-differently" "$work/reached-differently-clz" | tr -d ',' | tr ' ' '\n' | grep '\.' | sort -u | tr '\n' ' ')"
echo "  wall time:  STARTS $(((between - began) / 1000000)) ms (with Maven), tamis $(((ended - between) / 1000000)) ms"
python3 "$here/explain.py" "$work" "${JAVA_HOME:+$JAVA_HOME/bin/}javap" | sed 's/^/  /'
