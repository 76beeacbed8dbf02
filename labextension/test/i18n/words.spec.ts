import type { ITranslator } from '@jupyterlab/translation';
import { describe, expect, it } from 'vitest';

import { languageOf } from '../../src/i18n/language';
import { duration, moment, secondsBetween } from '../../src/i18n/time';
import { wordsOf } from '../../src/i18n/words';
import { someWords } from '../records';

it.each([
  ['zh_CN', 'zh'],
  ['zh-CN', 'zh'],
  ['zh-Hant', 'zh'],
  ['zh', 'zh'],
  ['en', 'en'],
  ['fr-FR', 'en'],
  ['zha', 'en'],
  ['', 'en']
])('the server speaks to the locale %j in %s', (locale, language) => {
  expect(languageOf(locale)).toBe(language);
});

it.each([
  ['zh-CN', 'zh-CN'],
  ['ach_UG', 'ach-UG'],
  ['default!', 'en']
])('the locale %j is %j for numbers and times, or English', (code, locale) => {
  const translator = { languageCode: code, load: () => null } as unknown as ITranslator;
  const { locale: found } = wordsOf(translator);
  expect([locale, 'en']).toContain(found);
  expect(() => new Intl.NumberFormat(found)).not.toThrow();
});

describe('lengths and moments', () => {
  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [60, '1 min'],
    [3540, '59 min'],
    [3600, '1 h'],
    [7500, '2 h 5 min'],
    [86400, '1 d'],
    [97200, '1 d 3 h']
  ])('%i seconds are "%s"', (seconds, words) => {
    expect(duration(seconds, someWords())).toBe(words);
  });

  it('leave the date out only on the same day', () => {
    const now = new Date(2026, 11, 1, 15, 0);
    expect(moment(new Date(2026, 11, 1, 9, 5).toISOString(), someWords(), now)).toBe('09:05');
    expect(moment(new Date(2026, 10, 30, 9, 5).toISOString(), someWords(), now)).toContain(
      'Nov 30'
    );
    expect(moment(new Date(2025, 10, 30, 9, 5).toISOString(), someWords(), now)).toContain('2025');
    expect(moment('no time', someWords(), now)).toBe('no time');
  });

  it('never run backwards when the clocks differ', () => {
    const now = new Date('2026-12-01T10:00:00Z');
    expect(secondsBetween('2026-12-01T10:00:05Z', null, now)).toBe(0);
    expect(secondsBetween('2026-12-01T09:59:00Z', null, now)).toBe(60);
  });
});
