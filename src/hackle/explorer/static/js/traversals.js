// A row of images for every latent: what moving it alone does to the image at hand.

import { later, latest } from "./api.js";
import { h, nats, signed } from "./dom.js";
import { paintTraversal } from "./picture.js";

const GAP = 2;

export function showTraversals(place, session, signal) {
  const latents = session.ordered(),
    columns = session.columns(11);
  const strips = latents.map((latent) => {
    const canvas = h("canvas", { role: "img", "aria-label": `Traversal of latent z${latent.index}` });
    const mark = h("i", { class: "mark", "aria-hidden": "true" });
    const values = session.levels(latent.index, columns),
      last = values.length - 1;
    const pick = (event) => {
      const share = event.offsetX / canvas.clientWidth;
      session.set(latent.index, values[Math.min(last, Math.floor(share * values.length))]);
    };
    const strip = h(
      "div",
      { class: "film", title: `Click to move z${latent.index} there`, onclick: pick },
      canvas,
      mark,
    );
    const label = h(
      "span",
      { class: "name" },
      `z${latent.index}`,
      latent.kl === null ? null : h("small", {}, `KL ${nats(latent.kl)}`),
      latent.prior === "categorical" ? null : h("small", { class: "ends" }, latent.ends.map(signed).join(" … ")),
    );
    return {
      latent,
      values,
      canvas,
      mark,
      line: h("div", { class: `traversal ${latent.active ? "" : "collapsed"}` }, label, strip),
    };
  });
  place.append(
    h(
      "div",
      { class: "traversals" },
      strips.map(({ line }) => line),
    ),
  );

  const marks = () =>
    strips.forEach(({ latent, values, mark }) => {
      const low = values[0],
        last = values.length - 1,
        high = values[last];
      const share = high > low ? (session.z[latent.index] - low) / (high - low) : 0.5;
      mark.style.left = `${100 * ((Math.min(1, Math.max(0, share)) * last + 0.5) / columns)}%`;
    });
  const draw = latest(async () => {
    const z = latents.flatMap((latent) => session.row(latent.index, columns));
    const images = await session.decode(z);
    if (signal.aborted) return;
    for (const [row, { canvas, values }] of strips.entries())
      paintTraversal(canvas, images, { values, columns, first: row * columns, gap: GAP });
    session.view = { name: "traversals", rows: latents.length, columns, z };
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
