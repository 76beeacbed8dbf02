import type { Run } from '../api/types';

/**
 * The runs that a page knows, newest first.
 *
 * Two sources feed it: whole lists (`GET runs`) and single runs (the event stream). `fresh` holds what came over the
 * stream since the connection began: it is younger than a list that was asked for at that moment.
 */
export interface Runs {
  readonly items: readonly Run[];
  readonly fresh: ReadonlySet<string>;
}

export const NO_RUNS: Runs = { items: [], fresh: new Set() };

/** A connection begins: what is known stays, but a whole list may now correct it. */
export function reconnected(runs: Runs): Runs {
  return { items: runs.items, fresh: new Set() };
}

/** A whole list has come: runs that it lacks are gone, unless the stream has just told of them. */
export function withList(runs: Runs, list: readonly Run[]): Runs {
  const kept = runs.items.filter(run => runs.fresh.has(run.id));
  const keptIds = new Set(kept.map(run => run.id));
  return {
    items: sorted([...kept, ...list.filter(run => !keptIds.has(run.id))]),
    fresh: runs.fresh
  };
}

/** Runs that are new or have changed; of several states of one run the last counts. */
export function withRuns(runs: Runs, changes: readonly Run[]): Runs {
  const changed = new Map(changes.map(run => [run.id, run]));
  const fresh = new Set(runs.fresh);
  changed.forEach((_, id) => fresh.add(id));
  const items = runs.items.map(item => {
    const run = changed.get(item.id) ?? item;
    changed.delete(item.id);
    return run;
  });
  // A run's creation does not change: only new runs ask for sorting.
  return { items: changed.size > 0 ? sorted([...items, ...changed.values()]) : items, fresh };
}

/** One run's folder is gone. */
export function withoutRun(runs: Runs, id: string): Runs {
  const fresh = new Set(runs.fresh);
  fresh.delete(id);
  return { items: runs.items.filter(run => run.id !== id), fresh };
}

/** Newest first; runs of the same second in a steady order. */
function sorted(items: Run[]): Run[] {
  const times = new Map(items.map(run => [run.id, new Date(run.created_at).getTime() || 0]));
  return items.sort(
    (a, b) => times.get(b.id)! - times.get(a.id)! || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
  );
}
