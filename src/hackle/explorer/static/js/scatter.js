// A scatter plot of two columns of the list.

import { asked, remember } from "./address.js";
import { endsOf, logarithmicTicks, shareOf, short, ticks } from "./chart.js";
import { h, s } from "./dom.js";
import { headingOf } from "./filter.js";
import { marks } from "./marks.js";
import { counted, NEAR, Plot } from "./plots.js";

const FEW = 24;

export default class ScatterPlot extends Plot {
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
    const wide = this.wide(this.x);
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
      // Never so far that a value could be taken for its neighbour.
      apart = few ? Math.min(7, Math.min(40, 0.04 * width) / groups.length) : 0;
    this.beside = apart > 0 && groups.length > 1;
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
    const names = [across, up].map((column) => this.nameOf(column));
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

  layout() {
    const [across, by] = [this.x, this.by].map((key) => this.column(key)).map((column) => column && headingOf(column));
    return this.beside ? ` Runs of one ${across} stand side by side, by ${by}.` : "";
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
