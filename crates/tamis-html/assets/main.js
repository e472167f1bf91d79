// Opens the report: unpacks the data, shows one part at a time, keeps the address in step.

const app = { data: null, state: { run: 0, tab: "run" }, views: {} };

function setHash(text) {
  try { history.replaceState(null, "", "#" + text); } catch { /* An address that cannot be changed is no harm. */ }
}

function chartWidth() { return Math.max(280, Math.floor(byId("view").clientWidth - (innerWidth <= 720 ? 28 : 42))); }

function show(tab) {
  app.state.tab = tab;
  for (const node of byId("tabs").children) {
    const on = node.dataset.tab === tab;
    node.setAttribute("aria-selected", String(on));
    node.setAttribute("tabindex", on ? "0" : "-1");
  }
  tip.hide();
  byId("view").setAttribute("aria-labelledby", "tab-" + tab);
  byId("view").replaceChildren(app.views[tab](app.data, app.state, chartWidth()));
  if (!byId("test").open) setHash(tab);
}

function tabs(data) {
  const all = data.replay ? [["replay", "Replay", viewReplay]] : [["run", "Last run", viewRun], ["time", "Over time", viewTime], ["inputs", "Inputs", viewInputs]];
  const bar = byId("tabs");
  for (const [id, text, view] of all) {
    app.views[id] = view;
    bar.append(el("button", { type: "button", role: "tab", id: "tab-" + id, "data-tab": id, "aria-controls": "view", onclick: () => show(id) }, text));
  }
  byId("view").setAttribute("role", "tabpanel");
  bar.hidden = all.length < 2;
  bar.addEventListener("keydown", (e) => {
    const at = [...bar.children].indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: bar.children.length - 1 }[e.key];
    if (at < 0 || to === undefined) return;
    const node = bar.children[(to + bar.children.length) % bar.children.length];
    show(node.dataset.tab);
    node.focus();
    e.preventDefault();
  });
  return all[0][0];
}

// Light, dark, or as the system has it.
function theme() {
  const button = byId("theme"), root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("tamis-theme"); } catch { return null; } };
  const set = (name) => {
    if (name) root.dataset.theme = name; else delete root.dataset.theme;
    button.textContent = { light: "Light", dark: "Dark" }[name] || "System theme";
    button.setAttribute("aria-label", "Theme: " + (name || "as the system"));
    try { if (name) localStorage.setItem("tamis-theme", name); else localStorage.removeItem("tamis-theme"); } catch { /* It is chosen again next time. */ }
  };
  button.addEventListener("click", () => set({ light: "dark", dark: "" }[root.dataset.theme] ?? "light"));
  button.hidden = false;
  const name = kept();
  set(name === "light" || name === "dark" ? name : "");
}

function goTo(hash, first) {
  const text = decodeURIComponent(hash.replace(/^#/, ""));
  if (text.startsWith("test=") && !app.data.replay) {
    show("run");
    const name = text.slice(5);
    const found = app.data.tests.name.findIndex((_, n) => fullName(app.data, n) === name);
    if (found >= 0) openKnown(app.data, found);
  } else show(app.views[text] ? text : first);
}

async function start() {
  theme();
  if (typeof DecompressionStream === "undefined") {
    byId("view").append(el("p", { class: "card" }, "This browser is too old to unpack the data of this report (it has no DecompressionStream)."));
    return;
  }
  const data = await unpack("main");
  app.data = data;
  byId("static").hidden = true;
  byId("made").textContent = " on " + moment(data.made);
  const first = tabs(data);
  let hash = location.hash;
  try { decodeURIComponent(hash); } catch { hash = ""; }
  goTo(hash, first);
  byId("test").addEventListener("close", () => { delete byId("test").dataset.ready; setHash(app.state.tab); });
  byId("test").addEventListener("click", (e) => { if (e.target === byId("test")) byId("test").close(); });
  addEventListener("keydown", (e) => {
    const search = byId("search");
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (e.key === "/" && search && !typing && !byId("test").open) { search.focus(); e.preventDefault(); }
  });
  let width = innerWidth, later = 0;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => { if (innerWidth !== width && app.state.tab !== "run") show(app.state.tab); width = innerWidth; }, 150);
  });
  addEventListener("beforeprint", () => { if (app.state.print) app.state.print(); });
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  byId("view").replaceChildren(el("p", { class: "card" }, "The data of this report cannot be read: " + error));
  throw error;
});
