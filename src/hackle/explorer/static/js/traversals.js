// A row of images for every latent: what moving it alone does to the image at hand.

import { later, latest } from "./api.js";
import { h, nats, noted, signed } from "./dom.js";
import { paintTraversal } from "./picture.js";

const GAP = 2;

export function showTraversals(place, session, signal) {
  const latents = session.ordered(),
    columns = session.columns(11);
  const strips = latents.map((latent) => strip(session, latent, columns));
  place.append(
    h("p", { class: "faint" }, noted(explained(session))),
    h(
      "div",
      { class: "traversals" },
      strips.map(({ line }) => line),
    ),
  );
  const marks = () => {
    for (const { mark } of strips) mark();
  };
  const draw = latest(async () => {
    const z = latents.flatMap((latent) => session.row(latent.index, columns));
    const images = await session.decode(z);
    if (signal.aborted) return;
    for (const [row, { canvas, values }] of strips.entries())
      paintTraversal(canvas, images, { values, columns, first: row * columns, gap: GAP });
    session.view = { name: "traversals", rows: latents.length, columns, ...sheet(session, strips, z, columns) };
    place.dataset.drawn = String(Number(place.dataset.drawn ?? 0) + 1);
  });
  const soon = later(draw, session.patience);
  session.addEventListener(
    "change",
    () => {
      marks();
      soon();
    },
    { signal },
  );
  marks();
  return draw();
}

const explained = (session) =>
  session.model.problem
    ? "Below each image stands the latent's value, from end to end of the prior's bulk."
    : "Below each image stands the latent's value: over the range of the data, joined with the prior's bulk. " +
      "Values where the data have no mean are in italics.";

// One latent's row: its name, its images, and the values below them. Keys move along it like the pointer does.
function strip(session, latent, columns) {
  const { index } = latent,
    values = session.levels(index, columns),
    last = values.length - 1;
  const canvas = h("canvas", { role: "img", "aria-label": `Traversal of latent z${index}` });
  const spot = h("i", { class: "mark", "aria-hidden": "true" });
  const nearest = () =>
    values.reduce(
      (best, value, at) => (Math.abs(value - session.z[index]) < Math.abs(values[best] - session.z[index]) ? at : best),
      0,
    );
  const go = (at) => session.set(index, values[Math.min(last, Math.max(0, at))]);
  const film = h(
    "div",
    {
      class: "film",
      tabindex: 0,
      role: "slider",
      "aria-label": `Latent z${index} along its traversal`,
      "aria-valuemin": values[0],
      "aria-valuemax": values[last],
      title: `Click to move z${index} there`,
      onclick: (event) => go(Math.floor((event.offsetX / canvas.clientWidth) * values.length)),
      onkeydown: (event) => {
        const to = { ArrowLeft: nearest() - 1, ArrowRight: nearest() + 1, Home: 0, End: last }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        go(to);
      },
    },
    canvas,
    spot,
  );
  const label = h(
    "span",
    { class: "name" },
    `z${index}`,
    latent.kl === null ? null : h("small", {}, `KL ${nats(latent.kl)}`),
    latent.prior === "categorical"
      ? h("small", {}, `${latent.classes} classes`)
      : h("small", { class: "ends" }, latent.ends.map(signed).join(" … ")),
  );
  const scale = valueAxis(session, latent, values, columns);
  return {
    latent,
    values,
    canvas,
    line: h("div", { class: `traversal ${latent.active ? "" : "collapsed"}` }, label, h("div", {}, film, scale)),
    // The middle of the tile whose value is the latent's, or the way between two of them.
    mark() {
      const [low, high] = [values[0], values[last]];
      const share = high > low ? (session.z[index] - low) / (high - low) : 0.5;
      spot.style.left = `${100 * ((Math.min(1, Math.max(0, share)) * last + 0.5) / columns)}%`;
      film.setAttribute("aria-valuenow", session.z[index]);
      film.setAttribute("aria-valuetext", session.valueText(index, session.z[index]));
    },
  };
}

// The values below the tiles of a row.
export const valueAxis = (session, latent, values, columns) =>
  h(
    "div",
    { class: "axis", style: { "--columns": columns }, "aria-hidden": "true" },
    values.map((value) =>
      h("span", { class: session.beyond(latent.index, value) ? "beyond" : "" }, session.valueText(latent.index, value)),
    ),
  );

// What an exported sheet of traversals holds: no class twice, and every label that the page shows.
export function sheet(session, strips, z, columns) {
  const held = (at) => at % columns < strips[Math.floor(at / columns)].values.length;
  const text = (at) => {
    const { latent, values } = strips[Math.floor(at / columns)];
    return session.valueText(latent.index, values[at % columns]);
  };
  return {
    z: z.map((row, at) => (held(at) ? row : null)),
    labels: {
      names: strips.map(({ latent }) =>
        latent.kl === null ? `z${latent.index}` : `z${latent.index}  KL ${nats(latent.kl)}`,
      ),
      tiles: z.map((_, at) => (held(at) ? text(at) : "")),
      across: "value of the latent in its row",
    },
  };
}
