import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Client } from '../../src/api/client';
import { ApiFailure } from '../../src/api/failure';
import type { LogPiece, RunList } from '../../src/api/types';
import { RunsModel } from '../../src/model/runs';
import { aRun, aSite, text } from '../records';
import { FakeSocket } from '../socket';

function setUp(list: RunList = { runs: [], slurm: { reachable: true } }) {
  const client = {
    settings: { WebSocket: FakeSocket },
    eventsUrl: () => 'ws://server/siflab/events',
    getSite: vi.fn(() => Promise.resolve(aSite())),
    listRuns: vi.fn(() => Promise.resolve(list)),
    createRun: vi.fn(() => Promise.resolve(aRun({ id: 'new' }))),
    cancelRun: vi.fn(() => Promise.resolve(aRun({ state: 'cancelled' })))
  };
  return { client, model: new RunsModel(client as unknown as Client) };
}

const piece = (offset: number, log: string): LogPiece => ({
  text: log,
  offset,
  next_offset: offset + log.length,
  size: offset + log.length,
  complete: false
});

const DEAF = { receive: () => undefined, complain: () => undefined };

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.opened = [];
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the model of the runs', () => {
  it('asks nothing before somebody looks', () => {
    const { client } = setUp();
    expect(FakeSocket.opened).toHaveLength(0);
    expect(client.listRuns).not.toHaveBeenCalled();
  });

  it('has one connection for all who look, and none after the last has gone', async () => {
    const { model } = setUp();
    const first = model.watch();
    const second = model.watch();
    const log = model.followLog('r1', 0, DEAF);
    FakeSocket.last.accept();
    expect(FakeSocket.opened).toHaveLength(1);
    first.dispose();
    second.dispose();
    expect(FakeSocket.last.sent.pop()).toEqual({
      follow: { runs: false, logs: [{ id: 'r1', offset: 0 }] }
    });
    log.dispose();
    expect(FakeSocket.last.isClosed).toBe(true);
    await vi.runAllTimersAsync();
  });

  it('has the runs from the list and follows them by the stream', async () => {
    const { model } = setUp({ runs: [aRun()], slurm: { reachable: true } });
    const watch = model.watch();
    await vi.advanceTimersByTimeAsync(0);
    expect(model.isLoaded).toBe(true);
    expect(model.site?.name).toBe('demo');
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'run', run: aRun({ state: 'running' }) });
    FakeSocket.last.say({ type: 'slurm', slurm: { reachable: false, message: text('away') } });
    expect(model.find('r1')?.state).toBe('running');
    expect(model.slurm?.reachable).toBe(false);
    FakeSocket.last.say({ type: 'removed', id: 'r1' });
    expect(model.runs).toEqual([]);
    watch.dispose();
  });

  it('tells of a thousand runs at once in one change', async () => {
    const { model } = setUp();
    const watch = model.watch();
    await vi.advanceTimersByTimeAsync(0);
    FakeSocket.last.accept();
    const changed = vi.fn();
    model.changed.connect(changed);
    for (let i = 0; i < 1000; i += 1) {
      FakeSocket.last.say({ type: 'run', run: aRun({ id: `r${i}` }) });
    }
    await vi.advanceTimersByTimeAsync(50);
    expect(model.runs).toHaveLength(1000);
    expect(changed).toHaveBeenCalledTimes(1);
    watch.dispose();
  });

  it('goes on with a log where it was after the connection broke', async () => {
    const { model } = setUp();
    const received: string[] = [];
    const follower = model.followLog('r1', 100, {
      receive: next => received.push(next.text),
      complain: message => received.push(`! ${message.en}`)
    });
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'log', id: 'r1', log: piece(100, 'hello') });
    FakeSocket.last.say({ type: 'log', id: 'other', log: piece(0, 'not mine') });
    FakeSocket.last.say({ type: 'error', id: 'r1', message: text('unreadable') });
    FakeSocket.last.break();
    await vi.advanceTimersByTimeAsync(1000);
    FakeSocket.last.accept();
    expect(received).toEqual(['hello', '! unreadable']);
    expect(model.complaint).toBeNull();
    expect(FakeSocket.last.sent[0]).toEqual({
      follow: { runs: false, logs: [{ id: 'r1', offset: 105 }] }
    });
    follower.dispose();
  });

  it('holds an error of the stream until Slurm is said to be there', () => {
    const { model } = setUp();
    const watch = model.watch();
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'error', message: text('the run folders cannot be read') });
    expect(model.complaint?.en).toBe('the run folders cannot be read');
    FakeSocket.last.say({ type: 'slurm', slurm: { reachable: true } });
    expect(model.complaint).toBeNull();
    watch.dispose();
  });

  it('keeps the last list and says why no new one came', async () => {
    const { client, model } = setUp({ runs: [aRun()] });
    await model.refresh();
    client.listRuns.mockRejectedValueOnce(new ApiFailure('no-answer', text('no answer')));
    await model.refresh();
    expect(model.failure?.code).toBe('no-answer');
    expect(model.runs).toHaveLength(1);
    await model.refresh();
    expect(model.failure).toBeNull();
  });

  it('shows a new run before the stream tells of it, and its cancelling', async () => {
    const { model } = setUp();
    await model.submit({ path: 'a.ipynb', profile: 'p', mode: 'notebook' });
    expect(model.runs.map(run => run.id)).toEqual(['new']);
    await model.cancel('r1');
    expect(model.find('r1')?.state).toBe('cancelled');
  });
});
