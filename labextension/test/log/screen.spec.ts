import { describe, expect, it } from 'vitest';

import { headOf, LINE_LIMIT, LineCutter } from '../../src/log/lines';
import { Screen } from '../../src/log/screen';

describe('output, cut into lines', () => {
  it.each([
    ['a\nb', ['a'], 'b'],
    ['a\r\nb\r\n', ['a', 'b'], ''],
    [' 10%\r 20%\r100%', [], '100%'],
    [' 10%\r 20%\r', [], ' 20%'],
    ['\n\n', ['', ''], ''],
    ['', [], '']
  ])('%j', (output, finished, open) => {
    expect(new LineCutter().append(output)).toEqual({ finished, open });
  });

  it('holds a line that comes in pieces', () => {
    const cutter = new LineCutter();
    expect(cutter.append('one, ')).toEqual({ finished: [], open: 'one, ' });
    expect(cutter.append('two\nthree')).toEqual({ finished: ['one, two'], open: 'three' });
  });
});

describe('the screen', () => {
  it('escapes what looks like HTML and turns colours into classes', () => {
    const screen = new Screen();
    screen.append('\x1b[31m<img src=x onerror=alert(1)>\x1b[0m plain\n');
    expect(screen.node.querySelector('img')).toBeNull();
    expect(screen.node.querySelector('.ansi-red-fg')?.textContent).toBe(
      '<img src=x onerror=alert(1)>'
    );
    expect(screen.node.textContent).toContain('plain');
  });

  it('makes no links of what a job prints', () => {
    const screen = new Screen();
    screen.append('\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07\n');
    expect(screen.node.querySelector('a')).toBeNull();
  });

  it('redraws the line that is still being written', () => {
    const screen = new Screen();
    screen.append('10%');
    screen.append('\r20%');
    expect(screen.node.textContent).toBe('20%');
    screen.append('\rdone\nnext');
    expect(screen.node.textContent).toBe('done\nnext');
    expect(screen.lineCount).toBe(1);
  });

  it('puts earlier output in front', () => {
    const screen = new Screen();
    screen.append('late\n');
    screen.prepend('early\nlater\n');
    expect(screen.node.textContent).toBe('early\nlater\nlate\n');
  });

  it('keeps no more lines than its limit', () => {
    const screen = new Screen();
    screen.append('x\n'.repeat(LINE_LIMIT + 5000));
    expect(screen.lineCount).toBeLessThanOrEqual(LINE_LIMIT);
    expect(screen.lineCount).toBeGreaterThan(LINE_LIMIT - 1000);
    screen.clear();
    expect(screen.node.textContent).toBe('');
  });
});

it.each([
  ['hello', 3, 'hel'],
  ['hello', 9, 'hello'],
  ['aé', 2, 'a'],
  ['训练', 3, '训'],
  ['训练', 5, '训'],
  ['x', 0, '']
])('the first bytes of %j: %i make %j', (whole, bytes, head) => {
  expect(headOf(whole, bytes)).toBe(head);
});
