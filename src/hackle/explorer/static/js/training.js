// Curves of a run, drawn again while it trains.

import { readCurves } from "./api.js";
import { h, metricName, number } from "./dom.js";
import { legend, lineChart } from "./chart.js";

const EVERY = 2000;
const SCORE = /^score_/;

export const termName = (name) => metricName(name.replace(SCORE, ""));

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

export async function showTraining(panel, id, signal) {
  const state = h("p", { class: "facts", role: "status" });
  const terms = h("div", { class: "charts" }),
    scores = h("div", { class: "charts" });
  const scored = h("section", { class: "along", hidden: true }, h("h2", {}, "Scores"), scores);
  panel.append(state, terms, scored);
  // A term may be called constructor: nothing is inherited here.
  const curves = Object.create(null);
  let last = -1;

  function chartOf([name, series]) {
    const chart = lineChart({ title: termName(name), series });
    if (series.length > 1) chart.append(legend(series.map((line) => line.name)));
    return chart;
  }

  async function more() {
    const found = await readCurves(id, last);
    const steps = found.curves.step ?? [];
    const before = curves.step?.length ?? 0;
    for (const [name, values] of Object.entries(found.curves)) {
      curves[name] ??= Array(before).fill(null);
      curves[name].push(...values);
    }
    if (steps.length) last = steps.at(-1);
    const live = found.status === "training" ? [h("span", { class: "live" }, "live")] : [];
    state.replaceChildren(
      h("span", { class: `state ${found.status}` }, found.status),
      last >= 0 ? `step ${number(last)}` : "no curves were kept",
      ...live,
    );
    if (steps.length) {
      const groups = [...grouped(curves)];
      terms.replaceChildren(...groups.filter(([name]) => !SCORE.test(name)).map(chartOf));
      scores.replaceChildren(...groups.filter(([name]) => SCORE.test(name)).map(chartOf));
      scored.hidden = !scores.childElementCount;
    }
    return found.status;
  }

  // A server that is away for a while may come back; a run that was deleted does not.
  const gone = (error) => {
    if (error.status !== 404) return status;
    if (!signal.aborted) state.replaceChildren(h("span", { class: "state unreadable" }, "this run is no longer there"));
    return "gone";
  };

  let status = await more();
  while (status === "training" && !signal.aborted) {
    await new Promise((done) => setTimeout(done, EVERY));
    if (!signal.aborted) status = await more().catch(gone);
  }
}
