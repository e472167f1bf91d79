// A list of any length: only the rows that can be seen are in the page. Arrows, Page Up and Down, Home, End, Enter.

class List {
  constructor({ label, columns, render, open }) {
    this.render = render;
    this.open = open;
    this.rows = [];
    this.active = -1;
    this.shown = new Map();
    this.space = el("div", { class: "space", role: "presentation" });
    this.window = el("div", {
      class: "window", tabindex: "0", role: "listbox", "aria-label": label,
      onscroll: () => this.draw(),
      onkeydown: (e) => this.key(e),
      onfocus: () => { if (this.active < 0 && this.rows.length) this.go(0); },
    }, this.space);
    this.node = el("div", { class: "list" }, columns, this.window);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.window);
  }

  height() { return innerWidth <= 720 ? 64 : 40; }

  set(rows) {
    this.rows = rows;
    this.active = -1;
    this.window.removeAttribute("aria-activedescendant");
    this.window.scrollTop = 0;
    this.clear();
    this.draw();
  }

  clear() {
    for (const node of this.shown.values()) node.remove();
    this.shown.clear();
  }

  draw() {
    const height = this.height();
    if (height !== this.drawn) this.clear();
    this.drawn = height;
    this.space.style.height = this.rows.length * height + "px";
    const first = Math.max(0, Math.floor(this.window.scrollTop / height) - 8);
    const last = Math.min(this.rows.length, Math.ceil((this.window.scrollTop + this.window.clientHeight) / height) + 8);
    for (const [n, node] of this.shown) if (n < first || n >= last) { node.remove(); this.shown.delete(n); }
    for (let n = first; n < last; n++) {
      if (this.shown.has(n)) continue;
      const node = this.render(this.rows[n], n);
      node.id = "row-" + n;
      node.classList.add("row");
      node.classList.toggle("active", n === this.active);
      node.style.top = n * height + "px";
      for (const [key, value] of [["role", "option"], ["aria-posinset", n + 1], ["aria-setsize", this.rows.length], ["aria-selected", n === this.active]]) node.setAttribute(key, value);
      node.addEventListener("click", () => { this.go(n); this.open(this.rows[n]); });
      this.space.append(node);
      this.shown.set(n, node);
    }
  }

  go(n) {
    if (!this.rows.length) return;
    const old = this.shown.get(this.active);
    if (old) { old.classList.remove("active"); old.setAttribute("aria-selected", "false"); }
    this.active = Math.max(0, Math.min(this.rows.length - 1, n));
    const height = this.height(), top = this.active * height, box = this.window;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    this.draw();
    const now = this.shown.get(this.active);
    if (now) { now.classList.add("active"); now.setAttribute("aria-selected", "true"); }
    box.setAttribute("aria-activedescendant", "row-" + this.active);
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.window.clientHeight / this.height()) - 1);
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.rows.length - 1 }[e.key];
    if (to !== undefined) { this.go(to); e.preventDefault(); }
    else if ((e.key === "Enter" || e.key === " ") && this.active >= 0) { this.open(this.rows[this.active]); e.preventDefault(); }
  }
}
