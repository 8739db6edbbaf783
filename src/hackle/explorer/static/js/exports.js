// What is seen as files: PNG, GIF, and a page that needs no server.

import { exported, startFrom } from "./api.js";
import { factsOf, h, notify } from "./dom.js";
import { download } from "./picture.js";

const FRAMES = 24,
  NAMED = 3,
  PAGE_STARTS = 4;
// What the server decodes for one file: images, and values of their pixels.
const MOST_IMAGES = 4096,
  MOST_VALUES = 24e6;

const room = (session) =>
  Math.min(MOST_IMAGES, Math.floor(MOST_VALUES / session.model.shape.reduce((product, size) => product * size, 1)));

// The first rows of a view, those of the latents most used, as many as one file takes.
export function fitting(session, { rows, columns, z, labels = {} }) {
  if (rows * columns !== z.length) return { rows, columns, z, labels };
  const most = Math.max(1, Math.min(rows, Math.floor(room(session) / columns)));
  const kept = {
    ...labels,
    names: labels.names?.slice(0, most) ?? [],
    tiles: labels.tiles?.slice(0, most * columns) ?? [],
  };
  return { rows: most, columns, z: z.slice(0, most * columns), labels: kept };
}

// Every latent, or as many as one file takes, in a column of its own, sweeping out and back from the image at hand.
export function sweep(session) {
  const latents = session.ordered().slice(0, Math.max(1, Math.floor(room(session) / FRAMES)));
  const values = Array.from({ length: FRAMES }, (_, frame) => {
    const share = (Math.sin((2 * Math.PI * frame) / FRAMES) + 1) / 2;
    return latents.map(({ index, prior, classes, ends: [low, high] }) => [
      index,
      prior === "categorical" ? Math.floor(share * (classes - 1e-6)) : low + share * (high - low),
    ]);
  }).flat();
  const labels = {
    heads: latents.map(({ index }) => `z${index}`),
    tiles: values.map(([index, value]) => session.valueText(index, value)),
  };
  return { rows: 1, columns: latents.length, z: values.map((moved) => session.moved([moved])), labels };
}

export function exportMenu(session, run) {
  const name = `${run.method ?? "model"}-${run.dataset ?? ""}-seed${run.seed ?? ""}`.replaceAll(/[^\w.-]+/g, "-");
  const save = (format, ending, question) => async () => {
    menu.open = false;
    notify("Making the file…", "busy");
    try {
      download(await exported(session.id, { format, ...(await question()) }), `${name}-${ending}`);
      notify("Saved");
    } catch (error) {
      notify(error.message, "bad");
    }
  };
  const title = [run.title ?? run.name, ...factsOf(run, ["architecture", "latents", "steps"])].join(", ");
  // The picture at hand, with the values of the latents most used.
  const here = () => {
    const used = session.ordered().slice(0, NAMED);
    const across = used.map(({ index }) => `z${index} = ${session.valueText(index, session.z[index])}`).join(", ");
    return { rows: 1, columns: 1, z: [session.input(session.z)], labels: { across } };
  };
  const seen = (view) => {
    const { labels, ...sheet } = fitting(session, view);
    return { ...sheet, labels: { title, ...labels } };
  };
  const page = async () => {
    const starts = [session.input(session.z)];
    if (!session.model.problem) {
      const others = await startFrom(session.id, { seed: 7, count: PAGE_STARTS - 1 });
      starts.push(...others.means.map((means) => session.input(means)));
    }
    return { z: starts };
  };
  const button = (label, work) => h("button", { type: "button", onclick: work }, label);
  const menu = h(
    "details",
    { class: "menu" },
    h("summary", { class: "button" }, "Export"),
    h(
      "div",
      { class: "choices" },
      button(
        "This picture with labels, PNG",
        save("png", "picture.png", () => seen(here())),
      ),
      button(
        "The view below with labels, PNG",
        save("png", "view.png", () => seen(session.view ?? here())),
      ),
      button(
        "The view below with labels, SVG",
        save("svg", "view.svg", () => seen(session.view ?? here())),
      ),
      button(
        "Moving latents, GIF",
        save("gif", "moving.gif", () => seen(session.view?.film ?? sweep(session))),
      ),
      button("Traversals as an offline page, HTML", save("html", "traversals.html", page)),
    ),
  );
  return menu;
}
