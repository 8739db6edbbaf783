// The page: which view an address shows, and the colours.

import { Refused, knock } from "./api.js";
import { h, notify, painted, prose } from "./dom.js";
import { showList } from "./list.js";

const main = document.getElementById("main");
let leave = () => {};

async function route() {
  const [path] = location.hash.replace(/^#/, "").split("?");
  const [, kind, argument, tab] = path.split("/").map(decoded);
  leave();
  leave = () => {};
  main.replaceChildren();
  main.className = kind || "list";
  document.getElementById("place").replaceChildren();
  notify("");
  const stop = new AbortController();
  leave = () => stop.abort();
  try {
    // The list must be there at once: the other views are loaded when they are wanted.
    if (kind === "run" && argument) {
      const [{ showRun }] = await Promise.all([import("./run.js"), dressed()]);
      if (!stop.signal.aborted) await showRun(main, argument, tab || "", stop.signal);
    } else if (kind === "compare" && argument) {
      const [{ showCompare }] = await Promise.all([import("./compare.js"), dressed()]);
      if (!stop.signal.aborted) await showCompare(main, argument.split(","), stop.signal);
    } else {
      await showList(main, stop.signal);
    }
  } catch (error) {
    if (!stop.signal.aborted) main.replaceChildren(problem(error.message));
  }
}

// The styles of the other views, once they are there.
let styles = null;
function dressed() {
  const style = (name) =>
    new Promise((done) => {
      const link = h("link", { rel: "stylesheet", href: `css/${name}.css`, onload: done, onerror: done });
      document.head.append(link);
    });
  styles ??= Promise.all(["model", "findings"].map(style));
  return styles;
}

// A part of an address; one that is not well formed stays as it is, and no run has that name.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const problem = (text) =>
  h(
    "div",
    { class: "problem", role: "alert" },
    h("h1", {}, "This cannot be shown"),
    h("p", {}, prose(text)),
    h("p", {}, h("a", { href: "#/" }, "Back to the list of runs")),
  );

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const root = document.documentElement;
  root.dataset.theme = localStorage.getItem("hackle-theme") ?? (dark ? "dark" : "light");
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("hackle-theme", root.dataset.theme);
  });
}

// A menu closes when something else is clicked, and by Escape.
function menus() {
  const close = (kept) =>
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      if (menu !== kept) menu.open = false;
    });
  addEventListener("click", (event) => close(event.target.closest?.("details.menu")));
  // A menu hangs from the right end of its button, or from the left where the screen would end before it does.
  addEventListener(
    "toggle",
    (event) => {
      const choices = event.target.matches?.("details.menu[open]") ? event.target.querySelector(".choices") : null;
      choices?.classList.remove("rightward");
      if (choices && choices.getBoundingClientRect().left < 0) choices.classList.add("rightward");
    },
    true,
  );
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.activeElement?.closest("details.menu")?.querySelector("summary").focus();
    close();
  });
}

// A server that was stopped is said so for as long as it is away; what was refused is said where nobody else says it.
function connection() {
  const lost = document.getElementById("lost");
  let asking = 0;
  addEventListener("reach", ({ detail: reached }) => {
    lost.replaceChildren(
      ...(reached
        ? []
        : prose("The server does not answer: what is shown stays as it was. Is `hackle explore` still running?")),
    );
    clearInterval(asking);
    if (!reached) asking = setInterval(knock, 2000);
    else if (main.querySelector(".problem")) route();
  });
  addEventListener("unhandledrejection", (event) => {
    if (!(event.reason instanceof Refused)) return;
    event.preventDefault();
    if (event.reason.status) notify(event.reason.message, "bad");
  });
}

// The address names a view, so the skip link moves the focus and not the address.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

document.getElementById("guide").addEventListener("click", async () => (await import("./tour.js")).start());
theme();
menus();
connection();
addEventListener("hashchange", () => {
  route();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
// What explains is not needed for the first look.
route()
  .then(painted)
  .then(() => Promise.all([import("./glossary.js"), import("./tour.js")]));
