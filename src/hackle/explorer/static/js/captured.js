// What the codes say about the factors: matrices, responses, the top latents of each factor, scores and references.

import { latest, readCaptured, readImportance, vary } from "./api.js";
import { classChart, lineChart, short } from "./chart.js";
import {
  explained,
  factorName,
  factorValue,
  h,
  metricName,
  nats,
  noted,
  notify,
  number,
  scoreText,
  tabBar,
  term,
  waiting,
} from "./dom.js";
import { heatMap } from "./heatmap.js";
import { referenceCell, scoreBar, scoresTable } from "./levels.js";
import { paintSheet, paintTraversal, some, spaced } from "./picture.js";
import { valueAxis } from "./traversals.js";

const MAPS = {
  posterior: ["RMIG", "Mutual information of codes and factors in nats, over whole posteriors: what RMIG sees"],
  means: ["MIG", "Mutual information of codes and factors in nats, of posterior means in 20 bins: what MIG sees"],
  importance: ["DCI", "Importance of codes for predicting each factor by boosted trees: what DCI sees"],
  misjed: ["MISJED", "MISJED of pairs of codes, normalised: small if both are informative and independent"],
};

export async function showCaptured(panel, session, run, signal) {
  const scores = scoreCard(run);
  if (session.model.problem) return panel.append(scores);
  const busy = waiting("Comparing codes with factors…");
  panel.append(busy);
  const found = await readCaptured(session.id);
  if (signal.aborted) return null;
  busy.remove();
  if (!found.factors.length)
    return panel.append(
      h("p", { class: "note" }, noted("This data set has no known factors to compare the codes with.")),
      scores,
    );
  panel.append(
    h("div", { class: "pair" }, maps(session, found, signal), scores),
    responses(session, signal),
    top(session, found, signal),
  );
  return null;
}

export const scoreCard = (run) => h("section", { class: "card scores" }, h("h2", {}, "Scores"), scoreTable(run));

// Why a run has no scores. A model can be scored; of a run without one there is nothing to score.
const noScores = ({ problem, scores_problem: unread }) =>
  unread || (problem ? "This run has no scores." : "This run has no scores yet. `hackle score` computes them.");

// Distinct images: none is counted twice.
export const imagesUsed = ({ images, of_images: all }) =>
  images === all ? `all ${number(all)} images` : `${number(images)} of ${number(all)} images`;

function maps(session, found, signal) {
  const order = session.ordered().map((latent) => latent.index),
    names = order.map((index) => `z${index}`);
  const place = h("div", { class: "map" });
  const note = h("p", { class: "faint" });
  const draw = async (key) => {
    const [, title] = MAPS[key];
    let values = null,
      columns = found.factors.map(factorName),
      remark = `From ${imagesUsed(found)}. `;
    if (key === "importance") {
      note.textContent = "";
      const answer = await fitted(session, found, place, signal).catch((error) => notify(error.message, "bad"));
      if (!answer || signal.aborted) return;
      values = order.map((index) => answer.importance[index]);
      remark += `These give D ${scoreText(answer.disentanglement)} and C ${scoreText(answer.completeness)}.`;
    } else if (key === "misjed") {
      [values, columns] = [order.map((row) => order.map((column) => found.misjed[row][column])), names];
    } else {
      const matrix = key === "means" ? found.information : found.posterior_information;
      values = order.map((index) => matrix[index]);
      const chance = found.factors.map((name, column) => `${factorName(name)} ${scoreText(found.chance[column])}`);
      remark +=
        key === "means"
          ? `These give MIG ${scoreText(found.mig)}. By chance, uninformative codes reach: ${chance.join(", ")}.`
          : `These give RMIG ${scoreText(found.rmig)}.`;
    }
    place.replaceChildren(heatMap({ title, rows: names, columns, values, top: key === "importance" ? 1 : null }));
    note.replaceChildren(...noted(remark));
  };
  draw("posterior");
  return h(
    "section",
    { class: "card" },
    h("h2", {}, term("Codes", "codes"), " and ", term("factors", "factor of variation")),
    tabBar(
      Object.entries(MAPS).map(([key, [label]]) => [key, label, label]),
      "posterior",
      draw,
      "Matrices",
    ),
    place,
    note,
  );
}

// The importance of the codes, one factor after another, which the page follows.
async function fitted(session, { factors }, place, signal) {
  const bar = h("progress", { max: factors.length, value: 0, "aria-label": "Trees fitted" });
  const said = h("span", { role: "status" });
  place.replaceChildren(h("p", { class: "waiting" }, bar, said));
  for (const [at, name] of factors.entries()) {
    said.textContent = `Fitting trees to ${factorName(name)}, factor ${at + 1} of ${factors.length}`;
    await readImportance(session.id, at);
    // Another matrix may have been asked for meanwhile.
    if (signal.aborted || !bar.isConnected) return null;
    bar.value = at + 1;
  }
  return readImportance(session.id);
}

const HELD =
  "Mean of each latent ± one standard deviation of the posterior, with the other factors fixed; the latent whose " +
  "mean moves most, from its least to its greatest, comes first. Of a latent that is one of several " +
  "classes, a bar for each class.";
const ACROSS =
  "No two images differ only in this factor: mean of each latent ± one standard deviation over the images of each " +
  "value or bin; the latent whose mean moves most, from its least to its greatest, comes first. Of a latent " +
  "that is one of several classes, a bar for the share of images in each.";

function responses(session, signal) {
  const factors = session.model.factors
    .map((factor, column) => ({ ...factor, column }))
    .filter((factor) => factor.scored);
  const film = h("canvas", { role: "img", "aria-label": "Images while the factor moves" });
  const below = h("div", { class: "axis", "aria-hidden": "true" });
  const strip = h("div", { class: "moving" }, h("div", { class: "film" }, film), below);
  const charts = h("div", { class: "charts small" });
  const remark = h("p", { class: "faint" });
  const draw = latest(async (column) => {
    const row = session.start?.row ?? session.model.factors.map(() => 0);
    try {
      const found = await vary(session.id, row, column);
      if (signal.aborted) return;
      remark.replaceChildren(...noted(found.held ? HELD : ACROSS));
      const spread = (index) =>
        Math.max(...found.means.map((means) => means[index])) - Math.min(...found.means.map((means) => means[index]));
      const ranked = session.latents
        .map(({ index }) => ({ index, spread: spread(index) }))
        .sort((a, b) => b.spread - a.spread);
      const narrow = matchMedia("(max-width: 640px)").matches;
      const axes = { x: factorName(found.factor), y: "value of the latent" },
        factor = session.model.factors[column],
        named = factor.kind === "continuous" ? null : (value) => factorValue(factor, value);
      const { count, width: wide, height } = found.images,
        places = spaced(count, narrow ? 8 : 20);
      paintSheet(film, some(found.images, places), { columns: places.length, gap: 1 });
      strip.style.setProperty("--columns", places.length);
      strip.style.setProperty("--ratio", wide / height);
      below.replaceChildren(
        ...places.map((at) => {
          const text = named?.(found.values[at]) ?? short(found.values[at]);
          return h("span", { title: text }, text);
        }),
      );
      const reach = Math.max(
        1,
        ...found.means.flatMap((means, at) =>
          means.map((mean, index) => (found.shares[index] ? 0 : Math.abs(mean) + found.deviations[at][index])),
        ),
      );
      charts.replaceChildren(
        ...ranked.map(({ index, spread: width }) => {
          const small = { x: found.values, width: narrow ? 320 : 230, height: narrow ? 130 : 150, named };
          const y = found.means.map((means) => means[index]),
            side = (sign) => y.map((value, at) => value + sign * found.deviations[at][index]);
          const chart = found.shares[index]
            ? classChart({ title: `z${index}`, ...small, axes: { ...axes, y: "class" }, shares: found.shares[index] })
            : lineChart({
                title: `z${index} moves ${nats(width)}`,
                series: [{ name: `z${index}`, x: found.values, y, low: side(-1), high: side(1) }],
                ...small,
                axes,
                ends: [-reach * 1.1, reach * 1.1],
              });
          chart.classList.toggle("collapsed", !session.latents[index].active);
          return chart;
        }),
      );
    } catch (error) {
      notify(error.message, "bad");
    }
  });
  let chosen = factors[0].column;
  draw(chosen);
  session.addEventListener(
    "change",
    (event) => {
      if (event.detail === "all") draw(chosen);
    },
    { signal },
  );
  const bar = tabBar(
    factors.map((factor) => [String(factor.column), factorName(factor.name)]),
    String(chosen),
    (key) => {
      chosen = Number(key);
      draw(chosen);
    },
    "Factor to vary",
  );
  const other = h(
    "button",
    {
      type: "button",
      onclick: () =>
        session.from({ seed: Math.floor(Math.random() * 2 ** 31) }).catch((error) => notify(error.message, "bad")),
    },
    "Another image",
  );
  return h(
    "section",
    { class: "card responses" },
    h("h2", {}, "Vary one factor, see every latent"),
    h("div", { class: "line" }, bar, other),
    strip,
    charts,
    remark,
  );
}

function top(session, found, signal) {
  const place = h("div", { class: "tops" }),
    columns = session.columns(9);
  const draw = latest(async () => {
    const z = found.top.flatMap((latents) => latents.flatMap((index) => session.row(index, columns)));
    const images = await session.decode(z);
    if (signal.aborted) return;
    let at = 0;
    place.replaceChildren(
      ...found.factors.map((factor, column) =>
        h(
          "div",
          { class: "top" },
          h(
            "h3",
            {},
            factorName(factor),
            h("small", {}, term("entropy"), ` ${number(found.entropies[column], 2)} nats`),
          ),
          found.top[column].map((index) => {
            const canvas = h("canvas", { role: "img", "aria-label": `Traversal of latent z${index}` });
            const values = session.levels(index, columns);
            paintTraversal(canvas, images, { values, columns, first: at, gap: 1 });
            at += columns;
            return h(
              "div",
              { class: "traversal" },
              h(
                "span",
                { class: "name" },
                `z${index}`,
                h("small", {}, nats(found.posterior_information[index][column])),
              ),
              h(
                "div",
                {},
                h("div", { class: "film" }, canvas),
                valueAxis(session, session.latents[index], values, columns),
              ),
            );
          }),
        ),
      ),
    );
  });
  draw().catch((error) => notify(error.message, "bad"));
  session.addEventListener(
    "change",
    (event) => {
      if (event.detail === "all") draw();
    },
    { signal },
  );
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Top latents of each factor"),
    h(
      "p",
      { class: "faint" },
      "Sorted by their ",
      term("mutual information"),
      " with the factor, in ",
      term("nats"),
      ".",
    ),
    place,
  );
}

function scoreTable(run) {
  const { scores } = run;
  if (!scores.length) return h("p", { class: "faint" }, noted(noScores(run)));
  const protocols = [...new Set(scores.map((row) => row.protocol))];
  return scoresTable(
    [
      h("th", { scope: "col" }, term("metric")),
      h("th", { scope: "col" }, term("codes", "representation")),
      h("th", { scope: "col", class: "number" }, "score"),
      h("th", { scope: "col" }, h("span", { class: "hidden" }, "score of the reference")),
      h("th", { scope: "col", class: "number" }, term("reference")),
    ],
    scores.map((row) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row" },
          explained(row.metric, metricName(row.metric)),
          row.unit ? h("span", { class: "unit" }, ` ${row.unit}`) : null,
          protocols.length > 1 ? h("small", {}, row.protocol) : null,
        ),
        h("td", { class: "faint" }, row.representation),
        h("td", { class: "number" }, row.score === null ? "–" : scoreText(row.score)),
        h("td", {}, scoreBar(row.score, row)),
        referenceCell(row),
      ),
    ),
  );
}
