"""Projects from Maven repositories, and the tools that run their tests. For the scripts beside this file."""

import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
EKSTAZI = "org.ekstazi:ekstazi-maven-plugin:5.3.0:ekstazi"


def folder_for(name):
    """An empty folder to work in; not below the temp folder, which Ekstazi ignores."""
    work = Path(os.environ.get("WORK", HERE.parent / "work")) / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def write_pom(project, dependencies, surefire="2.22.2", java="8"):
    texts = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(*d.split(":"))
        for d in dependencies)
    (project / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>bench</groupId><artifactId>bench</artifactId><version>1</version><properties>"
        f"<maven.compiler.source>{java}</maven.compiler.source><maven.compiler.target>{java}</maven.compiler.target>"
        "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>"
        f"<dependencies>{texts}</dependencies><build><plugins><plugin>"
        f"<artifactId>maven-surefire-plugin</artifactId><version>{surefire}</version></plugin></plugins></build></project>\n")


def of_release(project, work, artifact, version, dependencies, **pom):
    """Sources and test sources of a release with a pom of ours."""
    name = artifact.split(":")[1]
    project.mkdir()
    write_pom(project, dependencies, **pom)
    for side, classifier in (("main", "sources"), ("test", "test-sources")):
        maven(["-q", "dependency:copy", f"-Dartifact={artifact}:{version}:jar:{classifier}",
               f"-DoutputDirectory={work}/jars"], work)
        java, resources = project / "src" / side / "java", project / "src" / side / "resources"
        java.mkdir(parents=True)
        subprocess.run(["unzip", "-q", "-o", f"{work}/jars/{name}-{version}-{classifier}.jar", "-d", java], check=True)
        shutil.rmtree(java / "META-INF", ignore_errors=True)
        for file in [f for f in java.rglob("*") if f.is_file() and f.suffix != ".java" and f.suffix != ".html"]:
            target = resources / file.relative_to(java)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)


def own_temp_folder():
    """Words before a command that give it an empty temp folder: what a failing test leaves there would
    make it fail without a change. Only root can do that; without it such a test may look missed."""
    words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /tmp && exec "$@"', "sh"]
    works = subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode == 0
    return words if works else []


APART = own_temp_folder() if shutil.which("unshare") else []


def maven(words, folder, environment=None, fails=False):
    environment = {**os.environ, **(environment or {})}
    done = subprocess.run([*APART, "mvn", "-B", *words], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode and not fails:
        sys.exit(f"mvn {' '.join(words)} failed:\n{done.stdout[-3000:]}")
    return done.stdout


class Side:
    """A tool that runs the tests of one copy of a project."""

    ran = 0
    missed = 0
    seconds = 0.0
    variables = {}

    def run(self):
        """The test classes that ran, and the wall time."""
        began = time.monotonic()
        output = self.start()
        seconds = time.monotonic() - began
        return set(re.findall(r"^\[INFO\] Running (\S+)", output, re.M)), seconds


class Plain(Side):
    def __init__(self, work, source):
        self.folder = work / "plain"
        shutil.copytree(source, self.folder)

    def start(self):
        # Once for what has to be fetched and compiled.
        maven(["test"], self.folder, fails=True)
        began = time.monotonic()
        output = maven(["-o", "test"], self.folder, fails=True)
        self.warm = time.monotonic() - began
        return output

    def run(self):
        ran, _ = super().run()
        return ran, self.warm

    def failed(self):
        """The test classes that do not pass when all run."""
        reports = self.folder / "target" / "surefire-reports"
        shutil.rmtree(reports, ignore_errors=True)
        maven(["-o", "test", "-Dmaven.test.failure.ignore=true"], self.folder, fails=True)
        suites = {r.name[len("TEST-"):-len(".xml")]: xml.parse(r).getroot() for r in reports.glob("TEST-*.xml")}
        return {name for name, suite in suites.items()
                if any(case.find(kind) is not None for case in suite.iter("testcase") for kind in ("failure", "error"))}


class Ekstazi(Side):
    name = "Ekstazi"

    def __init__(self, work):
        self.folder = work / "ekstazi"
        self.store = self.folder / ".ekstazi"
        maven(["test-compile"], self.folder)

    def start(self):
        attach = {"JAVA_TOOL_OPTIONS": "-Djdk.attach.allowAttachSelf=true", **self.variables}
        return maven([EKSTAZI], self.folder, attach, fails=True)


class Tamis(Side):
    name = "tamis"

    def __init__(self, work):
        self.folder = work / "tamis"
        self.store = work / "store"
        maven(["test-compile"], self.folder)

    def start(self):
        words = [*APART, os.environ.get("TAMIS", "tamis"), "--store", str(self.store), "mvn", "-B", "-o", "test"]
        done = subprocess.run(words, cwd=self.folder, text=True, env={**os.environ, **self.variables},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout
