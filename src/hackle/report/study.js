(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  const setTheme = (name) => {
    if (name === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", name);
    button.textContent = `theme: ${name}`;
  };
  button.addEventListener("click", () => {
    const now = root.getAttribute("data-theme") ?? "auto";
    setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  });

  for (const chip of document.querySelectorAll("[data-verdict-filter]")) {
    chip.addEventListener("click", () => {
      const on = chip.getAttribute("aria-pressed") !== "true";
      for (const other of document.querySelectorAll("[data-verdict-filter]"))
        other.setAttribute("aria-pressed", "false");
      chip.setAttribute("aria-pressed", String(on));
      for (const claim of document.querySelectorAll(".claims details"))
        claim.hidden = on && claim.dataset.verdict !== chip.dataset.verdictFilter;
      for (const fold of document.querySelectorAll(".untested")) {
        fold.hidden = on && chip.dataset.verdictFilter !== "no runs";
        fold.open = on && !fold.hidden;
      }
    });
  }

  // A link to a claim opens it, with the fold around it, whatever is filtered.
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.matches(".claims details")) return;
    for (const chip of document.querySelectorAll('[data-verdict-filter][aria-pressed="true"]')) chip.click();
    target.open = true;
    for (let fold = target.parentElement.closest("details"); fold; fold = fold.parentElement.closest("details"))
      fold.open = true;
    target.scrollIntoView({ behavior: "instant" });
  };
  window.addEventListener("hashchange", openTarget);
  // A link to the address at hand changes nothing in it.
  for (const link of document.querySelectorAll('a[href^="#claim-"]'))
    link.addEventListener("click", () => setTimeout(openTarget));

  const place = document.getElementById("score-table");
  let data = null;
  const strength = () => data.names.indexOf("strength");
  const shown = (row, column) =>
    row.setting[column] === null
      ? ""
      : column === strength()
        ? `${data.symbols[row.index]} = ${row.setting[column]}`
        : typeof row.setting[column] === "number"
          ? row.setting[column].toLocaleString("en")
          : (data.titles[row.setting[column]] ?? row.setting[column]);
  // A setting is found by the names that are shown and by those of commands.
  const words = (row) =>
    row.setting
      .flatMap((value, column) => [shown(row, column), value])
      .join(" ")
      .toLowerCase();
  const state = { columns: null, dataset: "", find: "", sort: 0, up: true, medians: false, open: new Set() };
  const number = (value) =>
    value === null || Number.isNaN(value) ? "" : Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3);
  const cell = (text, kind = "td", className = "") => {
    const made = document.createElement(kind);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  function read() {
    data = JSON.parse(document.getElementById("score-data").textContent);
    data.members = data.settings.map(() => []);
    for (const [index, run] of data.runs.entries()) data.members[run[0]].push(index);
    state.columns = new Set(data.shown);
    const select = document.getElementById("score-dataset");
    for (const name of new Set(data.settings.map((setting) => setting[0])))
      select.add(new Option(data.titles[name] ?? name, name));
    const box = document.getElementById("score-columns");
    data.columns.forEach((name, index) => {
      const label = document.createElement("label"),
        tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = state.columns.has(index);
      tick.addEventListener("change", () => {
        tick.checked ? state.columns.add(index) : state.columns.delete(index);
        draw();
      });
      label.append(tick, ` ${name}`);
      box.append(label);
    });
    select.addEventListener("change", () => {
      state.dataset = select.value;
      draw();
    });
    document.getElementById("score-summary").addEventListener("change", (event) => {
      state.medians = event.target.value === "median";
      draw();
    });
    document.getElementById("score-find").addEventListener("input", (event) => {
      state.find = event.target.value.toLowerCase();
      draw();
    });
  }

  // The middle of a setting's runs, by which rows are sorted, and their spread in words.
  const summary = (members, column) => {
    const values = members.map((index) => data.runs[index][3][column]).filter((value) => value !== null);
    const n = values.length;
    if (!n) return { middle: NaN, spread: "" };
    if (state.medians) {
      values.sort((a, b) => a - b);
      const quantile = (share) => {
        const place = share * (n - 1),
          below = Math.floor(place);
        return values[below] + (place - below) * (values[Math.ceil(place)] - values[below]);
      };
      const quartiles = `${number(quantile(0.25))} to ${number(quantile(0.75))}`;
      return { middle: quantile(0.5), spread: n > 1 ? ` (${quartiles})` : "" };
    }
    const mean = values.reduce((sum, value) => sum + value, 0) / n;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return { middle: mean, spread: n > 1 ? ` ± ${Math.sqrt(squares / (n - 1)).toPrecision(2)}` : "" };
  };

  function draw() {
    const columns = [...state.columns].sort((a, b) => a - b);
    const first = data.names.length + 1;
    const rows = data.settings
      .map((setting, index) => ({ setting, index, members: data.members[index] }))
      .filter((row) => !state.dataset || row.setting[0] === state.dataset)
      .filter((row) => !state.find || words(row).includes(state.find));
    for (const row of rows) row.values = columns.map((column) => summary(row.members, column));
    const key = (row) =>
      state.sort < data.names.length
        ? row.setting[state.sort]
        : state.sort === data.names.length
          ? row.members.length
          : row.values[state.sort - first]?.middle;
    rows.sort((a, b) => {
      const x = key(a),
        y = key(b);
      const lost = (value) => value === null || value === undefined || Number.isNaN(value);
      if (lost(x) || lost(y)) return lost(x) - lost(y);
      return (x > y ? 1 : x < y ? -1 : 0) * (state.up ? 1 : -1);
    });
    const table = document.createElement("table"),
      head = table.createTHead().insertRow(),
      body = table.createTBody();
    [...data.names, "runs", ...columns.map((column) => data.columns[column])].forEach((name, column) => {
      const made = cell(name, "th", column >= data.names.length ? "number" : "");
      made.scope = "col";
      made.tabIndex = 0;
      if (column === state.sort) made.setAttribute("aria-sort", state.up ? "ascending" : "descending");
      const sort = () => {
        state.up = column === state.sort ? !state.up : column < data.names.length;
        state.sort = column;
        draw();
      };
      made.addEventListener("click", sort);
      made.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          sort();
        }
      });
      head.append(made);
    });
    for (const row of rows) {
      const line = body.insertRow();
      row.setting.forEach((_, column) => {
        line.append(cell(shown(row, column), "td", data.names[column] === "also" ? "also" : ""));
      });
      const opener = document.createElement("button"),
        opened = state.open.has(row.index);
      opener.textContent = opened ? "▾" : "▸";
      opener.setAttribute("aria-expanded", String(opened));
      opener.setAttribute("aria-label", "show single runs");
      opener.addEventListener("click", () => {
        opened ? state.open.delete(row.index) : state.open.add(row.index);
        draw();
      });
      line.cells[0].prepend(opener);
      line.append(cell(String(row.members.length), "td", "number"));
      for (const value of row.values) {
        const made = cell(number(value.middle), "td", "number");
        if (value.spread) made.append(cell(value.spread, "span", "sd"));
        line.append(made);
      }
      if (!opened) continue;
      for (const index of row.members) {
        const run = data.runs[index],
          single = body.insertRow();
        single.className = "run";
        single.dataset.run = run[2];
        const name = cell(`seed ${run[1]}, run ${run[2]}`);
        name.colSpan = data.names.length + 1;
        single.append(name);
        for (const column of columns) single.append(cell(number(run[3][column]), "td", "number"));
      }
    }
    place.replaceChildren(table);
  }

  const start = () => {
    if (data === null) {
      read();
      draw();
    }
  };
  new IntersectionObserver(
    (entries, observer) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        observer.disconnect();
        start();
      }
    },
    { rootMargin: "600px" },
  ).observe(place);
  window.addEventListener("beforeprint", start);

  // A dot of a figure leads to its run: the row is shown, whatever is filtered.
  document.addEventListener("show-run", ({ detail }) => {
    start();
    const run = data.runs.find((one) => one[2] === detail);
    if (!run) return;
    state.dataset = state.find = document.getElementById("score-dataset").value = "";
    document.getElementById("score-find").value = "";
    state.open.add(run[0]);
    draw();
    const row = place.querySelector(`tr[data-run="${CSS.escape(detail)}"]`);
    row.classList.add("shown");
    row.scrollIntoView({ block: "center", behavior: "instant" });
  });
  openTarget();
})();
