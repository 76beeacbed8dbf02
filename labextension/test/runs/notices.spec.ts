import { expect, it } from 'vitest';

import { ApiFailure } from '../../src/api/failure';
import { noticesOf } from '../../src/runs/notices';
import type { IRunsModel } from '../../src/tokens';
import { aSite, someWords, text } from '../records';

const QUIET = {
  site: aSite(),
  slurm: { reachable: true },
  failure: null,
  complaint: null,
  streamState: 'live'
} as unknown as IRunsModel;

it.each<[string, Partial<IRunsModel>, string[]]>([
  ['all is well', {}, []],
  ['the server is of another version', { site: aSite({ api_version: '2.0' }) }, ['version']],
  ['the server is of the same major version', { site: aSite({ api_version: '1.7' }) }, []],
  ['Slurm is away', { slurm: { reachable: false } }, ['slurm']],
  ['there is no sbatch', { site: aSite({ can_submit: false }) }, ['cannot-submit']],
  ['the connection is lost', { streamState: 'waiting' }, ['interrupted']],
  [
    'the server does not answer: once is enough',
    { streamState: 'waiting', failure: new ApiFailure('no-answer', text('no answer')) },
    ['failure']
  ]
])('%s', (_, change, codes) => {
  const notices = noticesOf({ ...QUIET, ...change }, someWords());
  expect(notices.map(notice => notice.code)).toEqual(codes);
  expect(notices.every(notice => notice.text.length > 10 || notice.code === 'failure')).toBe(true);
});
