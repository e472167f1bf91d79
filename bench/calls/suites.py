"""Real suites and what each of their tests really ran. For the scripts beside this file."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "jvm"))

from projects import maven, of_release  # noqa: E402  (after the line above)

WORK = ROOT / "bench" / "work" / "suites"
TAMIS = os.environ.get("TAMIS", str(ROOT / "target" / "release" / "tamis"))

# Name: artifact, release, what its tests need, and the pom.
SUITES = {
    "cli": ("commons-cli:commons-cli", "1.5.0", ["junit:junit:4.13.2"], {}),
    "codec": ("commons-codec:commons-codec", "1.15",
              ["junit:junit:4.13", "org.apache.commons:commons-lang3:3.9"], {}),
    "lang": ("org.apache.commons:commons-lang3", "3.12.0",
             ["org.junit.platform:junit-platform-commons:1.7.1", "org.junit.platform:junit-platform-launcher:1.7.1",
              "org.junit.jupiter:junit-jupiter:5.7.1", "org.junit-pioneer:junit-pioneer:1.3.8",
              "org.hamcrest:hamcrest:2.2", "org.easymock:easymock:4.2", "org.openjdk.jmh:jmh-core:1.27",
              "com.google.code.findbugs:jsr305:3.0.2"], {"surefire": "3.2.5"}),
}


def jdk_home():
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    java = subprocess.run(["which", "java"], capture_output=True, text=True, check=True).stdout.strip()
    return str(Path(java).resolve().parent.parent)


def project(name):
    """The compiled project, made once."""
    folder = WORK / name
    if not (folder / "target" / "test-classes").is_dir():
        WORK.mkdir(parents=True, exist_ok=True)
        artifact, version, dependencies, pom = SUITES[name]
        if not folder.is_dir():
            of_release(folder, WORK, artifact, version, dependencies, **pom)
            # A project of its own for tamis, wherever it lies.
            (folder / "tamis.toml").touch()
        maven(["-q", "test-compile"], folder)
    return folder


def entries(name):
    """The project's folders of classes, and the jars of its libraries."""
    folder = project(name)
    listing = WORK / f"{name}.classpath"
    if not listing.is_file():
        maven(["-q", "dependency:build-classpath", "-Dmdep.includeScope=test",
               f"-Dmdep.outputFile={listing}"], folder)
    jars = [Path(p) for p in listing.read_text().strip().split(":") if p]
    return [folder / "target" / "test-classes", folder / "target" / "classes"], jars


def tamis(name, *words):
    call = [TAMIS, "--store", str(WORK / f"{name}.store"), *words]
    # Every variable counts for what ran: ours must not come and go.
    environment = {key: value for key, value in os.environ.items() if key != "TAMIS"}
    return subprocess.run(call, cwd=project(name), text=True, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ran(name):
    """A file of the methods of the project that each test class ran, observed once.

    Each test class gets a JVM of its own, so nothing counts for it that an earlier one left."""
    file = WORK / f"{name}.ran"
    if file.is_file():
        return file
    output = tamis(name, "mvn", "-B", "-DreuseForks=false", "-Dmaven.test.failure.ignore=true",
                   "test").stdout
    (WORK / f"{name}.log").write_text(output)
    status = [json.loads(line) for line in tamis(name, "status", "--json").stdout.splitlines() if line[:1] == "{"]
    lines = []
    for test in (line["test"] for line in status if "::" in line["test"]):
        for line in tamis(name, "deps", "--json", test).stdout.splitlines():
            if not line.startswith("{"):
                continue
            _, _, what = json.loads(line)["input"].partition(": ")
            if what.startswith("method "):
                lines.append(f"{test.rpartition('::')[2]}\t{what.removeprefix('method ')}\n")
    file.write_text("".join(sorted(lines)))
    return file
