// The run list: a table of which only the rows in sight are in the page, so that many thousands are no burden.

import { asked, askedScores, remember } from "./address.js";
import { listRuns } from "./api.js";
import { entryOf, h, notify, painted, scoreText, setting, waiting, whole } from "./dom.js";
import { headingOf, parseFilter } from "./filter.js";
import { shareOfWay, startOf, wayInWords } from "./levels.js";
import { calledAt, cell, cellTitle, levelsOf, matching, sorted, unpack, weightAt } from "./rows.js";
import { Thumbnails } from "./thumbnails.js";
import { filterWords, toolbar } from "./tools.js";

const ROW = 40,
  SPARE = 8,
  FIRST_SCORES = 6,
  MOST_COMPARED = 6,
  REFRESH = 10000;
// Columns that stand left of the scores; all others of the record stand right of them.
const BEFORE = ["method", "strength", "correlation", "seed", "dataset"];
const VIEWS = ["table", "scatter", "parallel"];

// What the user chose stays while the page is open, and is in the address.
const state = {
  filter: "",
  key: "",
  chosen: false,
  descending: true,
  scores: null,
  selected: new Set(),
  top: 0,
  protocol: {},
  view: "table",
};

// An address that says anything says everything: what it leaves out is as at first.
function recall() {
  const query = asked();
  if (![...query.keys()].length) return;
  const sort = query.get("sort") ?? "",
    scores = query.get("scores");
  Object.assign(state, {
    filter: query.get("filter") ?? "",
    key: sort.replace(/^-/, ""),
    chosen: sort !== "",
    descending: sort.startsWith("-"),
    scores: scores === null ? null : new Set(scores.split(",").filter(Boolean)),
    protocol: askedScores(),
    view: VIEWS.includes(query.get("view")) ? query.get("view") : "table",
  });
}

export async function showList(main, signal) {
  main.append(waiting("Reading runs…"));
  recall();
  const table = unpack(await listRuns(state.protocol));
  if (signal.aborted) return;
  const ids = table.columns.get("id");
  if (table.count === 1 && !sessionStorage.getItem("hackle-seen")) {
    sessionStorage.setItem("hackle-seen", "1");
    location.hash = `#/run/${ids.words[0]}`;
    return;
  }
  document.title = `${table.title} – hackle explorer`;
  const list = new RunList(table, signal);
  main.replaceChildren(list.element);
  list.update(true);
  if (state.top) list.viewport.scrollTop = state.top;
  // Rows a little above and below those in sight can wait until these are seen.
  painted().then(() => list.draw());
  const again = setInterval(async () => {
    const fresh = await listRuns(state.protocol, list.data.tag).catch((error) => {
      if (error.status) notify(error.message, "bad");
    });
    if (!signal.aborted) list.follow(fresh);
  }, REFRESH);
  signal.addEventListener("abort", () => clearInterval(again));
}

class RunList {
  constructor(table, signal) {
    this.signal = signal;
    this.state = state;
    this.thumbnails = new Thumbnails();
    this.above = h("tr", { class: "space", "aria-hidden": "true" }, h("td"));
    this.below = h("tr", { class: "space", "aria-hidden": "true" }, h("td"));
    this.body = h("tbody", { onkeydown: (event) => this.move(event) });
    this.head = h("thead");
    this.table = h(
      "table",
      { class: "runs" },
      h("caption", { class: "hidden" }, "Runs with their scores"),
      this.head,
      this.body,
    );
    this.viewport = h(
      "div",
      { class: "viewport", tabindex: 0, role: "region", "aria-label": "Runs", onscroll: () => this.scrolled() },
      this.table,
    );
    this.count = h("span", { class: "count", role: "status" });
    this.compare = h("a", { class: "button primary", hidden: true });
    this.words = h("p", { class: "filter-words", id: "filter-words", role: "status" });
    this.plot = null;
    this.area = h("div", { class: "area" }, this.viewport);
    this.use(table);
    this.bar = toolbar(this);
    this.element = h("div", { class: "listing" }, this.bar, this.words, this.area);
    addEventListener("resize", () => this.draw(true), { signal });
  }

  use(table) {
    this.data = table;
    const scores = [...table.columns.values()].filter((column) => column.kind === "score").map((column) => column.key);
    this.scores = scores;
    this.usual = scores.slice(0, FIRST_SCORES).join();
    if (scores.length) state.scores ??= new Set(scores.slice(0, FIRST_SCORES));
    if (!state.chosen) [state.key, state.descending] = [scores[0] ?? "name", scores.length > 0];
    ({ conditions: this.conditions, problems: this.problems } = parseFilter(state.filter, table.columns));
    // Without any weights there is nothing to draw.
    this.pictured = table.columns.get("status").words.includes("done");
    // A column that says the same of every run says nothing.
    const settings = [...table.columns.values()]
      .filter((column) => column.kind !== "score" && !["id", "name"].includes(column.key))
      .map((column) => column.key);
    const after = settings.filter((key) => !BEFORE.includes(key));
    [this.before, this.after] = [BEFORE, after].map((keys) =>
      keys.filter((key) => key === "method" || !table.columns.get(key).same),
    );
  }

  replace(table) {
    this.use(table);
    this.update(true);
  }

  // What was added or removed meanwhile. Controls are made anew when nobody is using them.
  follow(fresh) {
    if (fresh) {
      this.replace(unpack(fresh));
      this.stale = true;
    }
    if (this.stale && !this.bar.contains(document.activeElement)) this.rebuild();
  }

  rebuild() {
    this.stale = false;
    const bar = toolbar(this);
    this.bar.replaceWith(bar);
    this.bar = bar;
  }

  // Another filter; the bar is made anew where it was not typed into it.
  filter(text, anew) {
    state.filter = text;
    ({ conditions: this.conditions, problems: this.problems } = parseFilter(text, this.data.columns));
    if (anew) this.rebuild();
    this.update();
  }

  look(view) {
    state.view = view;
    this.update(true);
  }

  update(keep = false) {
    this.rows = sorted(this.data, matching(this.data, this.conditions), state.key, state.descending);
    this.columns = [...this.before, ...this.scores.filter((key) => state.scores?.has(key)), ...this.after];
    const total = whole(this.data.count);
    this.count.textContent =
      this.rows.length === this.data.count
        ? `${total} ${this.data.count === 1 ? "run" : "runs"}`
        : `${whole(this.rows.length)} of ${total}`;
    this.words.replaceChildren(...filterWords(this));
    this.selection();
    this.note();
    if (state.view !== "table") {
      this.drawPlot();
      return;
    }
    this.plot = null;
    if (!this.viewport.isConnected) this.area.replaceChildren(this.viewport);
    this.heads();
    if (!keep) this.viewport.scrollTop = 0;
    this.draw(true);
  }

  // The plots are loaded when they are wanted.
  async drawPlot() {
    const { view } = state;
    const { default: Kind } = await (view === "scatter" ? import("./scatter.js") : import("./parallel.js"));
    if (this.signal.aborted || state.view !== view) return;
    if (!(this.plot instanceof Kind)) {
      this.plot = new Kind(this.scores);
      this.area.replaceChildren(this.plot.element);
    }
    this.plot.show(this.data, this.rows);
  }

  // The address says what is shown.
  note() {
    const scores = [...(state.scores ?? [])].join();
    remember({
      filter: state.filter,
      sort: state.chosen ? `${state.descending ? "-" : ""}${state.key}` : null,
      scores: scores === this.usual ? null : scores || ",",
      view: state.view === "table" ? null : state.view,
      ...Object.fromEntries(["protocol", "representation"].map((key) => [key, state.protocol[key]])),
    });
  }

  heads() {
    const sort = (key) => {
      const better = this.data.columns.get(key).better;
      state.descending =
        state.key === key ? !state.descending : this.data.columns.get(key).kind === "score" && better !== "lower";
      [state.key, state.chosen] = [key, true];
      this.update();
      this.head.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
    };
    const head = (key, label) => {
      const kind = this.data.columns.get(key).kind;
      const order = state.key === key ? (state.descending ? "descending" : "ascending") : undefined;
      const button = h(
        "button",
        { type: "button", data: entryOf(key) ? { key, term: entryOf(key) } : { key }, onclick: () => sort(key) },
        h("span", {}, label),
        h("i", { "aria-hidden": "true" }),
      );
      return h("th", { scope: "col", class: kind === "text" ? "" : "number", "aria-sort": order }, button);
    };
    const focused = this.head.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.head.replaceChildren(
      h(
        "tr",
        {},
        h("th", { class: "pick" }, h("span", { class: "hidden" }, "Compare")),
        head("name", "run"),
        this.pictured && h("th", { scope: "col", class: "tiny" }, "traversals"),
        this.columns.map((key) => head(key, headingOf(this.data.columns.get(key)))),
      ),
    );
    if (focused) this.head.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
  }

  scrolled() {
    state.top = this.viewport.scrollTop;
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  draw(anew = false) {
    if (!this.viewport.isConnected || !this.rows) return;
    // The first time the table has no place yet, and asking for it would have the page laid out twice.
    const fresh = this.first === undefined;
    const first = fresh ? 0 : Math.max(0, Math.floor(this.viewport.scrollTop / ROW) - SPARE);
    const height = fresh ? innerHeight : this.viewport.clientHeight || innerHeight;
    const last = Math.min(this.rows.length, first + Math.ceil(height / ROW) + (fresh ? 0 : 2 * SPARE));
    if (!anew && first === this.first && last === this.last) return;
    const kept = new Map(
      anew ? [] : [...this.body.children].filter((row) => row.dataset.row).map((row) => [Number(row.dataset.row), row]),
    );
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    [this.first, this.last] = [first, last];
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${(this.rows.length - last) * ROW}px`;
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const row = kept.get(this.rows[at]) ?? this.row(this.rows[at]);
      row.setAttribute("aria-rowindex", at + 2);
      rows.push(row);
    }
    const nothing = this.rows.length
      ? []
      : [
          h(
            "tr",
            { class: "nothing" },
            h(
              "td",
              { colspan: this.columns.length + 3 },
              this.data.count ? "No run fits the filter." : "No run is here any more. A new one appears by itself.",
            ),
          ),
        ];
    this.body.replaceChildren(this.above, ...rows, ...nothing, this.below);
    if (focused && !focused.isConnected)
      this.body
        .querySelector(`tr[data-id="${focused.closest("tr").dataset.id}"] ${focused.localName}`)
        ?.focus({ preventScroll: true });
    for (const image of this.body.querySelectorAll("img:not([data-id])"))
      this.thumbnails.ask(image, image.closest("tr").dataset.id);
  }

  row(row) {
    const id = cell(this.data, "id", row),
      [called, hash] = calledAt(this.data, row),
      status = cell(this.data, "status", row);
    const pick = (event) => {
      state.selected[event.target.checked ? "add" : "delete"](id);
      this.selection();
    };
    const box = h("input", {
      type: "checkbox",
      checked: state.selected.has(id),
      onchange: pick,
      "aria-label": `Compare ${called} ${hash}`.trim(),
    });
    const picture = status === "done" ? h("img", { alt: "", decoding: "async" }) : h("span", { class: "faint" }, "–");
    return h(
      "tr",
      { data: { row, id } },
      h("td", { class: "pick" }, box),
      h(
        "th",
        { scope: "row" },
        h("span", { class: `state ${status.replace(" ", "-")}`, title: status }),
        h("a", { href: `#/run/${encodeURIComponent(id)}`, title: hash || called }, called),
        hash && h("small", {}, hash),
      ),
      this.pictured && h("td", { class: "tiny" }, picture),
      this.columns.map((key) => this.value(key, row)),
    );
  }

  value(key, row) {
    const column = this.data.columns.get(key),
      value = cell(this.data, key, row);
    if (key === "status") return h("td", {}, h("span", { class: `state ${value.replace(" ", "-")}` }, value));
    if (column.kind === "text") return h("td", {}, cellTitle(this.data, key, row));
    if (key === "strength") return h("td", { class: "number" }, weightAt(this.data, row));
    if (column.kind === "number") return h("td", { class: "number" }, Number.isNaN(value) ? "" : setting(value));
    const levels = levelsOf(this.data, key, row),
      share = shareOfWay(value, startOf(levels), levels.reference);
    if (share === null) return h("td", { class: "number" }, Number.isNaN(value) ? "–" : scoreText(value));
    return h(
      "td",
      {
        class: "number score",
        style: { "--share": share.toFixed(3) },
        title: `${headingOf(column)} ${scoreText(value)}: ${wayInWords(levels)}`,
      },
      scoreText(value),
    );
  }

  selection() {
    const { words } = this.data.columns.get("id");
    const chosen = [...state.selected].filter((id) => words.includes(id));
    this.compare.hidden = chosen.length === 0;
    const few = chosen.slice(0, MOST_COMPARED);
    this.compare.textContent =
      chosen.length < 2
        ? "Select one more to compare"
        : few.length < chosen.length
          ? `Compare the first ${few.length} of ${chosen.length}`
          : `Compare ${few.length} runs`;
    if (chosen.length < 2) this.compare.removeAttribute("href");
    else this.compare.href = `#/compare/${few.map(encodeURIComponent).join(",")}`;
    this.compare.classList.toggle("primary", chosen.length > 1);
  }

  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    const row = event.target.closest("tr")?.dataset.row;
    if (!step || row === undefined) return;
    event.preventDefault();
    const at = Math.min(this.rows.length - 1, Math.max(0, this.rows.indexOf(Number(row)) + step));
    const top = at * ROW,
      space = this.viewport.clientHeight - 2 * ROW;
    if (top < this.viewport.scrollTop) this.viewport.scrollTop = top;
    else if (top > this.viewport.scrollTop + space) this.viewport.scrollTop = top - space;
    this.draw();
    this.body.querySelector(`tr[data-row="${this.rows[at]}"] a`)?.focus({ preventScroll: true });
  }
}
