// A click or a key on a heading sorts a table by its column, at first from the lowest upwards.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("th")];
  for (const [column, head] of heads.entries()) {
    head.tabIndex = 0;
    let up = false;
    const value = (row) => {
      const text = row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
    };
    const sort = () => {
      up = !up;
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return (x > y ? 1 : x < y ? -1 : 0) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...rows);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort();
    });
  }
}
