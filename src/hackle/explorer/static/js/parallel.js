// Parallel coordinates of several columns of the list.

import { asked, remember } from "./address.js";
import { endsOf, shareOf, short } from "./chart.js";
import { h, s } from "./dom.js";
import { headingOf } from "./filter.js";
import { look, marks } from "./marks.js";
import { counted, NEAR, Plot } from "./plots.js";

const MOST_AXES = 8;

export default class ParallelPlot extends Plot {
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
    const first = settings.includes("strength") ? "strength" : settings[0];
    this.axes = wanted ?? [...(first ? [first] : []), ...scores.slice(0, this.frame.clientWidth < 500 ? 2 : 5)];
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
    const logarithmic = columns.map(({ key, kind }) => kind === "number" && this.wide(key, this.drawn));
    this.ends = columns.map(({ numbers }, at) =>
      endsOf(
        this.drawn.map((row) => numbers[row]),
        logarithmic[at],
      ),
    );
    this.xs = columns.map((_, at) => side + (at / Math.max(1, columns.length - 1)) * (width - 2 * side));
    this.ys = (row) =>
      columns.map(
        ({ numbers }, at) =>
          top + (1 - shareOf(numbers[row], this.ends[at], logarithmic[at])) * (height - top - bottom),
      );
    this.line = (row) =>
      `M${this.ys(row)
        .map((y, at) => `${this.xs[at].toFixed(1)} ${y.toFixed(1)}`)
        .join("L")}`;
    const names = columns.map((column, at) => {
      const name = column.key === "strength" ? this.nameOf(column) : headingOf(column);
      return `${name}${logarithmic[at] ? ", logarithmic" : ""}`;
    });
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
