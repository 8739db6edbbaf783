// Figures: their panels one by one where the whole would be too small, the run of a dot, and their numbers as CSV.
(() => {
  const READABLE = 11;
  const SHRUNK = 1.25;
  const NEAR = 5;
  let data = null;
  const read = () => {
    data ??= JSON.parse(document.getElementById("figure-data").textContent);
    return data;
  };
  const svgElement = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  // How far a drawing must be enlarged for its smallest letters to be read.
  const leastOf = (drawn) => {
    const sizes = [...drawn.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize));
    return READABLE / Math.min(7, ...sizes);
  };
  const panelsOf = (svg) => JSON.parse(svg.dataset.panels ?? "[]");

  // The box around a group's letters, pictures and first path, which is the panel's background.
  const around = (group) => {
    const parts = [group.querySelector("path"), ...group.querySelectorAll("text, image")].filter(Boolean);
    const matrix = group.ownerSVGElement.getScreenCTM().inverse();
    const boxes = parts.map((part) => part.getBoundingClientRect()).filter((box) => box.width || box.height);
    const corner = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
    const low = boxes.map((box) => corner(box.left, box.top));
    const high = boxes.map((box) => corner(box.right, box.bottom));
    return {
      left: Math.min(...low.map((point) => point.x)) - 3,
      top: Math.min(...low.map((point) => point.y)) - 3,
      right: Math.max(...high.map((point) => point.x)) + 3,
      bottom: Math.max(...high.map((point) => point.y)) + 3,
    };
  };

  function build(drawing, svg) {
    const id = drawing.dataset.figure,
      holder = document.createElement("div"),
      numbers = read().figures[id].panels;
    holder.className = "panels";
    let row = "";
    panelsOf(svg).forEach((panel, index) => {
      if (panel.row && panel.row !== row) {
        row = panel.row;
        const name = document.createElement("p");
        name.textContent = row;
        holder.append(name);
      }
      const group = document.getElementById(`${id}-panel-${index}`);
      const parts = [[`${id}-panel-${index}`, around(group)]];
      if (panel.axis !== index) {
        const name = `${id}-panel-${panel.axis}-x`;
        parts.push([name, around(document.getElementById(name))]);
      }
      const left = Math.min(...parts.map(([, box]) => box.left)),
        right = Math.max(...parts.map(([, box]) => box.right));
      const figure = document.createElement("figure");
      figure.className = "panel";
      if (panel.said.length) {
        const caption = document.createElement("figcaption");
        caption.textContent = panel.said.join(" · ");
        figure.append(caption);
      }
      for (const [place, [name, box]] of parts.entries()) {
        const made = svgElement("svg", { viewBox: [left, box.top, right - left, box.bottom - box.top].join(" ") });
        if (place) made.setAttribute("aria-hidden", "true");
        else {
          made.setAttribute("role", "img");
          made.setAttribute("aria-label", numbers[index].words);
          made.dataset.panel = index;
        }
        made.append(svgElement("use", { href: `#${name}` }));
        figure.append(made);
      }
      figure.dataset.wide = right - left;
      figure.dataset.least = leastOf(group);
      holder.append(figure);
    });
    drawing.append(holder);
    return holder;
  }

  function arrange(drawing) {
    const svg = drawing.querySelector(".whole svg");
    if (!svg?.dataset.panels) return;
    // On a phone a drawing reaches beyond its text, to both edges of the screen.
    const room = drawing.parentElement.clientWidth - 2 * Number.parseFloat(getComputedStyle(drawing).marginLeft),
      narrow = room < 640;
    if (narrow) svg.dataset.least ??= leastOf(svg);
    const readable = svg.viewBox.baseVal.width * (narrow ? svg.dataset.least : SHRUNK),
      apart = room < readable;
    const holder = drawing.querySelector(".panels") ?? (apart ? build(drawing, svg) : null);
    drawing.classList.toggle("apart", apart);
    svg.style.width = narrow && !apart ? `${Math.min(room, 1.2 * readable)}px` : "";
    if (!apart) return;
    for (const figure of holder.querySelectorAll("figure")) {
      const wide = Number(figure.dataset.wide),
        least = Number(figure.dataset.least),
        scale = narrow ? Math.min(Math.max(least, room / wide), 1.2 * least) : least;
      for (const part of figure.querySelectorAll("svg")) part.style.width = `${wide * scale}px`;
      const scrolls = wide * scale > room;
      figure.classList.toggle("scrolls", scrolls);
      scrolls ? figure.setAttribute("tabindex", "0") : figure.removeAttribute("tabindex");
    }
  }

  const drawings = [...document.querySelectorAll(".drawing")];
  const seen = new Set();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting && !seen.has(target)) {
          seen.add(target);
          arrange(target);
        }
    },
    { rootMargin: "1200px" },
  );
  for (const drawing of drawings) observer.observe(drawing);
  window.addEventListener("resize", () => seen.forEach(arrange));

  // The dot nearest to the pointer, and a note on its run.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.role = "tooltip";
  tip.hidden = true;
  document.body.append(tip);
  const number = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))).replace("-", "−"));
  const places = new Map();
  const dotsOf = (svg) => {
    if (!places.has(svg)) places.set(svg, panelsOf(svg));
    return places.get(svg);
  };

  function nearest(event) {
    const drawing = event.target.closest?.(".drawing"),
      svg = event.target.closest?.("svg");
    if (!drawing || !svg) return null;
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let found = null,
      least = NEAR ** 2;
    dotsOf(drawing.querySelector(".whole svg")).forEach(({ dots }, panel) => {
      if (svg.dataset.panel !== undefined && Number(svg.dataset.panel) !== panel) return;
      for (let at = 0; at < dots.length; at += 2) {
        const distance = (dots[at] - point.x) ** 2 + (dots[at + 1] - point.y) ** 2;
        if (distance < least) {
          least = distance;
          found = { panel, at: at / 2 };
        }
      }
    });
    return found && { figure: read().figures[drawing.dataset.figure], ...found };
  }

  function hover(event) {
    const found = nearest(event);
    tip.hidden = !found;
    if (!found) return;
    const { figure, panel, at } = found,
      { points, ticks, title, x, y } = figure.panels[panel],
      run = data.runs[points[3][at]];
    const lines = run ? [data.settings[run[1]], `seed ${run[2]}, run ${run[0]}`] : [];
    const where = ticks.length ? (ticks[points[0][at]] ?? "") : `${x || "x"} ${number(points[0][at])}`;
    lines.push([`${y || title || "y"} ${number(points[1][at])}`, where].filter(Boolean).join(", "));
    tip.replaceChildren(
      ...lines.map((line) => {
        const made = document.createElement("div");
        made.textContent = line;
        return made;
      }),
    );
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 4))}px`;
    tip.style.top = `${event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14}px`;
  }
  for (const drawing of drawings) {
    drawing.addEventListener("pointermove", hover);
    drawing.addEventListener("pointerdown", hover);
    drawing.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
    drawing.addEventListener("click", (event) => {
      const found = nearest(event),
        run = found && data.runs[found.figure.panels[found.panel].points[3][found.at]];
      if (run) document.dispatchEvent(new CustomEvent("show-run", { detail: run[0] }));
    });
  }
  window.addEventListener("scroll", () => {
    tip.hidden = true;
  });

  // A spreadsheet takes a cell that begins with one of these for a formula; an apostrophe makes it text.
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    let text = String(value);
    if (/^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  function table(id) {
    const { series, panels } = read().figures[id];
    const rows = [["panel", "kind", "series", "x", "y", "low", "high", "n", "run", "setting", "seed"]];
    for (const panel of panels) {
      const place = (x) => (panel.ticks.length ? (panel.ticks[x] ?? x) : x);
      const [xs, ys, groups, runs] = panel.points;
      xs.forEach((x, at) => {
        const run = data.runs[runs[at]] ?? [];
        const setting = run.length ? data.settings[run[1]] : "";
        rows.push([panel.title, "run", series[groups[at]], place(x), ys[at], "", "", "", run[0], setting, run[2]]);
      });
      for (const [x, y, low, high, n, group] of panel.summary)
        rows.push([panel.title, "middle", series[group], place(x), y, low, high, n]);
      const [names, columns, values] = panel.cells ?? [[], [], []];
      names.forEach((name, row) => {
        columns.forEach((column, at) => {
          rows.push([panel.title, "cell", name, column, values[row][at]]);
        });
      });
    }
    return rows.map((row) => row.map(cell).join(",")).join("\r\n");
  }
  for (const link of document.querySelectorAll("a.csv"))
    link.addEventListener("click", () => {
      // A byte order mark tells spreadsheets that the letters are UTF-8.
      const file = new Blob(["\ufeff", table(link.closest(".exhibit").id)], { type: "text/csv" });
      link.href = URL.createObjectURL(file);
    });
})();
