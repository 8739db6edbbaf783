// How far a score is on the way from chance to the reference, which perfect codes reach: a bar that marks both,
// and the table that it stands in.

import { h, scoreText } from "./dom.js";

const LEAST = 1e-6;

// The share of the way, at least 0 and at most 1; null where the way is not known.
export function shareOfWay(score, low, reference) {
  const known = [score, low, reference].every((value) => value !== null && value !== undefined && !Number.isNaN(value));
  if (!known || Math.abs(reference - low) < LEAST) return null;
  return Math.min(1, Math.max(0, (score - low) / (reference - low)));
}

// Where a bar begins: at chance, or at the worst that the metric can be where chance was not measured.
export const startOf = ({ chance, worst }) => chance ?? worst ?? null;

export function wayInWords({ chance, worst, reference }) {
  const end = worst > reference ? "the most there is" : "the least there is";
  return (
    `from ${scoreText(startOf({ chance, worst }))}, ${(chance ?? null) === null ? end : "by chance"}, ` +
    `to ${scoreText(reference)}, of perfect codes`
  );
}

// A table of scores, which moves sideways where there is little room.
export const scoresTable = (heads, rows, style) =>
  h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": "Scores" },
    h("table", { class: "plain", style }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
  );

export const referenceCell = ({ reference }) =>
  h("td", { class: "number faint" }, reference === null ? "" : scoreText(reference));

export function scoreBar(score, levels) {
  const share = shareOfWay(score, startOf(levels), levels.reference);
  if (share === null) return null;
  return h(
    "span",
    {
      class: "way",
      role: "img",
      style: { "--share": share.toFixed(3) },
      "aria-label": wayInWords(levels),
      title: wayInWords(levels),
    },
    h("i"),
  );
}
