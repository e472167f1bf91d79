// The data: deflate in base64, in columns. Details of tests are unpacked when they are asked for.

async function unpack(id) {
  const node = byId("data-" + id);
  const text = node ? node.textContent : "";
  if (!text) return null;
  let bytes;
  if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(text);
  else {
    const raw = atob(text);
    bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

const packets = new Map();
function packet(id) {
  if (!packets.has(id)) packets.set(id, unpack(id));
  return packets.get(id);
}

const STATES = ["failed", "not finished", "flaky", "passed", "skipped", "not in this run"];

// A test by its place: names as `tamis why` takes them.
function fullName(data, test) {
  const t = data.tests;
  const suite = t.suites[t.suite[test]];
  const folder = t.folders[t.folder[test]];
  return suite ? suite + "::" + t.name[test] : folder === "." ? t.name[test] : `${t.name[test]} (in ${folder})`;
}

// What a run knows, by test: one row for each test of the report, those of the run first.
function rowsOf(data, run) {
  const seen = new Uint8Array(data.tests.name.length);
  const rows = [];
  if (run) for (let i = 0; i < run.test.length; i++) {
    seen[run.test[i]] = 1;
    const skipped = run.state[i] === 4;
    rows.push({ test: run.test[i], at: i, state: run.state[i], why: run.why[i], us: skipped ? run.saved[i] : run.us[i] });
  }
  for (let test = 0; test < seen.length; test++) {
    if (!seen[test]) rows.push({ test, at: -1, state: 5, why: -1, us: data.tests.us[test] });
  }
  return rows;
}
