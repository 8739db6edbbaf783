// The language of filters: which rows a text such as `MIG > 0.01, method is not β-VAE` keeps, and how it reads in
// words.
//
//   filter     conditions, one after another, with "and" or a comma between them or nothing; all of them must hold
//   condition  COLUMN < > <= >= ≤ ≥ NUMBER
//              COLUMN = is != ≠ "is not" VALUE ["or" VALUE …]
//              WORD, which some text of the row must contain
//   COLUMN     a heading of the table or a column's key, in any case
//   VALUE      a number, a text of the column, its title (β-VAE for beta-vae), or "missing"; "in quotes" if need be
//
// What is not known is said, and the other conditions are kept.

import { metricName } from "./dom.js";

const TOKEN = /"([^"]*)"?|<=|>=|!=|[≤≥≠<>=,]|[^\s,<>=≤≥≠"]+/g;
const SIGNS = { "≤": "<=", "≥": ">=", "≠": "!=", is: "=" };
const ORDER = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};
const IN_WORDS = { "<=": "≤", ">=": "≥", "=": "is", "!=": "is not" };
const LONGEST = 6;

const plain = (text) =>
  text
    .toLowerCase()
    .replace(/[\s_]+/g, " ")
    .trim();
export const headingOf = (column) => column.word ?? metricName(column.key);
const namesOf = (column) => [column.key, headingOf(column), column.label].filter(Boolean);

function tokens(text) {
  return [...text.matchAll(TOKEN)].map((match) => {
    const quoted = match[0].startsWith('"');
    const word = quoted ? match[1] : match[0];
    const sign = !quoted && /^(<=|>=|!=|[≤≥≠<>=])$/.test(word);
    return { word, quoted, sign, from: match.index, to: match.index + match[0].length };
  });
}

// How many letters must be changed, added or left out to make one text the other.
export function distance(one, other) {
  let line = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1)
      next.push(Math.min(next[at - 1] + 1, line[at] + 1, line[at - 1] + (one[row - 1] !== other[at - 1])));
    line = next;
  }
  return line[other.length];
}

// The known name that was probably meant; null if none is near.
function meant(word, names) {
  const wanted = plain(word);
  const ranked = names
    .map((name) => ({ name, far: plain(name).includes(wanted) ? 0.5 : distance(wanted, plain(name)) }))
    .sort((a, b) => a.far - b.far);
  const most = wanted.length < 4 ? 1 : Math.max(2, wanted.length / 3);
  return ranked.length && ranked[0].far <= most ? ranked[0].name : null;
}

const hint = (word, names) => {
  const found = meant(word, names);
  return found === null ? "" : `; did you mean ${found}?`;
};

class Parser {
  constructor(text, columns) {
    this.text = text;
    this.tokens = tokens(text);
    this.columns = [...columns.values()].filter((column) => column.key !== "id");
    this.named = new Map();
    for (const column of this.columns.toReversed())
      for (const name of namesOf(column).toReversed()) this.named.set(plain(name), column);
    this.at = 0;
    this.conditions = [];
    this.problems = [];
  }

  peek(ahead = 0) {
    return this.tokens[this.at + ahead];
  }

  is(word, ahead = 0) {
    const token = this.peek(ahead);
    return Boolean(token) && !token.quoted && token.word.toLowerCase() === word;
  }

  compares(ahead) {
    return Boolean(this.peek(ahead)?.sign) || this.is("is", ahead);
  }

  // The longest of the next words that `known` accepts, as [what it gave, how many words].
  longest(known, ends = () => true) {
    for (let count = Math.min(LONGEST, this.tokens.length - this.at); count > 0; count -= 1) {
      const words = this.tokens.slice(this.at, this.at + count);
      if (words.some((token) => token.sign || (token.word === "," && !token.quoted)) || !ends(count)) continue;
      const found = known(words.map((token) => token.word).join(" "));
      if (found !== undefined) return [found, count];
    }
    return [undefined, 0];
  }

  parse() {
    while (this.at < this.tokens.length) {
      if (this.is(",") || this.is("and")) this.at += 1;
      else this.condition();
    }
    return { conditions: this.conditions, problems: this.problems };
  }

  condition() {
    const first = this.peek();
    if (first.sign) {
      this.at += 1;
      this.problems.push(`a column is missing before ${first.word}`);
      return;
    }
    const [column, count] = this.longest(
      (name) => this.named.get(plain(name)),
      (words) => this.compares(words),
    );
    if (!column && !this.compares(1)) {
      this.at += 1;
      this.add(first, contains(this.columns, first.word), `“${first.word}”`);
      return;
    }
    this.at += column ? count : 1;
    const sign = this.sign();
    if (column) this.comparison(first, column, sign);
    else {
      const names = this.columns.flatMap(namesOf);
      this.problems.push(`no column ‘${first.word}’${hint(first.word, names)}`);
      this.at += this.peek() && !this.is(",") ? 1 : 0;
    }
  }

  sign() {
    const word = this.peek().word.toLowerCase();
    this.at += 1;
    if (word === "is" && this.is("not")) {
      this.at += 1;
      return "!=";
    }
    return SIGNS[word] ?? word;
  }

  comparison(first, column, sign) {
    const heading = headingOf(column);
    if (!this.peek() || this.is(",") || this.is("and")) {
      this.problems.push(`${heading} ${IN_WORDS[sign] ?? sign} what?`);
      return;
    }
    const ordered = sign in ORDER;
    if (ordered && column.kind === "text") {
      this.at += 1;
      this.problems.push(`${heading} is a text, which is compared by “is” and “is not”`);
      return;
    }
    const values = [this.value(column)];
    while (!ordered && this.is("or")) {
      this.at += 1;
      if (this.peek()) values.push(this.value(column));
    }
    if (values.some((value) => value === null)) return;
    const words = values.map((value) => value.text).join(" or ");
    const fits = ordered
      ? (row) => ORDER[sign](column.numbers[row], values[0].number)
      : (row) => values.some((value) => value.fits(row)) === (sign === "=");
    this.add(first, fits, `${heading} ${IN_WORDS[sign] ?? sign} ${words}`, { key: column.key, sign, values });
  }

  // A value with its text and which rows have it; null, and a problem said, if the column has none such.
  value(column) {
    const { word, quoted } = this.peek();
    const { numbers } = column;
    if (!quoted && word.toLowerCase() === "missing") {
      this.at += 1;
      const none = column.kind === "text" ? column.words.indexOf("") : NaN;
      return { text: "missing", fits: (row) => numbers[row] === none || Number.isNaN(numbers[row]) };
    }
    if (column.kind !== "text") {
      this.at += 1;
      const number = Number(word.replace("−", "-"));
      if (word.trim() === "" || Number.isNaN(number)) {
        this.problems.push(`${headingOf(column)} is compared with numbers; ‘${word}’ is none`);
        return null;
      }
      return { text: word, number, fits: (row) => numbers[row] === number };
    }
    const titles = column.titles ?? column.words;
    const place = new Map();
    for (const list of [titles, column.words])
      for (const [at, text] of list.entries()) if (text) place.set(plain(text), at);
    const [found, count] = this.longest((text) => place.get(plain(text)));
    this.at += found === undefined ? 1 : count;
    if (found !== undefined)
      return { text: titles[found], word: column.words[found], fits: (row) => numbers[row] === found };
    const known = column.words.filter(Boolean);
    const listed = known.length <= 8 ? `; there are ${known.join(", ")}` : "";
    this.problems.push(`no run has the ${headingOf(column)} ‘${word}’${hint(word, known) || listed}`);
    return null;
  }

  add(first, fits, words, more = {}) {
    const { to } = this.tokens[this.at - 1];
    this.conditions.push({ from: first.from, to, words, fits, ...more });
  }
}

function contains(columns, word) {
  const texts = columns
    .filter((column) => column.kind === "text")
    .map(({ numbers, words, titles }) => ({
      numbers,
      fits: words.map((text, at) => `${text}\n${titles?.[at] ?? ""}`.toLowerCase().includes(word.toLowerCase())),
    }));
  return (row) => texts.some(({ numbers, fits }) => fits[numbers[row]]);
}

// The conditions of a filter, each with its place in the text, itself in words and which rows fit it, and the problems.
export const parseFilter = (text, columns) => new Parser(text, columns).parse();

// The text without one of its conditions.
export const without = (text, { from, to }) =>
  `${text.slice(0, from).replace(/(,|\band)?\s*$/i, "")} ${text.slice(to).replace(/^\s*(,|and\b)\s*/i, "")}`.trim();

const quoted = (word) => (/[\s,<>=≤≥≠]/.test(word) ? `"${word}"` : word);

// The text with `COLUMN is VALUE` in place of what it said so far of that column's value; without it where none
// is given.
export function withValue(text, columns, column, word) {
  const { conditions } = parseFilter(text, columns);
  const known = conditions.find((one) => one.key === column.key && one.sign === "=");
  const rest = known ? without(text, known) : text.trim();
  const added = word ? `${quoted(headingOf(column))} is ${quoted(word)}` : "";
  return [rest, added].filter(Boolean).join(rest && added ? ", " : "");
}
