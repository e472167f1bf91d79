// A replay: the curves and tables of the papers, per revision and in all. Each point has its commit.

const REVISION_STATES = { "not-checked-out": "could not be checked out", "setup-failed": "setup failed", "not-built": "did not build" };

function viewReplay(data, state, width) {
  const { replay, revisions, summaries } = data.replay;
  const ran = revisions.filter((r) => r.state === "ran");
  const view = el("div", {});
  view.append(replaySums(replay, summaries));
  const names = replay.strategies;
  const point = (revision, value, text) => ({
    label: revision.commit.slice(0, 8),
    bad: names.map((name) => revision.selections.some((s) => s.strategy === name && s.missed.length > 0)),
    values: names.map((name) => { const s = revision.selections.find((s) => s.strategy === name); return s ? value(s) : null; }),
    text: `${revision.commit.slice(0, 10)} ${revision.subject}\n` + names.map((name) => { const s = revision.selections.find((s) => s.strategy === name); return s ? `${name}: ${text(s)}` : `${name}: not known`; }).join("\n"),
  });
  const share = (part, all) => (all > 0 ? (100 * part) / all : 0);
  const colors = legend(names.map((name, n) => [COLORS[n % COLORS.length], name]));
  if (ran.length) {
    view.append(
      card("Selected tests per revision", el("p", { class: "hint" }, "In percent of all tests of the revision. A red point missed a test."),
        curves({ width, label: "Selected tests per revision", names, points: ran.map((r) => point(r, (s) => share(s.selected, s.tests), (s) => `${number(s.selected)} of ${counted(s.tests, "test", "tests")} (${percent(s.selected, s.tests)}), ${s.missed.length} missed`)), format: (v) => v + "%", max: 100 }), colors),
      card("Time per revision, online", el("p", { class: "hint" }, "With finding out what to run and with recording, in percent of running all tests."),
        curves({ width, label: "Time per revision", names, points: ran.map((r) => point(r, (s) => share(s.online_seconds, s.all_seconds), (s) => `${seconds(s.online_seconds)} of ${seconds(s.all_seconds)} (${percent(s.online_seconds, s.all_seconds)}); offline ${seconds(s.offline_seconds)}`)), format: (v) => Math.round(v) + "%" }), colors.cloneNode(true)));
  }
  const misses = missesOf(revisions);
  if (misses) view.append(misses);
  view.append(revisionTable(replay, revisions));
  return view;
}

function replaySums(replay, summaries) {
  const heads = ["Strategy", "Revisions", "Selected %", "Time % offline", "Time % online", "Safety violations", "Precision violations", "First-run overhead", "Break-even after"];
  const mutants = summaries.some((s) => s.mutants > 0);
  const row = (s) => el("tr", {}, el("td", {}, s.strategy), [
    `${s.revisions}${s.left_out ? ` (${s.left_out} left out)` : ""}`, ...[s.selected_percent, s.offline_percent, s.online_percent].map((p) => (s.revisions > 1 ? p.toFixed(1) : "–"))].map((v) => el("td", { class: "n" }, v)),
    el("td", { class: "n" + (s.missed && !replay.estimate ? " missed" : "") }, replay.estimate ? "not looked for" : s.missed), el("td", { class: "n" }, s.needless),
    el("td", { class: "n" }, s.first_run_overhead_percent === undefined ? "–" : s.first_run_overhead_percent.toFixed(0) + "%"), el("td", { class: "n" }, s.break_even === undefined ? "–" : counted(s.break_even, "revision", "revisions")),
    mutants && el("td", { class: "n" + (s.mutants_missed ? " missed" : "") }, `${number(s.mutants_missed)} of ${number(s.mutants_failed_runs)}`));
  const every = summaries.filter((s) => s.every && s.every.length);
  return card("In all", el("p", { class: "hint" }, el("code", {}, replay.command || "the suites of tamis.toml"), ` · ${replay.range} · ${moment(replay.began_ms)}${replay.estimate ? " · an estimate: only what tamis selects ran" : ""}`),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((h, n) => el("th", { scope: "col", class: n && "n" }, h)), mutants && el("th", { scope: "col", class: "n" }, "Missed with faults put in"))), el("tbody", {}, summaries.map(row)))),
    !summaries.length && el("p", { class: "empty" }, "The replay has not ended: there are no sums yet."),
    every.map((s) => el("p", {}, `${s.strategy}: recording every Nth run saves `, s.every.map((e) => `${e.saved_percent.toFixed(0)}% (N = ${e.n})`).join(", "))));
}

function missesOf(revisions) {
  const all = revisions.flatMap((r) => [...r.selections.flatMap((s) => s.missed.map((m) => [r, s.strategy, m])), ...(r.mutants || []).flatMap((mutant) => mutant.missed.map((m) => [r, `with ${mutant.fault} in ${mutant.place}, ${mutant.file}:${mutant.line}`, m]))]);
  if (!all.length) return null;
  const item = ([r, where, m]) => el("li", {}, el("strong", { class: "missed" }, m.test), ` ${m.outcome}`, el("p", {}, `${r.commit.slice(0, 10)} ${r.subject} (${where})`), el("p", {}, "It was believed that it need not run: ", m.believed),
    m.changed && m.changed.length ? el("p", { class: "mono" }, "changed: " + m.changed.join(", ")) : null, m.besides && m.besides.length ? el("p", { class: "mono" }, "looked at besides: " + m.besides.join(", ")) : null, m.message && el("p", { class: "mono" }, m.message));
  return card(`Missed (${number(all.length)})`, el("ul", { class: "failures" }, all.slice(0, 200).map(item)));
}

function revisionTable(replay, revisions) {
  const several = replay.strategies.length > 1;
  const rows = revisions.flatMap((r) => {
    const commit = [el("td", {}, el("code", { title: r.commit }, r.commit.slice(0, 10))), el("td", {}, r.subject)];
    if (r.state !== "ran" || !r.selections.length) return [el("tr", {}, commit, el("td", { colspan: several ? 8 : 7 }, REVISION_STATES[r.state] || "", r.problem ? ": " + r.problem : ""))];
    return r.selections.map((s) => el("tr", {}, commit.map((node) => node.cloneNode(true)), several && el("td", {}, s.strategy),
      [number(s.selected), number(s.tests), percent(s.selected, s.tests), seconds(s.all_seconds), seconds(s.offline_seconds), seconds(s.online_seconds)].map((v) => el("td", { class: "n" }, v)),
      el("td", { class: "n" + (s.missed.length ? " missed" : "") }, replay.estimate ? "–" : `${s.missed.length} / ${s.needless.length}`)));
  });
  const heads = ["Commit", "Subject", several && "Strategy", "Selected", "Tests", "%", "All", "Offline", "Online", "Missed / needless"].filter(Boolean);
  const body = el("tbody", {}, rows.slice(0, 200));
  const more = rows.length > 200 && el("button", { type: "button", class: "quiet", onclick: (e) => { body.append(...rows.slice(200)); e.target.remove(); } }, `Show ${number(rows.length - 200)} more`);
  const section = card("Revisions", el("div", { class: "scroll" }, el("table", { id: "revisions" }, el("thead", {}, el("tr", {}, heads.map((h, n) => el("th", { scope: "col", class: n > (several ? 2 : 1) && "n" }, h)))), body)), more);
  section.classList.add("long");
  return section;
}
