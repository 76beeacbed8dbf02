import { expect, it } from 'vitest';

// @ts-expect-error the script is plain JavaScript
import * as catalogue from '../../scripts/catalogue.mjs';

const { extract, faults, locales } = catalogue as {
  extract: () => { id: string; context: string; references: string[] }[];
  faults: (locale: string) => string[];
  locales: () => string[];
};

it('finds the texts of every room and of the settings', () => {
  const places = extract().flatMap(message => message.references);
  for (const room of ['promote/', 'runs/', 'log/', 'model/', 'i18n/', 'schema/']) {
    expect(places.some(place => place.includes(room))).toBe(true);
  }
});

it('is offered in Chinese', () => {
  expect(locales()).toContain('zh_CN');
});

it.each(locales())('%s is complete, and holds nothing that is no longer used', locale => {
  expect(faults(locale)).toEqual([]);
});
