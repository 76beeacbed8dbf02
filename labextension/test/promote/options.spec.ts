import { describe, expect, it } from 'vitest';

import type { Parameter } from '../../src/api/types';
import {
  NO_OPTIONS,
  optionProblems,
  optionsInRequest,
  pointCount,
  presetOf,
  splitWords,
  valuesOf
} from '../../src/promote/options';

function parameter(name: string, value: unknown, kind: Parameter['kind'] = 'any'): Parameter {
  return { name, kind, default: String(value), value, help: '', cell: 0, line: 1 };
}

const RATE = parameter('rate', 0.1, 'float');
const LAYERS = parameter('layers', [1, 2], 'list');
const TITLE = parameter('title', 'a', 'str');

describe('valuesOf', () => {
  it.each([
    ['0.1', ['0.1']],
    ['0.1, 0.2,', ['0.1', '0.2']],
    ['[1, 2], [3]', ['[1, 2]', '[3]']],
    ['{"a": 1, "b": 2}', ['{"a": 1, "b": 2}']],
    ['"a, b", c', ['"a, b"', 'c']],
    ["it's, that's", ["it's", "that's"]],
    ['(1, 2), (3, 4)', ['(1, 2)', '(3, 4)']],
    ['', []],
    [' , ', []]
  ])('%j is %j', (typed, values) => {
    expect(valuesOf(typed)).toEqual(values);
  });
});

describe('splitWords', () => {
  it.each([
    ['--epochs 10', ['--epochs', '10']],
    ['  a   b ', ['a', 'b']],
    ['--name "a b"', ['--name', 'a b']],
    ["--name='it is' x", ['--name=it is', 'x']],
    ['a\\ b', ['a b']],
    ['""', ['']],
    ["'a\\b'", ['a\\b']],
    ['', []],
    ['"open', null],
    ["it's", null]
  ])('%j is %j', (typed, words) => {
    expect(splitWords(typed)).toEqual(words);
  });
});

describe('a request', () => {
  it('says nothing of what is left as it was', () => {
    expect(optionsInRequest(NO_OPTIONS, [RATE, TITLE])).toEqual({ mode: 'notebook' });
    const same = { ...NO_OPTIONS, parameters: { rate: presetOf(RATE), layers: presetOf(LAYERS) } };
    expect(optionsInRequest(same, [RATE, LAYERS])).toEqual({ mode: 'notebook' });
  });

  it('has only parameters that the notebook has', () => {
    const typed = { ...NO_OPTIONS, parameters: { rate: '0.5', gone: '1' } };
    expect(optionsInRequest(typed, [RATE])).toMatchObject({ parameters: { rate: '0.5' } });
  });

  it('takes several values as a grid, in a sweep only', () => {
    const parameters = { rate: '0.1, 0.2', title: 'b', layers: '[1], [2], [3]' };
    const typed = { ...NO_OPTIONS, mode: 'sweep' as const, parameters, atOnce: '2' };
    expect(optionsInRequest(typed, [RATE, LAYERS, TITLE])).toEqual({
      mode: 'sweep',
      parameters: { title: 'b' },
      sweep: { grid: { rate: ['0.1', '0.2'], layers: ['[1]', '[2]', '[3]'] }, at_once: 2 }
    });
    expect(pointCount(typed, [RATE, LAYERS, TITLE])).toBe(6);
    const single = { ...typed, mode: 'notebook' as const };
    expect(optionsInRequest(single, [TITLE, RATE]).parameters).toEqual({
      title: 'b',
      rate: '0.1, 0.2'
    });
  });

  it.each([
    [
      'rate\ttitle\n0.1\ta\n\n0.2\tb, c\n',
      {
        points: [
          { rate: '0.1', title: 'a' },
          { rate: '0.2', title: 'b, c' }
        ]
      },
      2
    ],
    ['rate,title\r\n0.1,a\r\n', { csv: 'rate,title\r\n0.1,a\r\n' }, 1],
    ['', { grid: {} }, 0]
  ])('takes the table %j', (table, sweep, count) => {
    const typed = { ...NO_OPTIONS, mode: 'sweep' as const, table };
    expect(optionsInRequest(typed, [RATE, TITLE])).toEqual({ mode: 'sweep', sweep });
    expect(pointCount(typed, [RATE, TITLE])).toBe(count);
  });

  it('gives a script its words', () => {
    const typed = { ...NO_OPTIONS, argumentsText: '--epochs 10' };
    expect(optionsInRequest(typed, []).arguments).toEqual(['--epochs', '10']);
  });
});

describe('what is wrong', () => {
  it.each([
    [{ attempts: '0' }, 'attempts', 'too-small'],
    [{ attempts: '1.5' }, 'attempts', 'not-an-integer'],
    [{ mode: 'distributed' as const, processes: 'x' }, 'processes', 'not-an-integer'],
    [{ mode: 'sweep' as const, atOnce: '-1' }, 'atOnce', 'not-an-integer'],
    [{ argumentsText: '"open' }, 'argumentsText', 'open-quote']
  ])('%j is said at %s', (change, field, code) => {
    const problems = optionProblems({ ...NO_OPTIONS, ...change });
    expect([...problems].map(([name, problem]) => [name, problem.code])).toEqual([[field, code]]);
  });

  it('is nothing that is not shown', () => {
    expect(optionProblems({ ...NO_OPTIONS, processes: 'x', atOnce: 'x' }).size).toBe(0);
  });
});
