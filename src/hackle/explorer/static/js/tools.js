// The bar above the list: filter, choices, columns and views; below it the filter in words.

import { later, listRuns } from "./api.js";
import { headingOf, withValue, without } from "./filter.js";
import { h, metricName, tabBar } from "./dom.js";
import { unpack } from "./rows.js";

const VIEWS = [
  ["table", "Table"],
  ["scatter", "Scatter"],
  ["parallel", "Parallel coordinates"],
];

export function toolbar(list) {
  const { data, state } = list;
  const search = h("input", {
    type: "search",
    value: state.filter,
    placeholder: "Filter: MIG > 0.2, method is VAE",
    "aria-label": "Filter runs",
    "aria-describedby": "filter-words",
    oninput: later(() => {
      // A choice made meanwhile has written the filter anew.
      if (search.isConnected) list.filter(search.value, false);
    }, 60),
  });
  const menus = columnsMenu(list);
  return h(
    "div",
    { class: "tools" },
    h("h1", {}, data.title),
    search,
    choices(list, search),
    ["protocol", "representation"].filter((key) => data[`${key}s`].length > 1).map((key) => protocolChoice(list, key)),
    state.view === "table" ? menus : null,
    tabBar(VIEWS, state.view, (view) => list.look(view), "Views of the runs"),
    list.count,
    list.compare,
  );
}

// A choice for every text column: it writes a condition into the filter.
function choices(list, search) {
  const { columns } = list.data;
  const several = [...columns.values()].filter(
    ({ key, kind, words }) => kind === "text" && !["id", "name"].includes(key) && words.length > 1,
  );
  return several.map((column) => {
    const known = list.conditions.find((one) => one.key === column.key && one.sign === "=" && one.values.length === 1);
    const options = column.words
      .map((word, at) => [word, column.titles?.[at] ?? word])
      .filter(([word]) => word)
      .map(([word, title]) => h("option", { value: word, selected: known?.values[0].word === word }, title));
    const change = (event) => list.filter(withValue(search.value, columns, column, event.target.value), true);
    const any = h("option", { value: "" }, `any ${headingOf(column)}`);
    return h("select", { onchange: change, "aria-label": headingOf(column) }, any, options);
  });
}

function protocolChoice(list, key) {
  const change = async (event) => {
    list.state.protocol = { ...list.state.protocol, [key]: event.target.value };
    list.replace(unpack(await listRuns(list.state.protocol)));
  };
  // The list is of one protocol and one kind of codes: what is chosen is said, not only its name.
  const word = { protocol: "protocol", representation: "codes" }[key];
  const options = list.data[`${key}s`].map((name) =>
    h("option", { value: name, selected: list.data[key] === name }, `${word}: ${name}`),
  );
  return h("select", { onchange: change, "aria-label": key }, options);
}

function columnsMenu(list) {
  const boxes = list.scores.map((key) => {
    const change = (event) => {
      list.state.scores[event.target.checked ? "add" : "delete"](key);
      list.update(true);
    };
    const box = h("input", { type: "checkbox", checked: list.state.scores.has(key), onchange: change });
    return h("label", {}, box, metricName(key));
  });
  if (!boxes.length) return null;
  return h(
    "details",
    { class: "menu" },
    h("summary", { class: "button" }, "Scores"),
    h("div", { class: "choices" }, boxes),
  );
}

// The conditions in words, each with a button that removes it, and what could not be understood.
export const filterWords = (list) => [
  ...list.conditions.map((condition) =>
    h(
      "button",
      {
        type: "button",
        class: "condition",
        "aria-label": `Remove the condition ${condition.words}`,
        title: "Remove this condition",
        onclick: () => list.filter(without(list.state.filter, condition), true),
      },
      condition.words,
      h("span", { "aria-hidden": "true" }, " ×"),
    ),
  ),
  ...list.problems.map((text) => h("span", { class: "unknown" }, text)),
];
