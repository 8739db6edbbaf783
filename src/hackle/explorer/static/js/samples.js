// Images of points drawn from the prior.

import { h, notify } from "./dom.js";
import { paint } from "./picture.js";
import { normal } from "./session.js";

const columns = 10;

export function showSamples(place, session, signal) {
  const rows = session.large ? 2 : 4;
  const grid = h("div", { class: "samples" });
  const draw = async () => {
    const points = Array.from({ length: rows * columns }, () => ({
      z: session.draw(),
      noise: session.noise.map(normal),
    }));
    const z = points.map((point) => [...point.z, ...point.noise]);
    try {
      const images = await session.decode(z);
      if (signal.aborted) return;
      grid.replaceChildren(
        ...points.map((point, at) => {
          const canvas = h("canvas");
          paint(canvas, images, at);
          const take = () => {
            session.noise = point.noise;
            session.place(point.z, null);
          };
          return h("button", { type: "button", "aria-label": `Explore sample ${at + 1}`, onclick: take }, canvas);
        }),
      );
      session.view = { name: "samples", rows, columns, z, labels: { across: "draws from the prior" } };
    } catch (error) {
      notify(error.message, "bad");
    }
  };
  place.append(
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", onclick: draw }, "Draw again"),
      h("span", { class: "faint" }, "Click a sample to explore from there."),
    ),
    grid,
  );
  return draw();
}
