// Small things that all parts use: elements, numbers and times as tamis itself writes them.

const byId = (id) => document.getElementById(id);

// Makes an element. Text always becomes a text node: no foreign text is ever read as HTML.
function el(name, attributes, ...children) {
  const svg = SVG_NAMES.has(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}
const SVG_NAMES = new Set(["svg", "g", "rect", "line", "path", "text", "title", "circle", "clipPath", "desc"]);

const number = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const counted = (n, one, many) => number(n) + " " + (n === 1 ? one : many);

// 0.8 ms, 42 ms, 0.31 s, 41.2 s, 3 min 12 s, 2 h 5 min
function time(us) {
  if (!us) return "0 s";
  if (us < 50) return "0.1 ms";
  if (us < 9950) return (us / 1e3).toFixed(1) + " ms";
  if (us < 99500) return (us / 1e3).toFixed(0) + " ms";
  if (us < 995000) return (us / 1e6).toFixed(2) + " s";
  if (us < 59950000) return (us / 1e6).toFixed(1) + " s";
  const seconds = Math.floor((us + 500000) / 1e6);
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + (seconds % 60) + " s";
  const minutes = Math.floor((seconds + 30) / 60);
  return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}
const seconds = (s) => time(Math.round(s * 1e6));

const pad = (n) => String(n).padStart(2, "0");
function moment(ms) {
  const d = new Date(ms);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}`;
}
const day = (n) => new Date(n * 864e5).toISOString().slice(0, 10);
const percent = (part, all) => (all > 0 ? ((100 * part) / all).toFixed(part > 0 && part / all < 0.0995 ? 1 : 0) + "%" : "–");

// A text that follows the pointer and the focus; the same text is the mark's accessible name.
const tip = {
  show(text, x, y) {
    const node = byId("tip");
    node.textContent = text;
    node.hidden = false;
    const box = node.getBoundingClientRect();
    node.style.left = Math.max(6, Math.min(x + 12, innerWidth - box.width - 6)) + "px";
    node.style.top = Math.max(6, y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16) + "px";
  },
  hide() { byId("tip").hidden = true; },
};
function explain(mark, text) {
  mark.setAttribute("aria-label", text);
  mark.addEventListener("pointermove", (e) => tip.show(text, e.clientX, e.clientY));
  mark.addEventListener("pointerleave", tip.hide);
  mark.addEventListener("focus", () => { const b = mark.getBoundingClientRect(); tip.show(text, b.left, b.bottom); });
  mark.addEventListener("blur", tip.hide);
  return mark;
}

const card = (title, ...rest) => el("section", { class: "card", "aria-label": title }, el("h2", {}, title), ...rest);
