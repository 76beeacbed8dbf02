import { describe, expect, it } from 'vitest';

import { NO_RUNS, reconnected, withList, withoutRun, withRuns } from '../../src/model/list';
import type { Runs } from '../../src/model/list';
import type { Run } from '../../src/api/types';
import { aRun } from '../records';

const at = (id: string, minute: number, state: 'pending' | 'running' = 'pending') =>
  aRun({ id, state, created_at: `2026-12-01T10:${String(minute).padStart(2, '0')}:00+00:00` });

const withRun = (runs: Runs, run: Run) => withRuns(runs, [run]);

const ids = (runs: Runs) => runs.items.map(run => run.id);

describe('the list of runs', () => {
  it('stands newest first, whatever comes first', () => {
    const runs = withRun(withRun(withRun(NO_RUNS, at('b', 2)), at('c', 3)), at('a', 1));
    expect(ids(runs)).toEqual(['c', 'b', 'a']);
    expect(ids(withList(NO_RUNS, [at('a', 1), at('c', 3), at('b', 2)]))).toEqual(['c', 'b', 'a']);
  });

  it('orders by the moment, not by how a zone writes it', () => {
    const east = aRun({ id: 'east', created_at: '2026-12-01T18:30:00+08:00' });
    const west = aRun({ id: 'west', created_at: '2026-12-01T11:00:00+00:00' });
    expect(ids(withList(NO_RUNS, [east, west]))).toEqual(['west', 'east']);
  });

  it('replaces a run that changed and leaves the others as they are', () => {
    const before = withList(NO_RUNS, [at('a', 1), at('b', 2)]);
    const after = withRun(before, at('a', 1, 'running'));
    expect(after.items.map(run => run.state)).toEqual(['pending', 'running']);
    expect(after.items[0]).toBe(before.items[0]);
  });

  it('drops what a whole list no longer has', () => {
    const before = withList(NO_RUNS, [at('a', 1), at('b', 2)]);
    expect(ids(withList(reconnected(before), [at('b', 2)]))).toEqual(['b']);
  });

  it('keeps what the stream told since the connection began, against an older list', () => {
    let runs = reconnected(withList(NO_RUNS, [at('a', 1)]));
    runs = withRun(runs, at('a', 1, 'running'));
    runs = withRun(runs, at('new', 9));
    runs = withList(runs, [at('a', 1), at('b', 2)]);
    expect(ids(runs)).toEqual(['new', 'b', 'a']);
    expect(runs.items[2].state).toBe('running');
  });

  it('forgets a run that was removed', () => {
    const runs = withoutRun(withRun(withRun(NO_RUNS, at('a', 1)), at('b', 2)), 'a');
    expect(ids(runs)).toEqual(['b']);
    expect(ids(withList(runs, [at('b', 2)]))).toEqual(['b']);
  });
});
