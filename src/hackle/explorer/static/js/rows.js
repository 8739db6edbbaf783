// The run list as columns: decoding, choosing and sorting, without a page.

import { hasHash, setting, shortName } from "./dom.js";

// A column has key, kind, better, numbers (NaN where nothing is known) and, for texts, words. What is the same of every
// run was sent once, and texts of one column that are another's under that column's key.
export function unpack(answer) {
  const columns = new Map();
  for (const { values, codes, as, ...column } of answer.columns) {
    const [source, like] = [values ?? codes, columns.get(as)];
    const same = source?.length === 1;
    const numbers = like?.numbers ?? new Float64Array(answer.count);
    if (same) numbers.fill(source[0] ?? NaN);
    else if (!like) numbers.set(source.includes(null) ? source.map((value) => value ?? NaN) : source);
    columns.set(column.key, { words: like?.words, ...column, same, numbers });
  }
  return { ...answer, columns };
}

export const cell = (table, key, row) => {
  const column = table.columns.get(key);
  return column.kind === "text" ? column.words[column.numbers[row]] : column.numbers[row];
};

// The text of a cell for readers: its title where the column has one for it.
export const cellTitle = (table, key, row) => {
  const { titles, numbers } = table.columns.get(key);
  return titles?.[numbers[row]] ?? cell(table, key, row);
};

// A method's weight by the method's own symbol, such as β = 4; empty where it has none.
export function weightAt(table, row) {
  const { symbols, numbers } = table.columns.get("method"),
    strength = cell(table, "strength", row);
  return Number.isNaN(strength) ? "" : `${symbols[numbers[row]]} = ${setting(strength)}`;
}

// What the run of a row is called, first as people would, then, if that is not its name, by its name.
export function calledAt(table, row) {
  const name = cell(table, "name", row);
  if (!hasHash({ id: cell(table, "id", row), name })) return [name, ""];
  return [shortName(cellTitle(table, "method", row), weightAt(table, row), `seed ${cell(table, "seed", row)}`), name];
}

// The rows that fit every condition of a filter.
export function matching(table, conditions) {
  const found = [];
  for (let row = 0; row < table.count; row += 1) if (conditions.every(({ fits }) => fits(row))) found.push(row);
  return found;
}

// Rows in the order of a column; rows that have no value come last in either direction.
export function sorted(table, rows, key, descending) {
  const column = table.columns.get(key);
  if (!column) return rows;
  const { numbers } = column,
    sign = descending ? -1 : 1;
  const known = rows.filter((row) => !Number.isNaN(numbers[row])),
    missing = rows.filter((row) => Number.isNaN(numbers[row]));
  return [...known.sort((first, second) => sign * (numbers[first] - numbers[second])), ...missing];
}

// The levels between which a row's score lies: by chance, the worst there is, and that of perfect codes.
export function levelsOf(table, key, row) {
  const column = table.columns.get(key),
    [chance, reference] = column.levels?.[cell(table, "dataset", row)] ?? [null, null];
  return { chance, reference, worst: column.worst };
}
