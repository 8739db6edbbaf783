// Two latents at once: a map of images to move about on, by pointer or arrow keys.

import { later, latest } from "./api.js";
import { h, noted, signed } from "./dom.js";
import { mirror, paintSheet } from "./picture.js";

const SIDES = ["across", "down"];

export function showPad(place, session, signal) {
  const order = session.ordered(),
    most = session.columns(9);
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
    for (const side of SIDES) selects[side].value = chosen[side];
    frame();
    refresh();
    draw();
  };
  const selects = Object.fromEntries(
    SIDES.map((key) => [
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
  const axes = Object.fromEntries(SIDES.map((key) => [key, h("div", { class: `axis ${key}`, "aria-hidden": "true" })]));
  place.append(
    h(
      "div",
      { class: "pad-tool" },
      h("div", { class: "pad-frame" }, axes.down, pad, axes.across),
      h(
        "div",
        { class: "pad-side" },
        mirror(session, signal),
        reading,
        choice("across", "across"),
        choice("down", "down"),
        h("p", { class: "faint" }, noted("Drag, or use the arrow keys. The map shows both latents from end to end.")),
      ),
    ),
  );

  // The values of either side: each class once. The tiles stand at their values, so the ends of the range are in
  // the middle
  // of the outermost tiles.
  const values = (key) => session.levels(chosen[key], most);
  const toShare = (key) => {
    const all = values(key),
      [low, high] = [all[0], all.at(-1)];
    return (((session.z[chosen[key]] - low) / (high - low || 1)) * (all.length - 1) + 0.5) / all.length;
  };
  const toValue = (key, share) => {
    const all = values(key),
      [low, high] = [all[0], all.at(-1)];
    const value = low + ((share * all.length - 0.5) / (all.length - 1 || 1)) * (high - low);
    return within(key, value);
  };
  const within = (key, value) => {
    const { prior, ends } = session.latents[chosen[key]];
    const kept = Math.min(ends[1], Math.max(ends[0], value));
    return prior === "categorical" ? Math.round(kept) : kept;
  };
  const go = (across, down) => {
    session.z[chosen.across] = across;
    session.z[chosen.down] = down;
    session.changed("pad");
  };
  const follow = (event) => {
    const box = pad.getBoundingClientRect();
    go(
      toValue("across", (event.clientX - box.left) / box.width),
      toValue("down", (event.clientY - box.top) / box.height),
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
    const moved = (key, by) => {
      const size = session.latents[chosen[key]].prior === "categorical" ? 1 : event.shiftKey ? 0.5 : 0.1;
      return by ? within(key, session.z[chosen[key]] + by * size) : session.z[chosen[key]];
    };
    go(moved("across", step[0]), moved("down", step[1]));
  });

  // Both axes with the latent's name and the values of its tiles.
  const frame = () => {
    const [height, width] = session.model.shape;
    pad.style.aspectRatio = `${values("across").length * width} / ${values("down").length * height}`;
    for (const key of SIDES)
      axes[key].replaceChildren(
        h("b", {}, `z${chosen[key]} ${key === "across" ? "→" : "↓"}`),
        ...values(key).map((value) =>
          h(
            "span",
            { class: session.beyond(chosen[key], value) ? "beyond" : "" },
            session.valueText(chosen[key], value),
          ),
        ),
      );
    axes.across.style.setProperty("--columns", values("across").length);
  };
  const refresh = () => {
    point.style.left = `${100 * Math.min(1, Math.max(0, toShare("across")))}%`;
    point.style.top = `${100 * Math.min(1, Math.max(0, toShare("down")))}%`;
    const value = (latent) =>
      session.latents[latent].prior === "categorical" ? session.z[latent] : session.z[latent].toFixed(2);
    const text = SIDES.map((key) => `z${chosen[key]} = ${signed(value(chosen[key]))}`).join(", ");
    reading.textContent = text;
    pad.setAttribute("aria-label", `Latents ${text}`);
  };
  const draw = latest(async () => {
    const rows = values("down"),
      columns = values("across"),
      { across, down } = chosen;
    const z = rows.flatMap((low) =>
      columns.map((right) =>
        session.moved([
          [down, low],
          [across, right],
        ]),
      ),
    );
    const images = await session.decode(z);
    if (signal.aborted) return;
    paintSheet(canvas, images, { columns: columns.length, rows: rows.length, gap: 0 });
    const labels = {
      names: rows.map((value) => `z${down} = ${session.valueText(down, value)}`),
      heads: columns.map((value) => session.valueText(across, value)),
      across: `value of z${across}`,
    };
    session.view = { name: "map", rows: rows.length, columns: columns.length, z, labels };
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
  frame();
  refresh();
  return draw();
}
