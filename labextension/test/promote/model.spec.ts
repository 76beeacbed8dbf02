import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { ApiFailure } from '../../src/api/failure';
import type { Finding, Parameter, Preview, Run, RunRequest } from '../../src/api/types';
import { Promotion } from '../../src/promote/model';
import { aProfile, aRun, aSite, RESOURCES, text } from '../records';

const PREVIEW: Preview = { script: '#!/bin/bash', argv: [], gpu_hours: 2, resources: RESOURCES };
const PARAMETERS: Parameter[] = [
  { name: 'rate', kind: 'float', default: '0.1', value: 0.1, help: '', cell: 0, line: 1 },
  { name: 'title', kind: 'str', default: "'a'", value: 'a', help: '', cell: 0, line: 2 }
];
const SITE = aSite({
  profiles: [
    aProfile({ id: 'session-only', for_runs: false }),
    aProfile({ id: 'gpu', allow: { cpus: { min: 1, max: 32 }, gpus: { min: 1, max: 4 } } }),
    aProfile({ id: 'cpu' })
  ]
});

function setUp(site = SITE) {
  const client = {
    preview: vi.fn<(request: RunRequest) => Promise<Preview>>(() => Promise.resolve(PREVIEW)),
    preflight: vi.fn<(request: RunRequest) => Promise<Finding[]>>(() => Promise.resolve([])),
    getParameters: vi.fn<(path: string) => Promise<Parameter[]>>(() => Promise.resolve(PARAMETERS))
  };
  const runs = {
    loadSite: vi.fn(() => Promise.resolve(site)),
    submit: vi.fn<(request: RunRequest) => Promise<Run>>(() => Promise.resolve(aRun()))
  };
  const promotion = new Promotion({ client, runs, path: 'a.ipynb', wasSaved: false, last: null });
  return { client, runs, promotion };
}

const REFUSAL = new ApiFailure('invalid', text('not valid'), [
  { field: 'gpus', code: 'too-many-gpus', message: text('too many') }
]);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a promotion', () => {
  it('offers the profiles for runs and asks for a preview and the preflight at once', async () => {
    const { client, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    expect(promotion.profiles.map(profile => profile.id)).toEqual(['gpu', 'cpu']);
    expect(promotion.preview).toEqual(PREVIEW);
    expect(promotion.findings).toEqual([]);
    expect(client.preview).toHaveBeenCalledTimes(1);
  });

  it('asks once for what is typed in a row, and not at all for what is wrong', async () => {
    const { client, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    promotion.setValue('cpus', '1');
    promotion.setValue('cpus', '12');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preview).toHaveBeenCalledTimes(2);
    expect(client.preview.mock.lastCall?.[0]).toMatchObject({ cpus: 12 });
    promotion.setValue('cpus', '129');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preview).toHaveBeenCalledTimes(2);
    expect(promotion.isPreviewing).toBe(false);
  });

  it('lets no late answer overwrite a younger one', async () => {
    const { client, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    let answerLate: (preview: Preview) => void = () => undefined;
    client.preview.mockImplementationOnce(() => new Promise(resolve => (answerLate = resolve)));
    promotion.setValue('cpus', '8');
    await vi.advanceTimersByTimeAsync(400);
    promotion.setValue('cpus', '9');
    await vi.advanceTimersByTimeAsync(400);
    answerLate({ ...PREVIEW, script: 'late' });
    await vi.advanceTimersByTimeAsync(0);
    expect(promotion.preview?.script).toBe('#!/bin/bash');
  });

  it('runs the preflight again only when what it looks at has changed', async () => {
    const { client, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    promotion.setName('another');
    promotion.setParameter('rate', '0.5');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preflight).toHaveBeenCalledTimes(1);
    promotion.setValue('cpus', '8');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preflight).toHaveBeenCalledTimes(2);
    promotion.setProfile('cpu');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preflight).toHaveBeenCalledTimes(3);
  });

  it('submits once for a double click, with one key', async () => {
    const { runs, promotion } = setUp();
    await promotion.load();
    const [run, second] = await Promise.all([promotion.submit(), promotion.submit()]);
    expect(run?.id).toBe('r1');
    expect(second).toBeNull();
    await promotion.submit();
    expect(runs.submit).toHaveBeenCalledTimes(1);
    expect(runs.submit.mock.lastCall?.[0].submit_key).toBe(promotion.submitKey);
  });

  it('keeps what was typed when it is refused, and may be sent again with the same key', async () => {
    const { runs, promotion } = setUp();
    await promotion.load();
    promotion.setValue('gpus', '4');
    promotion.setName('night');
    runs.submit.mockRejectedValueOnce(REFUSAL);
    expect(await promotion.submit()).toBeNull();
    expect(promotion.errors).toEqual(REFUSAL.errors);
    expect(promotion.rejections).toBe(1);
    expect(promotion.form).toMatchObject({ values: { gpus: '4' }, name: 'night' });
    promotion.setValue('gpus', '2');
    expect(promotion.errors).toEqual([]);
    expect(await promotion.submit()).not.toBeNull();
    const keys = runs.submit.mock.calls.map(([request]) => request.submit_key);
    expect(new Set(keys).size).toBe(1);
  });

  it('sends nothing while a field is wrong', async () => {
    const { runs, promotion } = setUp();
    await promotion.load();
    promotion.setValue('cpus', 'many');
    expect(await promotion.submit()).toBeNull();
    expect(runs.submit).not.toHaveBeenCalled();
    expect(promotion.rejections).toBe(1);
  });

  it('shows the errors of the preview at their fields', async () => {
    const { client, promotion } = setUp();
    client.preview.mockRejectedValue(REFUSAL);
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    expect(promotion.errors).toEqual(REFUSAL.errors);
    expect(promotion.preview).toBeNull();
  });

  it.each([
    ['version', aSite({ api_version: '2' })],
    ['no-slurm', aSite({ can_submit: false })],
    ['no-profiles', aSite({ profiles: [aProfile({ for_runs: false })] })]
  ])('says the obstacle %s and submits nothing', async (obstacle, site) => {
    const { runs, promotion } = setUp(site);
    await promotion.load();
    expect(promotion.obstacle).toBe(obstacle);
    expect(await promotion.submit()).toBeNull();
    expect(runs.submit).not.toHaveBeenCalled();
  });

  it('can be loaded again after the server did not answer', async () => {
    const { runs, promotion } = setUp();
    runs.loadSite.mockRejectedValueOnce(new ApiFailure('no-answer', text('no answer')));
    await promotion.load();
    expect(promotion.failure?.code).toBe('no-answer');
    await promotion.load();
    expect(promotion.failure).toBeNull();
    expect(promotion.form?.profile).toBe('gpu');
  });

  it('sends what was typed for parameters, and what the mode takes', async () => {
    const { client, runs, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    expect(promotion.parameters.map(parameter => parameter.name)).toEqual(['rate', 'title']);
    promotion.setParameter('rate', '0.1');
    promotion.setParameter('title', 'b, c');
    promotion.setOptions({ mode: 'distributed', processes: '2', attempts: '3' }, 'mode');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preview.mock.lastCall?.[0]).toMatchObject({
      mode: 'distributed',
      processes: 2,
      attempts: 3,
      parameters: { title: 'b, c' }
    });
    await promotion.submit();
    expect(runs.submit.mock.lastCall?.[0]).toMatchObject({ parameters: { title: 'b, c' } });
  });

  it('checks again when the mode changes, and not for another name', async () => {
    const { client, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    promotion.setName('x');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preflight).toHaveBeenCalledTimes(1);
    promotion.setOptions({ mode: 'distributed' }, 'mode');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preflight).toHaveBeenCalledTimes(2);
  });

  it('asks nothing and submits nothing while an option is wrong', async () => {
    const { client, runs, promotion } = setUp();
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    promotion.setOptions({ attempts: 'many' }, 'attempts');
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preview).toHaveBeenCalledTimes(1);
    expect(await promotion.submit()).toBeNull();
    expect(runs.submit).not.toHaveBeenCalled();
    promotion.setOptions({ attempts: '' }, 'attempts');
    expect(promotion.optionProblems.size).toBe(0);
  });

  it('forgets what the server said of a parameter when it is typed anew', async () => {
    const { client, promotion } = setUp();
    await promotion.load();
    client.preview.mockRejectedValueOnce(
      new ApiFailure('invalid', text('not valid'), [
        { field: 'sweep.grid.rate', code: 'wrong-type', message: text('no float') }
      ])
    );
    promotion.setOptions({ mode: 'sweep' }, 'mode');
    await vi.advanceTimersByTimeAsync(1000);
    expect(promotion.errors.map(error => error.field)).toEqual(['sweep.grid.rate']);
    promotion.setParameter('rate', '1, 2');
    expect(promotion.errors).toEqual([]);
  });

  it('works without parameters where the server cannot tell them', async () => {
    const { client, promotion } = setUp();
    client.getParameters.mockRejectedValueOnce(REFUSAL);
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    expect(promotion.parameters).toEqual([]);
    expect(promotion.failure).toBeNull();
  });

  it('makes the fixes of findings, in the form or in the notebook, and looks again', async () => {
    const { client, runs } = setUp();
    const mender = {
      canMend: vi.fn((found: Finding) => found.fix?.kind === 'delete-line'),
      mend: vi.fn(() => Promise.resolve()),
      goTo: vi.fn()
    };
    const fixed = (fix: Finding['fix']): Finding => ({
      code: 'x',
      severity: 'warning',
      message: text('x'),
      cell: 0,
      line: 1,
      fix
    });
    const title = text('mend it');
    const line = fixed({ kind: 'delete-line', text: '', title });
    const gpus = fixed({ kind: 'set-field', text: '2', title, field: 'gpus' });
    const fitsNot = fixed({ kind: 'set-field', text: '9', title, field: 'gpus' });
    const promotion = new Promotion({
      client,
      runs,
      path: 'a.ipynb',
      wasSaved: false,
      last: null,
      mender
    });
    await promotion.load();
    await vi.advanceTimersByTimeAsync(0);
    const can = [line, gpus, fitsNot, fixed(null)].map(found => promotion.canFix(found));
    expect(can).toEqual([true, true, false, false]);

    await promotion.fix(line);
    await vi.advanceTimersByTimeAsync(0);
    expect(mender.mend).toHaveBeenCalledWith(line);
    expect(client.preflight).toHaveBeenCalledTimes(2);
    await promotion.fix(gpus);
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.preview.mock.lastCall?.[0]).toMatchObject({ gpus: 2 });
    await promotion.fix(fitsNot);
    expect(promotion.form?.values.gpus).toBe('2');

    mender.mend.mockRejectedValueOnce(new Error('disk full'));
    await promotion.fix(line);
    expect(promotion.failure?.text.en).toBe('disk full');
    expect(promotion.canGoTo(line)).toBe(true);
    promotion.goTo(line);
    expect(promotion.leavingFor).toBe(line);
  });
});
