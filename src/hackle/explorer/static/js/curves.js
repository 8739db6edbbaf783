// Charts of curves over the steps of training, with what they share: smoothing, scale, zoom and cursor.

import { Link, lineChart } from "./chart.js";
import { entryOf, h, metricName, number } from "./dom.js";

const SCORE = /^score_/;
const NATS = /(^|_)(reconstruction|kl|capacity|elbo|kl_per_latent|total_correlation|multiinformation|information)$/;
const HIGHEST = 0.99;

export const isScore = (term) => SCORE.test(term);
export const termName = (term) => metricName(term.replace(SCORE, ""));
const unitOf = (term) => (NATS.test(term.replace(SCORE, "")) ? "nats" : isScore(term) ? "score" : "value");

// An exponential moving average, m ← w m + (1 − w) y, divided by 1 − wⁿ after n values: otherwise it would start at 0.
export function smoothed(values, weight) {
  let [mean, count] = [0, 0];
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return value;
    mean = weight * mean + (1 - weight) * value;
    count += 1;
    return mean / (1 - weight ** count);
  });
}

// Terms such as kl_per_latent_3 belong in one chart with their siblings. Points that a term lacks are left out.
export function grouped(curves) {
  const groups = new Map();
  for (const name of Object.keys(curves)) {
    if (name === "step") continue;
    const [, stem, place] = name.match(/^(.*)_(\d+)$/) ?? [null, name, null];
    const siblings = place !== null && Object.hasOwn(curves, `${stem}_0`);
    const key = siblings ? stem : name;
    if (!groups.has(key)) groups.set(key, []);
    const known = (_, at) => curves[name][at] !== null;
    groups
      .get(key)
      .push({ name: siblings ? `z${place}` : name, x: curves.step.filter(known), y: curves[name].filter(known) });
  }
  return groups;
}

// How curves are looked at stays while the page is open.
const look = { smoothing: 0, logarithmic: false };

// A toolbar and the charts of groups of series, by term. `show` draws others in their place.
export class CurvePanel {
  constructor() {
    this.link = new Link();
    this.within = null;
    this.groups = new Map();
    this.terms = h("div", { class: "charts" });
    this.scores = h("div", { class: "charts" });
    this.scored = h("section", { class: "along", hidden: true }, h("h2", {}, "Scores"), this.scores);
    this.said = h("p", { class: "faint", role: "status" });
    this.element = h("div", { class: "curve-panel" }, this.toolbar(), this.said, this.terms, this.scored);
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.within) this.zoom(null);
    });
  }

  toolbar() {
    const value = h("output", {}, number(look.smoothing, 2));
    const smoothing = h("input", {
      type: "range",
      min: 0,
      max: HIGHEST,
      step: 0.01,
      value: look.smoothing,
      "aria-label": "Smoothing",
      oninput: () => {
        look.smoothing = smoothing.valueAsNumber;
        value.textContent = number(look.smoothing, 2);
        this.draw();
      },
    });
    const logarithmic = h("input", {
      type: "checkbox",
      checked: look.logarithmic,
      onchange: () => {
        look.logarithmic = logarithmic.checked;
        this.draw();
      },
    });
    const end = (name) =>
      h("input", { type: "number", min: 0, "aria-label": name, onchange: () => this.zoom(this.typed()) });
    this.ends = [end("From step"), end("To step")];
    this.all = h("button", { type: "button", hidden: true, onclick: () => this.zoom(null) }, "All steps");
    return h(
      "div",
      { class: "curve-tools", role: "group", "aria-label": "How curves are drawn" },
      h("label", {}, "Smoothing", smoothing, value),
      h("label", {}, logarithmic, "Logarithmic"),
      h("span", { class: "steps" }, "Steps", this.ends[0], "to", this.ends[1], this.all),
      h("span", { class: "faint" }, "Drag across a chart to zoom."),
    );
  }

  typed() {
    const [low, high] = this.reach();
    const [from, to] = this.ends.map((input) => input.valueAsNumber);
    const ends = [Number.isFinite(from) ? from : low, Number.isFinite(to) ? to : high];
    return ends[0] < ends[1] ? ends : null;
  }

  // The first and the last step of any curve.
  reach() {
    const steps = [...this.groups.values()].flat().filter((line) => line.x.length);
    return [Math.min(...steps.map((line) => line.x[0])), Math.max(...steps.map((line) => line.x.at(-1)))];
  }

  show(groups) {
    this.groups = groups;
    if (!this.link.busy) this.draw();
  }

  zoom(ends) {
    this.within = ends?.map(Math.round) ?? null;
    this.draw();
  }

  draw() {
    this.link.readers = [];
    const entries = [...this.groups];
    this.terms.replaceChildren(...entries.filter(([term]) => !isScore(term)).map((entry) => this.chart(entry)));
    this.scores.replaceChildren(...entries.filter(([term]) => isScore(term)).map((entry) => this.chart(entry)));
    this.scored.hidden = !this.scores.childElementCount;
    this.link.move(this.link.at);
    this.all.hidden = !this.within;
    const reach = this.within ?? this.reach();
    this.ends.forEach((input, at) => {
      if (document.activeElement !== input) input.value = Number.isFinite(reach[at]) ? reach[at] : "";
    });
    const hidden =
      look.logarithmic && entries.some(([, lines]) => lines.some(({ y }) => y.some((value) => value <= 0)));
    this.said.replaceChildren(
      ...[
        look.smoothing > 0 &&
          `Smoothed by an exponential moving average of weight ${number(look.smoothing, 2)}, ` +
            "corrected for its start; " +
            "the values themselves are the faint lines. ",
        hidden && "A logarithmic axis leaves out values that are not positive.",
      ].filter(Boolean),
    );
  }

  chart([term, lines]) {
    const series = look.smoothing
      ? lines.map((line) => ({ ...line, raw: line.y, y: smoothed(line.y, look.smoothing) }))
      : lines;
    return lineChart({
      title: termName(term),
      word: entryOf(term.replace(SCORE, "")),
      series,
      axes: { x: "step", y: unitOf(term) },
      logarithmic: look.logarithmic,
      within: this.within,
      link: this.link,
      zoom: (ends) => this.zoom(ends),
    });
  }
}
