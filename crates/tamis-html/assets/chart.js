// Charts as SVG, drawn for the width that there is. Each mark has its figures as a tip and as its accessible name;
// arrow keys go from mark to mark, so that a chart is one stop of the Tab key.

const MARGIN = { left: 64, right: 14, top: 10, bottom: 26 };
const COLORS = ["var(--accent)", "var(--warn)", "var(--good)", "var(--bad)", "var(--idle)"];

// A round number at or above the largest value, and steps on the way.
function scale(max, steps, unit) {
  if (!(max > 0)) return { top: 1, ticks: [0] };
  const raw = max / unit / steps;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((n) => n * power >= raw) * power * unit;
  const top = Math.ceil(max / step) * step;
  const ticks = [];
  for (let v = 0; v <= top + step / 2; v += step) ticks.push(v);
  return { top, ticks };
}
// Times have steps of whole milliseconds, seconds, minutes or hours.
const axisTime = (us) => time(us).replace(/ 0 (s|min)$/, "").replace(/\.0+ /, " ");
const unitOf = (us) => (us > 2 * 36e8 ? 36e8 : us > 12e7 ? 6e7 : us > 2e6 ? 1e6 : 1e3);

function frame(width, height, axis, format, label) {
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label, width, height });
  const inner = { w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
  const y = (v) => MARGIN.top + inner.h - (inner.h * v) / axis.top;
  for (const tick of axis.ticks) svg.append(el("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }), el("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick)));
  return { svg, inner, y };
}

// As many labels as there is room for, so that they do not touch; the last one always has its place.
function bottomLabels(svg, width, height, labels, x) {
  const room = labels.length > 1 ? x(1) - x(0) : width;
  const wide = 14 + 7 * Math.max(...labels.map((label) => label.length));
  const step = Math.max(1, Math.ceil(wide / room));
  const last = labels.length - 1;
  let taken = Infinity;
  for (let n = last; n >= 0; n -= step) {
    const half = (wide - 14) / 2;
    const at = Math.max(MARGIN.left + half - 20, Math.min(width - half - 2, x(n)));
    if (n < last && at > x(n) + half) break;
    // The last one is moved to the left where it would be cut, and may then be where another would be.
    if (at + half > taken - 4) continue;
    taken = at - half;
    svg.append(el("text", { x: at, y: height - 8, "text-anchor": "middle" }, labels[n]));
  }
}

function roving(svg, marks) {
  marks.forEach((mark, n) => mark.setAttribute("tabindex", n === marks.length - 1 ? "0" : "-1"));
  svg.addEventListener("keydown", (e) => {
    const at = marks.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 }[e.key];
    if (at < 0 || to === undefined || !marks[to]) return;
    marks[at].setAttribute("tabindex", "-1");
    marks[to].setAttribute("tabindex", "0");
    marks[to].focus();
    e.preventDefault();
  });
}

// Stacked columns; `sum` draws a line of its own scale, from nothing to its last value, over them.
function columns({ width, height = 230, label, items, classes, format, max, unit, sum }) {
  const largest = max || Math.max(...items.map((item) => item.values.reduce((a, b) => a + b, 0)));
  const axis = max ? { top: max, ticks: [0, max / 4, max / 2, (3 * max) / 4, max] } : scale(largest, 4, unit(largest));
  const { svg, inner, y } = frame(width, height, axis, format, label);
  const step = inner.w / items.length, wide = Math.max(1, Math.min(36, step * 0.78));
  const x = (n) => MARGIN.left + step * (n + 0.5);
  const marks = items.map((item, n) => {
    const mark = el("g", { class: "mark", role: "img" }, el("rect", { x: x(n) - step / 2, y: MARGIN.top, width: step, height: inner.h, fill: "transparent" }));
    let below = 0;
    item.values.forEach((value, part) => {
      if (value > 0) mark.append(el("rect", { class: item.classes ? item.classes[part] : classes[part], x: x(n) - wide / 2, width: wide, y: y(below + value), height: Math.max(0.5, y(below) - y(below + value)) }));
      below += value;
    });
    svg.append(explain(mark, item.text));
    return mark;
  });
  if (sum && items.length > 1) {
    const last = sum[sum.length - 1] || 1;
    const points = sum.map((v, n) => `${n ? "L" : "M"}${x(n).toFixed(1)} ${(MARGIN.top + inner.h - (inner.h * v) / last).toFixed(1)}`);
    svg.append(el("path", { class: "sum", d: points.join(""), "pointer-events": "none" }));
  }
  bottomLabels(svg, width, height, items.map((item) => item.label), x);
  roving(svg, marks);
  return svg;
}

// One curve for each name; a point may be missing.
function curves({ width, height = 250, label, points, names, format, max }) {
  const values = points.flatMap((point) => point.values).filter((v) => v !== null);
  const axis = max ? { top: max, ticks: [0, max / 4, max / 2, (3 * max) / 4, max] } : scale(Math.max(...values, 0), 4, 1);
  const { svg, inner, y } = frame(width, height, axis, format, label);
  const x = (n) => MARGIN.left + (points.length > 1 ? (inner.w * n) / (points.length - 1) : inner.w / 2);
  names.forEach((_, s) => {
    let d = "", gap = true;
    points.forEach((point, n) => {
      const v = point.values[s];
      if (v === null) { gap = true; return; }
      d += `${gap ? "M" : "L"}${x(n).toFixed(1)} ${y(v).toFixed(1)}`;
      gap = false;
    });
    svg.append(el("path", { class: "curve", d, style: `stroke:${COLORS[s % COLORS.length]}` }));
  });
  const step = inner.w / Math.max(1, points.length - 1);
  const marks = points.map((point, n) => {
    const mark = el("g", { class: "mark", role: "img" }, el("rect", { x: x(n) - step / 2, width: step, y: MARGIN.top, height: inner.h, fill: "transparent" }));
    point.values.forEach((v, s) => { if (v !== null) mark.append(el("circle", { class: "dot", cx: x(n), cy: y(v), r: points.length > 150 ? 2 : 3.5, style: `fill:${point.bad && point.bad[s] ? "var(--bad)" : COLORS[s % COLORS.length]}` })); });
    svg.append(explain(mark, point.text));
    return mark;
  });
  bottomLabels(svg, width, height, points.map((point) => point.label), x);
  roving(svg, marks);
  return svg;
}

const legend = (entries) => el("ul", { class: "legend" }, entries.map(([color, text]) => el("li", {}, el("i", { style: `background:${color}` }), text)));

// Boxes whose areas are their values (squarified), largest first.
function boxes(items, x, y, w, h) {
  const out = [];
  let rest = items.filter((item) => item.value > 0).sort((a, b) => b.value - a.value);
  let total = rest.reduce((sum, item) => sum + item.value, 0);
  const worst = (row, sum, side, unit) => {
    const area = sum * unit, s2 = side * side;
    return Math.max((s2 * row[0].value * unit) / (area * area), (area * area) / (s2 * row[row.length - 1].value * unit));
  };
  while (rest.length && w > 0.5 && h > 0.5) {
    const unit = (w * h) / total, side = Math.min(w, h);
    let row = [rest[0]], sum = rest[0].value, n = 1;
    while (n < rest.length && worst([...row, rest[n]], sum + rest[n].value, side, unit) <= worst(row, sum, side, unit)) { row.push(rest[n]); sum += rest[n].value; n++; }
    const thick = (sum * unit) / side;
    let at = 0;
    for (const item of row) {
      const length = (item.value * unit) / thick;
      out.push(w >= h ? { item, x, y: y + at, w: thick, h: length } : { item, x: x + at, y, w: length, h: thick });
      at += length;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    total -= sum;
    rest = rest.slice(n);
  }
  return out;
}
