// The last run: figures, failures, reasons, and all tests with search and filters.

function viewRun(data, state) {
  const view = el("div", { class: "run" });
  const run = data.runs[state.run] || null;
  if (run) showVerdict(run);
  if (data.runs.length > 1) view.append(pickRun(data, state));
  if (run) {
    view.append(tiles(run), split(run));
    if (run.phases) view.append(el("p", { class: "hint" }, "Time by phase: " + run.phases));
    if (run.checked) view.append(checked(run));
    const pair = [failures(data, run), reasons(data, run)].filter(Boolean);
    view.append(pair.length > 1 ? el("div", { class: "two" }, pair) : pair[0] || "");
    for (const part of [stillFailing(data, run)]) if (part) view.append(part);
  } else view.append(card("No run yet", el("p", {}, "The store knows no run. Run tests with tamis, then make this report again.")));
  view.append(tests(data, run, state));
  return view;
}

function pickRun(data, state) {
  const outcome = (f) => [f.failed - f.flaky && ` · ${f.failed - f.flaky} failed`, f.flaky && ` · ${f.flaky} flaky`].filter(Boolean).join("");
  const label = (run) => `${run.name}${run.options.map((o) => " " + o).join("")} · ${moment(run.at)}${outcome(run.figures)}`;
  const select = el("select", { id: "run", onchange: (e) => { state.run = Number(e.target.value); show("run"); byId("run").focus(); } },
    data.runs.map((run, n) => el("option", { value: n, selected: n === state.run }, label(run))));
  return el("div", { class: "pick" }, el("label", { for: "run" }, "The last run of:"), select);
}

// The sentence at the top is about the run that is shown.
function showVerdict(run) {
  const top = byId("verdict");
  top.className = "verdict " + run.mood;
  top.querySelector("h1").textContent = run.verdict;
  top.querySelector(".figures").textContent = run.line;
  const code = top.querySelector(".called code");
  if (code) code.textContent = [run.name, ...run.options].join(" ");
}

function tiles(run) {
  const f = run.figures;
  const tile = (kind, value, text, state) => el(state === undefined ? "div" : "button", { class: "tile " + kind, type: state === undefined ? null : "button", onclick: state === undefined ? null : () => filterBy({ states: state }) }, el("b", {}, value), el("span", {}, ...[text].flat()));
  const share = f.times.saved_us ? `saved of ${time(f.times.saved_us + f.times.ran_us)} (${percent(f.times.saved_us, f.times.saved_us + f.times.ran_us)})` : "saved";
  return el("div", { class: "tiles" },
    tile("ran", number(f.ran), `ran of ${counted(f.total, "test", "tests")}`, [0, 2, 3]),
    tile(f.failed ? "failed" : "", number(f.failed - f.flaky), f.flaky ? `failed, and ${f.flaky} flaky` : "failed", [0, 2]),
    f.unfinished ? tile("failed", number(f.unfinished), "did not end", [1]) : null,
    tile("", number(f.skipped), "skipped, each with a proof", [4]),
    tile("saved", time(f.times.saved_us), share),
    tile("", time(f.times.wall_us), ["took in all, ", el("span", { class: "whole" }, moment(run.at))]));
}

function split(run) {
  const f = run.figures;
  const parts = [["--bad", f.failed, "failed"], ["--warn", f.unfinished, "not finished"], ["--bar-ran", f.ran - f.failed, "passed"], ["--bar-all", f.skipped, "skipped"]].filter(([, n]) => n > 0);
  const text = parts.map(([, n, word]) => `${number(n)} ${word}`).join(", ");
  return el("div", { class: "split", role: "img", "aria-label": text, title: text }, parts.map(([color, n]) => el("i", { style: `width:${(100 * n) / f.total}%;background:var(${color})` })));
}

function failures(data, run) {
  const rows = [];
  for (let i = 0; i < run.state.length; i++) if (run.state[i] === 0 || run.state[i] === 2 || run.state[i] === 1) rows.push(i);
  if (!rows.length) return null;
  rows.sort((a, b) => run.state[a] - run.state[b]);
  const item = (i) => {
    const more = run.more[i] || {};
    const open = () => openTest(data, run, { test: run.test[i], at: i, state: run.state[i] });
    return el("li", {}, el("button", { type: "button", onclick: open }, fullName(data, run.test[i])), " ", el("span", { class: "state s" + run.state[i] }, STATES[run.state[i]]),
      el("p", { class: "mono" }, more.failure || more.how || (more.notes || [])[0] || ""), el("p", { class: "hint" }, "ran because ", data.texts[run.why[i]] || "", more.before ? `; ${counted(more.before, "run", "runs")} before failed too` : ""));
  };
  const list = el("ul", { class: "failures" }, rows.slice(0, 5).map(item));
  const all = rows.length > 5 && el("button", { type: "button", class: "quiet", onclick: (e) => { list.append(...rows.slice(5, 200).map(item)); e.target.remove(); } }, `Show ${Math.min(rows.length, 200) - 5} more`);
  return card(rows.some((i) => run.state[i] === 0) ? "What failed" : "What needs a look", list, all, rows.length > 200 && el("p", { class: "hint" }, `and ${number(rows.length - 200)} more in the list of tests`));
}

function reasons(data, run) {
  const counts = new Map();
  for (let i = 0; i < run.why.length; i++) if (run.state[i] !== 4) counts.set(run.why[i], (counts.get(run.why[i]) || 0) + 1);
  if (!counts.size) return card("Why nothing ran", el("p", {}, run.figures.skipped ? "Everything that the tests looked at when they last passed is still the same." : "No test was part of this run."));
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const item = ([why, n]) => el("li", {}, el("button", { type: "button", onclick: () => filterBy({ why, states: [0, 1, 2, 3] }) }, el("span", { class: "n" }, number(n)),
    el("span", { class: "t" }, data.texts[why], el("span", { class: "bar", style: `width:${Math.max(1, (100 * n) / sorted[0][1])}%` }))));
  return card("Why tests ran", el("ul", { class: "reasons" }, sorted.slice(0, 8).map(item)), sorted.length > 8 && el("p", { class: "hint" }, `and ${counted(sorted.length - 8, "more reason", "more reasons")}: see the filter below`));
}

// What --shadow or --audit found.
function checked(run) {
  const [line, missed] = run.checked;
  return card(missed.length ? "Missed" : "Checked", el("p", {}, line), missed.map((miss) => el("pre", { class: "missed", tabindex: "0" }, miss)));
}

function stillFailing(data, run) {
  if (!run.still.length) return null;
  const item = ([test, how]) => el("li", {}, el("button", { type: "button", onclick: () => openTest(data, run, { test, at: run.test.indexOf(test), state: 5 }) }, fullName(data, test)), " ", how);
  return card("Still failing, not run now", el("p", { class: "hint" }, "They did not pass when they last ran, and this run left them alone."), el("ul", { class: "failures" }, run.still.slice(0, 50).map(item)));
}

// Set by the list of tests; the tiles and reasons above it filter by it.
let filterBy = () => {};

function tests(data, run, state) {
  const rows = rowsOf(data, run);
  const t = data.tests;
  const lower = rows.map((row) => (fullName(data, row.test) + " " + (row.why >= 0 ? data.texts[row.why] : "")).toLowerCase());
  rows.forEach((row, n) => (row.n = n));
  const counts = STATES.map((_, s) => rows.reduce((sum, row) => sum + (row.state === s), 0));
  const filters = { states: null, suite: -1, why: -1, word: "", sort: "state", down: false };

  const search = el("input", { type: "search", id: "search", placeholder: "Search tests and reasons ( / )", "aria-label": "Search tests and reasons" });
  const suites = el("select", { id: "suite", "aria-label": "Suite" }, el("option", { value: -1 }, "All suites"), t.suites.map((name, n) => [name || "commands", n]).sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([name, n]) => el("option", { value: n }, name)));
  const byWhy = new Map();
  rows.forEach((row) => row.why >= 0 && byWhy.set(row.why, (byWhy.get(row.why) || 0) + 1));
  const whys = el("select", { id: "why", "aria-label": "Reason" }, el("option", { value: -1 }, "All reasons"), [...byWhy].sort((a, b) => b[1] - a[1]).slice(0, 300).map(([why, n]) => el("option", { value: why }, `${data.texts[why].slice(0, 90)} (${number(n)})`)));
  const chip = (text, states) => el("button", { type: "button", "aria-pressed": "false", "data-states": states ? states.join() : "", onclick: () => { filters.states = states; draw(); } }, text);
  const chips = el("fieldset", { class: "chips", id: "chips" }, el("legend", {}, "Outcome"), chip(`all ${number(rows.length)}`, null), STATES.map((name, s) => counts[s] > 0 && chip(`${name} ${number(counts[s])}`, [s])));
  const count = el("p", { class: "count", role: "status" });
  const sortButton = (key, text) => el("button", { type: "button", class: key, "data-sort": key, onclick: () => { filters.down = filters.sort === key ? !filters.down : key === "time"; filters.sort = key; draw(); } }, text);
  const head = el("div", { class: "head" }, sortButton("state", "Result"), sortButton("name", "Test"), el("span", { class: "why" }, "Why"), sortButton("time", "Time"));
  const list = new List({
    label: "Tests; Enter opens one", columns: head,
    open: (row) => openTest(data, run, row),
    render: (row) => el("div", { title: fullName(data, row.test) }, el("span", { class: "state s" + row.state }, STATES[row.state]), nameOf(data, row.test),
      el("span", { class: "why" }, row.why >= 0 ? data.texts[row.why] : row.state === 5 ? lastKnown(data, row.test) : ""), el("span", { class: "time" }, row.us ? time(row.us) : "")),
  });
  const order = { state: (a, b) => a.state - b.state || b.us - a.us || a.n - b.n, name: (a, b) => (lower[a.n] < lower[b.n] ? -1 : lower[a.n] > lower[b.n] ? 1 : 0), time: (a, b) => a.us - b.us || a.n - b.n };
  const printed = el("div", { class: "printed" });
  let found = [];
  const draw = () => {
    const words = filters.word.toLowerCase().split(/\s+/).filter(Boolean);
    found = rows.filter((row) => (!filters.states || filters.states.includes(row.state)) && (filters.suite < 0 || t.suite[row.test] === filters.suite) && (filters.why < 0 || row.why === filters.why) && words.every((word) => lower[row.n].includes(word)));
    found.sort(order[filters.sort]);
    if (filters.down) found.reverse();
    for (const node of chips.querySelectorAll("button")) node.setAttribute("aria-pressed", String(node.dataset.states === (filters.states ? filters.states.join() : "")));
    suites.value = filters.suite; whys.value = filters.why; search.value = filters.word;
    for (const node of head.querySelectorAll("button")) node.setAttribute("aria-label", node.textContent + (node.dataset.sort === filters.sort ? (filters.down ? ", sorted downwards" : ", sorted upwards") : ", sort by this"));
    count.textContent = found.length === rows.length ? counted(rows.length, "test", "tests") : `${number(found.length)} of ${counted(rows.length, "test", "tests")}`;
    list.set(found);
  };
  search.addEventListener("input", () => { filters.word = search.value; draw(); });
  suites.addEventListener("change", () => { filters.suite = Number(suites.value); draw(); });
  whys.addEventListener("change", () => { filters.why = Number(whys.value); draw(); });
  filterBy = (some) => { Object.assign(filters, { suite: -1, why: -1, word: "" }, some); draw(); list.node.scrollIntoView({ block: "center" }); list.window.focus(); };
  state.print = () => printed.replaceChildren(printedTests(data, found));
  const reset = el("button", { type: "button", class: "quiet", onclick: () => { Object.assign(filters, { states: null, suite: -1, why: -1, word: "" }); draw(); } }, "Reset");
  draw();
  const section = card("Tests", el("p", { class: "hint" }, "Open a test for its message, inputs, history, and what changed since."), el("div", { class: "filters" }, search, suites, whys, reset), chips, count, list.node, printed);
  section.classList.add("long");
  return section;
}

const lastKnown = (data, test) => ["never recorded", "passed when it last ran", "did not pass when it last ran", "flaky when it last ran"][data.tests.ended[test]];

function nameOf(data, test) {
  const t = data.tests, suite = t.suites[t.suite[test]], folder = t.folders[t.folder[test]];
  return el("span", { class: "name" }, t.name[test], " ", el("small", {}, suite || (folder === "." ? "" : "in " + folder)));
}

// On paper: those that did not pass, then the others, as far as paper is sensible.
function printedTests(data, rows) {
  const most = 400;
  const row = (r) => el("tr", {}, el("td", { class: "state s" + r.state }, STATES[r.state]), el("td", {}, fullName(data, r.test)), el("td", {}, r.why >= 0 ? data.texts[r.why] : ""), el("td", { class: "n" }, r.us ? time(r.us) : ""));
  return el("div", {}, el("table", {}, el("thead", {}, el("tr", {}, ["Result", "Test", "Why", "Time"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, rows.slice(0, most).map(row))),
    rows.length > most && el("p", { class: "hint" }, `and ${counted(rows.length - most, "more test", "more tests")}`));
}
