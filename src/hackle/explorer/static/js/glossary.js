// The glossary's meaning of a word, beside whatever has it as data-term, under the pointer or with the focus.

import { h } from "./dom.js";

let known = null;
const meanings = () => {
  known ??= fetch("glossary.json").then((answer) => answer.json());
  return known;
};

const tip = h("div", { id: "tip", role: "tooltip", hidden: true });
document.body.append(tip);
let subject = null;

function hide() {
  tip.hidden = true;
  subject?.removeAttribute("aria-describedby");
  subject = null;
}

async function show(element) {
  if (subject === element) return;
  hide();
  subject = element;
  const words = await meanings().catch(() => ({})),
    word = element.dataset.term;
  // The pointer may have gone on meanwhile.
  if (subject !== element || !Object.hasOwn(words, word)) return;
  tip.replaceChildren(h("b", {}, word), ` ${words[word]}`);
  tip.hidden = false;
  element.setAttribute("aria-describedby", "tip");
  const box = element.getBoundingClientRect(),
    { offsetWidth: width, offsetHeight: height } = tip;
  const left = Math.min(Math.max(8, box.left), document.documentElement.clientWidth - width - 8);
  // What a word stands above, such as the rows of its column, stays in sight.
  const above = box.top - height - 6 > document.querySelector(".bar").getBoundingClientRect().bottom;
  tip.style.left = `${left}px`;
  tip.style.top = `${above ? box.top - height - 6 : box.bottom + 6}px`;
}

const term = (event) => event.target.closest?.("[data-term]");
for (const kind of ["pointerover", "focusin"])
  addEventListener(kind, (event) => {
    const element = term(event);
    if (element) show(element);
    else if (!tip.contains(event.target)) hide();
  });
addEventListener("focusout", hide);
addEventListener("click", hide);
addEventListener("hashchange", hide);
addEventListener("scroll", hide, { passive: true, capture: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});
