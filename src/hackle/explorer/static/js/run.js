// The page of one run: exploring, what was captured, training, record.

import { readCaptured, readRun } from "./api.js";
import { factsOf, h, prose, tabBar } from "./dom.js";
import { Session } from "./session.js";
import { showExplore } from "./explore.js";
import { imagesUsed, scoreCard, showCaptured } from "./captured.js";
import { showTraining } from "./training.js";
import { exportMenu } from "./exports.js";

const TABS = [
  ["explore", "Explore"],
  ["captured", "What it captured"],
  ["training", "Training"],
  ["record", "Record"],
];

export async function showRun(main, id, tab, signal) {
  main.append(h("p", { class: "waiting" }, "Opening the run…"));
  const run = await readRun(id);
  if (signal.aborted) return;
  document.title = `${run.method ? run.title : run.name}, ${run.dataset ?? ""} – hackle explorer`;
  document
    .getElementById("place")
    .replaceChildren(
      h("a", { href: "#/" }, "Runs"),
      h("span", { "aria-hidden": "true" }, "›"),
      h("span", { class: "here" }, run.name),
    );
  // A run without weights shows first what there is of it.
  const instead = { training: "training", failed: "training", "scores only": "captured", unreadable: "record" }[
    run.status
  ];
  if (!tab) tab = instead ?? "explore";
  const panel = h("section", { class: "panel", role: "tabpanel" });
  const choose = (key) => {
    history.replaceState(null, "", `#/run/${encodeURIComponent(id)}/${key}`);
    show(key);
  };
  const menu = h("div", { class: "exports" });
  const sentence = h("p", { class: "sentence", hidden: true });
  main.replaceChildren(
    h(
      "div",
      { class: "title" },
      h("h1", {}, run.method ? run.title : run.name),
      h(
        "p",
        { class: "facts" },
        factsOf(run).map((fact) => h("span", {}, fact)),
      ),
      menu,
    ),
    sentence,
    tabBar(TABS, tab, choose, "Views of this run"),
    panel,
  );

  let session = null,
    showing = new AbortController();
  signal.addEventListener("abort", () => showing.abort());

  async function show(key) {
    showing.abort();
    showing = new AbortController();
    const { signal: own } = showing;
    panel.replaceChildren();
    panel.className = `panel ${key}`;
    panel.setAttribute("aria-label", TABS.find(([name]) => name === key)?.[1] ?? key);
    try {
      if (key === "training") return await showTraining(panel, id, own);
      if (key === "record")
        return panel.replaceChildren(
          h(
            "pre",
            { tabindex: 0, role: "region", "aria-label": "Record of the run" },
            JSON.stringify(run.record, null, 2),
          ),
        );
      panel.append(h("p", { class: "waiting" }, "Loading the model…"));
      if (!session) {
        session = await Session.open(id);
        menu.replaceChildren(exportMenu(session, run));
        if (!session.model.problem) await session.from({ seed: 1 });
        else session.changed("all");
        summarise(session);
      }
      if (own.aborted) return null;
      panel.replaceChildren();
      if (session.model.problem) panel.append(h("p", { class: "note" }, prose(session.model.problem)));
      if (key === "captured") return await showCaptured(panel, session, run, own);
      return await showExplore(panel, session, own);
    } catch (error) {
      if (own.aborted) return null;
      panel.replaceChildren(h("p", { class: "note", role: "alert" }, prose(run.problem || error.message)));
      if (key === "captured") panel.append(scoreCard(run));
    }
    return null;
  }

  // What the model captured, in one sentence; a model whose data are not here, or have no factors, has none.
  async function summarise(model) {
    if (model.model.problem || !model.model.factors.some((factor) => factor.scored)) return;
    const found = await readCaptured(id).catch(() => null);
    if (!found?.sentence || signal.aborted) return;
    sentence.replaceChildren(found.sentence);
    sentence.title = `From ${imagesUsed(found)}`;
    sentence.hidden = false;
  }

  await show(tab);
}
