// The page of one run: exploring, what was captured, training, record.

import { readCaptured, readRun, readStep } from "./api.js";
import { calledOf, explained, h, noted, number, showPlace, tabBar, waiting } from "./dom.js";
import { keep, recall } from "./bookmark.js";
import { Session } from "./session.js";
import { showExplore } from "./explore.js";
import { imagesUsed, scoreCard, showCaptured } from "./captured.js";
import { showTraining } from "./training.js";
import { exportMenu } from "./exports.js";

const EVERY = 3000;
const TABS = [
  ["explore", "Explore"],
  ["captured", "What it captured"],
  ["training", "Training"],
  ["record", "Record"],
];

const noteOf = (text) => h("p", { class: "note", role: "alert" }, noted(text));

export async function showRun(main, id, tab, signal) {
  main.append(waiting("Opening the run…"));
  let run = await readRun(id);
  if (signal.aborted) return;
  document.title = `${run.method ? run.title : run.name}, ${run.dataset ?? ""} – hackle explorer`;
  showPlace(calledOf(run)[0], run.name);
  // A run without weights shows first what there is of it.
  const instead = { training: "training", failed: "training", "scores only": "captured", unreadable: "record" }[
    run.status
  ];
  if (!tab) tab = instead ?? "explore";
  const panel = h("section", { class: "panel", role: "tabpanel" });
  const choose = (key) => {
    const [, query] = location.hash.split("?");
    history.replaceState(null, "", `#/run/${encodeURIComponent(id)}/${key}${query ? `?${query}` : ""}`);
    show(key);
  };
  const menu = h("div", { class: "exports" });
  const sentence = h("p", { class: "sentence", hidden: true });
  const unfinished = h("p", { class: "unfinished", role: "status", hidden: true });
  main.replaceChildren(
    h(
      "div",
      { class: "title" },
      h("h1", {}, run.method ? run.title : run.name),
      h(
        "p",
        { class: "facts" },
        run.facts.filter((fact) => fact.telling).map(({ name, text }) => h("span", {}, explained(name, text))),
      ),
      menu,
    ),
    sentence,
    unfinished,
    tabBar(TABS, tab, choose, "Views of this run"),
    panel,
  );

  let session = null,
    stale = false,
    current = tab,
    showing = new AbortController();
  signal.addEventListener("abort", () => showing.abort());

  async function show(key) {
    showing.abort();
    showing = new AbortController();
    const { signal: own } = showing;
    current = key;
    panel.replaceChildren();
    panel.className = `panel ${key}`;
    panel.setAttribute("aria-label", TABS.find(([name]) => name === key)?.[1] ?? key);
    try {
      // That a run failed or cannot be read is said in every view of it.
      if (["failed", "unreadable"].includes(run.status)) panel.append(noteOf(run.problem));
      if (key === "training") return await showTraining(panel, id, own);
      if (key === "record")
        return panel.append(
          h(
            "pre",
            { tabindex: 0, role: "region", "aria-label": "Record of the run" },
            JSON.stringify(run.record, null, 2),
          ),
        );
      panel.replaceChildren(waiting("Loading the model…"));
      // There may be a checkpoint by now.
      if (run.problem) run = await readRun(id);
      if (own.aborted) return null;
      if (run.problem) throw new Error(run.problem);
      if (!session || stale) {
        const before = session?.start?.row;
        session = await Session.open(id);
        stale = false;
        menu.replaceChildren(exportMenu(session, run));
        await recall(session, before ? { row: before } : { seed: 1 });
        keep(session, signal);
        summarise(session);
        follow(session);
      }
      if (own.aborted) return null;
      panel.replaceChildren();
      if (session.model.problem) panel.append(h("p", { class: "note" }, noted(session.model.problem)));
      if (key === "captured") return await showCaptured(panel, session, run, own);
      return await showExplore(panel, session, own);
    } catch (error) {
      if (own.aborted) return null;
      panel.replaceChildren(noteOf(error.message));
      if (key === "captured") panel.append(scoreCard(run));
    }
    return null;
  }

  // What the model captured, in one sentence; a model whose data are not here, or have no factors, has none.
  async function summarise(model) {
    if (model.model.problem || !model.model.factors.some((factor) => factor.scored)) return;
    const found = await readCaptured(model.id).catch(() => null);
    if (!found?.sentence || signal.aborted) return;
    sentence.replaceChildren(found.sentence);
    sentence.title = `From ${imagesUsed(found)}`;
    sentence.hidden = false;
  }

  // A run in training is shown at its last checkpoint, which says its step; the next one is there at a click.
  async function follow({ model }) {
    unfinished.hidden = model.step === null;
    if (model.step === null) return;
    const at = `Still training: this is step ${number(model.step)} of ${number(model.steps)}. `;
    unfinished.replaceChildren(at, "The next checkpoint will be offered here.");
    let newest = model.step;
    while (newest === model.step && !signal.aborted && !stale) {
      await new Promise((done) => setTimeout(done, EVERY));
      if (signal.aborted || stale) return;
      newest = await readStep(id).then(
        (answer) => answer.step,
        () => model.step,
      );
    }
    if (signal.aborted || stale) return;
    const next = newest === null ? "Show the finished model" : `Show step ${number(newest)}`;
    const go = () => {
      stale = true;
      unfinished.hidden = true;
      if (!["training", "record"].includes(current)) show(current);
    };
    unfinished.replaceChildren(at, h("button", { type: "button", onclick: go }, next));
  }

  await show(tab);
}
