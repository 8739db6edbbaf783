// Two latents at once: a map of images to move about on, by pointer or arrow keys.

import { later, latest } from "./api.js";
import { h } from "./dom.js";
import { mirror, paintSheet } from "./picture.js";

export function showPad(place, session, signal) {
  const order = session.ordered(),
    side = session.columns(9);
  const chosen = { across: order[0].index, down: order[1].index };
  const canvas = h("canvas", { "aria-hidden": "true" });
  const point = h("i", { class: "point", "aria-hidden": "true" });
  const pad = h(
    "div",
    { class: "pad", tabindex: 0, role: "application", "aria-roledescription": "two-dimensional slider" },
    canvas,
    point,
  );
  // The latent that the other side has changes places with this one's.
  const choose = (key, latent) => {
    const other = key === "across" ? "down" : "across";
    if (chosen[other] === latent) chosen[other] = chosen[key];
    chosen[key] = latent;
    for (const side of ["across", "down"]) selects[side].value = chosen[side];
    refresh();
    draw();
  };
  const selects = Object.fromEntries(
    ["across", "down"].map((key) => [
      key,
      h(
        "select",
        { onchange: (event) => choose(key, Number(event.target.value)) },
        order.map((latent) =>
          h("option", { value: latent.index, selected: latent.index === chosen[key] }, `z${latent.index}`),
        ),
      ),
    ]),
  );
  const choice = (key, label) => h("label", {}, `${label} `, selects[key]);
  const reading = h("p", { class: "faint", role: "status" });
  place.append(
    h(
      "div",
      { class: "pad-tool" },
      pad,
      h(
        "div",
        { class: "pad-side" },
        mirror(session, signal),
        reading,
        choice("across", "across"),
        choice("down", "down"),
        h("p", { class: "faint" }, "Drag, or use the arrow keys. The map shows both latents from end to end."),
      ),
    ),
  );

  const bounds = (latent) => session.latents[latent].ends;
  // The map's tiles stand at their values, so that the ends of the range are in the middle of the outermost tiles.
  const toShare = (latent) => {
    const [low, high] = bounds(latent);
    return (((session.z[latent] - low) / (high - low || 1)) * (side - 1) + 0.5) / side;
  };
  const toValue = (latent, share) => {
    const [low, high] = bounds(latent);
    const value = low + ((share * side - 0.5) / (side - 1)) * (high - low);
    const kept = Math.min(high, Math.max(low, value));
    return session.latents[latent].prior === "categorical" ? Math.round(kept) : kept;
  };
  const go = (across, down) => {
    session.z[chosen.across] = across;
    session.z[chosen.down] = down;
    session.changed("pad");
  };
  const follow = (event) => {
    const box = pad.getBoundingClientRect();
    go(
      toValue(chosen.across, (event.clientX - box.left) / box.width),
      toValue(chosen.down, (event.clientY - box.top) / box.height),
    );
  };
  pad.addEventListener("pointerdown", (event) => {
    pad.setPointerCapture(event.pointerId);
    follow(event);
  });
  pad.addEventListener("pointermove", (event) => {
    if (pad.hasPointerCapture(event.pointerId)) follow(event);
  });
  pad.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const moved = (latent, by) => {
      const [low, high] = bounds(latent);
      const size = session.latents[latent].prior === "categorical" ? 1 : event.shiftKey ? 0.5 : 0.1;
      return Math.min(high, Math.max(low, session.z[latent] + by * size));
    };
    go(moved(chosen.across, step[0]), moved(chosen.down, step[1]));
  });

  const refresh = () => {
    point.style.left = `${100 * Math.min(1, Math.max(0, toShare(chosen.across)))}%`;
    point.style.top = `${100 * Math.min(1, Math.max(0, toShare(chosen.down)))}%`;
    const value = (latent) =>
      session.latents[latent].prior === "categorical" ? session.z[latent] : session.z[latent].toFixed(2);
    const text = `z${chosen.across} = ${value(chosen.across)}, z${chosen.down} = ${value(chosen.down)}`;
    reading.textContent = text;
    pad.setAttribute("aria-label", `Latents ${text}`);
  };
  const draw = latest(async () => {
    const rows = session.values(chosen.down, side),
      columns = session.values(chosen.across, side);
    const z = rows.flatMap((down) =>
      columns.map((across) =>
        session.moved([
          [chosen.down, down],
          [chosen.across, across],
        ]),
      ),
    );
    const images = await session.decode(z);
    if (signal.aborted) return;
    paintSheet(canvas, images, { columns: side, rows: side, gap: 0 });
    session.view = { name: "map", rows: side, columns: side, z };
    pad.dataset.drawn = "1";
  });
  const soon = later(draw, session.patience);
  // The map depends on the other latents alone: moving on it does not change it.
  session.addEventListener(
    "change",
    (event) => {
      refresh();
      if (event.detail !== "pad") soon();
    },
    { signal },
  );
  refresh();
  return draw();
}
