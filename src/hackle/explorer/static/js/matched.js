// The latents of several models, matched: one slider moves those that say the same, and their traversals and what they
// know of the factors stand side by side.

import { asked, remember } from "./address.js";
import { later, latest, matchLatents, readCaptured } from "./api.js";
import { calledOf, factorName, h, nats, noted, notify, number, term } from "./dom.js";
import { heatMap } from "./heatmap.js";
import { paintTraversal } from "./picture.js";
import { valueAxis } from "./traversals.js";

const COLUMNS = 9,
  GAP = 1,
  LEAST = 0.1;

// A latent's value at a share of the way through its traversal; one that runs against the guide's goes the other way.
export function valueAt({ prior, ends: [low, high] }, sign, share) {
  const value = low + (sign < 0 ? 1 - share : share) * (high - low);
  return prior === "categorical" ? Math.round(value) : value;
}

// The share of the way at which a value lies, from 0 to 1.
export function shareAt({ ends: [low, high] }, sign, value) {
  const share = Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
  return sign < 0 ? 1 - share : share;
}

// The shares that the address gives, by row: `moved=0:0.25,3:0.8`.
const moved = () =>
  new Map(
    (asked().get("moved") ?? "")
      .split(",")
      .map((part) => part.split(":").map(Number))
      .filter(([row, share]) => Number.isInteger(row) && share >= 0 && share <= 1),
  );

// `models` are {run, tag, session}, those with weights.
export async function showMatched(place, models, signal) {
  const { rows, by } = await matchLatents(models.map(({ session }) => session.id));
  if (signal.aborted) return;
  const shares = moved();
  const known = rows.map((row) =>
    row.map((match, at) => match && { ...match, ...models[at], entry: models[at].session.latents[match.latent] }),
  );
  // Most used first, by the first model that has a latent in the row.
  const use = (row) => row.find(Boolean).entry.kl ?? row.find(Boolean).entry.informativeness ?? 0;
  const order = known.map((_, at) => at).sort((a, b) => use(known[b]) - use(known[a]) || a - b);

  const strips = known.map((row, at) => strip(row, at));
  const note =
    by === "information"
      ? "Latents with like information on the factors stand in one row, matched by the Hungarian method " +
        "to those of A; " +
        "a reversed one falls where that of A rises. A slider moves the whole row."
      : "These models have no factors in common: latents stand in the order of their use. " +
        "A slider moves the whole row.";
  const maps = h("div", { class: "columns maps", style: { "--count": models.length } });
  place.replaceChildren(
    h(
      "section",
      { class: "card" },
      h("h2", {}, term("Latents", "latents"), ", matched"),
      h("p", { class: "faint" }, noted(note)),
      order.map((at) => strips[at].element),
    ),
    maps,
  );

  // The latents of a model at its start, with the rows that were moved.
  const put = () =>
    models.forEach(({ session }, at) => {
      const z = session.start?.means ? [...session.start.means] : session.latents.map(() => 0);
      for (const [row, share] of shares) {
        const match = known[row]?.[at];
        if (match) z[match.latent] = valueAt(match.entry, match.sign, share);
      }
      session.place(z);
    });
  const draw = latest(async () => {
    const sheets = await Promise.all(models.map(({ session }, at) => sheet(session, known, at)));
    if (signal.aborted) return;
    for (const { refresh } of strips) refresh(sheets);
    place.dataset.drawn = String(Number(place.dataset.drawn ?? 0) + 1);
  });
  // A browser refuses an address that changes too often.
  const keep = later(() => remember({ moved: [...shares].map(([row, share]) => `${row}:${share}`).join() }), 200);
  const soon = later(() => draw().catch((error) => notify(error.message, "bad")), 150);

  function strip(row, at) {
    const names = row.filter(Boolean).map(({ tag, latent }) => `${tag} z${latent}`);
    const slider = h("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.01,
      "aria-label": `Latents ${names.join(", ")}`,
      oninput: () => {
        shares.set(at, slider.valueAsNumber);
        keep();
        put();
        soon();
      },
    });
    const cells = row.map((match, model) => {
      if (!match)
        return {
          element: h("div", { class: "traversal none" }, h("span", {}, tagOf(models[model].tag), "no latent left")),
        };
      const canvas = h("canvas", { role: "img", "aria-label": `Traversal of latent z${match.latent} of ${match.tag}` });
      const value = h("small");
      const { entry } = match;
      const label = h(
        "span",
        { class: "name" },
        tagOf(match.tag),
        `z${match.latent}`,
        entry.kl === null ? null : h("small", {}, term("KL"), ` ${nats(entry.kl)} `, term("nats")),
        match.sign < 0 ? h("small", {}, "reversed") : null,
        value,
      );
      const columns = match.session.columns(COLUMNS);
      const element = h(
        "div",
        { class: `traversal ${entry.active ? "" : "collapsed"}` },
        label,
        h(
          "div",
          {},
          h("div", { class: "film" }, canvas),
          valueAxis(match.session, entry, levels(match, columns), columns),
        ),
      );
      return { element, canvas, value, match };
    });
    const refresh = (sheets) => {
      const first = cells.find((one) => one.match).match;
      if (document.activeElement !== slider)
        slider.value = shareAt(first.entry, first.sign, first.session.z[first.latent]);
      cells.forEach(({ canvas, value, match }, model) => {
        if (!match) return;
        const { images, columns, places } = sheets[model];
        const values = levels(match, columns);
        paintTraversal(canvas, images, { values, columns, first: places.get(at) * columns, gap: GAP });
        value.textContent = `now ${match.session.valueText(match.latent, match.session.z[match.latent])}`;
      });
    };
    const lines = h(
      "div",
      { class: "columns", style: { "--count": models.length } },
      cells.map((one) => one.element),
    );
    return { element: h("div", { class: "matched" }, slider, lines), refresh };
  }

  async function begin(seed) {
    for (const { session } of models) if (!session.model.problem) await session.from({ seed });
    if (signal.aborted) return;
    put();
    await draw();
  }

  function reset() {
    shares.clear();
    remember({ moved: null });
    put();
    soon();
  }

  heatMaps(maps, models, known, order, signal).catch((error) => notify(error.message, "bad"));
  return { begin, reset };
}

export const tagOf = (tag) => h("b", { class: `tag s${tag.charCodeAt(0) - 65}` }, tag);

const levels = ({ session, latent, sign }, columns) => {
  const values = session.levels(latent, columns);
  return sign < 0 ? values.reverse() : values;
};

// Every traversal of a model in one request, and where each row's begins.
async function sheet(session, known, model) {
  const columns = session.columns(COLUMNS);
  const places = new Map();
  const z = [];
  known.forEach((row, at) => {
    if (!row[model]) return;
    places.set(at, places.size);
    const values = levels(row[model], columns);
    for (let place = 0; place < columns; place += 1)
      z.push(session.moved([[row[model].latent, values[Math.min(place, values.length - 1)]]]));
  });
  return { images: await session.decode(z), columns, places };
}

// What each latent knows of each factor, in one scale of colours for all models.
async function heatMaps(place, models, known, order, signal) {
  const found = await Promise.all(
    models.map(({ session }) => (session.model.problem ? { factors: [] } : readCaptured(session.id))),
  );
  if (signal.aborted || found.every(({ factors }) => !factors.length)) return;
  const top = Math.max(LEAST, ...found.flatMap(({ posterior_information: values }) => (values ?? []).flat()));
  place.append(
    ...found.map(({ factors, posterior_information: values }, at) =>
      h(
        "section",
        { class: "card" },
        h("h2", {}, tagOf(models[at].tag), calledOf(models[at].run)[0]),
        factors.length
          ? heatMap({
              title: "information on factors, nats",
              rows: order.map((row) => (known[row][at] ? `z${known[row][at].latent}` : "–")),
              columns: factors.map(factorName),
              values: order.map((row) => (known[row][at] ? values[known[row][at].latent] : factors.map(() => null))),
              top,
              narrow: true,
            })
          : h("p", { class: "faint" }, noted("Its data set has no known factors.")),
      ),
    ),
  );
  place.after(
    h(
      "p",
      { class: "colour-scale faint" },
      "One scale for all: 0",
      h("i", { role: "img", "aria-label": `from no tint, 0, to the deepest, ${number(top, 2)} nats` }),
      `${number(top, 2)} nats`,
    ),
  );
}
