// Line charts: series of {name, x, y, low, high}, drawn as SVG with named axes and a reading under the pointer.

import { h, number, s } from "./dom.js";

const WIDE = 340,
  HEIGHT = 196,
  LEFT = 48,
  RIGHT = 10,
  TOP = 20,
  BOTTOM = 36;
const COLORS = 10;

// Round values between two ends, whole ones where the axis counts.
export function ticks(low, high, count, whole = false) {
  const rough = Math.max((high - low) / count, whole ? 1 : 0),
    size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10]
    .map((factor) => factor * size)
    .find((candidate) => candidate >= rough && (!whole || Number.isInteger(candidate)));
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + 1e-9 * step; at += 1) found.push(at * step);
  return found;
}

// Powers of ten between two positive ends; with 2 and 5 of each where there are few, and round values in between where
// there are none.
export function logarithmicTicks(low, high) {
  const decades = Math.log10(high / low);
  const digits = decades > 3 ? [1] : [1, 2, 5];
  const every = Math.max(1, Math.ceil(decades / 6));
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += every)
    for (const digit of digits) {
      const value = digit * 10 ** power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) found.push(value);
    }
  return found.length > 1 ? found : ticks(low, high, 4);
}

export const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
  return String(+value.toPrecision(3)).replace("-", "−");
};

const finite = (values) => values.filter((value) => value !== null && Number.isFinite(value));
const least = (list) => list.reduce((best, value) => Math.min(best, value), Infinity);
const most = (list) => list.reduce((best, value) => Math.max(best, value), -Infinity);

// The ends of an axis: those of its values; a single value stands in the middle, with labels that tell its ends apart.
export function endsOf(values, logarithmic = false) {
  const known = finite(values).filter((value) => !logarithmic || value > 0);
  const [low, high] = known.length ? [least(known), most(known)] : logarithmic ? [0.1, 1] : [0, 1];
  if (low < high) return [low, high];
  if (logarithmic) return [low / 2, high * 2];
  const room = Math.max(0.5, 0.02 * Math.abs(low));
  return [low - room, high + room];
}

// A value's share of the way between two ends.
export const shareOf = (value, [low, high], logarithmic) =>
  logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);

// Charts that share a cursor: wherever it stands in one, it stands in all. While busy, a range is being dragged out.
export class Link {
  readers = [];
  at = null;
  busy = false;

  move(at) {
    this.at = at;
    for (const read of this.readers) read(at);
  }
}

// The position of the value nearest to a number in an ascending list.
export function nearest(list, wanted) {
  let [low, high] = [0, list.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (list[middle] > wanted) high = middle;
    else low = middle;
  }
  return Math.abs(list[high] - wanted) < Math.abs(list[low] - wanted) ? high : low;
}

// axes: what stands on them, such as {x: "step", y: "nats"}; named: the text of a value of x, where it has a
// name. within: the ends of the x axis where they are not those of
// the data. link: shared with other charts. zoom: called with the ends that the user has dragged out, null for all. A
// series may have `raw`: its values before smoothing, drawn behind it. word: the entry of the glossary for its title.
export function lineChart({
  title,
  series,
  axes = {},
  width: WIDTH = WIDE,
  height = HEIGHT,
  ends = null,
  logarithmic = false,
  within = null,
  link = new Link(),
  zoom = null,
  named = null,
  word = undefined,
}) {
  const every = series.flatMap((line) => line.x);
  const [x0, x1] = within ?? (every.length ? [least(every), most(every)] : [0, 1]);
  const seen = (line, key) => (line[key] ?? []).filter((_, at) => line.x[at] >= x0 && line.x[at] <= x1);
  const [y0, y1] =
    ends ??
    endsOf(
      series.flatMap((line) => ["y", "low", "high", "raw"].flatMap((key) => seen(line, key))),
      logarithmic,
    );
  const px = (x) => LEFT + ((x - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - RIGHT);
  const py = (y) => TOP + (1 - shareOf(y, [y0, y1], logarithmic)) * (height - TOP - BOTTOM);
  const names = [axes.x && `across: ${axes.x}`, axes.y && `up: ${axes.y}${logarithmic ? ", logarithmic" : ""}`];
  const chart = s("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    "aria-label": [title, ...names.filter(Boolean)].join(", "),
  });
  for (const y of !every.length ? [] : logarithmic ? logarithmicTicks(y0, y1) : ticks(y0, y1, 4))
    chart.append(
      s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y) }),
      s("text", { x: LEFT - 6, y: py(y) + 3.5, "text-anchor": "end" }, short(y)),
    );
  for (const x of !every.length ? [] : x1 > x0 ? ticks(x0, x1, 4, every.every(Number.isInteger)) : [x0])
    if (px(x) <= WIDTH - RIGHT + 1)
      chart.append(
        s(
          "text",
          { x: px(x), y: height - 20, "text-anchor": px(x) > WIDTH - 24 ? "end" : "middle" },
          named?.(x) ?? short(x),
        ),
      );
  if (axes.x)
    chart.append(s("text", { class: "axis x", x: WIDTH - RIGHT, y: height - 4, "text-anchor": "end" }, axes.x));
  if (axes.y) chart.append(s("text", { class: "axis y", x: 2, y: 11 }, axes.y));
  // A picture of its own cuts off what lies beyond the ends.
  const frame = { x: LEFT - 2, y: TOP - 2, width: WIDTH - LEFT - RIGHT + 4, height: height - TOP - BOTTOM + 4 };
  const lines = s("svg", { ...frame, viewBox: Object.values(frame).join(" "), "aria-hidden": "true" });
  chart.append(lines);
  series.forEach((line, at) => {
    const color = `s${at % COLORS}`;
    const path = (list) =>
      list
        .map((y, index) => [line.x[index], y])
        .filter(([, y]) => y !== null && (!logarithmic || y > 0))
        .map(([x, y]) => `${px(x).toFixed(1)} ${py(y).toFixed(1)}`);
    if (line.low)
      lines.append(
        s("path", { class: `band ${color}`, d: `M${[...path(line.low), ...path(line.high).reverse()].join("L")}Z` }),
      );
    if (line.raw) lines.append(s("path", { class: `line raw ${color}`, d: `M${path(line.raw).join("L") || "0 0"}` }));
    const points = path(line.y);
    if (points.length) lines.append(s("path", { class: `line ${color}`, d: `M${points.join("L")}` }));
    if (points.length === 1)
      lines.append(
        s("circle", { class: `dot ${color}`, cx: points[0].split(" ")[0], cy: points[0].split(" ")[1], r: 2 }),
      );
  });
  if (!every.length)
    chart.append(
      s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: height / 2, "text-anchor": "middle" }, "no finite value"),
    );
  const cursor = s("line", { class: "cursor", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
  chart.append(cursor);

  const caption = h("figcaption", word ? { data: { term: word }, tabindex: 0 } : {}, title);
  const entries = series.length > 1 ? legend(series.map((line) => line.name)) : null;
  // A run that has no such curve has its colour in other charts.
  for (const [at, entry] of [...(entries?.children ?? [])].entries()) entry.hidden = !series[at].x.length;
  const values = entries ? [...entries.querySelectorAll(".entry")].map((entry) => entry.appendChild(h("b"))) : [];
  const longest = series.reduce((best, line) => (line.x.length > (best?.x.length ?? 0) ? line : best), null);
  const read = (at) => {
    const shown = at !== null && longest !== null;
    cursor.setAttribute("visibility", shown ? "visible" : "hidden");
    for (const value of values) value.textContent = "";
    caption.textContent = title;
    if (!shown) return;
    const x = longest.x[nearest(longest.x, at)];
    cursor.setAttribute("x1", px(x));
    cursor.setAttribute("x2", px(x));
    const texts = series.map((line) => {
      const place = nearest(line.x, x);
      return line.x[place] === x ? number(line.y[place]) : "–";
    });
    values.forEach((value, place) => {
      value.textContent = texts[place];
    });
    const place = `${axes.x ? `${axes.x} ` : ""}${named?.(x) ?? number(x)}`;
    caption.textContent = `${title} at ${place}${values.length ? "" : `: ${texts[0]}`}`;
  };
  link.readers.push(read);
  drags(chart, { link, zoom, WIDTH, height, ends: [x0, x1], longest });
  return h("figure", { class: "chart" }, caption, chart, entries);
}

// A code that is one of several classes: a bar for each class and value of x, as high as the share of its images.
export function classChart({ title, x, shares, axes, width: WIDTH = WIDE, height = HEIGHT, named = null }) {
  const count = shares[0].length,
    wide = (WIDTH - LEFT - RIGHT) / x.length,
    tall = (height - TOP - BOTTOM) / count;
  const chart = s("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
    "aria-label": `${title}, across: ${axes.x}, up: ${axes.y}, a bar for the share of images in it`,
  });
  const foot = (at) => TOP + (count - at) * tall;
  const every = (list, most) => list.filter((_, at) => at % Math.ceil(list.length / most) === 0);
  const classes = Array.from({ length: count }, (_, at) => at);
  for (const at of every(classes, 6))
    chart.append(s("text", { x: LEFT - 6, y: foot(at) - tall / 2 + 3.5, "text-anchor": "end" }, at));
  for (const at of classes)
    chart.append(s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: foot(at), y2: foot(at) }));
  for (const at of every(
    x.map((_, place) => place),
    4,
  ))
    chart.append(
      s(
        "text",
        { x: LEFT + (at + 0.5) * wide, y: height - 20, "text-anchor": "middle" },
        named?.(x[at]) ?? short(x[at]),
      ),
    );
  const bars = shares.flatMap((line, at) =>
    line.map((share, place) => {
      const size = { width: 0.8 * wide, height: 0.9 * tall * share };
      return s("rect", { class: "share s0", x: LEFT + (at + 0.1) * wide, y: foot(place) - size.height, ...size });
    }),
  );
  chart.append(...bars.filter((bar) => Number(bar.getAttribute("height")) > 0));
  chart.append(
    s("text", { class: "axis x", x: WIDTH - RIGHT, y: height - 4, "text-anchor": "end" }, axes.x),
    s("text", { class: "axis y", x: 2, y: 11 }, axes.y),
  );
  return h("figure", { class: "chart" }, h("figcaption", {}, title), chart);
}

// The pointer reads values; where the chart can be zoomed, it drags out a range, and two clicks show all again.
function drags(chart, { link, zoom, WIDTH, height, ends: [x0, x1], longest }) {
  const inside = WIDTH - LEFT - RIGHT;
  const valueAt = (event) => {
    const box = chart.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / inside;
    return x0 + Math.min(1, Math.max(0, share)) * (x1 - x0);
  };
  const range = s("rect", { class: "range", y: TOP, height: height - TOP - BOTTOM, visibility: "hidden" });
  let from = null;
  chart.addEventListener("pointermove", (event) => {
    const at = valueAt(event);
    link.move(at);
    if (from === null) return;
    const [left, right] = [Math.min(from, at), Math.max(from, at)].map(
      (x) => LEFT + ((x - x0) / (x1 - x0 || 1)) * inside,
    );
    for (const [key, value] of Object.entries({ visibility: "visible", x: left, width: right - left }))
      range.setAttribute(key, value);
  });
  chart.addEventListener("pointerleave", () => link.move(null));
  if (!zoom || !longest) return;
  chart.append(range);
  chart.classList.add("zooms");
  chart.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    from = valueAt(event);
    link.busy = true;
    chart.setPointerCapture(event.pointerId);
  });
  const release = () => {
    from = null;
    link.busy = false;
    range.setAttribute("visibility", "hidden");
  };
  chart.addEventListener("pointerup", (event) => {
    const [start, end] = [from, valueAt(event)];
    release();
    if (start !== null && Math.abs(end - start) > 0.02 * (x1 - x0)) zoom([Math.min(start, end), Math.max(start, end)]);
  });
  chart.addEventListener("pointercancel", release);
  chart.addEventListener("dblclick", () => zoom(null));
}

export const legend = (names) =>
  h(
    "p",
    { class: "legend" },
    names.map((name, at) => h("span", { class: "entry" }, h("span", { class: `key s${at % COLORS}` }), name)),
  );
