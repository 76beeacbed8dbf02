import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { failureOfResponse } from '../../src/api/failure';
import { API_VERSION, isUnderstood } from '../../src/api/version';

it.each([
  [400, { code: 'invalid', message: { en: 'no', zh: '否' }, errors: [] }, 'invalid'],
  [404, { message: 'Not Found' }, 'no-extension'],
  [404, { code: 'not-found', message: { en: 'gone', zh: '无' }, errors: [] }, 'not-found'],
  [403, { message: 'Forbidden' }, 'not-allowed'],
  [503, null, 'no-answer'],
  [500, null, 'internal'],
  [400, { code: 'invalid', message: null }, 'internal']
])('the status %i with %j is the failure %s', (status, body, code) => {
  const failure = failureOfResponse(status, body);
  expect(failure.code).toBe(code);
  expect(failure.text.en).not.toBe('');
  expect(failure.text.zh).not.toBe('');
});

it('was built for the version of the contract', () => {
  const contract = readFileSync('../extension/siflab_extension/openapi.yaml', 'utf8');
  expect(/^ {2}version: "?([\d.]+)"?$/m.exec(contract)?.[1]).toBe(API_VERSION);
});

it.each([
  ['1', true],
  ['1.4', true],
  ['2', false],
  ['10', false],
  ['0.9', false]
])('version %s is understood: %s', (version, understood) => {
  expect(isUnderstood(version)).toBe(understood);
});
