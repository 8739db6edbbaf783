// The run list as columns: decoding, filtering and sorting, without a page.

// A column has key, kind, better, numbers (NaN where nothing is known) and, for texts, words.
export function unpack(answer) {
  const columns = new Map();
  for (const column of answer.columns) {
    const source = column.kind === "text" ? column.codes : column.values;
    const numbers = new Float64Array(source.length);
    let top = 0;
    for (let row = 0; row < source.length; row += 1) {
      const value = source[row];
      numbers[row] = value === null ? NaN : value;
      if (Math.abs(value) > top) top = Math.abs(value);
    }
    columns.set(column.key, { ...column, values: undefined, codes: undefined, numbers, top });
  }
  return { ...answer, columns };
}

export const cell = (table, key, row) => {
  const column = table.columns.get(key);
  return column.kind === "text" ? column.words[column.numbers[row]] : column.numbers[row];
};

const COMPARISON = /^([a-zσ_@0-9]+)(<=|>=|<|>|=)(.+)$/i;
const ORDER = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
};

// One word of the search: `mig>0.3`, `method=beta-vae`, or a text that any of the text columns holds.
function condition(table, word) {
  const [, key, sign, wanted] = word.match(COMPARISON) ?? [];
  const column = table.columns.get(key) ?? [...table.columns.values()].find((other) => key && other.word === key);
  if (column && column.kind === "text") {
    const fits = column.words.map((text) => text.toLowerCase() === wanted.toLowerCase());
    return (row) => fits[column.numbers[row]];
  }
  if (column && !Number.isNaN(Number(wanted))) return (row) => ORDER[sign](column.numbers[row], Number(wanted));
  const texts = [...table.columns.values()]
    .filter((other) => other.kind === "text")
    .map((other) => ({
      numbers: other.numbers,
      fits: other.words.map((text) => text.toLowerCase().includes(word.toLowerCase())),
    }));
  return (row) => texts.some(({ numbers, fits }) => fits[numbers[row]]);
}

export function matching(table, search, choices) {
  const conditions = search
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => condition(table, word));
  for (const [key, wanted] of Object.entries(choices)) {
    if (wanted) conditions.push(condition(table, `${key}=${wanted}`));
  }
  const found = [];
  for (let row = 0; row < table.count; row += 1) {
    if (conditions.every((fits) => fits(row))) found.push(row);
  }
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
