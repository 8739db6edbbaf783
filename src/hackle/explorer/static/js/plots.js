// What the pictures of all runs of the list share: colours, the words of the run under the pointer, opening it. Dots
// and lines of one colour are one path, so that thousands are no burden; the pointer finds the nearest run.

import { asked, remember } from "./address.js";
import { endsOf } from "./chart.js";
import { h, s, scoreText, setting, whole } from "./dom.js";
import { headingOf } from "./filter.js";
import { markedLegend } from "./marks.js";
import { calledAt, cell, cellTitle, weightAt } from "./rows.js";

export const NEAR = 24;

export const counted = (runs) => (runs === 1 ? "1 run" : `${whole(runs)} runs`);
const isNumber = (column) => column.kind !== "text";
const textOf = (table, key, row) => {
  const column = table.columns.get(key);
  if (!isNumber(column)) return cellTitle(table, key, row);
  const value = column.numbers[row];
  return Number.isNaN(value) ? "–" : column.kind === "score" ? scoreText(value) : setting(value);
};

export class Plot {
  constructor(kind, scores) {
    this.scores = scores;
    this.picture = s("svg", { class: "plot", role: "img" });
    this.frame = h(
      "div",
      {
        class: "frame",
        tabindex: 0,
        role: "group",
        onpointermove: (event) => this.point(this.nearest(...this.place(event))),
        onpointerleave: () => this.point(null),
        onclick: (event) => this.open(this.nearest(...this.place(event))),
        onkeydown: (event) => this.key(event),
      },
      this.picture,
    );
    this.said = h("p", { class: "said", role: "status" });
    this.keys = h("div");
    this.controls = h("div", { class: "plot-tools" });
    this.element = h("section", { class: `plots ${kind}` }, this.controls, this.frame, this.said, this.keys);
    new ResizeObserver(() => this.table && this.draw()).observe(this.frame);
  }

  show(table, rows) {
    [this.table, this.rows] = [table, rows];
    // The controls are made anew: who uses one goes on using it.
    const { name } = this.controls.contains(document.activeElement) ? document.activeElement.dataset : {};
    this.choose();
    if (name) this.controls.querySelector(`[data-name="${CSS.escape(name)}"]`)?.focus();
    this.draw();
  }

  column(key) {
    return this.table.columns.get(key);
  }

  // A choice among columns that the address remembers.
  select(name, label, keys, chosen) {
    const options = keys.map((key) =>
      h("option", { value: key, selected: key === chosen }, key ? headingOf(this.column(key)) : "nothing"),
    );
    const change = (event) => {
      remember({ [name]: event.target.value });
      this.show(this.table, this.rows);
    };
    return h("label", {}, label, h("select", { onchange: change, data: { name } }, options));
  }

  asked(name, keys, usual) {
    const wanted = asked().get(name);
    return keys.includes(wanted) ? wanted : (usual ?? keys[0]);
  }

  differing(kind) {
    return [...this.table.columns.values()].filter(
      (column) =>
        kind(column) && this.rows.some((row) => !Object.is(column.numbers[row], column.numbers[this.rows[0]])),
    );
  }

  // The text columns by which runs can be coloured; method first.
  groupings() {
    const keys = this.differing((column) => !isNumber(column) && !["id", "name"].includes(column.key)).map(
      ({ key }) => key,
    );
    return ["", ...keys];
  }

  numeric() {
    // Of a single run nothing differs: whatever is known of it can be shown.
    const known = (column) => isNumber(column) && this.rows.some((row) => Number.isFinite(column.numbers[row]));
    const found = this.differing(isNumber);
    return (found.length ? found : [...this.table.columns.values()].filter(known)).map(({ key }) => key);
  }

  // The groups in the order of their names, each with its rows and its place among all of the table, which keeps its
  // colour and its marker whatever the filter leaves.
  groups() {
    if (!this.by) return [{ name: "", place: 0, rows: this.drawn }];
    const { numbers } = this.column(this.by),
      found = new Map();
    for (const row of this.drawn) {
      const name = cellTitle(this.table, this.by, row) || "none";
      if (!found.has(name)) found.set(name, { name, place: numbers[row], rows: [] });
      found.get(name).rows.push(row);
    }
    return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
  }

  // What stands on an axis. The weight of methods that all write it the same way has their symbol.
  nameOf(column) {
    if (column.key !== "strength") return column.label ?? headingOf(column);
    const { symbols, numbers } = this.column("method"),
      found = new Set(this.drawn.map((row) => symbols[numbers[row]]));
    return found.size === 1 ? `${headingOf(column)} ${[...found][0]}` : headingOf(column);
  }

  // Settings that differ a hundredfold, as weights of several methods do, would crowd at one end of a linear axis.
  wide(key, rows = this.rows) {
    const [low, high] = endsOf(rows.map((row) => this.column(key)?.numbers[row]).filter(Number.isFinite));
    return low > 0 && high >= 100 * low;
  }

  size() {
    const { clientWidth: width, clientHeight: height } = this.frame;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return [width, height];
  }

  place(event) {
    const box = this.picture.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  legendOf(groups) {
    this.keys.replaceChildren(this.by ? markedLegend(groups.map(({ name, place }) => [name, place])) : "");
  }

  // How the picture is to be read, where that needs words.
  layout() {
    return "";
  }

  tell(row) {
    if (row === null) {
      const left = this.rows.length - this.drawn.length;
      this.said.textContent =
        `${counted(this.drawn.length)}` +
        `${left ? `; ${whole(left)} without these values ${left === 1 ? "is" : "are"} left out` : ""}.` +
        `${this.layout()} Point at a run to read it, click to open it.`;
      return;
    }
    const facts = ["method", "strength", "seed", ...this.keysRead()].filter(
      (key, at, all) => this.table.columns.has(key) && all.indexOf(key) === at,
    );
    this.said.textContent = `${calledAt(this.table, row).filter(Boolean).join(" · ")}: ${facts
      .map(
        (key) =>
          (key === "strength" && weightAt(this.table, row)) ||
          `${headingOf(this.column(key))} ${textOf(this.table, key, row)}`,
      )
      .join(", ")}`;
  }

  point(row) {
    this.pointed = row;
    this.mark(row);
    this.tell(row);
    this.frame.classList.toggle("found", row !== null);
  }

  open(row) {
    if (row !== null) location.hash = `#/run/${encodeURIComponent(cell(this.table, "id", row))}`;
  }

  // Arrow keys go from run to run in the order of the first axis, Enter opens.
  key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Enter") this.open(this.pointed ?? null);
    if (step === undefined || !this.drawn.length) return;
    event.preventDefault();
    const { numbers } = this.column(this.keysRead()[0]);
    const order = this.drawn.slice().sort((a, b) => numbers[a] - numbers[b] || a - b);
    const at = this.pointed == null ? (step > 0 ? -1 : order.length) : order.indexOf(this.pointed);
    this.point(order[Math.min(order.length - 1, Math.max(0, at + step))]);
  }
}
