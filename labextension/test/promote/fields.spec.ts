import { describe, expect, it } from 'vitest';

import { check, fieldsOf } from '../../src/promote/fields';
import type { Field } from '../../src/promote/fields';
import { aProfile, text } from '../records';

const IMAGES = [
  { id: 'pytorch', title: text('PyTorch') },
  { id: 'tf', title: text('TensorFlow') }
];

function field(change: Partial<Field>): Field {
  return {
    name: 'cpus',
    kind: 'integer',
    preset: '4',
    choices: [],
    min: null,
    max: null,
    ...change
  };
}

describe('the fields of a profile', () => {
  it('are only those that it allows to be chosen', () => {
    expect(fieldsOf(aProfile(), IMAGES)).toEqual([]);
    const profile = aProfile({ allow: { time: { max: '8:00:00' }, gpus: { min: 1, max: 4 } } });
    expect(fieldsOf(profile, IMAGES).map(item => item.name)).toEqual(['gpus', 'time']);
  });

  it('offer a few whole numbers as a list, and let many be typed', () => {
    const [gpus, cpus] = fieldsOf(
      aProfile({ allow: { gpus: { min: 1, max: 4 }, cpus: { min: 1, max: 16 } } }),
      IMAGES
    );
    expect(gpus).toMatchObject({ kind: 'choice', choices: ['1', '2', '3', '4'], preset: '1' });
    expect(cpus).toMatchObject({ kind: 'integer', min: 1, max: 16, preset: '4' });
  });

  it('take choices before limits, and always offer the preset', () => {
    const [gpus] = fieldsOf(
      aProfile({ gpus: 8, allow: { gpus: { choices: [1, 2], max: 99 } } }),
      IMAGES
    );
    expect(gpus.choices).toEqual(['8', '1', '2']);
  });

  it("read limits in Slurm's notation and as numbers", () => {
    const [memory, time] = fieldsOf(
      aProfile({ allow: { memory: { min: 512, max: '16G' }, time: { max: 3600 } } }),
      IMAGES
    );
    expect(memory).toMatchObject({ min: 512, max: 16384 });
    expect(time).toMatchObject({ min: null, max: 3600 });
  });

  it('offer all images where the profile names none, and no list of one', () => {
    const profile = aProfile({ allow: { image: {} } });
    expect(fieldsOf(profile, IMAGES)[0].choices).toEqual(['pytorch', 'tf']);
    expect(fieldsOf(profile, IMAGES.slice(0, 1))).toEqual([]);
  });
});

describe('a value', () => {
  it.each([
    [field({ min: 1, max: 16 }), '4', null],
    [field({ min: 1, max: 16 }), ' 16 ', null],
    [field({ min: 1, max: 16 }), '17', { code: 'too-large', limit: '16' }],
    [field({ min: 1, max: 16 }), '0', { code: 'too-small', limit: '1' }],
    [field({}), '', { code: 'empty' }],
    [field({}), '2.5', { code: 'not-an-integer' }],
    [field({}), '-2', { code: 'not-an-integer' }],
    [field({ kind: 'memory', max: 16384 }), '16G', null],
    [field({ kind: 'memory', max: 16384 }), '17G', { code: 'too-large', limit: '16G' }],
    [field({ kind: 'memory' }), 'lots', { code: 'not-memory' }],
    [field({ kind: 'time', max: 28800 }), '8:00:00', null],
    [field({ kind: 'time', max: 28800 }), '8:00:01', { code: 'too-large', limit: '8:00:00' }],
    [field({ kind: 'time' }), '2h', { code: 'not-time' }],
    [field({ kind: 'choice', choices: ['1', '2'] }), '2', null],
    [field({ kind: 'choice', choices: ['1', '2'] }), '3', { code: 'not-a-choice' }]
  ])('%#: %o with %j', (of, value, problem) => {
    expect(check(of, value)).toEqual(problem);
  });
});
