// The run list as columns: decoding, choosing and sorting, without a page.

import { hasHash, setting, shortName } from "./dom.js";

// A column has key, kind, better, numbers (NaN where nothing is known) and, for texts, words.
export function unpack(answer) {
  const columns = new Map();
  for (const column of answer.columns) {
    const source = column.kind === "text" ? column.codes : column.values;
    const numbers = new Float64Array(source.length);
    for (let row = 0; row < source.length; row += 1) numbers[row] = source[row] ?? NaN;
    columns.set(column.key, { ...column, values: undefined, codes: undefined, numbers });
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

// What the run of a row is called, first as people would, then, if that is not its name, by its name.
export function calledAt(table, row) {
  const name = cell(table, "name", row),
    { symbols, numbers } = table.columns.get("method");
  if (!hasHash({ id: cell(table, "id", row), name })) return [name, ""];
  const strength = cell(table, "strength", row);
  const weight = Number.isNaN(strength) ? "" : `${symbols[numbers[row]]} = ${setting(strength)}`;
  return [shortName(cellTitle(table, "method", row), weight, `seed ${cell(table, "seed", row)}`), name];
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
  const sign = descending ? -1 : 1;
  return rows.slice().sort((first, second) => {
    const a = column.numbers[first],
      b = column.numbers[second];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || first - second;
    return sign * (a - b) || first - second;
  });
}

// The levels between which a row's score lies: by chance, the least there is, and that of perfect codes.
export function levelsOf(table, key, row) {
  const column = table.columns.get(key),
    [chance, reference] = column.levels?.[cell(table, "dataset", row)] ?? [null, null];
  return { chance, reference, least: column.least };
}
