import { describe, expect, it } from 'vitest';

import { formatMemory, parseMemory } from '../../src/slurm/memory';
import { formatTime, parseTime } from '../../src/slurm/time';

describe("time limits in Slurm's notation", () => {
  it.each([
    ['30', 1800],
    ['30:15', 1815],
    ['2:00:00', 7200],
    ['1-0', 86400],
    ['1-12:30', 131400],
    ['1-00:00:01', 86401],
    [' 5 ', 300],
    ['', null],
    ['abc', null],
    ['1:2:3:4', null],
    ['-5', null],
    ['2 h', null],
    ['1.5', null]
  ])('%j is %j seconds', (typed, seconds) => {
    expect(parseTime(typed)).toBe(seconds);
  });

  it.each([
    [0, '0:00:00'],
    [59, '0:00:59'],
    [7200, '2:00:00'],
    [86400, '1-00:00:00'],
    [131401, '1-12:30:01']
  ])('%j seconds are shown as %j, and read back', (seconds, shown) => {
    expect(formatTime(seconds)).toBe(shown);
    expect(parseTime(shown)).toBe(seconds);
  });
});

describe("memory in Slurm's notation", () => {
  it.each([
    ['1500', 1500],
    ['16G', 16384],
    ['16g', 16384],
    ['16GiB', 16384],
    ['1.5G', 1536],
    ['1T', 1048576],
    ['512K', 1],
    ['', null],
    ['G', null],
    ['16 apples', null],
    ['-1G', null]
  ])('%j is %j MiB', (typed, mib) => {
    expect(parseMemory(typed)).toBe(mib);
  });

  it.each([
    [4096, '4G'],
    [1500, '1500M'],
    [1048576, '1T'],
    [0, '0M']
  ])('%j MiB are shown as %j', (mib, shown) => {
    expect(formatMemory(mib)).toBe(shown);
  });
});
