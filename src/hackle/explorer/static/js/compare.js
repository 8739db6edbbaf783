// Several runs side by side: the same image in each, their latents matched, scores, curves.

import { asked, remember } from "./address.js";
import { readCurves, readRun } from "./api.js";
import { CurvePanel, grouped } from "./curves.js";
import {
  calledOf,
  differences,
  explained,
  factsOf,
  h,
  metricName,
  noted,
  notify,
  scoreText,
  showPlace,
  term,
  waiting,
} from "./dom.js";
import { referenceCell, scoreBar, scoresTable } from "./levels.js";
import { showMatched, tagOf } from "./matched.js";
import { mirror, paint } from "./picture.js";
import { Session } from "./session.js";

const letter = (at) => String.fromCharCode(65 + at);

export async function showCompare(main, ids, signal) {
  main.append(waiting("Opening the runs…"));
  const runs = await Promise.all(ids.map(readRun));
  if (signal.aborted) return;
  document.title = `Comparing ${runs.length} runs – hackle explorer`;
  showPlace("Compare");
  const cards = runs.map((run, at) => ({
    run,
    tag: letter(at),
    body: h("div", {}, waiting("Loading the model…")),
  }));
  const another = h("button", { type: "button", hidden: true }, "Another image");
  const reset = h("button", { type: "button", hidden: true }, "Reset");
  const latents = h("div", { class: "latents-matched" });
  main.replaceChildren(
    h(
      "div",
      { class: "title" },
      h("h1", {}, `Comparing ${runs.length} runs`),
      h("div", { class: "buttons" }, another, reset),
    ),
    h(
      "div",
      { class: "columns heads", style: { "--count": runs.length } },
      cards.map(({ run, tag, body }) => h("section", { class: "card" }, heading(run, tag), body)),
    ),
    latents,
    scores(runs),
    h("section", { class: "card curves" }, h("h2", {}, "Training"), await curves(runs)),
  );
  await Promise.all(cards.map((card) => open(card, signal)));
  const models = cards.filter(({ session }) => session);
  if (signal.aborted || !models.length) return;
  const matched = await showMatched(latents, models, signal).catch((error) => {
    latents.replaceChildren(h("p", { class: "note" }, noted(error.message)));
    return null;
  });
  if (!matched || signal.aborted) return;
  // The same seed gives runs of one data set the same image.
  const begin = (seed) => matched.begin(seed).catch((error) => notify(error.message, "bad"));
  another.addEventListener("click", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    remember({ seed });
    begin(seed);
  });
  reset.addEventListener("click", () => matched.reset());
  another.hidden = models.every(({ session }) => session.model.problem);
  reset.hidden = false;
  await begin(Number(asked().get("seed")) || 1);
}

const nameOf = (run) => {
  const weight = run.facts.find((fact) => fact.name === "strength");
  return [run.method ? run.title : "", ...(weight ? [weight.text] : [])].join(" ");
};

// A run that is called by its method, weight and seed says the rest below, and one with a name of its own all of it.
function heading(run, tag) {
  const [called, hash] = calledOf(run);
  const rest = hash ? [hash, ...factsOf(run, ["strength", "seed"])] : [nameOf(run), ...factsOf(run, ["strength"])];
  return h(
    "h2",
    {},
    tagOf(tag),
    h("a", { href: `#/run/${encodeURIComponent(run.id)}` }, called),
    h("small", {}, rest.filter(Boolean).join(", ")),
  );
}

// The model with its image and what it makes of it, or why there is none.
async function open(card, signal) {
  try {
    if (card.run.problem) throw new Error(card.run.problem);
    const session = await Session.open(card.run.id);
    if (signal.aborted) return;
    const original = h("canvas", { role: "img", "aria-label": `Original, ${card.tag}` });
    const origin = h("figure", { hidden: true }, original, h("figcaption", {}, "original"));
    const decoded = mirror(session, signal);
    decoded.setAttribute("aria-label", `Decoded by ${card.tag}`);
    session.addEventListener(
      "change",
      () => {
        origin.hidden = !session.start;
        if (session.start) paint(original, session.start.image);
      },
      { signal },
    );
    card.body.replaceChildren(
      h("div", { class: "twins" }, origin, h("figure", {}, decoded, h("figcaption", {}, "decoded"))),
      session.model.problem ? h("p", { class: "faint" }, noted(session.model.problem)) : "",
    );
    card.session = session;
  } catch (error) {
    // What to do about it is said on the run's own page.
    const [first] = error.message.split(". ");
    if (!signal.aborted) card.body.replaceChildren(h("p", { class: "note" }, noted(first)));
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
      h("p", { class: "faint" }, noted("These runs have no scores yet. `hackle score` computes them.")),
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
      h(
        "th",
        { scope: "row" },
        explained(first.metric, metricName(first.metric)),
        h("small", {}, [first.representation, first.unit].filter(Boolean).join(", ")),
      ),
      values.map((value, at) =>
        h(
          "td",
          { class: `number ${value !== null && value === best ? "best" : ""}` },
          value === null ? "–" : [scoreText(value), scoreBar(value, found[at])],
        ),
      ),
      referenceCell(first),
    );
  };
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Scores"),
    scoresTable(
      [
        h("th", { scope: "col" }, term("metric")),
        runs.map((run, at) =>
          h(
            "th",
            { scope: "col", class: "number", title: run.name },
            tagOf(letter(at)),
            h("span", { class: "long" }, calledOf(run)[0], h("small", {}, apart[at])),
          ),
        ),
        h("th", { scope: "col", class: "number" }, term("refer\u00adence", "reference")),
      ],
      rows.map(line),
      { "--count": runs.length },
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
    names = runs.map((run, at) => [letter(at), nameOf(run), apart[at]].filter(Boolean).join(", "));
  const terms = [...new Set(found.flatMap((groups) => [...groups.keys()]))].filter((term) =>
    found.every((groups) => (groups.get(term)?.length ?? 1) === 1),
  );
  if (!terms.length) return h("p", { class: "faint" }, noted("No curves are kept of these runs."));
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
