// A straight line between two points: the image at hand and another.

import { later, latest, startFrom } from "./api.js";
import { h, notify } from "./dom.js";
import { mirror, paint, paintSheet } from "./picture.js";

const FRAMES = 24;
const percent = (share) => `${Math.round(100 * share)}%`;

export function showInterpolation(place, session, signal) {
  const columns = session.columns(11);
  let first = [...session.z],
    second = session.draw();
  const film = h("canvas", { role: "img", "aria-label": "Images between the first and the second" });
  const shares = Array.from({ length: columns }, (_, at) => percent(at / (columns - 1)));
  const ends = ["First image", "Second image"].map((name) => h("canvas", { role: "img", "aria-label": name }));
  const share = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.01,
    value: 0,
    "aria-label": "Way from the first image to the second",
  });
  // Classes have no middle: they change half-way.
  const between = (at) =>
    session.latents.map(({ prior }, code) =>
      prior === "categorical" ? (at < 0.5 ? first : second)[code] : (1 - at) * first[code] + at * second[code],
    );

  const draw = latest(async () => {
    const z = Array.from({ length: columns }, (_, at) => session.input(between(at / (columns - 1))));
    const images = await session.decode(z);
    if (signal.aborted) return;
    paintSheet(film, images, { columns });
    paint(ends[0], images, 0);
    paint(ends[1], images, columns - 1);
    const ways = Array.from({ length: FRAMES }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / FRAMES));
    const across = "way from the first image to the second";
    const loop = {
      rows: 1,
      columns: 1,
      z: ways.map((way) => session.input(between(way))),
      labels: { tiles: ways.map(percent), across },
    };
    session.view = { name: "interpolation", rows: 1, columns, z, labels: { tiles: shares, across }, film: loop };
    place.dataset.drawn = "1";
  });
  const choose = async (end, source) => {
    try {
      let z = session.draw();
      if (source === "here") z = [...session.z];
      else if (source === "data")
        z = (await startFrom(session.id, { seed: Math.floor(Math.random() * 2 ** 31) })).means[0];
      if (end) second = z;
      else first = z;
      draw();
    } catch (error) {
      notify(error.message, "bad");
    }
  };
  const end = (at, label) =>
    h(
      "figure",
      { class: "end" },
      ends[at],
      h("figcaption", {}, label),
      h(
        "div",
        { class: "buttons", role: "group", "aria-label": ["First image", "Second image"][at] },
        h("button", { type: "button", onclick: () => choose(at, "here") }, "Use current"),
        session.model.problem
          ? null
          : h("button", { type: "button", onclick: () => choose(at, "data") }, "Random image"),
        h("button", { type: "button", onclick: () => choose(at, "prior") }, "Draw prior"),
      ),
    );
  share.addEventListener("input", () => session.place(between(share.valueAsNumber)));
  place.append(
    h(
      "div",
      { class: "between" },
      end(0, "from"),
      h(
        "div",
        { class: "course" },
        h(
          "div",
          {},
          h("div", { class: "film" }, film),
          h(
            "div",
            { class: "axis", style: { "--columns": columns }, "aria-hidden": "true" },
            shares.map((text) => h("span", {}, text)),
          ),
        ),
        share,
        mirror(session, signal),
      ),
      end(1, "to"),
    ),
  );
  const noise = later(draw, session.patience);
  session.addEventListener(
    "change",
    (event) => {
      if (event.detail === "noise") noise();
    },
    { signal },
  );
  return session.model.problem ? draw() : choose(1, "data");
}
