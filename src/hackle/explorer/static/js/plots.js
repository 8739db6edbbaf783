// All runs of the list in one picture: a scatter plot of two columns, or parallel coordinates of several. Dots and
// lines of one colour are one path, so that thousands are no burden; the pointer finds the nearest run.

import { asked, remember } from "./address.js";
import { endsOf, logarithmicTicks, shareOf, short, ticks } from "./chart.js";
import { h, s, scoreText, setting, whole } from "./dom.js";
import { headingOf } from "./filter.js";
import { look, markedLegend, marks } from "./marks.js";
import { calledAt, cell, cellTitle } from "./rows.js";

const NEAR = 24,
  MOST_AXES = 8,
  FEW = 24;

const counted = (runs) => (runs === 1 ? "1 run" : `${whole(runs)} runs`);
const isNumber = (column) => column.kind !== "text";
const textOf = (table, key, row) => {
  const column = table.columns.get(key);
  if (!isNumber(column)) return cellTitle(table, key, row);
  const value = column.numbers[row];
  return Number.isNaN(value) ? "–" : column.kind === "score" ? scoreText(value) : setting(value);
};

// What both plots share: the colours, the words of the run under the pointer, opening it.
class Plot {
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

  tell(row) {
    if (row === null) {
      const left = this.rows.length - this.drawn.length;
      this.said.textContent =
        `${counted(this.drawn.length)}` +
        `${left ? `; ${whole(left)} without these values are left out` : ""}. ` +
        "Point at a run to read it, click to open it.";
      return;
    }
    const facts = ["method", "strength", "seed", ...this.keysRead()].filter(
      (key, at, all) => this.table.columns.has(key) && all.indexOf(key) === at,
    );
    this.said.textContent = `${calledAt(this.table, row).filter(Boolean).join(" · ")}: ${facts
      .map((key) => `${headingOf(this.column(key))} ${textOf(this.table, key, row)}`)
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

export class ScatterPlot extends Plot {
  constructor(scores) {
    super("scatter", scores);
  }

  choose() {
    const keys = this.numeric(),
      scores = keys.filter((key) => this.column(key).kind === "score");
    const groupings = this.groupings();
    this.y = this.asked("y", keys, scores[0]);
    this.x = this.asked("x", keys, keys.includes("strength") ? "strength" : (scores[1] ?? keys[0]));
    this.by = this.asked("by", groupings, groupings.includes("method") ? "method" : groupings[1]) ?? "";
    // Settings that differ a hundredfold, as weights of several methods do, would crowd at one end of a linear axis.
    const known = this.rows.map((row) => this.column(this.x)?.numbers[row]).filter(Number.isFinite),
      wide = endsOf(known)[0] > 0 && endsOf(known)[1] >= 100 * endsOf(known)[0];
    this.logarithmic = (asked().get("log") ?? (wide ? "1" : "0")) === "1";
    this.controls.replaceChildren(
      ...(keys.length
        ? [
            this.select("y", "up", keys, this.y),
            this.select("x", "across", keys, this.x),
            this.select("by", "colour", groupings, this.by),
            h(
              "label",
              {},
              h("input", {
                type: "checkbox",
                checked: this.logarithmic,
                data: { name: "log" },
                onchange: (event) => {
                  remember({ log: event.target.checked === wide ? "" : event.target.checked ? "1" : "0" });
                  this.show(this.table, this.rows);
                },
              }),
              "logarithmic across",
            ),
          ]
        : ["No score or setting of these runs is a number."]),
    );
  }

  keysRead() {
    return [this.x, this.y];
  }

  draw() {
    const [width, height] = this.size(),
      [left, right, top, bottom] = [56, 16, 24, 44];
    this.picture.replaceChildren();
    this.drawn = [];
    if (!this.x || !this.y) return;
    const [across, up] = [this.column(this.x), this.column(this.y)];
    this.drawn = this.rows.filter(
      (row) =>
        Number.isFinite(across.numbers[row]) &&
        Number.isFinite(up.numbers[row]) &&
        (!this.logarithmic || across.numbers[row] > 0),
    );
    // Runs of one setting stand side by side, group by group.
    const groups = this.groups(),
      few = across.kind === "number" && new Set(this.drawn.map((row) => across.numbers[row])).size <= FEW,
      apart = few ? Math.min(7, 40 / groups.length) : 0;
    const aside = new Map(
      groups.flatMap(({ rows }, at) => rows.map((row) => [row, (at - (groups.length - 1) / 2) * apart])),
    );
    const xEnds = endsOf(
        this.drawn.map((row) => across.numbers[row]),
        this.logarithmic,
      ),
      yEnds = endsOf(this.drawn.map((row) => up.numbers[row]));
    // No marker is cut off where the axes end.
    const room = few ? 24 : 8,
      place = (x) => left + room + shareOf(x, xEnds, this.logarithmic) * (width - left - right - 2 * room),
      heightOf = (y) => top + 8 + (1 - shareOf(y, yEnds, false)) * (height - top - bottom - 16);
    this.px = (row) => place(across.numbers[row]) + aside.get(row);
    this.py = (row) => heightOf(up.numbers[row]);
    const names = [across, up].map((column) => column.label ?? headingOf(column));
    this.picture.setAttribute("aria-label", `${names[1]} against ${names[0]} of ${counted(this.drawn.length)}`);
    this.frame.setAttribute(
      "aria-label",
      `Scatter plot of ${names[1]} against ${names[0]}: arrow keys go from run to run`,
    );
    for (const value of ticks(...yEnds, 6)) {
      const y = heightOf(value);
      this.picture.append(
        s("line", { class: "grid", x1: left, x2: width - right, y1: y, y2: y }),
        s("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, short(value)),
      );
    }
    for (const value of this.logarithmic ? logarithmicTicks(...xEnds) : ticks(...xEnds, Math.floor(width / 90))) {
      const x = place(value);
      this.picture.append(
        s("line", { class: "grid", x1: x, x2: x, y1: top, y2: height - bottom }),
        s("text", { x, y: height - bottom + 18, "text-anchor": "middle" }, short(value)),
      );
    }
    this.picture.append(
      s("text", { class: "axis", x: 4, y: 14 }, names[1]),
      s("text", { class: "axis", x: width - right, y: height - 8, "text-anchor": "end" }, names[0]),
    );
    for (const { rows, place } of groups)
      this.picture.append(
        marks(
          place,
          rows.map((row) => [this.px(row), this.py(row)]),
        ),
      );
    this.ring = s("circle", { class: "ring", r: 7, visibility: "hidden" });
    this.picture.append(this.ring);
    this.legendOf(groups);
    this.point(this.drawn.includes(this.pointed) ? this.pointed : null);
  }

  nearest(x, y) {
    let [best, least] = [null, NEAR * NEAR];
    for (const row of this.drawn) {
      const far = (this.px(row) - x) ** 2 + (this.py(row) - y) ** 2;
      if (far < least) [best, least] = [row, far];
    }
    return best;
  }

  mark(row) {
    this.ring?.setAttribute("visibility", row === null ? "hidden" : "visible");
    if (row === null) return;
    this.ring.setAttribute("cx", this.px(row));
    this.ring.setAttribute("cy", this.py(row));
  }
}

export class ParallelPlot extends Plot {
  constructor(scores) {
    super("parallel", scores);
  }

  choose() {
    const keys = this.numeric(),
      groupings = this.groupings(),
      wanted = asked()
        .get("axes")
        ?.split(",")
        .filter((key) => keys.includes(key));
    const settings = keys.filter((key) => this.column(key).kind === "number" && key !== "seed");
    const scores = keys.filter((key) => this.column(key).kind === "score");
    this.axes = wanted ?? [...settings.slice(0, 2), ...scores.slice(0, this.frame.clientWidth < 500 ? 2 : 5)];
    this.by = this.asked("by", groupings, groupings.includes("method") ? "method" : groupings[1]) ?? "";
    const boxes = keys.map((key) => {
      const change = (event) => {
        const axes = event.target.checked ? [...this.axes, key] : this.axes.filter((other) => other !== key);
        remember({ axes: axes.slice(0, MOST_AXES).join() || "," });
        this.show(this.table, this.rows);
      };
      const on = this.axes.includes(key);
      const box = h("input", {
        type: "checkbox",
        checked: on,
        data: { name: `axis ${key}` },
        disabled: !on && this.axes.length >= MOST_AXES,
        onchange: change,
      });
      return h("label", {}, box, headingOf(this.column(key)));
    });
    this.controls.replaceChildren(
      h(
        "details",
        { class: "menu", open: Boolean(this.controls.querySelector("details[open]")) },
        h("summary", { class: "button" }, "Axes"),
        h("div", { class: "choices rightward" }, boxes),
      ),
      this.select("by", "colour", groupings, this.by),
    );
  }

  keysRead() {
    return this.axes;
  }

  draw() {
    const [width, height] = this.size(),
      [side, top, bottom] = [Math.min(60, width / 8), 44, 26];
    this.picture.replaceChildren();
    const columns = this.axes.map((key) => this.column(key));
    this.drawn = columns.length
      ? this.rows.filter((row) => columns.every(({ numbers }) => Number.isFinite(numbers[row])))
      : [];
    this.ends = columns.map(({ numbers }) => endsOf(this.drawn.map((row) => numbers[row])));
    this.xs = columns.map((_, at) => side + (at / Math.max(1, columns.length - 1)) * (width - 2 * side));
    this.ys = (row) =>
      columns.map(
        ({ numbers }, at) => top + (1 - shareOf(numbers[row], this.ends[at], false)) * (height - top - bottom),
      );
    this.line = (row) =>
      `M${this.ys(row)
        .map((y, at) => `${this.xs[at].toFixed(1)} ${y.toFixed(1)}`)
        .join("L")}`;
    const names = columns.map(headingOf);
    this.picture.setAttribute(
      "aria-label",
      `Parallel coordinates of ${counted(this.drawn.length)}: ${names.join(", ")}`,
    );
    this.frame.setAttribute("aria-label", `Parallel coordinates of ${names.join(", ")}: arrow keys go from run to run`);
    const groups = this.groups();
    for (const { rows, place } of groups)
      this.picture.append(s("path", { class: `lines ${look(place).colour}`, d: rows.map(this.line).join("") }));
    names.forEach((name, at) => {
      const x = this.xs[at],
        anchor = at === 0 ? "start" : at === columns.length - 1 ? "end" : "middle";
      const edge = at === 0 ? 4 : at === columns.length - 1 ? width - 4 : x;
      const [low, high] = this.ends[at];
      this.picture.append(
        s("line", { class: "upright", x1: x, x2: x, y1: top, y2: height - bottom }),
        s("text", { class: "axis", x: edge, y: at % 2 ? 28 : 14, "text-anchor": anchor }, name),
        s("text", { x: x + 5, y: top + 10 }, short(high)),
        s("text", { x: x + 5, y: height - bottom - 3 }, short(low)),
      );
    });
    // Lines end in the markers of their groups.
    const end = this.xs.at(-1);
    for (const { rows, place } of end === undefined ? [] : groups)
      this.picture.append(
        marks(
          place,
          rows.map((row) => [end, this.ys(row).at(-1)]),
        ),
      );
    this.above = s("path", { class: "lines above", d: "M0 0" });
    this.picture.append(this.above);
    this.legendOf(groups);
    this.point(this.drawn.includes(this.pointed) ? this.pointed : null);
  }

  nearest(x, y) {
    const right = this.xs.findIndex((other) => other >= x),
      at = Math.min(this.xs.length - 1, Math.max(1, right < 0 ? this.xs.length - 1 : right));
    if (this.xs.length < 2) return null;
    const share = Math.min(1, Math.max(0, (x - this.xs[at - 1]) / (this.xs[at] - this.xs[at - 1])));
    let [best, least] = [null, NEAR];
    for (const row of this.drawn) {
      const ys = this.ys(row),
        far = Math.abs(ys[at - 1] + share * (ys[at] - ys[at - 1]) - y);
      if (far < least) [best, least] = [row, far];
    }
    return best;
  }

  mark(row) {
    this.above?.setAttribute("d", row === null ? "M0 0" : this.line(row));
  }
}
