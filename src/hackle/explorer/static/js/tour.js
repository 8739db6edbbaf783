// A tour in five steps for the first visit. It stands between the header and the page, which makes room for it, so
// that it never covers what it speaks of; it is left by Escape, and remembered.

import { h } from "./dom.js";

const SEEN = "hackle-tour";
const STEPS = [
  [
    "A row for each run",
    "The list has every run with its settings and scores: sort it by a click on a heading, filter it, " +
      "tick two runs to compare them. A click on a run's name opens it.",
    ".viewport, #place a",
  ],
  [
    "One sentence",
    "What the model captured, in words: which latent follows which factor, what is shared, and what is lost.",
    ".sentence:not([hidden])",
  ],
  [
    "Move a latent",
    "Drag a slider, or use the arrow keys, and watch the picture. Behind each slider are the latent's values " +
      "on the data and its prior; two clicks put it back.",
    ".latents",
  ],
  [
    "Traversals",
    "Each row moves one latent alone, from end to end. Click an image to go there; the mark shows where you are.",
    ".traversals",
  ],
  [
    "Look further",
    "“What it captured” compares codes with factors, “Training” has the curves, and Export saves what you see. Words " +
      "with dotted lines explain themselves.",
    '.tabs [data-key="captured"]',
  ],
];

const title = h("h2", { id: "tour-title" }),
  text = h("p", { id: "tour-text" }),
  count = h("small", {}),
  back = h("button", { type: "button", onclick: () => go(at - 1) }, "Back"),
  next = h("button", { type: "button", class: "button primary", onclick: () => go(at + 1) }, "Next"),
  skip = h("button", { type: "button", onclick: () => close() }, "Skip the tour");
const card = h(
  "section",
  { id: "tour", role: "dialog", "aria-labelledby": "tour-title", "aria-describedby": "tour-text", hidden: true },
  h("div", { role: "status" }, count, title, text),
  h("div", { class: "buttons" }, skip, back, next),
);
// Right after the header, so that the Tab key comes to it first.
document.querySelector("header").after(card);
// The page makes room in the next frame: an observer must not change what it observes.
new ResizeObserver(() => requestAnimationFrame(makeRoom)).observe(card);
let at = 0,
  looking = 0;

function makeRoom() {
  document.documentElement.style.setProperty("--tour", `${card.offsetHeight}px`);
  show(document.querySelector(".toured"));
  dispatchEvent(new Event("resize"));
}

function mark(element) {
  for (const old of document.querySelectorAll(".toured")) old.classList.remove("toured");
  element?.classList.add("toured");
  show(element);
}

// What is higher than the room for it is shown from its beginning, below the card and whatever else stays above it.
function show(element) {
  if (!element) return;
  const room = innerHeight - parseFloat(getComputedStyle(element).scrollMarginTop);
  element.scrollIntoView({ block: element.offsetHeight > room ? "start" : "nearest" });
}

// What a step speaks of may still be loading.
function point(selector, patience = 40) {
  clearTimeout(looking);
  const found = document.querySelector(selector);
  mark(found);
  if (!found && patience) looking = setTimeout(point, 250, selector, patience - 1);
}

function go(step) {
  if (step === STEPS.length) return close();
  at = Math.max(0, step);
  // The steps after the first are about a model: the first one of the list is opened.
  const model = document.querySelector("table.runs .state.done + a");
  if (at > 0 && model) {
    location.hash = model.getAttribute("href");
    // Another view takes the focus; who walks through by keys goes on here.
    if (card.contains(document.activeElement)) addEventListener("hashchange", () => next.focus(), { once: true });
  }
  const [name, what, selector] = STEPS[at];
  count.textContent = `Step ${at + 1} of ${STEPS.length}`;
  title.textContent = name;
  text.textContent = what;
  back.hidden = at === 0;
  next.textContent = at === STEPS.length - 1 ? "Done" : "Next";
  skip.hidden = at === STEPS.length - 1;
  point(selector);
  return null;
}

function close() {
  clearTimeout(looking);
  localStorage.setItem(SEEN, "seen");
  mark(null);
  const inside = card.contains(document.activeElement);
  card.hidden = true;
  if (inside) document.getElementById("guide").focus();
}

export function start() {
  card.hidden = false;
  go(0);
  next.focus();
}

card.addEventListener("keydown", (event) => {
  const step = { ArrowRight: at + 1, ArrowLeft: at - 1 }[event.key];
  if (step !== undefined && step < STEPS.length) go(step);
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !card.hidden) close();
});
if (localStorage.getItem(SEEN) === null) {
  card.hidden = false;
  go(0);
}
