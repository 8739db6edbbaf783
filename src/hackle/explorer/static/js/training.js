// Curves of a run, drawn again while it trains, and how far it has come.

import { readCurves } from "./api.js";
import { CurvePanel, grouped, isScore } from "./curves.js";
import { h, number } from "./dom.js";

const EVERY = 2000;

// Seconds in words, no finer than they are known.
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129600 ? `${number(seconds / 3600, 1)} h` : `${number(seconds / 86400, 1)} days`;
}

// The time left from points of {step, at}, `at` in seconds: null before there are two.
export function timeLeft(points, steps) {
  if (points.length < 2) return null;
  const [first, last] = [points[0], points.at(-1)];
  return ((steps - last.step) * (last.at - first.at)) / (last.step - first.step);
}

// Whether no term of the objective has a value at the last step.
export function diverged({ step, ...terms }) {
  const own = Object.keys(terms).filter((name) => !isScore(name));
  return Boolean(step?.length) && own.length > 0 && own.every((name) => terms[name].at(-1) === null);
}

export async function showTraining(panel, id, signal) {
  const state = h("p", { class: "facts", role: "status" });
  const charts = new CurvePanel();
  charts.element.hidden = true;
  panel.append(state, charts.element);
  // A term may be called constructor: nothing is inherited here.
  const curves = Object.create(null);
  const points = [];
  let last = -1,
    live = false;

  // When curves.csv was written tells when its last point was taken.
  function progress({ status, steps, written, now }) {
    if (last < 0) return [status === "training" ? "no point yet" : "no curves were kept"];
    const done = `step ${number(last)}${steps ? ` of ${number(steps)}` : ""}`;
    if (diverged(curves)) return [done, "diverged: its last values are not finite"];
    if (status !== "training") return [done];
    if (written && points.at(-1)?.step !== last) points.push({ step: last, at: written });
    const left = steps ? timeLeft(points, steps) : null;
    const gap = points.length > 1 ? (points.at(-1).at - points[0].at) / (points.length - 1) : 0;
    const silent = written ? now - written : 0;
    live = silent <= Math.max(60, 5 * gap);
    if (!live) return [done, `no new point for ${duration(silent)}: was it stopped?`];
    return [done, left === null ? "time left: known after the next point" : `about ${duration(left)} left`];
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
    live = found.status === "training" && !diverged(curves);
    const said = progress(found);
    state.replaceChildren(
      h("span", { class: `state ${found.status.replace(" ", "-")}` }, found.status),
      ...said.map((text) => h("span", {}, text)),
      ...(live ? [h("span", { class: "live" }, "live")] : []),
    );
    if (steps.length) {
      charts.element.hidden = false;
      charts.show(grouped(curves));
    }
    return found.status;
  }

  // A server that is away for a while may come back; a run that was deleted does not.
  const gone = (error) => {
    if (error.status !== 404) return status;
    if (!signal.aborted) state.replaceChildren(h("span", { class: "state unreadable" }, "this run is no longer there"));
    return "gone";
  };

  async function follow() {
    while (status === "training" && !signal.aborted) {
      await new Promise((done) => setTimeout(done, EVERY));
      if (!signal.aborted) status = await more().catch(gone);
    }
  }

  let status = await more();
  // The view is there: whoever waits for it does not wait for the end of the training.
  follow();
}
