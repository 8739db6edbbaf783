// Exploring: the picture, where it starts from, a slider for every latent, and the tools below.

import { asked, remember } from "./address.js";
import { startFrom } from "./api.js";
import { factorName, factorValue, h, noted, notify, tabBar } from "./dom.js";
import { latentPanel } from "./latents.js";
import { paint } from "./picture.js";
import { showTraversals } from "./traversals.js";
import { showPad } from "./pad.js";
import { showInterpolation } from "./interpolation.js";
import { showSamples } from "./samples.js";

// Two latents need two.
const TOOLS = {
  traversals: ["Traversals", showTraversals, "traversal"],
  pad: ["Two latents", showPad],
  between: ["Interpolate", showInterpolation],
  samples: ["Prior samples", showSamples, "prior"],
};

export function showExplore(panel, session, signal) {
  const tool = h("div", { class: "tool", role: "tabpanel" });
  const tools = Object.entries(TOOLS)
    .filter(([key]) => key !== "pad" || session.latents.length > 1)
    .map(([key, [label, , word]]) => [key, label, word]);
  let showing = new AbortController();
  signal.addEventListener("abort", () => showing.abort());
  const choose = (key) => {
    showing.abort();
    showing = new AbortController();
    tool.replaceChildren();
    tool.setAttribute("aria-label", TOOLS[key][0]);
    TOOLS[key][1](tool, session, showing.signal);
    remember({ tool: key === "traversals" ? null : key });
  };
  const wanted = tools.find(([key]) => key === asked().get("tool"))?.[0] ?? "traversals";
  panel.append(
    h("div", { class: "bench" }, stage(session, signal), latentPanel(session, signal)),
    h("section", { class: "tools-below" }, tabBar(tools, wanted, choose, "Tools"), tool),
  );
  choose(wanted);
}

function stage(session, signal) {
  // Of the images' shape from the start: an empty canvas is wider than a phone.
  const [height, width] = session.model.shape;
  const picture = h("canvas", {
    class: "picture",
    role: "img",
    "aria-label": "Image decoded from the latents",
    width,
    height,
  });
  const original = h("canvas", { role: "img", "aria-label": "The image that the latents start from", width, height });
  const origin = h("figure", { class: "original" }, original, h("figcaption", {}, "start"));
  const redraw = () => {
    if (session.picture) paint(picture, session.picture);
    origin.hidden = !session.start;
    if (session.start) paint(original, session.start.image);
  };
  session.addEventListener("picture", redraw, { signal });
  session.addEventListener("change", redraw, { signal });
  redraw();
  return h(
    "section",
    { class: "stage" },
    h("div", { class: "pictures" }, h("figure", {}, picture, h("figcaption", {}, "decoded")), origin),
    sources(session, signal),
  );
}

const guarded =
  (work) =>
  async (...values) => {
    try {
      await work(...values);
    } catch (error) {
      notify(error.message, "bad");
    }
  };

function sources(session, signal) {
  const known = !session.model.problem;
  const file = h("input", {
    type: "file",
    accept: "image/png,image/jpeg,image/webp,image/gif,image/bmp",
    class: "hidden",
    id: "upload",
    tabindex: -1,
    "aria-hidden": "true",
    onchange: guarded(async () => {
      if (file.files[0]) await session.fromFile(file.files[0]);
      file.value = "";
    }),
  });
  const button = (label, work, title) => h("button", { type: "button", title, onclick: guarded(work) }, label);
  const seed = () => Math.floor(Math.random() * 2 ** 31);
  const buttons = h(
    "div",
    { class: "buttons" },
    known && button("Random image", () => session.from({ seed: seed() }), "An image of the data set"),
    h(
      "label",
      {
        class: "button",
        for: "upload",
        tabindex: 0,
        role: "button",
        onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            file.click();
          }
        },
      },
      "Upload…",
    ),
    file,
    button("Draw prior", () => session.place(session.draw(), null), "A random point of the prior"),
    button(
      "Reset",
      () => session.place(session.start?.means ?? session.z.map(() => 0)),
      "Back to where the latents started",
    ),
    session.noise.length > 0 &&
      button("New noise", () => session.drawNoise(1), "Other noise variables of the generator"),
    session.noise.length > 0 && button("No noise", () => session.drawNoise(0), "Noise variables at their mean"),
  );
  return h("div", { class: "sources" }, buttons, known && chooser(session), known && factorPanel(session, signal));
}

function chooser(session) {
  const strip = h("div", { class: "strip" });
  let page = 0;
  const fill = guarded(async () => {
    const found = await startFrom(session.id, { seed: 1000 + page, count: 24 });
    strip.replaceChildren(
      ...found.means.map((_, at) => {
        const canvas = h("canvas");
        paint(canvas, found.images, at);
        return h(
          "button",
          { type: "button", "aria-label": `Start from image ${at + 1}`, onclick: () => session.begin(found, at) },
          canvas,
        );
      }),
    );
  });
  const more = h(
    "button",
    {
      type: "button",
      onclick: () => {
        page += 1;
        fill();
      },
    },
    "Other images",
  );
  return h(
    "details",
    {
      class: "choose",
      ontoggle: (event) => {
        if (event.target.open && !strip.children.length) fill();
      },
    },
    h("summary", {}, "Choose an image"),
    strip,
    more,
  );
}

function factorPanel(session, signal) {
  if (!session.model.factors.length) return null;
  const ask = guarded((row) => session.from({ row }));
  let busy = false,
    next = null;
  const follow = async (row) => {
    if (busy) {
      next = row;
      return;
    }
    busy = true;
    await ask(row);
    busy = false;
    if (next) {
      const last = next;
      next = null;
      follow(last);
    } else refresh();
  };
  const inputs = session.model.factors.map((factor, column) => {
    const shown = h("output", {});
    const show = (value) => {
      shown.textContent = value === null ? "–" : factorValue(factor, value);
      slider.setAttribute("aria-valuetext", value === null ? "not known" : shown.textContent);
    };
    const slide = () => {
      const row = inputs.map((other) => Number(other.slider.value));
      show(slider.value);
      follow(row);
    };
    const slider = h("input", {
      type: "range",
      min: 0,
      max: factor.size - 1,
      step: 1,
      value: 0,
      "aria-label": factorName(factor.name),
      disabled: factor.size < 2,
      oninput: slide,
    });
    show(0);
    return {
      slider,
      show,
      line: h("label", { class: "factor" }, h("span", {}, factorName(factor.name)), slider, shown),
      column,
    };
  });
  const why = noted("What is shown is no image of the data set: its factors are not known.");
  const unknown = h("p", { class: "faint", role: "status" });
  // The sliders stand at the factors of the image that is shown as the start, the nearest one where a combination
  // does not exist; of a picture from elsewhere no factor is known.
  const refresh = () => {
    if (busy) return;
    const row = session.start?.row ?? null;
    if (unknown.hasChildNodes() === (row !== null)) unknown.replaceChildren(...(row ? [] : why));
    inputs.forEach(({ slider, show, column }) => {
      if (row) slider.value = row[column];
      show(row ? row[column] : null);
    });
  };
  session.addEventListener("change", refresh, { signal });
  refresh();
  const note = session.model.complete
    ? null
    : h(
        "p",
        { class: "faint" },
        noted(
          session.model.factors.some((factor) => factor.kind === "continuous")
            ? "Not every combination exists in this data set: the nearest image is shown."
            : "Not every combination exists in this data set.",
        ),
      );
  return h(
    "details",
    { class: "factors" },
    h("summary", {}, "Factor combination"),
    note,
    unknown,
    inputs.map(({ line }) => line),
  );
}
