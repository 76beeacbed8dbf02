import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import * as React from 'react';

import { ApiFailure } from '../../src/api/failure';
import { EnvironmentForm, requestOf } from '../../src/environments/form';
import { EnvironmentsModel } from '../../src/environments/model';
import { someWords, text } from '../records';

vi.mock('@jupyterlab/ui-components', () => ({ HTMLSelect: 'select' }));
afterEach(cleanup);

function show(change: object = {}) {
  const client = {
    listEnvironments: vi.fn(),
    changeEnvironment: vi.fn(() =>
      Promise.reject(
        new ApiFailure('invalid', text('no'), [
          { field: 'packages', code: 'bad-package', message: text('is an option') }
        ])
      )
    ),
    getEnvironmentJob: vi.fn(),
    stopEnvironmentJob: vi.fn()
  };
  const model = new EnvironmentsModel(client);
  Object.assign(model, change);
  const draft = { name: '', packages: '', root: '' };
  render(<EnvironmentForm model={model} draft={draft} words={someWords()} />);
  return { model, draft };
}

it('keeps what is typed, and says at once what a name may not be', () => {
  const { draft } = show();
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'My Env' } });
  expect(screen.getByText(/small letters/)).toBeTruthy();
  expect(requestOf(draft)).toBeNull();
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'nlp' } });
  fireEvent.change(screen.getByLabelText('Packages'), { target: { value: 'einops torch' } });
  expect(screen.queryByText(/small letters/)).toBeNull();
  expect(requestOf(draft)).toMatchObject({ name: 'nlp', packages: ['einops', 'torch'] });
});

it('shows an error at its field', async () => {
  const { model } = show();
  await model.begin({ action: 'create', name: 'nlp', packages: ['-x'], from_source: false });
  expect(await screen.findByText('is an option')).toBeTruthy();
  expect(screen.getByLabelText('Packages').getAttribute('aria-invalid')).toBe('true');
  expect(screen.queryByText('no')).toBeNull();
});
