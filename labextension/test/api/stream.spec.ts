import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { EventStream, parseEvent } from '../../src/api/stream';
import type { Event, Follow } from '../../src/api/types';
import { FakeSocket, hidePage } from '../socket';

let follow: Follow;
let events: Event[];
let states: string[];
let stream: EventStream;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(1);
  FakeSocket.opened = [];
  follow = { runs: true, logs: [] };
  events = [];
  states = [];
  stream = new EventStream({
    url: () => 'ws://server/siflab/events',
    WebSocket: FakeSocket as unknown as typeof WebSocket,
    follow: () => follow,
    onEvent: event => events.push(event),
    onState: state => states.push(state)
  });
});

afterEach(() => {
  stream.close();
  hidePage(false);
  vi.useRealTimers();
});

describe('the event stream', () => {
  it('says what it follows as soon as it is connected, and again when that changes', () => {
    stream.open();
    FakeSocket.last.accept();
    follow = { runs: true, logs: [{ id: 'r1', offset: 7 }] };
    stream.refollow();
    expect(FakeSocket.last.sent).toEqual([
      { follow: { runs: true, logs: [] } },
      { follow: { runs: true, logs: [{ id: 'r1', offset: 7 }] } }
    ]);
    expect(states).toEqual(['connecting', 'live']);
  });

  it('hands on events, but neither pings nor what is no event', () => {
    stream.open();
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'ping' });
    FakeSocket.last.onmessage?.({ data: 'no JSON' });
    FakeSocket.last.say({ type: 'removed', id: 'r1' });
    expect(events).toEqual([{ type: 'removed', id: 'r1' }]);
  });

  it('tries again after 1, 2, 4 ... seconds, at most 30', () => {
    stream.open();
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      const before = FakeSocket.opened.length;
      FakeSocket.last.break();
      vi.advanceTimersByTime(seconds * 1000 - 1);
      expect(FakeSocket.opened).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(FakeSocket.opened).toHaveLength(before + 1);
    }
  });

  it('begins the back-off anew once something was heard', () => {
    stream.open();
    FakeSocket.last.break();
    vi.advanceTimersByTime(1000);
    FakeSocket.last.break();
    vi.advanceTimersByTime(2000);
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'ping' });
    FakeSocket.last.break();
    vi.advanceTimersByTime(1000);
    expect(FakeSocket.opened).toHaveLength(4);
  });

  it('takes a connection that has been silent for a minute for dead', () => {
    stream.open();
    FakeSocket.last.accept();
    vi.advanceTimersByTime(59000);
    FakeSocket.last.say({ type: 'ping' });
    vi.advanceTimersByTime(59000);
    expect(stream.state).toBe('live');
    vi.advanceTimersByTime(1000);
    expect(stream.state).toBe('waiting');
    expect(FakeSocket.opened[0].isClosed).toBe(true);
  });

  it('is quiet while the page is hidden, and back at once when it is shown', () => {
    stream.open();
    FakeSocket.last.accept();
    hidePage(true);
    vi.advanceTimersByTime(19000);
    expect(stream.state).toBe('live');
    vi.advanceTimersByTime(1000);
    expect(stream.state).toBe('paused');
    expect(FakeSocket.last.isClosed).toBe(true);
    vi.advanceTimersByTime(600000);
    expect(FakeSocket.opened).toHaveLength(1);
    hidePage(false);
    expect(FakeSocket.opened).toHaveLength(2);
  });

  it('stays through a short look at another tab', () => {
    stream.open();
    FakeSocket.last.accept();
    hidePage(true);
    vi.advanceTimersByTime(5000);
    hidePage(false);
    vi.advanceTimersByTime(30000);
    expect(stream.state).toBe('live');
    expect(FakeSocket.opened).toHaveLength(1);
  });

  it('does not wait when the network is back', () => {
    stream.open();
    for (let i = 0; i < 6; i += 1) {
      FakeSocket.last.break();
      vi.advanceTimersByTime(30000);
    }
    FakeSocket.last.break();
    const before = FakeSocket.opened.length;
    window.dispatchEvent(new window.Event('online'));
    expect(FakeSocket.opened).toHaveLength(before + 1);
  });

  it('leaves nothing behind when it is closed', () => {
    stream.open();
    FakeSocket.last.accept();
    stream.close();
    expect(FakeSocket.last.isClosed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    hidePage(true);
    hidePage(false);
    expect(FakeSocket.opened).toHaveLength(1);
  });
});

it.each([['nonsense'], ['null'], ['3'], ['{"no":"type"}']])('%j is no event', data => {
  expect(parseEvent(data)).toBeNull();
});
