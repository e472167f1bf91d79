// Over time, and what edits cost.

function viewTime(data, state, width) {
  const view = el("div", {});
  view.append(savedByDay(data, width), byRun(data, width), ...habits(data));
  return view;
}

function savedByDay(data, width) {
  const known = data.time.days;
  if (!known.length) return card("Saved", el("p", { class: "empty" }, "No call is known yet."));
  const first = known[0][0], last = known[known.length - 1][0];
  const weekly = last - first > 150;
  const unit = weekly ? 7 : 1;
  const spans = new Map();
  for (const [d, us, calls] of known) {
    const at = Math.floor((d - first) / unit);
    const [a, b] = spans.get(at) || [0, 0];
    spans.set(at, [a + us, b + calls]);
  }
  let sum = 0;
  const sums = [], items = [];
  for (let at = 0; at <= Math.floor((last - first) / unit); at++) {
    const [us, calls] = spans.get(at) || [0, 0];
    sum += us;
    sums.push(sum);
    const label = day(first + at * unit);
    items.push({ label, values: [us], text: `${weekly ? "week from " : ""}${label}: saved ${time(us)} in ${counted(calls, "call", "calls")}; ${time(sum)} since the first record` });
  }
  const calls = known.reduce((n, d) => n + d[2], 0);
  return card(`Saved: ${time(sum)} in ${counted(calls, "call", "calls")} since ${day(first)}`,
    el("p", { class: "hint" }, "A skipped test saves the time that the run took which proves it; tests that ran at the same time save that time once. Days are in UTC."),
    sum > 0 && columns({ width, label: "Time saved " + (weekly ? "per week" : "per day"), items, classes: ["saved"], format: axisTime, unit: unitOf, sum: sums }),
    sum > 0 && legend([["var(--bar-saved)", weekly ? "saved per week" : "saved per day"], items.length > 1 && ["var(--ink)", `sum, up to ${time(sum)}`]].filter(Boolean)));
}

function byRun(data, width) {
  const all = data.time.runs;
  if (!all.length) return card("Runs", el("p", { class: "empty" }, "No run is known yet."));
  const most = Math.max(20, Math.min(150, Math.floor(width / 8)));
  const runs = all.slice(-most);
  const left = all.length - runs.length + data.time.left;
  const name = (run) => data.time.names[run[9]];
  const remark = (run) => (run[8] & 1 ? "\ninterrupted" : "") + (run[8] & 2 ? "\nwith options that chose its tests" : "");
  const share = runs.map((run) => ({
    label: moment(run[0]).slice(5, 16), values: [run[1] ? (100 * run[2]) / run[1] : 0], classes: [run[3] ? "bad" : "ran"],
    text: `${moment(run[0])}, ${name(run)}: ${number(run[2])} of ${counted(run[1], "test", "tests")} ran (${percent(run[2], run[1])}), ${run[3]} failed${remark(run)}`,
  }));
  const times = runs.map((run) => ({
    label: moment(run[0]).slice(5, 16), values: [run[5], run[6]],
    text: `${moment(run[0])}, ${name(run)}: tests ran ${time(run[5])}; all would have taken ${time(run[5] + run[6])}; saved ${time(run[7])}${remark(run)}`,
  }));
  const sumRan = all.reduce((sum, run) => sum + run[5], 0), sumAll = all.reduce((sum, run) => sum + run[5] + run[6], 0);
  const shown = left > 0 ? ` The newest ${runs.length} of ${number(all.length + data.time.left)} runs are drawn.` : "";
  return el("div", {},
    card("Selected share per run", el("p", { class: "hint" }, "How many of the tests of each run had to run. A run in red had a failure." + shown),
      columns({ width, height: 200, label: "Selected share per run", items: share, classes: ["ran"], format: (v) => v + "%", max: 100 }), legend([["var(--bar-ran)", "ran"], ["var(--bad)", "ran, with a failure"]])),
    card("Test time per run, against what all would have taken", el("p", { class: "hint" }, `Tests ran ${time(sumRan)} where all would have taken ${time(sumAll)} (${percent(sumRan, sumAll)}), by the clock.`),
      columns({ width, height: 220, label: "Test time per run", items: times, classes: ["ran", "all"], format: axisTime, unit: unitOf }), legend([["var(--bar-ran)", "tests ran"], ["var(--bar-all)", "skipped tests would have taken"]])));
}

function habits(data) {
  const h = data.habits;
  const link = (test) => el("button", { type: "button", class: "link", onclick: () => openKnown(data, test) }, fullName(data, test));
  const table = (heads, rows, count) => el("div", {}, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map(([text, n]) => el("th", { scope: "col", class: n && "n" }, text)))), el("tbody", {}, rows.slice(0, 25)))),
    count > 25 && (() => { const b = el("button", { type: "button", class: "quiet", onclick: () => { b.previousElementSibling.querySelector("tbody").append(...rows.slice(25)); b.remove(); } }, `Show ${number(rows.length - 25)} more`); return b; })());
  const part = (title, hint, heads, rows, count) => { const c = card(`${title} (${number(count)})`, el("p", { class: "hint" }, hint), rows.length ? table(heads, rows, count) : el("p", { class: "empty" }, "None.")); c.classList.add("long"); return c; };
  return [
    part("Flaky tests", "They did not pass, and then passed without a change, in so many of the records that are kept.", [["Test"], ["Flaky", 1], ["Records", 1]],
      h.flaky.map(([n, of, test]) => el("tr", {}, el("td", {}, link(test)), el("td", { class: "n" }, n), el("td", { class: "n" }, of))), h.counts[0]),
    part("Tests that run every time", "Whatever changes: their newest run could not be observed completely, or a rule says so.", [["Test"], ["Why"], ["Time", 1]],
      h.always.map(([us, why, test]) => el("tr", {}, el("td", {}, link(test)), el("td", {}, data.texts[why]), el("td", { class: "n" }, time(us)))), h.counts[1]),
    part("Tests that ran needlessly", "They passed after a run that passed and saw exactly the same: asked for by --all or record, run for lack of a complete record, or run again by a rule. Counted among the records that are kept.", [["Test"], ["Needless", 1], ["Records", 1], ["Time", 1]],
      h.needless.map(([n, of, test, us]) => el("tr", {}, el("td", {}, link(test)), el("td", { class: "n" }, n), el("td", { class: "n" }, of), el("td", { class: "n" }, time(us)))), h.counts[2]),
  ];
}

function openKnown(data, test) {
  const run = data.runs[app.state.run] || null;
  const at = run ? run.test.indexOf(test) : -1;
  openTest(data, run, { test, at, state: at >= 0 ? run.state[at] : 5 });
}

// The project as a tree of what can be edited.
function treeOf(edited) {
  const root = { name: "", path: "", value: 0, children: new Map() };
  for (const [path, tests, us] of edited) {
    let node = root;
    const names = path.split("/");
    names.forEach((name, n) => {
      node.value += us;
      if (!node.children.has(name)) node.children.set(name, { name, path: names.slice(0, n + 1).join("/"), value: 0, children: new Map() });
      node = node.children.get(name);
    });
    node.value += us;
    node.leaf = [tests, us];
  }
  return root;
}

function viewInputs(data, state, width) {
  const costs = data.costs;
  if (!costs.edited.length) return card("What edits cost", el("p", { class: "empty" }, "No record names a file of the project yet."));
  const root = treeOf(costs.edited);
  const holder = el("div", {});
  const crumbs = el("p", { class: "crumbs" });
  const draw = (node, focus) => {
    const way = [];
    let at = root;
    way.push(at);
    for (const name of node.path ? node.path.split("/") : []) way.push((at = at.children.get(name)));
    crumbs.replaceChildren(...way.flatMap((step, n) => [n ? " / " : "", n < way.length - 1 ? el("button", { type: "button", class: "link", onclick: () => draw(step, true) }, step.name || data.project) : el("strong", {}, step.name || data.project)]));
    holder.replaceChildren(mapOf(node, width, draw));
    if (focus) { const mark = holder.querySelector("[tabindex='0']"); if (mark) mark.focus(); }
  };
  draw(root);
  const rows = costs.edited.map(([path, tests, us]) => el("tr", {}, el("td", { class: "mono" }, path), el("td", { class: "n" }, number(tests)), el("td", { class: "n" }, time(us)), el("td", { class: "n" }, percent(us, costs.us))));
  const body = el("tbody", {}, rows.slice(0, 40));
  const search = el("input", { type: "search", placeholder: "Search files", "aria-label": "Search files", oninput: () => { const word = search.value.toLowerCase(); const found = rows.filter((_, n) => costs.edited[n][0].toLowerCase().includes(word)); body.replaceChildren(...found.slice(0, word ? 200 : 40)); note.textContent = found.length > body.childElementCount ? `${number(found.length - body.childElementCount)} more; search to see them` : ""; } });
  const note = el("p", { class: "hint" }, rows.length > 40 ? `${number(rows.length - 40)} more; search to see them` : "", costs.left > 0 ? ` (${number(costs.left)} cheaper ones are left out of this report)` : "");
  const top = costs.edited[0];
  const list = card("The most expensive inputs", el("p", { class: "hint" }, `Of ${counted(costs.tests, "test", "tests")} that take ${time(costs.us)} together.`), el("div", { class: "filters" }, search), el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Editing"), ["runs tests", "of time", "of all"].map((h) => el("th", { scope: "col", class: "n" }, h)))), body)), note);
  list.classList.add("long");
  return el("div", {},
    card("What an edit runs", el("p", {}, "Editing ", el("code", {}, top[0]), ` runs up to ${counted(top[1], "test", "tests")}, ${time(top[2])} of test time.`),
      el("p", { class: "hint" }, "The area is the time of the tests that looked at a file, a class or a package, when they last ran; where parts of a source are distinguished, an edit of one part runs fewer. Folders are blue, what can be edited is green. Choose a folder to go into it."), crumbs, holder),
    list);
}

function mapOf(node, width, draw) {
  const height = Math.max(260, Math.min(440, width * 0.5));
  const svg = el("svg", { class: "map", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Treemap of the project by the test time that an edit runs", width, height });
  let children = [...node.children.values()];
  if (!children.length && node.leaf) children = [node];
  const marks = [];
  const most = Math.max(...children.map((child) => child.value), 1);
  const add = (item, x, y, w, h, inner) => {
    const folder = item.children.size > 0;
    const shade = Math.round(30 + 34 * Math.sqrt(item.value / most));
    const mark = el("g", { class: inner ? "mark inner" : "mark", role: folder ? "button" : "img" },
      el("rect", { x, y, width: Math.max(0, w), height: Math.max(0, h), rx: 2, style: `fill:hsl(${folder ? 212 : 165} ${shade}% ${(folder ? 34 : 27) + (inner ? 6 : 0)}%)` }));
    const fits = Math.floor((w - 10) / 7.2), name = item.name + (folder ? "/" : "");
    if (w > 46 && h > 18) mark.append(el("text", { x: x + 5, y: y + 15 }, name.length > fits ? name.slice(0, Math.max(1, fits - 1)) + "…" : name));
    const nested = folder && !inner && w > 90 && h > 70;
    if (w > 46 && h > 36 && fits > 7 && !nested) mark.append(el("text", { x: x + 5, y: y + 31 }, time(item.value)));
    if (folder) {
      mark.addEventListener("click", () => { tip.hide(); draw(item); });
      mark.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { tip.hide(); draw(item, true); e.preventDefault(); } });
    }
    const text = folder ? `${item.path}/: ${counted(leaves(item), "source", "sources")}, ${time(item.value)} of test time if each is edited once` : `${item.path}: an edit runs up to ${counted(item.leaf[0], "test", "tests")}, ${time(item.leaf[1])}`;
    svg.append(explain(mark, text));
    if (!inner) marks.push(mark);
    if (nested) for (const box of boxes([...item.children.values()], x + 3, y + 21, w - 6, h - 24)) if (box.w > 2 && box.h > 2) add(box.item, box.x, box.y, box.w, box.h, true);
  };
  for (const { item, x, y, w, h } of boxes(children, 0, 0, width, height)) add(item, x, y, w, h, false);
  roving(svg, marks);
  if (marks.length) { marks[marks.length - 1].setAttribute("tabindex", "-1"); marks[0].setAttribute("tabindex", "0"); }
  return svg;
}
const leaves = (node) => (node.children.size ? [...node.children.values()].reduce((sum, child) => sum + leaves(child), 0) : 0) + (node.leaf ? 1 : 0);
