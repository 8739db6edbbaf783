// A matrix as a table whose cells are tinted by their share of the largest, or of FAINTEST where all are small: what is
// next to nothing must not look like much.

import { h, noted, number } from "./dom.js";

const FAINTEST = 0.1,
  MANY = 7;

// Two digits; no zero before the point where there is little room.
const written = (value, narrow) => (narrow ? value.toFixed(2).replace(/^0/, "") : value.toFixed(2));

export function heatMap({ title, rows, columns, values, top = null, choose = null, narrow = columns.length > MANY }) {
  const known = values.flat().filter((value) => value !== null);
  const most = top ?? Math.max(FAINTEST, ...known);
  const cell = (value, row, column) => {
    const share = value === null ? 0 : Math.min(1, Math.max(0, value / most));
    const text = value === null ? "–" : written(value, narrow);
    const inner =
      choose && value !== null
        ? h("button", { type: "button", tabindex: -1, onclick: () => choose(row, column) }, text)
        : text;
    return h(
      "td",
      {
        style: { "--share": share.toFixed(3) },
        title: `${rows[row]}, ${columns[column]}: ${number(value, 4)}`,
      },
      inner,
    );
  };
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": title },
    h(
      "table",
      { class: narrow ? "heat narrow" : "heat", style: { "--columns": columns.length } },
      h("caption", {}, noted(title)),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td"),
          columns.map((name) => h("th", { scope: "col" }, h("span", {}, name))),
        ),
      ),
      h(
        "tbody",
        {},
        values.map((line, row) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, rows[row]),
            line.map((value, column) => cell(value, row, column)),
          ),
        ),
      ),
    ),
  );
}
