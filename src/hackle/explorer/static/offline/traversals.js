// The offline page: each slider moves through images that are inside the page.
const data = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("traversals");
const add = (parent, tag, properties = {}) =>
  parent.appendChild(Object.assign(document.createElement(tag), properties));
for (const view of data.views) {
  const block = add(place, "section", { className: "block" });
  const picture = add(block, "canvas", {
    width: data.width,
    height: data.height,
    className: "picture",
    role: "img",
    ariaLabel: "Image decoded from the latents",
  });
  const context = picture.getContext("2d");
  const show = (image, at) =>
    context.drawImage(image, at * data.width, 0, data.width, data.height, 0, 0, data.width, data.height);
  const start = new Image();
  start.onload = () => show(start, 0);
  start.src = view.image;
  const list = add(block, "div", { className: "rows" });
  view.latents.forEach((latent, row) => {
    const line = add(list, "label", { className: "row" });
    const kl = data.kl[row] === null ? "" : ` KL ${data.kl[row].toFixed(2)}`;
    const text = (at) =>
      latent.classes ? `class ${latent.values[at]}` : latent.values[at].toFixed(2).replace("-", "−");
    const ends = `${text(0)} … ${text(latent.values.length - 1)}`;
    add(line, "span", { textContent: `z${latent.latent}${kl}\n${ends}` });
    const film = add(line, "canvas", {
      width: data.width * latent.values.length,
      height: data.height,
      role: "img",
      ariaLabel: `Traversal of latent z${latent.latent}`,
    });
    // Tiles of all rows have one size, also where there are fewer classes than steps.
    film.style.width = `${(100 * latent.values.length) / data.columns}%`;
    const slider = add(line, "input", { type: "range", min: 0, max: latent.values.length - 1, value: latent.at });
    const value = add(line, "output", { textContent: text(latent.at) });
    const sprite = new Image();
    sprite.onload = () => film.getContext("2d").drawImage(sprite, 0, 0);
    sprite.src = latent.sprite;
    slider.addEventListener("input", () => {
      show(sprite, slider.valueAsNumber);
      value.textContent = text(slider.valueAsNumber);
    });
  });
}
