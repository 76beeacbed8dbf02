import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { ApiFailure } from '../../src/api/failure';
import type { Environment, EnvironmentJob, EnvironmentList } from '../../src/api/types';
import { EnvironmentsModel } from '../../src/environments/model';
import { packagesOf } from '../../src/environments/packages';
import { doneText, outdatedText } from '../../src/environments/texts';
import { someWords, text } from '../records';

function anEnvironment(change: Partial<Environment> = {}): Environment {
  return {
    name: 'nlp',
    id: 'a'.repeat(12),
    kernel: 'siflab-nlp',
    image_id: 'pytorch',
    title: text('PyTorch'),
    state: 'ready',
    state_text: text('ready'),
    folder: '/home/nlp',
    python: '3.11',
    packages: [],
    installed: [],
    replaces: {},
    created_at: '2026-12-01T10:00:00+00:00',
    ...change
  };
}

function aJob(change: Partial<EnvironmentJob> = {}): EnvironmentJob {
  return {
    number: 1,
    action: 'create',
    name: 'nlp',
    state: 'running',
    step: text('installing'),
    lines: [],
    failure: null,
    environment: null,
    changes: [],
    started_at: '2026-12-01T10:00:00+00:00',
    ...change
  };
}

function aList(change: Partial<EnvironmentList> = {}): EnvironmentList {
  return {
    available: true,
    why_not: null,
    image: { id: 'pytorch', title: text('PyTorch'), identity: 'sif:x' },
    roots: ['home'],
    environments: [],
    job: null,
    ...change
  };
}

function setUp() {
  const client = {
    listEnvironments: vi.fn(() => Promise.resolve(aList())),
    changeEnvironment: vi.fn(() => Promise.resolve(aJob())),
    getEnvironmentJob: vi.fn<() => Promise<{ job: EnvironmentJob | null }>>(() =>
      Promise.resolve({ job: aJob() })
    ),
    stopEnvironmentJob: vi.fn(() => Promise.resolve(aJob()))
  };
  const model = new EnvironmentsModel(client);
  const ends: EnvironmentJob[] = [];
  model.ended.connect((_, job) => ends.push(job));
  return { client, model, ends };
}

const REQUEST = { action: 'create' as const, name: 'nlp', packages: [], from_source: false };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('work on an environment', () => {
  it('is followed to its end, and then the list is new', async () => {
    const { client, model, ends } = setUp();
    expect(await model.begin(REQUEST)).toBe(true);
    expect(model.isBusy).toBe(true);
    await vi.advanceTimersByTimeAsync(2100);
    expect(client.getEnvironmentJob).toHaveBeenCalledTimes(2);
    expect(ends).toEqual([]);
    client.getEnvironmentJob.mockResolvedValue({ job: aJob({ state: 'done' }) });
    client.listEnvironments.mockResolvedValue(aList({ environments: [anEnvironment()] }));
    await vi.advanceTimersByTimeAsync(1100);
    expect(ends.map(job => job.state)).toEqual(['done']);
    expect(model.list?.environments.length).toBe(1);
    await vi.advanceTimersByTimeAsync(10000);
    expect(client.getEnvironmentJob).toHaveBeenCalledTimes(3);
  });

  it('is begun once for a double click', async () => {
    const { client, model } = setUp();
    const begun = await Promise.all([model.begin(REQUEST), model.begin(REQUEST)]);
    expect(begun).toEqual([true, false]);
    expect(client.changeEnvironment).toHaveBeenCalledTimes(1);
  });

  it('says why it was not begun, and may be tried again', async () => {
    const { client, model } = setUp();
    client.changeEnvironment.mockRejectedValueOnce(new ApiFailure('conflict', text('is there')));
    expect(await model.begin(REQUEST)).toBe(false);
    expect(model.failure?.text.en).toBe('is there');
    expect(await model.begin(REQUEST)).toBe(true);
    expect(model.failure).toBeNull();
  });

  it('is followed on when the server was away for a moment', async () => {
    const { client, model, ends } = setUp();
    await model.begin(REQUEST);
    client.getEnvironmentJob.mockRejectedValueOnce(new ApiFailure('no-answer', text('away')));
    await vi.advanceTimersByTimeAsync(1100);
    expect(model.failure?.code).toBe('no-answer');
    client.getEnvironmentJob.mockResolvedValue({ job: aJob({ state: 'failed' }) });
    await vi.advanceTimersByTimeAsync(5100);
    expect(ends.map(job => job.state)).toEqual(['failed']);
  });

  it('has ended when the server was started anew', async () => {
    const { client, model, ends } = setUp();
    await model.begin(REQUEST);
    client.getEnvironmentJob.mockResolvedValue({ job: null });
    await vi.advanceTimersByTimeAsync(1100);
    expect(ends.map(job => job.state)).toEqual(['stopped']);
    expect(model.isBusy).toBe(false);
  });

  it('of another page is taken up', async () => {
    const { client, model, ends } = setUp();
    client.listEnvironments.mockResolvedValueOnce(aList({ job: aJob() }));
    await model.load();
    expect(model.isBusy).toBe(true);
    client.getEnvironmentJob.mockResolvedValue({ job: aJob({ state: 'done' }) });
    await vi.advanceTimersByTimeAsync(1100);
    expect(ends.length).toBe(1);
  });
});

it.each<[string, Environment[], string[]]>([
  ['none', [], []],
  ['one for this image', [anEnvironment()], []],
  ['one for an earlier image', [anEnvironment({ state: 'earlier' })], ['nlp']],
  ['one for each', [anEnvironment(), anEnvironment({ state: 'earlier', id: 'b' })], []],
  [
    'two of earlier images',
    [anEnvironment({ state: 'earlier' }), anEnvironment({ state: 'earlier', id: 'b' })],
    ['nlp']
  ],
  ['one whose files are gone', [anEnvironment({ state: 'lost' })], ['nlp']],
  ['one that is being made', [anEnvironment({ state: 'making' })], []]
])('outdated: %s', async (_, environments, names) => {
  const { client, model } = setUp();
  client.listEnvironments.mockResolvedValue(aList({ environments }));
  await model.load();
  expect(model.outdated.map(each => each.name)).toEqual(names);
});

it.each([
  ['einops torch>=2.7', ['einops', 'torch>=2.7']],
  ['torch >= 2.7, <3\n\n  einops  # small', ['torch>=2.7,<3', 'einops']],
  ["tomli; python_version < '3.11'", ["tomli; python_version < '3.11'"]],
  ['x @ https://host/x.whl', ['x @ https://host/x.whl']],
  [' \n', []]
])('the packages of %j', (typed, packages) => {
  expect(packagesOf(typed)).toEqual(packages);
});

it('says what a rebuild changed', () => {
  const changes = [{ name: 'einops', before: '0.7', now: '0.8' }];
  const words = someWords();
  expect(doneText(aJob({ action: 'rebuild', state: 'done', changes }), words)).toContain(
    'einops 0.7 → 0.8'
  );
  expect(doneText(aJob({ action: 'rebuild', state: 'done' }), words)).toContain('as they were');
  expect(outdatedText([anEnvironment(), anEnvironment({ name: 'cv' })], words)).toContain(
    'nlp, cv'
  );
});
