import type { Parameter, RunRequest } from '../api/types';
import type { Problem } from './fields';

export const MODES = ['notebook', 'distributed', 'sweep'] as const;

export type Mode = (typeof MODES)[number];

/** What is chosen besides profile and resources, as it was typed; empty means that nothing is said of it. */
export interface Options {
  readonly mode: Mode;
  readonly attempts: string;
  /** Processes on each node of a distributed run. */
  readonly processes: string;
  /** By name; several values, separated by commas, are a sweep's. */
  readonly parameters: Readonly<Record<string, string>>;
  /** A sweep's points as a table: pasted from a spreadsheet, or CSV; the first line has the names. */
  readonly table: string;
  readonly atOnce: string;
  /** The words after a script's name. */
  readonly argumentsText: string;
}

export type OptionName = 'mode' | 'attempts' | 'processes' | 'table' | 'atOnce' | 'argumentsText';

export const NO_OPTIONS: Options = {
  mode: 'notebook',
  attempts: '',
  processes: '',
  parameters: {},
  table: '',
  atOnce: '',
  argumentsText: ''
};

/** What stands in a parameter's field until a person changes it. */
export function presetOf(parameter: Parameter): string {
  const { value } = parameter;
  if (value === null || value === undefined) {
    return '';
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The whole numbers among the options that are none, or are too small. */
export function optionProblems(options: Options): Map<OptionName, Problem> {
  const problems = new Map<OptionName, Problem>();
  const shown: OptionName[] = ['attempts'];
  if (options.mode === 'distributed') {
    shown.push('processes');
  } else if (options.mode === 'sweep') {
    shown.push('atOnce');
  }
  for (const name of shown) {
    const text = String(options[name]).trim();
    if (text !== '' && !/^\d{1,6}$/.test(text)) {
      problems.set(name, { code: 'not-an-integer' });
    } else if (text !== '' && Number(text) < 1) {
      problems.set(name, { code: 'too-small', limit: '1' });
    }
  }
  if (splitWords(options.argumentsText) === null) {
    problems.set('argumentsText', { code: 'open-quote' });
  }
  return problems;
}

/** What the options say in a request. */
export function optionsInRequest(
  options: Options,
  parameters: readonly Parameter[]
): Pick<RunRequest, 'mode'> & Partial<RunRequest> {
  const said: Pick<RunRequest, 'mode'> & Partial<RunRequest> = { mode: options.mode };
  if (options.attempts.trim() !== '') {
    said.attempts = Number(options.attempts);
  }
  if (options.mode === 'distributed' && options.processes.trim() !== '') {
    said.processes = Number(options.processes);
  }
  const words = splitWords(options.argumentsText) ?? [];
  if (words.length > 0) {
    said.arguments = words;
  }
  const single: Record<string, unknown> = {};
  const grid: Record<string, string[]> = {};
  for (const parameter of parameters) {
    const typed = options.parameters[parameter.name];
    if (typed === undefined || typed === presetOf(parameter)) {
      continue;
    }
    const values = options.mode === 'sweep' ? valuesOf(typed) : [typed];
    if (values.length > 1) {
      grid[parameter.name] = values;
    } else {
      single[parameter.name] = typed;
    }
  }
  if (Object.keys(single).length > 0) {
    said.parameters = single;
  }
  if (options.mode === 'sweep') {
    const points = pointsIn(options.table);
    const given = points ? { points } : options.table.trim() ? { csv: options.table } : { grid };
    said.sweep = options.atOnce.trim() ? { ...given, at_once: Number(options.atOnce) } : given;
  }
  return said;
}

/** How many runs a sweep is; null where the server has to count. */
export function pointCount(options: Options, parameters: readonly Parameter[]): number | null {
  const { sweep } = optionsInRequest(options, parameters);
  if (!sweep || sweep.csv) {
    return sweep ? sweep.csv!.trim().split(/\r?\n/).length - 1 : null;
  }
  if (sweep.points) {
    return sweep.points.length;
  }
  const lists = Object.values(sweep.grid ?? {});
  return lists.length === 0 ? 0 : lists.reduce((product, list) => product * list.length, 1);
}

/** `0.1, 0.2` is two values; a JSON list is its items; commas within brackets or quotes separate nothing. */
export function valuesOf(text: string): string[] {
  const values: string[] = [];
  let depth = 0;
  let quote = '';
  let value = '';
  for (const character of text) {
    if (quote) {
      quote = character === quote ? '' : quote;
    } else if ((character === '"' || character === "'") && (depth > 0 || value.trim() === '')) {
      quote = character; // an apostrophe within a word is none
    } else if ('[{('.includes(character)) {
      depth += 1;
    } else if (']})'.includes(character)) {
      depth -= 1;
    } else if (character === ',' && depth === 0) {
      values.push(value);
      value = '';
      continue;
    }
    value += character;
  }
  return [...values, value].map(item => item.trim()).filter(item => item !== '');
}

/** The rows of what a spreadsheet puts on the clipboard (columns by tabs); null for anything else. */
function pointsIn(table: string): Record<string, string>[] | null {
  const [head, ...rows] = table.split(/\r?\n/).filter(line => line.trim() !== '');
  if (!head?.includes('\t')) {
    return null;
  }
  const names = head.split('\t').map(name => name.trim());
  return rows.map(row => {
    const cells = row.split('\t');
    return Object.fromEntries(names.map((name, index) => [name, (cells[index] ?? '').trim()]));
  });
}

/** Words as a shell splits them, quotes and backslashes understood; null when a quote is not closed. */
export function splitWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '\\' && quote !== "'" && index + 1 < text.length) {
      index += 1;
      word = (word ?? '') + text[index];
    } else if (quote ? character === quote : character === '"' || character === "'") {
      quote = quote ? '' : character;
      word ??= '';
    } else if (!quote && /\s/.test(character)) {
      if (word !== null) {
        words.push(word);
      }
      word = null;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote) {
    return null;
  }
  return word === null ? words : [...words, word];
}
