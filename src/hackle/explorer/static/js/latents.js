// A slider for every latent, with its values' histogram against the prior behind it.

import { h, nats, number, s, signed, term, whole } from "./dom.js";

const WIDTH = 240,
  HEIGHT = 34;

function histogram(latent) {
  const box = s("svg", {
    class: "histogram",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const [low, high] = latent.reach,
    bins = latent.histogram?.length ?? 48;
  const width = (high - low) / bins,
    place = (value) => ((value - low) / (high - low)) * WIDTH;
  const prior = (value) =>
    latent.prior === "normal"
      ? Math.exp(-0.5 * value * value) / Math.sqrt(2 * Math.PI)
      : Math.abs(value) <= 1
        ? 0.5
        : 0;
  // The higher of the two fills the height, but a sharp latent may not press the prior flat.
  const peak = latent.prior === "normal" ? 0.4 : 0.5;
  const most = Math.min(2.5 * peak, Math.max(peak, ...(latent.histogram ?? []).map((share) => share / width))) * 1.05;
  const tall = (density) => HEIGHT * (1 - Math.min(1, density / most));
  if (latent.histogram) {
    const bars = latent.histogram.map((share, at) => {
      const left = place(low + at * width),
        top = tall(share / width);
      const right = place(low + (at + 1) * width);
      return `M${left.toFixed(1)} ${HEIGHT}V${top.toFixed(1)}H${right.toFixed(1)}V${HEIGHT}Z`;
    });
    box.append(s("path", { class: "seen", d: bars.join("") }));
  }
  const points = Array.from({ length: 81 }, (_, at) => low + ((high - low) * at) / 80);
  box.append(
    s("path", {
      class: "prior",
      d: `M${points.map((value) => `${place(value).toFixed(1)} ${tall(prior(value)).toFixed(1)}`).join("L")}`,
      "vector-effect": "non-scaling-stroke",
    }),
  );
  return box;
}

// The ranges that a slider joins, below it: where the means of the data end, and where the bulk of the prior does.
function ranges(latent) {
  const [low, high] = latent.reach,
    share = (value) => (100 * (Math.min(high, Math.max(low, value)) - low)) / (high - low);
  // A narrow range has more digits.
  const text = ([from, to]) => [from, to].map((end) => signed(+end.toFixed(to - from < 1 ? 2 : 1))).join(" … ");
  const span = (kind, [from, to]) =>
    h("i", { class: `span ${kind}`, style: { left: `${share(from)}%`, width: `${share(to) - share(from)}%` } });
  const parts = [...(latent.data ? [["data", latent.data]] : []), ["prior", latent.bulk]];
  return [
    h(
      "div",
      { class: "spans", "aria-hidden": "true" },
      parts.map(([kind, ends]) => span(kind, ends)),
    ),
    h(
      "div",
      { class: "scale" },
      h("span", {}, tenth(low)),
      h("span", { class: "known" }, parts.map(([kind, ends]) => `${kind} ${text(ends)}`).join(", ")),
      h("span", {}, tenth(high)),
    ),
  ];
}

const tenth = (value) => signed(+value.toFixed(1));

// What the server decodes; a code with bounds keeps to them.
const MOST = 1000;
const limits = (latent) => (latent.prior === "uniform" ? latent.reach : [-MOST, MOST]);

function slider(session, latent) {
  const [low, high] = latent.reach,
    [least, most] = limits(latent);
  const name = `z${latent.index}`;
  const input = h("input", {
    type: "range",
    min: low,
    max: high,
    step: 0.01,
    "aria-label": `Latent ${name}`,
    title: `${name} from ${signed(low)} to ${signed(high)}`,
    id: `latent-${latent.index}`,
  });
  const value = h("input", {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    class: "value",
    "aria-label": `Value of latent ${name}`,
  });
  const refusal = h("p", { class: "refused", role: "alert" });
  const track = h("div", { class: "track" }, histogram(latent), input);
  const apply = (given) => session.set(latent.index, given);
  const restore = () => {
    value.value = signed((Math.round(100 * session.z[latent.index]) / 100 + 0).toFixed(2));
    refuse("");
  };
  const refuse = (text) => {
    if (refusal.textContent === text) return;
    refusal.textContent = text;
    value.setAttribute("aria-invalid", String(text !== ""));
  };
  // A number that cannot be decoded is refused where it was typed, and the latent stays where it was.
  const typed = () => {
    const text = value.value.trim().replace("−", "-"),
      given = Number(text);
    if (text !== "" && given >= least && given <= most) {
      apply(given);
      restore();
    } else {
      const bounds = `${signed(whole(least))} to ${whole(most)}`;
      refuse(`${name} takes a number from ${bounds}; “${value.value.slice(0, 20)}” is none.`);
    }
  };
  input.addEventListener("input", () => apply(input.valueAsNumber));
  input.addEventListener("dblclick", () => apply(session.start?.means[latent.index] ?? 0));
  value.addEventListener("change", typed);
  value.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key];
    if (event.key === "Escape") restore();
    if (!step) return;
    event.preventDefault();
    apply(Math.min(most, Math.max(least, Math.round(100 * (session.z[latent.index] + step)) / 100)));
    restore();
  });
  const refresh = () => {
    const now = session.z[latent.index];
    input.value = now;
    const start = session.start?.means[latent.index];
    track.classList.toggle("started", start !== undefined);
    if (start !== undefined)
      track.style.setProperty("--start", Math.min(1, Math.max(0, (start - low) / (high - low))).toFixed(4));
    if (document.activeElement !== value) restore();
  };
  return { body: [h("div", { class: "range" }, track, ranges(latent)), value, refusal], refresh };
}

function classes(session, latent) {
  const group = `class-${latent.index}`;
  const buttons = Array.from({ length: latent.classes }, (_, at) => {
    const input = h("input", { type: "radio", name: group, value: at, onchange: () => session.set(latent.index, at) });
    const share = latent.histogram?.[at] ?? 0;
    return {
      input,
      label: h(
        "label",
        { title: `${(100 * share).toFixed(0)}% of images`, style: { "--share": share } },
        input,
        h("span", {}, at),
      ),
    };
  });
  const refresh = () =>
    buttons.forEach(({ input }, at) => {
      input.checked = Math.round(session.z[latent.index]) === at;
    });
  return {
    body: [
      h(
        "div",
        { class: "classes", role: "radiogroup", "aria-label": `Class of latent z${latent.index}` },
        buttons.map(({ label }) => label),
      ),
    ],
    refresh,
  };
}

function row(session, latent, most) {
  const control = latent.prior === "categorical" ? classes(session, latent) : slider(session, latent);
  const use =
    latent.kl === null
      ? null
      : h(
          "span",
          {
            class: "use",
            title:
              `KL to the prior ${number(latent.kl)} nats, ` +
              `information on the image ${number(latent.informativeness)} nats`,
          },
          h("i", { style: { "--share": (latent.kl / most).toFixed(3) } }),
          h("b", {}, nats(latent.kl)),
        );
  const element = h(
    "div",
    { class: `latent ${latent.active ? "" : "collapsed"} ${latent.prior}`, data: { latent: latent.index } },
    h("span", { class: "name" }, `z${latent.index}`, latent.active ? null : h("em", {}, term("collapsed"))),
    use,
    control.body,
  );
  return { element, refresh: control.refresh };
}

export function latentPanel(session, signal) {
  const most = Math.max(0.1, ...session.latents.map((latent) => latent.kl ?? 0));
  const rows = session.latents.map((latent) => row(session, latent, most));
  const list = h("div", { class: "latents" });
  const order = (by) => list.replaceChildren(...session.ordered(by).map((latent) => rows[latent.index].element));
  const refresh = () => {
    for (const entry of rows) entry.refresh();
  };
  session.addEventListener("change", refresh, { signal });
  order(session.measure);
  refresh();
  const sorts = session.model.problem
    ? null
    : h(
        "label",
        { class: "sort" },
        "sorted by ",
        h(
          "select",
          { onchange: (event) => order(event.target.value) },
          [
            ["kl", "KL"],
            ["informativeness", "information"],
            ["number", "number"],
          ].map(([value, text]) => h("option", { value, selected: value === session.measure }, text)),
        ),
      );
  // What stands on sliders is explained where there are some.
  const sliders = session.latents.some(({ prior }) => prior !== "categorical");
  const legend = session.model.problem
    ? null
    : h(
        "p",
        { class: "legend" },
        [
          ["seen", "values on the data"],
          ["prior", term("prior")],
          ["from", "start"],
          ["data", "range of the data: all but 2% of the means"],
          ["bulk", "bulk of the prior"],
          ["use", [term("KL"), " in ", term("nats")]],
        ]
          .filter(([key]) => sliders || key === "use")
          .map(([key, text]) => h("span", { class: `entry ${key}` }, h("span", { class: `key ${key}` }), text)),
      );
  return h(
    "section",
    { class: "panel-latents", "aria-label": "Latents" },
    h("div", { class: "head" }, h("h2", {}, term("Latents", "latents")), sorts),
    legend,
    list,
  );
}
