// Several runs side by side: scores, traversals from the same image, what they captured, curves.

import { readCaptured, readCurves, readRun } from "./api.js";
import { CurvePanel, grouped } from "./curves.js";
import { differences, factorName, factsOf, h, metricName, nats, notify, prose, scoreText, signed } from "./dom.js";
import { heatMap } from "./heatmap.js";
import { paint, paintTraversal } from "./picture.js";
import { Session } from "./session.js";

export async function showCompare(main, ids, signal) {
  main.append(h("p", { class: "waiting" }, "Opening the runs…"));
  const runs = await Promise.all(ids.map(readRun));
  if (signal.aborted) return;
  document.title = `Comparing ${runs.length} runs – hackle explorer`;
  document
    .getElementById("place")
    .replaceChildren(
      h("a", { href: "#/" }, "Runs"),
      h("span", { "aria-hidden": "true" }, "›"),
      h("span", { class: "here" }, "Compare"),
    );
  const cards = runs.map((run) => ({ run, body: h("div", {}, h("p", { class: "waiting" }, "Loading the model…")) }));
  const another = h("button", { type: "button", hidden: !runs.some((run) => run.status === "done") }, "Another image");
  main.replaceChildren(
    h("div", { class: "title" }, h("h1", {}, `Comparing ${runs.length} runs`), another),
    h(
      "div",
      { class: "columns", style: { "--count": runs.length } },
      cards.map(({ run, body }) => h("section", { class: "card" }, heading(run), body)),
    ),
    scores(runs),
    h("section", { class: "card curves" }, h("h2", {}, "Training"), await curves(runs)),
  );
  // The same seed gives runs of one data set the same image.
  let seed = 1;
  const draw = () => {
    for (const card of cards) column(card, seed, signal);
  };
  another.addEventListener("click", () => {
    seed = Math.floor(Math.random() * 2 ** 31);
    draw();
  });
  draw();
}

const name = (run) => {
  const weight = run.facts.find((fact) => fact.name === "strength");
  return [run.method ?? run.name, ...(weight ? [weight.text] : [])].join(" ");
};

const heading = (run) =>
  h(
    "h2",
    {},
    h("a", { href: `#/run/${encodeURIComponent(run.id)}` }, name(run)),
    h("small", {}, factsOf(run, ["strength"]).join(", ")),
  );

async function column(card, seed, signal) {
  const { run, body } = card;
  try {
    card.session ??= await Session.open(run.id);
    const session = card.session;
    if (!session.model.problem) await session.from({ seed });
    const latents = session.ordered(),
      columns = session.columns(9);
    const z = [session.input(session.z), ...latents.flatMap((latent) => session.row(latent.index, columns))];
    const images = await session.decode(z);
    if (signal.aborted) return;
    const original = h("canvas", { role: "img", "aria-label": "Original" }),
      reconstruction = h("canvas", { role: "img", "aria-label": "Reconstruction" });
    if (session.start) paint(original, session.start.image);
    paint(reconstruction, images, 0);
    const rows = latents.map((latent, row) => {
      const canvas = h("canvas", { role: "img", "aria-label": `Traversal of latent z${latent.index}` });
      const values = session.levels(latent.index, columns);
      paintTraversal(canvas, images, { values, columns, first: 1 + row * columns, gap: 1 });
      return h(
        "div",
        {
          class: `traversal ${latent.active ? "" : "collapsed"}`,
          title: `z${latent.index} from ${latent.ends.map(signed).join(" to ")}`,
        },
        h("span", { class: "name" }, `z${latent.index}`, latent.kl === null ? null : h("small", {}, nats(latent.kl))),
        h("div", { class: "film" }, canvas),
      );
    });
    const map = h("div", { class: "map" });
    body.replaceChildren(
      h(
        "div",
        { class: "twins" },
        session.start ? h("figure", {}, original, h("figcaption", {}, "original")) : null,
        h("figure", {}, reconstruction, h("figcaption", {}, "decoded")),
      ),
      h("div", { class: "traversals" }, rows),
      map,
    );
    if (session.model.problem) return;
    card.captured ??= await readCaptured(run.id);
    if (!card.captured.factors.length || signal.aborted) return;
    const order = latents.map((latent) => latent.index);
    map.replaceChildren(
      heatMap({
        title: "information on factors, nats",
        rows: order.map((index) => `z${index}`),
        columns: card.captured.factors.map(factorName),
        values: order.map((index) => card.captured.posterior_information[index]),
      }),
    );
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(h("p", { class: "note" }, prose(error.message)));
  }
}

function scores(runs) {
  const apart = differences(runs, ["strength"]);
  const key = (row) => [row.metric, row.representation, row.protocol].join("\u0000");
  const tables = runs.map((run) => new Map(run.scores.map((row) => [key(row), row])));
  const rows = [...new Set(tables.flatMap((table) => [...table.keys()]))].map((found) =>
    tables.map((table) => table.get(found)),
  );
  if (!rows.length)
    return h(
      "section",
      { class: "card" },
      h("h2", {}, "Scores"),
      h("p", { class: "faint" }, prose("These runs have no scores yet. `hackle score` computes them.")),
    );
  const line = (found) => {
    const first = found.find(Boolean),
      values = found.map((row) => row?.score ?? null),
      known = values.filter((value) => value !== null);
    const best =
      known.length < 2 || first.better === "neither"
        ? null
        : first.better === "lower"
          ? Math.min(...known)
          : Math.max(...known);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, metricName(first.metric)),
      h("td", { class: "faint" }, first.representation),
      values.map((value) =>
        h(
          "td",
          { class: `number ${value !== null && value === best ? "best" : ""}` },
          value === null ? "–" : scoreText(value),
        ),
      ),
      h("td", { class: "number faint" }, first.reference === null ? "" : scoreText(first.reference)),
    );
  };
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Scores"),
    h(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Scores" },
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "metric"),
            h("th", { scope: "col" }, "codes"),
            runs.map((run, at) => h("th", { scope: "col", class: "number" }, name(run), h("small", {}, apart[at]))),
            h("th", { scope: "col", class: "number" }, "reference"),
          ),
        ),
        h("tbody", {}, rows.map(line)),
      ),
    ),
  );
}

async function curves(runs) {
  const found = await Promise.all(
    runs.map((run) =>
      readCurves(run.id).then(
        (answer) => grouped(answer.curves),
        (error) => {
          notify(error.message, "bad");
          return new Map();
        },
      ),
    ),
  );
  const apart = differences(runs, ["strength"]),
    names = runs.map((run, at) => `${name(run)}, ${apart[at]}`);
  const terms = [...new Set(found.flatMap((groups) => [...groups.keys()]))].filter((term) =>
    found.every((groups) => (groups.get(term)?.length ?? 1) === 1),
  );
  if (!terms.length) return h("p", { class: "faint" }, "No curves are kept of these runs.");
  const panel = new CurvePanel();
  panel.show(
    new Map(
      terms.map((term) => [
        term,
        found.map((groups, at) => ({ x: [], y: [], ...groups.get(term)?.[0], name: names[at] })),
      ]),
    ),
  );
  return panel.element;
}
