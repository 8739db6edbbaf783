// What tells groups apart: a colour and a marker, the same as in figures (hackle.core.palette.look).

import { h, s } from "./dom.js";

// Around a point, in the order of hackle.figures.style.MARKERS: ● ■ ▲ ◆ ▼ ✚ ✖ ⬢ ★ ◀
const MARKERS = [
  "m-3.7 0a3.7 3.7 0 1 0 7.4 0a3.7 3.7 0 1 0-7.4 0z",
  "m-3.3-3.3h6.6v6.6h-6.6z",
  "m0-4.3l4.4 7.6h-8.8z",
  "m0-4.6l4.6 4.6l-4.6 4.6l-4.6-4.6z",
  "m0 4.3l4.4-7.6h-8.8z",
  "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
  "m0-2l2.2-2.2l2 2l-2.2 2.2l2.2 2.2l-2 2l-2.2-2.2l-2.2 2.2l-2-2l2.2-2.2l-2.2-2.2l2-2z",
  "m0-4.4l3.8 2.2v4.4l-3.8 2.2l-3.8-2.2v-4.4z",
  "m0-4.8l1.2 3.2l3.4 0.1l-2.7 2.1l0.9 3.3l-2.8-1.9l-2.8 1.9l0.9-3.3l-2.7-2.1l3.4-0.1z",
  "m-4.3 0l7.6-4.4v8.8z",
];

// The class of the colour, and the marker, of one of several groups: no two of a hundred are alike.
export function look(place) {
  const kinds = MARKERS.length;
  return { colour: `s${place % kinds}`, marker: MARKERS[(place + Math.floor(place / kinds)) % kinds] };
}

// A group's markers at these points, as one path.
export const marks = (place, points) =>
  s("path", {
    class: `dots ${look(place).colour}`,
    d: points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}${look(place).marker}`).join(""),
  });

// Groups by name, each with its place.
export const markedLegend = (groups) =>
  h(
    "p",
    { class: "legend" },
    groups.map(([name, place]) =>
      h(
        "span",
        { class: "entry" },
        s("svg", { class: "mark", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, marks(place, [[0, 0]])),
        name,
      ),
    ),
  );
