// The run list: a table of which only the rows in sight are in the page, so that many thousands are no burden.

import { listRuns, thumbnailAddress, later } from "./api.js";
import { h, metricName, notify, scoreText, setting } from "./dom.js";
import { cell, matching, sorted, unpack } from "./rows.js";

const ROW = 40,
  SPARE = 8,
  FIRST_SCORES = 6,
  MOST_COMPARED = 6,
  REFRESH = 10000;
// Columns that stand left of the scores; all others of the record stand right of them.
const BEFORE = ["method", "strength", "correlation", "seed", "dataset"];

// What the user chose stays while the page is open.
const state = {
  search: "",
  choices: {},
  key: "",
  chosen: false,
  descending: true,
  scores: null,
  selected: new Set(),
  top: 0,
  protocol: {},
};

export async function showList(main, signal) {
  main.append(h("p", { class: "waiting" }, "Reading runs…"));
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
  list.update();
  list.viewport.scrollTop = state.top;
  const again = setInterval(async () => {
    const fresh = await listRuns(state.protocol, list.data.tag).catch((error) => {
      if (error.status) notify(error.message, "bad");
    });
    if (!signal.aborted) list.follow(fresh);
  }, REFRESH);
  signal.addEventListener("abort", () => clearInterval(again));
}

class Thumbnails {
  // Two pictures are fetched at a time, and only for rows that are still in sight.
  constructor() {
    this.waiting = [];
    this.busy = 0;
  }

  ask(image, id) {
    image.dataset.id = id;
    this.waiting.push(image);
    this.next();
  }

  next() {
    while (this.busy < 2 && this.waiting.length) {
      const image = this.waiting.shift();
      if (!image.isConnected) continue;
      this.busy += 1;
      const done = () => {
        this.busy -= 1;
        this.next();
      };
      image.addEventListener(
        "load",
        () => {
          image.classList.add("here");
          done();
        },
        { once: true },
      );
      image.addEventListener(
        "error",
        () => {
          image.replaceWith(h("span", { class: "faint" }, "–"));
          done();
        },
        { once: true },
      );
      image.src = thumbnailAddress(image.dataset.id);
    }
  }
}

class RunList {
  constructor(table, signal) {
    this.signal = signal;
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
    this.use(table);
    this.bar = this.tools();
    this.element = h("div", { class: "listing" }, this.bar, this.viewport);
    addEventListener("resize", () => this.draw(true), { signal });
  }

  use(table) {
    this.data = table;
    const scores = [...table.columns.values()].filter((column) => column.kind === "score").map((column) => column.key);
    this.scores = scores;
    if (scores.length) state.scores ??= new Set(scores.slice(0, FIRST_SCORES));
    if (!state.chosen) [state.key, state.descending] = [scores[0] ?? "name", scores.length > 0];
    // Without any weights there is nothing to draw.
    this.pictured = table.columns.get("status").words.includes("done");
    // A column that says the same of every run says nothing.
    const settings = [...table.columns.values()]
      .filter((column) => column.kind !== "score" && !["id", "name"].includes(column.key))
      .map((column) => column.key);
    const after = settings.filter((key) => !BEFORE.includes(key));
    [this.before, this.after] = [BEFORE, after].map((keys) =>
      keys.filter((key) => key === "method" || this.differs(key)),
    );
  }

  heading(key) {
    return this.data.columns.get(key).word ?? metricName(key);
  }

  differs(key) {
    const { numbers } = this.data.columns.get(key);
    return numbers.some((value) => value !== numbers[0] && !(Number.isNaN(value) && Number.isNaN(numbers[0])));
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
    if (!this.stale || this.bar.contains(document.activeElement)) return;
    this.stale = false;
    const bar = this.tools();
    this.bar.replaceWith(bar);
    this.bar = bar;
  }

  tools() {
    const search = h("input", {
      type: "search",
      value: state.search,
      placeholder: "Filter: beta-vae  mig>0.2  seed=3",
      "aria-label": "Filter runs",
      oninput: later(() => {
        state.search = search.value;
        this.update();
      }, 60),
    });
    const texts = [...this.data.columns.values()].filter(
      ({ key, kind }) => kind === "text" && !["id", "name"].includes(key),
    );
    const several = texts.filter((column) => column.words.length > 1).map((column) => column.key);
    const choices = several.map((key) => {
      const change = (event) => {
        state.choices[key] = event.target.value;
        this.update();
      };
      const options = this.data.columns
        .get(key)
        .words.filter(Boolean)
        .map((word) => h("option", { value: word, selected: state.choices[key] === word }, word));
      return h(
        "label",
        {},
        h("span", { class: "hidden" }, this.heading(key)),
        h("select", { onchange: change }, h("option", { value: "" }, `any ${this.heading(key)}`), options),
      );
    });
    const protocols = ["protocol", "representation"]
      .filter((key) => this.data[`${key}s`].length > 1)
      .map((key) => {
        const change = async (event) => {
          state.protocol = { ...state.protocol, [key]: event.target.value };
          this.replace(unpack(await listRuns(state.protocol)));
        };
        const options = this.data[`${key}s`].map((name) =>
          h("option", { value: name, selected: this.data[key] === name }, name),
        );
        return h("label", {}, h("span", { class: "hidden" }, key), h("select", { onchange: change }, options));
      });
    const boxes = this.scores.map((key) => {
      const change = (event) => {
        state.scores[event.target.checked ? "add" : "delete"](key);
        this.update(true);
      };
      return h(
        "label",
        {},
        h("input", { type: "checkbox", checked: state.scores.has(key), onchange: change }),
        metricName(key),
      );
    });
    const columns = boxes.length
      ? h(
          "details",
          { class: "menu" },
          h("summary", { class: "button" }, "Scores"),
          h("div", { class: "choices" }, boxes),
        )
      : null;
    return h(
      "div",
      { class: "tools" },
      h("h1", {}, this.data.title),
      search,
      choices,
      protocols,
      columns,
      this.count,
      this.compare,
    );
  }

  update(keep = false) {
    this.rows = sorted(this.data, matching(this.data, state.search, state.choices), state.key, state.descending);
    this.columns = [...this.before, ...this.scores.filter((key) => state.scores?.has(key)), ...this.after];
    const total = this.data.count.toLocaleString("en");
    this.count.textContent =
      this.rows.length === this.data.count
        ? `${total} ${this.data.count === 1 ? "run" : "runs"}`
        : `${this.rows.length.toLocaleString("en")} of ${total}`;
    this.heads();
    this.selection();
    if (!keep) this.viewport.scrollTop = 0;
    this.draw(true);
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
        { type: "button", data: { key }, onclick: () => sort(key) },
        label,
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
        this.columns.map((key) => head(key, this.heading(key))),
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
    const first = Math.max(0, Math.floor(this.viewport.scrollTop / ROW) - SPARE);
    const shown = Math.ceil((this.viewport.clientHeight || innerHeight) / ROW) + 2 * SPARE;
    const last = Math.min(this.rows.length, first + shown);
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
      name = cell(this.data, "name", row),
      status = cell(this.data, "status", row);
    const pick = (event) => {
      state.selected[event.target.checked ? "add" : "delete"](id);
      this.selection();
    };
    const box = h("input", {
      type: "checkbox",
      checked: state.selected.has(id),
      onchange: pick,
      "aria-label": `Compare ${name}`,
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
        h("a", { href: `#/run/${encodeURIComponent(id)}` }, name),
      ),
      this.pictured && h("td", { class: "tiny" }, picture),
      this.columns.map((key) => this.value(key, row)),
    );
  }

  value(key, row) {
    const column = this.data.columns.get(key),
      value = cell(this.data, key, row);
    if (key === "status") return h("td", {}, h("span", { class: `state ${value.replace(" ", "-")}` }, value));
    if (column.kind === "text") return h("td", {}, value);
    if (column.kind === "number") return h("td", { class: "number" }, Number.isNaN(value) ? "" : setting(value));
    const share = column.top && value > 0 ? value / column.top : 0;
    return h(
      "td",
      { class: "number score", style: { "--share": share.toFixed(3) } },
      Number.isNaN(value) ? "–" : scoreText(value),
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
