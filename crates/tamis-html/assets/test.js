// One test, opened: what happened and why, its message, history, inputs, and what is different now.

async function openTest(data, run, row) {
  const dialog = byId("test");
  const name = fullName(data, row.test);
  const close = el("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close");
  const body = el("div", { class: "body" });
  const state = el("span", { class: "state s" + row.state }, STATES[row.state]);
  dialog.replaceChildren(el("div", { class: "bar" }, el("div", {}, el("h2", { id: "test-name" }, name), state), close), body);
  if (run && row.at >= 0) body.append(...inRun(data, run, row.at));
  else body.append(el("p", {}, "It was not part of this run."));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  setHash("test=" + encodeURIComponent(name));
  const [details, shared] = await Promise.all([packet(Math.floor(row.test / data.packet)), packet("texts")]);
  const [records, inputs] = details[row.test % data.packet];
  body.append(...since(data, row.test, inputs, shared), ...historyOf(records), ...inputsOf(inputs, shared));
  body.append(el("p", { class: "hint" }, "In a terminal: ", el("code", {}, "tamis why " + quoted(name)), ", ", el("code", {}, "tamis history " + quoted(name))));
  dialog.dataset.ready = name;
}

const quoted = (name) => (/^[\w./:#-]+$/.test(name) ? name : "'" + name.replaceAll("'", "'\\''") + "'");

function inRun(data, run, at) {
  const more = run.more[at] || {};
  const state = run.state[at];
  const parts = [];
  const why = run.why[at] >= 0 ? data.texts[run.why[at]] : "";
  if (state === 4) {
    const proof = run.record[at] >= 0 ? `record #${run.record[at]}` + (run.inputs[at] >= 0 ? `, ${counted(run.inputs[at], "input", "inputs")} compared` : "") : null;
    parts.push(el("p", {}, el("strong", {}, "Skipped: "), why, proof && ` (${proof})`, "."));
    if (run.saved[at]) parts.push(el("p", {}, `That run had taken ${time(run.saved[at])}.`));
  } else {
    parts.push(el("p", {}, el("strong", {}, "Ran because: "), why));
    if (more.way) parts.push(el("p", { class: "mono" }, more.way.join(" → ")));
    if (state === 1) parts.push(el("p", {}, "It did not end."));
    else parts.push(el("p", {}, `It ${more.how || "passed"} after ${time(run.us[at])}.`));
    if (more.reruns) parts.push(el("p", {}, `It was run ${counted(more.reruns[0], "time", "times")} without a change; ${more.reruns[1]} of them did not pass.`));
    if (more.before) parts.push(el("p", {}, `${counted(more.before, "run", "runs")} directly before this one did not pass either.`));
    if (more.output) parts.push(el("h3", {}, "What it printed"), el("pre", { tabindex: "0" }, more.output));
    for (const taint of more.taints || []) parts.push(el("p", {}, el("strong", {}, "Not completely observed, will run again: "), taint));
  }
  for (const note of more.notes || []) parts.push(el("p", {}, "Noticed: " + note));
  return parts;
}

function since(data, test, inputs, shared) {
  const t = data.tests;
  if (t.now[test] < 0) return [];
  const runs = t.now[test] === 1;
  const changed = ((inputs && inputs[2]) || []).map((n) => shared.changes[n]);
  const parts = [el("h3", {}, "When this report was made"), el("p", {}, runs ? "It would run: " : "It would be skipped: ", data.texts[t.why[test]])];
  if (changed.length) {
    parts.push(el("p", {}, "Different now from what its newest record saw:"));
    parts.push(el("ul", { class: "inputs", tabindex: "0", "aria-label": "Changed inputs" }, changed.slice(0, 500).map((text) => el("li", {}, text))));
    if (changed.length > 500) parts.push(el("p", { class: "hint" }, `and ${number(changed.length - 500)} more`));
  }
  return parts;
}

function historyOf(records) {
  if (!records.length) return [el("h3", {}, "History"), el("p", { class: "empty" }, "No run of it is recorded.")];
  const row = ([id, at, us, how, inputs, needless, taints]) => el("tr", {},
    el("td", {}, "#" + id), el("td", {}, moment(at)), el("td", { class: how ? "state s0" : "state s3" }, how || "passed"),
    el("td", { class: "n" }, time(us)), el("td", { class: "n" }, number(inputs)),
    el("td", {}, [...(needless ? ["same inputs as the run before"] : []), ...taints].join("; ")));
  return [el("h3", {}, `History (${counted(records.length, "record", "records")})`), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ["Record", "When", "Result"].map((h) => el("th", { scope: "col" }, h)), ["Time", "Inputs"].map((h) => el("th", { scope: "col", class: "n" }, h)), el("th", { scope: "col" }, "Remarks"))),
    el("tbody", {}, records.map(row))))];
}

function inputsOf(inputs, shared) {
  if (!inputs) return [];
  const [steps, elsewhere] = inputs;
  const parts = [];
  if (!steps) parts.push(el("h3", {}, "Inputs"), el("p", { class: "empty" }, "Left out of this report, which would be too large; tamis deps lists them."));
  else {
    let at = 0;
    const own = steps.map((step) => shared.inputs[(at += step)]);
    const filter = el("input", { type: "search", placeholder: "Filter inputs", "aria-label": "Filter inputs" });
    const list = el("ul", { class: "inputs", tabindex: "0", "aria-label": "Inputs in the project" });
    const note = el("p", { class: "hint" });
    const draw = () => {
      const word = filter.value.toLowerCase();
      const found = word ? own.filter((text) => text.toLowerCase().includes(word)) : own;
      list.replaceChildren(...found.slice(0, 1000).map((text) => el("li", {}, text)));
      list.hidden = !found.length;
      note.textContent = found.length > 1000 ? `and ${number(found.length - 1000)} more; filter to see them` : found.length ? "" : own.length ? "None has this in its name." : "None.";
    };
    filter.addEventListener("input", draw);
    draw();
    parts.push(el("h3", {}, `Inputs in the project (${number(own.length)})`), own.length > 20 && el("div", { class: "filters" }, filter), list, note);
  }
  const others = shared.elsewhere[elsewhere] || [];
  if (others.length) {
    const all = others.reduce((sum, [, n]) => sum + n, 0);
    parts.push(el("h3", {}, `Elsewhere (${number(all)})`), el("p", { class: "mono" }, others.slice(0, 30).map(([folder, n]) => `${folder} ${number(n)}`).join(", "), others.length > 30 && ` and ${counted(others.length - 30, "more folder", "more folders")}`));
  }
  return parts.filter(Boolean);
}
