// Elements made in one expression. Styles are set as properties: the page's policy allows no style attributes.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name === "style") for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name in element && !(element instanceof SVGElement) && name !== "list" && name !== "form")
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  attach(element, children);
  return element;
}

function attach(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) attach(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

// A whole number with commas between the thousands; the browser's own way takes 10 ms to wake up.
export const whole = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

export const number = (value, digits = 3) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return whole(value);
  const size = Math.abs(value);
  if (size >= 1e5 || (size < 1e-3 && size > 0)) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 1 : digits);
};

// Nats in little room: two digits, and no zero for what is not zero.
export const nats = (value) =>
  value === null || value === undefined ? "–" : value > 0 && value < 0.005 ? "<0.01" : number(value, 2);

// A number with the sign that papers print.
export const signed = (value) => String(value).replace("-", "−");

// A score with the digits that papers print; counts, of active latents say, are whole.
export const scoreText = (value) =>
  (value === null || Math.abs(value) >= 1000 || (Number.isInteger(value) && Math.abs(value) > 1)
    ? number(value)
    : value.toFixed(3)
  ).replace("-", "−");

// Where one is, in the bar at the top, with the way back to the list of runs.
export const showPlace = (here, title) =>
  document
    .getElementById("place")
    .replaceChildren(
      h("a", { href: "#/" }, "Runs"),
      h("span", { "aria-hidden": "true" }, "›"),
      h("span", { class: "here", title }, here),
    );

// Text in which `these marks` set a command off.
export const prose = (text) => text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));

// A setting with no more digits than it was given.
export const setting = (value) => (Number.isInteger(value) ? whole(value) : String(+value.toPrecision(4)));

// What tells a run from others, in words; defaults go without saying.
export const factsOf = (run, left = []) =>
  run.facts.filter((fact) => fact.telling && !left.includes(fact.name)).map((fact) => fact.text);
// Of each run what the others do not share, its seed if they share all.
export function differences(runs, left = []) {
  const texts = runs.map((run) => new Map(run.facts.map((fact) => [fact.name, fact.text])));
  const known = new Set(texts.flatMap((facts) => [...facts.keys()]));
  const differs = (name) => new Set(texts.map((facts) => facts.get(name))).size > 1;
  const names = [...known].filter((name) => !left.includes(name) && differs(name));
  return texts.map((facts) =>
    (names.length ? names : ["seed"])
      .map((name) => facts.get(name))
      .filter(Boolean)
      .join(", "),
  );
}

export const factorName = (name) => name.replaceAll("_", " ");
// A factor's value by its name or the number behind it, else by its place.
export const factorValue = (factor, value) => factor.labels?.[value] ?? String(value);

const SHORT = {
  mig: "MIG",
  sap: "SAP",
  mcc: "MCC",
  mcc_spearman: "MCC by ranks",
  irs: "IRS",
  irs_ranked: "IRS of ranks",
  rmig: "RMIG",
  jemmig: "JEMMIG",
  misjed: "MISJED",
  kl: "KL",
  elbo: "ELBO",
  iwae: "IWAE",
  wsepin: "WSEPIN",
  windin: "WINDIN",
  beta_vae: "BetaVAE score",
  factor_vae: "FactorVAE score",
  dci_disentanglement: "DCI D",
  dci_completeness: "DCI C",
  dci_informativeness: "DCI I",
  dci_es_explicitness: "DCI-ES E",
  dci_es_explicitness_above_zero: "DCI-ES E above 0",
  dci_es_informativeness: "DCI-ES I",
  dci_es_disentanglement: "DCI-ES D",
  dci_es_completeness: "DCI-ES C",
  dci_es_size: "DCI-ES S",
  gaussian_tc: "Gaussian TC",
  monte_carlo_tc: "Monte Carlo TC",
  batch_tc: "batch TC",
  posterior_mig: "posterior MIG",
  misjed_top: "MISJED, top latents",
  "sepin@3": "SEPIN@3",
  "indin@3": "INDIN@3",
  informativeness_mean: "mean informativeness",
  active_units: "active latents",
  kl_per_latent: "KL per latent",
  categorical_kl: "categorical KL",
  dcimig: "DCIMIG",
  infoc: "InfoC",
  infoe: "InfoE",
  infom: "InfoM",
  mig_sup: "MIG-sup",
  mig_sup_active: "MIG-sup, active",
  efficiency_gbt: "efficiency, trees",
  efficiency_logistic_cv: "efficiency, logistic",
  total_information: "I(z, x)",
};
// Accuracies of classifiers have the number of labels in their names.
export const metricName = (name) =>
  Object.hasOwn(SHORT, name)
    ? SHORT[name]
    : name
        .replace(/^downstream_gbt_/, "trees, labels: ")
        .replace(/^downstream_logistic_cv_/, "logistic, labels: ")
        .replaceAll("_", " ");

// A word that the glossary explains: see glossary.js. `word` is its entry there.
export const term = (text, word = text) => h("span", { class: "term", tabindex: 0, data: { term: word } }, text);

// Words of notes and captions with their entries in the glossary. Parts of names of files are no words.
const SPOKEN = [
  ["data sets?", "data set"],
  ["factors?", "factor of variation"],
  ["latents?", "latents"],
  ["codes?", "codes"],
  ["weights", "weights"],
  ["prior", "prior"],
  ["posteriors?", "posterior"],
  ["mutual information", "mutual information"],
  ["nats", "nats"],
  ["rmig", "RMIG"],
  ["mig", "MIG"],
  ["dci", "DCI"],
  ["misjed", "MISJED"],
  ["stud(?:y|ies)", "study"],
  ["runs?", "run"],
];
const ANY_SPOKEN = new RegExp(
  `(?<![\\w./-])(?:${SPOKEN.map(([pattern]) => `(${pattern})`).join("|")})(?![\\w-]|[./]\\w)`,
  "gi",
);
// Prose in which each word of the glossary is explained once.
export function noted(text) {
  const met = new Set();
  const marked = (part) => {
    const found = [];
    let end = 0;
    for (const match of part.matchAll(ANY_SPOKEN)) {
      const [, entry] = SPOKEN[match.slice(1).findIndex((group) => group !== undefined)];
      if (met.has(entry)) continue;
      met.add(entry);
      found.push(part.slice(end, match.index), term(match[0], entry));
      end = match.index + match[0].length;
    }
    return [...found, part.slice(end)];
  };
  return prose(text).flatMap((part) => (typeof part === "string" ? marked(part) : [part]));
}

// Entries of the glossary for settings, metrics and terms of objectives: the first whose pattern fits the key. Names
// that stand in another's, such as mig in dcimig, come after it.
const EXPLAINED = [
  [/^dataset$/, "data set"],
  [/^correlation$/, "σ"],
  [/^batch_size$/, "batch size"],
  [/^start_from$/, "start from"],
  [/^held_out$/, "held out"],
  [/^kl_warmup$/, "KL warm-up"],
  [/^(method|strength|architecture|latents|seed|steps|likelihood|precision|drawing|pairs|labels|status)$/, null],
  [/^beta_vae$/, "BetaVAE score"],
  [/^factor_vae$/, "FactorVAE score"],
  [/^dci_es/, "DCI-ES"],
  [/^dcimig/, "DCIMIG"],
  [/^dci_/, "DCI"],
  [/^mig_sup/, "MIG-sup"],
  [/rmig$/, "RMIG"],
  [/jemmig$/, "JEMMIG"],
  [/misjed/, "MISJED"],
  [/mig$|^neighbour_gap$/, "MIG"],
  [/wsepin$/, "WSEPIN"],
  [/windin$/, "WINDIN"],
  [/sepin@/, "SEPIN"],
  [/indin@/, "INDIN"],
  [/^infom$/, "InfoM"],
  [/^infoc$/, "InfoC"],
  [/^infoe$/, "InfoE"],
  [/^sap$/, "SAP"],
  [/^mcc/, "MCC"],
  [/^irs/, "IRS"],
  [/modularity$/, "modularity"],
  [/^explicitness$/, null],
  [/^downstream_/, "downstream accuracy"],
  [/^efficiency_/, "efficiency"],
  [/^generalisation/, "generalisation"],
  [/^unfairness$/, null],
  [/^elbo$/, "ELBO"],
  [/iwae$/, "IWAE"],
  [/^reconstruction/, "reconstruction"],
  [/^active_units$/, "active latent"],
  [/^kl_split/, "KL in three terms"],
  [/(^|_)kl(_per_latent)?$/, "KL"],
  [/^multivariate_information/, "multivariate information"],
  [/(^|_)tc$|^total_correlation$/, "total correlation"],
  [/information|informativeness|_shared$|_overlap$/, "informativeness"],
];
const entries = new Map();
export function entryOf(key) {
  if (!entries.has(key)) {
    const found = EXPLAINED.find(([pattern]) => pattern.test(key));
    entries.set(key, found && (found[1] ?? key));
  }
  return entries.get(key);
}
// A metric's or setting's text, explained where the glossary has a word for it.
export const explained = (key, text) => (entryOf(key) ? term(text, entryOf(key)) : text);

// A moment after what is in the page has been seen: the time for what the first look does not need.
export const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)));

// What is being waited for, where nobody knows how far it is.
export const waiting = (text) => h("p", { class: "waiting" }, h("progress", { "aria-label": text }), text);

// Runs of a study have no names but the hashes of their records, after their folder's name if there are several
// folders.
export const hasHash = ({ id, name }) => name.split("/").at(-1) === id.split(".").at(-1);
// What was trained, in a few words: method, weight and seed.
export const shortName = (method, weight, seed) => [method, weight, seed].filter(Boolean).join(", ");
// What a run is called, first as people would, then, if that is not its name, by its name.
export function calledOf(run) {
  if (!hasHash(run)) return [run.name, ""];
  const text = (name) => run.facts.find((fact) => fact.name === name)?.text;
  return [shortName(run.title, text("strength"), text("seed")), run.name];
}

let clearing = 0;
export function notify(text, kind = "") {
  const place = document.getElementById("notice");
  place.replaceChildren(...prose(text));
  place.className = text ? `shown ${kind}` : "";
  clearTimeout(clearing);
  // What is still being done is said until it is done.
  if (text && kind !== "busy") clearing = setTimeout(() => notify(""), kind === "bad" ? 8000 : 3000);
}

// A group of tabs: buttons that arrow keys move between. `tabs` is a list of [key, label], or of
// [key, label, word of the glossary].
export function tabBar(tabs, chosen, choose, label) {
  const bar = h("div", { class: "tabs", role: "tablist", "aria-label": label });
  const select = (key, focus) => {
    for (const button of bar.children) {
      const on = button.dataset.key === key;
      button.setAttribute("aria-selected", on);
      button.tabIndex = on ? 0 : -1;
      if (on && focus) button.focus();
    }
  };
  tabs.forEach(([key, text, word], at) => {
    const move = (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = tabs[(to + tabs.length) % tabs.length][0];
      select(next, true);
      choose(next);
    };
    const press = () => {
      select(key);
      choose(key);
    };
    const data = word ? { key, term: word } : { key };
    bar.append(h("button", { type: "button", role: "tab", data, onclick: press, onkeydown: move }, text));
  });
  select(chosen);
  return bar;
}
