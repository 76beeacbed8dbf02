import { describe, expect, it } from 'vitest';

import { fieldsOf } from '../../src/promote/fields';
import {
  firstForm,
  newSubmitKey,
  problemsOf,
  requestOf,
  withProfile,
  withValue
} from '../../src/promote/form';
import { NO_OPTIONS } from '../../src/promote/options';
import { formOf } from '../../src/promote/memory';
import { aProfile } from '../records';

const SMALL = aProfile({
  id: 'small',
  allow: { cpus: { min: 1, max: 8 }, time: { max: '4:00:00' } }
});
const LARGE = aProfile({ id: 'large', cpus: 16, allow: { cpus: { min: 8, max: 64 } } });
const PROFILES = [SMALL, LARGE];

describe('the first form', () => {
  it.each([
    [
      'the last choice',
      { profile: 'large', values: { cpus: '32' }, name: '' },
      'small',
      'large',
      { cpus: '32' }
    ],
    [
      'what still fits of it',
      { profile: 'small', values: { cpus: '99', time: '1:00:00' }, name: '' },
      null,
      'small',
      { time: '1:00:00' }
    ],
    [
      'the default where the last profile is gone',
      { profile: 'gone', values: { cpus: '2' }, name: '' },
      'large',
      'large',
      {}
    ],
    ['the default', null, 'large', 'large', {}],
    ['the first profile', null, null, 'small', {}],
    ['the first where the default is unknown', null, 'gone', 'small', {}]
  ])('begins with %s', (_, last, preferred, profile, values) => {
    expect(firstForm(PROFILES, [], last, preferred)).toEqual({ profile, values, name: '' });
  });

  it('has all that was typed into a dialog that was left', () => {
    const options = { ...NO_OPTIONS, mode: 'sweep' as const, parameters: { rate: '1, 2' } };
    const left = { profile: 'small', values: { cpus: '2' }, name: 'night', options };
    expect(firstForm(PROFILES, [], left, null)).toEqual(left);
  });

  it('is none without profiles', () => {
    expect(firstForm([], [], null, null)).toBeNull();
  });
});

it('keeps what was typed when another profile is chosen, where that allows it', () => {
  let form = { profile: 'small', values: {}, name: 'night' };
  form = withValue(form, 'cpus', '8');
  form = withValue(form, 'time', '3:00:00');
  expect(withProfile(form, LARGE, [])).toEqual({
    profile: 'large',
    values: { cpus: '8' },
    name: 'night'
  });
});

it("asks only for what was chosen, in the contract's types", () => {
  const form = { profile: 'small', values: { cpus: ' 2 ', time: ' 1:00:00' }, name: ' night run ' };
  expect(requestOf(form, fieldsOf(SMALL, []), 'a/b.ipynb', 'k'.repeat(32))).toEqual({
    path: 'a/b.ipynb',
    profile: 'small',
    mode: 'notebook',
    submit_key: 'k'.repeat(32),
    name: 'night run',
    cpus: 2,
    time: '1:00:00'
  });
});

it('sends nothing for a field that the profile does not offer', () => {
  const form = { profile: 'large', values: { time: '1:00:00' }, name: '' };
  expect(requestOf(form, fieldsOf(LARGE, []), 'b.ipynb', 'k')).not.toHaveProperty('time');
});

it('names the problem of each field', () => {
  const form = { profile: 'small', values: { cpus: '9', time: 'x' }, name: '' };
  expect([...problemsOf(form, fieldsOf(SMALL, []))]).toEqual([
    ['cpus', { code: 'too-large', limit: '8' }],
    ['time', { code: 'not-time' }]
  ]);
});

it('makes keys that the contract takes, each only once', () => {
  const keys = Array.from({ length: 50 }, newSubmitKey);
  expect(keys.every(key => /^[A-Za-z0-9_-]{8,64}$/.test(key))).toBe(true);
  expect(new Set(keys).size).toBe(keys.length);
});

it.each([[null], [undefined], ['x'], [{}], [{ profile: 3 }]])(
  'recalls nothing from a damaged memory: %j',
  stored => {
    expect(formOf(stored)).toBeNull();
  }
);

it('recalls only fields that it knows', () => {
  expect(formOf({ profile: 'p', values: { cpus: '2', gpus: 3, colour: 'red' } })).toEqual({
    profile: 'p',
    values: { cpus: '2' },
    name: ''
  });
});
