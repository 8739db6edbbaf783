// Line charts: series of {name, x, y, low, high}, drawn as SVG with a reading under the pointer.

import { h, number, s } from "./dom.js";

const WIDE = 320,
  HEIGHT = 168,
  LEFT = 46,
  RIGHT = 8,
  TOP = 8,
  BOTTOM = 22;

// Round values between two ends, whole ones where the axis counts.
function ticks(low, high, count, whole = false) {
  const rough = Math.max((high - low) / count, whole ? 1 : 0),
    size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10]
    .map((factor) => factor * size)
    .find((candidate) => candidate >= rough && (!whole || Number.isInteger(candidate)));
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + 1e-9 * step; at += 1) found.push(at * step);
  return found;
}

const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
  return String(+value.toPrecision(3));
};

export function lineChart({ title, series, width: WIDTH = WIDE, height = HEIGHT, ends = null }) {
  const values = (key) =>
    series.flatMap((line) => line[key] ?? []).filter((value) => value !== null && Number.isFinite(value));
  const xs = values("x"),
    ys = [...values("y"), ...values("low"), ...values("high")];
  const least = (list) => list.reduce((best, value) => Math.min(best, value), Infinity);
  const most = (list) => list.reduce((best, value) => Math.max(best, value), -Infinity);
  const [x0, x1] = xs.length ? [least(xs), most(xs)] : [0, 1];
  let [y0, y1] = ends ?? (ys.length ? [least(ys), most(ys)] : [0, 1]);
  // A single value stands in the middle, with an axis whose labels can tell its ends apart.
  if (y0 === y1) [y0, y1] = [y0 - Math.max(0.5, 0.02 * Math.abs(y0)), y1 + Math.max(0.5, 0.02 * Math.abs(y1))];
  const px = (x) => LEFT + ((x - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - RIGHT);
  const py = (y) => TOP + (1 - (y - y0) / (y1 - y0)) * (height - TOP - BOTTOM);
  const chart = s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": title });
  for (const y of ticks(y0, y1, 4)) {
    chart.append(
      s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y) }),
      s("text", { x: LEFT - 6, y: py(y) + 3.5, "text-anchor": "end" }, short(y)),
    );
  }
  for (const x of x1 > x0 ? ticks(x0, x1, 4, xs.every(Number.isInteger)) : [x0]) {
    if (px(x) <= WIDTH - RIGHT + 1)
      chart.append(
        s("text", { x: px(x), y: height - 6, "text-anchor": px(x) > WIDTH - 24 ? "end" : "middle" }, short(x)),
      );
  }
  series.forEach((line, at) => {
    const color = `s${at % 10}`;
    const path = (list) =>
      list
        .map((y, index) => [line.x[index], y])
        .filter(([, y]) => y !== null)
        .map(([x, y]) => `${px(x).toFixed(1)} ${py(y).toFixed(1)}`);
    if (line.low)
      chart.append(
        s("path", { class: `band ${color}`, d: `M${[...path(line.low), ...path(line.high).reverse()].join("L")}Z` }),
      );
    const points = path(line.y);
    if (points.length) chart.append(s("path", { class: `line ${color}`, d: `M${points.join("L")}` }));
    if (points.length === 1)
      chart.append(
        s("circle", { class: `dot ${color}`, cx: points[0].split(" ")[0], cy: points[0].split(" ")[1], r: 2 }),
      );
  });
  const cursor = s("line", { class: "cursor", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
  chart.append(cursor);
  const reading = h("figcaption", {}, title);
  const read = (event) => {
    const longest = series.reduce((best, line) => (line.x.length > best.x.length ? line : best), series[0]);
    if (!longest?.x.length) return;
    const box = chart.getBoundingClientRect(),
      at = x0 + ((((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT)) * (x1 - x0);
    const index = longest.x.reduce(
      (best, x, position) => (Math.abs(x - at) < Math.abs(longest.x[best] - at) ? position : best),
      0,
    );
    cursor.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", px(longest.x[index]));
    cursor.setAttribute("x2", px(longest.x[index]));
    const text = series
      .slice(0, 4)
      .map((line) => `${series.length > 1 ? `${line.name} ` : ""}${number(line.y[line.x.indexOf(longest.x[index])])}`)
      .join(", ");
    reading.textContent = `${title} at ${number(longest.x[index])}: ${text}`;
  };
  chart.addEventListener("pointermove", read);
  chart.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    reading.textContent = title;
  });
  return h("figure", { class: "chart" }, reading, chart);
}

const COLORS = 10;
export const legend = (names) =>
  h(
    "p",
    { class: "legend" },
    names.slice(0, COLORS).map((name, at) => h("span", { class: "entry" }, h("span", { class: `key s${at}` }), name)),
    names.length > COLORS && h("span", {}, `and ${names.length - COLORS} more in these colours`),
  );
