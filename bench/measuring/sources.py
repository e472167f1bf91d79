"""Generates the projects: ordinary code with ordinary imports, the same every time."""

from textwrap import dedent


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text).lstrip("\n"))


# --- Python ---------------------------------------------------------------------------------

PYTHON_MODULES = 40
PYTHON_TEST_FILES = 60


def python_project(folder):
    write(folder / "pytest.ini", "[pytest]\ntestpaths = tests\npythonpath = .\n")
    write(folder / "shop" / "__init__.py", "")
    for n in range(PYTHON_MODULES):
        write(folder / "shop" / f"part{n}.py", PYTHON_MODULE.format(n=n))
    write(folder / "tests" / "conftest.py", PYTHON_FIXTURES)
    for n in range(PYTHON_TEST_FILES):
        text = PYTHON_TESTS.format(n=n, a=n % PYTHON_MODULES, b=(n * 7 + 3) % PYTHON_MODULES)
        write(folder / "tests" / f"test_part{n}.py", text)
    for n in range(10):
        rows = "\n".join(f"item{i},{i * (n + 1)},{i % 7}" for i in range(200))
        write(folder / "tests" / "data" / f"stock{n}.csv", rows + "\n")


PYTHON_MODULE = '''
"""Orders, number {n}."""

import re
from collections import Counter
from dataclasses import dataclass, field

WORD = re.compile(r"[a-z]+[{n}]?")


@dataclass
class Order:
    number: int
    lines: dict = field(default_factory=dict)

    def add(self, item, count, price):
        self.lines[item] = (count, price)
        return self

    def total(self):
        return sum(count * price for count, price in self.lines.values())


def words(text):
    return Counter(WORD.findall(text.lower()))


def discount(total, customer_years):
    rate = min(customer_years, 10) / 100 + {n} / 1000
    return round(total * (1 - rate), 2)


def route(distances, start):
    best = {{start: 0}}
    todo = [start]
    while todo:
        here = todo.pop(0)
        for there, far in distances.get(here, {{}}).items():
            if best[here] + far < best.get(there, 1 << 30):
                best[there] = best[here] + far
                todo.append(there)
    return best
'''

PYTHON_FIXTURES = '''
import csv
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture
def stock():
    def read(n):
        with open(DATA / f"stock{n}.csv", newline="") as lines:
            return list(csv.reader(lines))

    return read
'''

PYTHON_TESTS = '''
import json

import pytest

from shop import part{a}, part{b}


def test_total():
    order = part{a}.Order({n})
    for i in range(300):
        order.add(f"item{{i}}", i, 2)
    assert order.total() == sum(i * 2 for i in range(300))


@pytest.mark.parametrize("years", [0, 5])
def test_discount(years):
    for total in range(0, 3000, 3):
        assert part{a}.discount(total, years) <= total


def test_words():
    counted = part{b}.words("the quick brown fox jumps over the lazy dog " * 60)
    assert counted["the"] == 120


def test_route(stock):
    rows = stock({n} % 10)
    distances = {{}}
    for i, (name, count, kind) in enumerate(rows):
        distances[name] = {{f"item{{(i * 3 + 1) % 200}}": int(kind) + 1, f"item{{(i + 1) % 200}}": 2}}
    assert len(part{b}.route(distances, "item0")) == 200


def test_saved(tmp_path):
    file = tmp_path / "order.json"
    file.write_text(json.dumps({{"number": {n}, "lines": list(range(100))}}))
    assert json.loads(file.read_text())["number"] == {n}
'''

# --- C --------------------------------------------------------------------------------------

C_FILES = 60


def c_project(folder):
    for n in range(20):
        write(folder / "include" / f"part{n}.h", C_HEADER.format(n=n))
    for n in range(C_FILES):
        includes = "\n".join(f'#include "part{(n * 3 + k) % 20}.h"' for k in range(6))
        write(folder / "src" / f"unit{n}.c", includes + "\n" + C_UNIT.format(n=n))
    calls = "\n".join(f"    sum += unit{n}(sum);" for n in range(C_FILES))
    declared = "\n".join(f"long unit{n}(long);" for n in range(C_FILES))
    main = f"#include <stdio.h>\n{declared}\nint main(void) {{\n    long sum = 1;\n{calls}\n"
    write(folder / "src" / "main.c", main + '    printf("%ld\\n", sum);\n    return 0;\n}\n')
    write(folder / "Makefile", C_MAKEFILE)


C_HEADER = """
#ifndef PART{n}_H
#define PART{n}_H
#include <stddef.h>
#include <stdint.h>
struct part{n} {{ uint32_t number; size_t size; char name[32 + {n}]; }};
static inline uint32_t part{n}_mix(uint32_t x) {{ return (x ^ {n}u) * 2654435761u; }}
#endif
"""

C_UNIT = """
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int compare{n}(const void *a, const void *b) {{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}}

static long hash{n}(const char *text) {{
    long h = {n};
    for (; *text; text++) h = h * 31 + (unsigned char)*text;
    return h;
}}

long unit{n}(long x) {{
    const char *names[] = {{"pear", "fig", "plum", "apple", "cherry", "quince"}};
    char line[256];
    qsort(names, sizeof names / sizeof *names, sizeof *names, compare{n});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {{
        snprintf(line, sizeof line, "%s-%ld", names[i], x);
        x += hash{n}(line) % 1009;
    }}
    return x % 100003;
}}
"""

C_MAKEFILE = """
CFLAGS = -O2 -Wall -Iinclude
OBJECTS = $(patsubst src/%.c,build/%.o,$(wildcard src/*.c))

build/program: $(OBJECTS)
\t$(CC) -o $@ $^ -lm

build/%.o: src/%.c | build
\t$(CC) $(CFLAGS) -c -o $@ $<

build:
\tmkdir -p $@
"""

# --- Go -------------------------------------------------------------------------------------

GO_PACKAGES = 12


def go_module(folder, name):
    write(folder / "go.mod", f"module {name}\n\ngo 1.20\n")
    for n in range(GO_PACKAGES):
        below = f'\t"{name}/part{n - 1}"\n' if n else ""
        call = f"part{n - 1}.Words(text)" if n else "strings.Fields(text)"
        code = GO_CODE.format(n=n, below=below, call=call)
        write(folder / f"part{n}" / "part.go", code)
        write(folder / f"part{n}" / "part_test.go", GO_TEST.format(n=n))
        lines = "".join(f"word{i} {i}\n" for i in range(300))
        write(folder / f"part{n}" / "testdata" / "words.txt", lines)


GO_CODE = """
package part{n}

import (
\t"encoding/json"
\t"regexp"
\t"sort"
\t"strings"
{below})

var word = regexp.MustCompile(`[a-z]+[0-9]*`)

func Words(text string) []string {{
\tfound := {call}
\tif len(found) == 0 {{
\t\tfound = word.FindAllString(strings.ToLower(text), -1)
\t}}
\tsort.Strings(found)
\treturn found
}}

func Encode(words []string) string {{
\tbytes, err := json.Marshal(words)
\tif err != nil {{
\t\treturn ""
\t}}
\treturn string(bytes)
}}
"""

GO_TEST = """
package part{n}

import (
\t"os"
\t"path/filepath"
\t"strings"
\t"testing"
)

func TestWords(t *testing.T) {{
\ttext, err := os.ReadFile(filepath.Join("testdata", "words.txt"))
\tif err != nil {{
\t\tt.Fatal(err)
\t}}
\tif got := len(Words(string(text))); got != 600 {{
\t\tt.Fatalf("%d words", got)
\t}}
}}

func TestEncode(t *testing.T) {{
\tif !strings.Contains(Encode([]string{{"a", "b"}}), "a") {{
\t\tt.Fatal("not encoded")
\t}}
\tfile := filepath.Join(t.TempDir(), "out.json")
\tif err := os.WriteFile(file, []byte(Encode(nil)), 0o644); err != nil {{
\t\tt.Fatal(err)
\t}}
}}
"""

# --- Java -----------------------------------------------------------------------------------

JAVA_CLASSES = 300


def java_project(folder):
    for n in range(JAVA_CLASSES):
        write(folder / "src" / "shop" / f"Part{n}.java", JAVA_CLASS.format(n=n))
    write(folder / "src" / "shop" / "Main.java", JAVA_MAIN.format(last=JAVA_CLASSES))
    write(folder / "check.sh", "set -e\njavac -d out src/shop/*.java\njava -cp out shop.Main\n")


JAVA_CLASS = """
package shop;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

public class Part{n} {{
    private final List<String> names = new ArrayList<>();

    public Part{n} add(String name) {{
        names.add(name + {n});
        return this;
    }}

    @Override
    public String toString() {{
        return names.stream().sorted().collect(Collectors.joining(","));
    }}
}}
"""

JAVA_MAIN = """
package shop;

public class Main {{
    public static void main(String[] arguments) throws Exception {{
        int length = 0;
        for (int i = 0; i < {last}; i++) {{
            Object part = Class.forName("shop.Part" + i).getDeclaredConstructor().newInstance();
            length += part.toString().length();
        }}
        System.out.println(length);
    }}
}}
"""

# --- system calls only ------------------------------------------------------------------------


def tree_of_files(folder):
    for n in range(10_000):
        write(folder / "tree" / f"d{n // 500}" / f"e{n // 25 % 20}" / f"f{n}.txt", f"{n}\n" * 20)
    write(folder / "check.sh", "find tree -size +100k\ndu -s tree\n")
