import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import * as React from 'react';
import { afterEach, describe, expect, it, vi } from 'vitest';

import type { Run } from '../../src/api/types';
import { RunCard } from '../../src/runs/card';
import { aRun, someWords, text } from '../records';

const NOW = new Date('2026-12-01T10:05:00Z');

function show(change: Partial<Run>, language: 'en' | 'zh' = 'en') {
  const onAction = vi.fn();
  const run = aRun(change);
  render(
    <ul>
      <RunCard
        run={run}
        words={someWords(language)}
        now={NOW}
        isHighlighted={false}
        onAction={onAction}
      />
    </ul>
  );
  return { onAction, run };
}

const actions = () => screen.getAllByRole('button').map(button => button.dataset.siflabAction);

afterEach(cleanup);

describe('the card of a run', () => {
  it('that waits says why, in the language of the page, and how long', () => {
    show({ reason: text('All GPUs are in use.', 'GPU 均被占用。') }, 'zh');
    expect(screen.getByText('GPU 均被占用。')).toBeTruthy();
    expect(screen.getByText(/Job 17 · waiting for 5 min/)).toBeTruthy();
    expect(actions()).toEqual(['log', 'source', 'folder', 'cancel']);
  });

  it('that runs shows the cell, for the eye and for a screen reader', () => {
    show({
      state: 'running',
      output: '/w/out.ipynb',
      started_at: '2026-12-01T10:03:00Z',
      progress: { cells_total: 12, cells_done: 4, current_cell: 5 }
    });
    const bar = screen.getByRole('progressbar');
    expect(bar.getAttribute('aria-valuenow')).toBe('4');
    expect(bar.getAttribute('aria-valuemax')).toBe('12');
    expect(bar.getAttribute('aria-valuetext')).toBe('Cell 5 of 12');
    expect(screen.getByText(/running for 2 min/)).toBeTruthy();
  });

  it('that failed names the cell, the line and the error, and cannot be cancelled', () => {
    show({
      state: 'failed',
      output: '/w/out.ipynb',
      error: {
        ename: 'NameError',
        evalue: "name 'x' is not defined",
        cell: 8,
        cell_number: 7,
        line: 3
      }
    });
    expect(screen.getByText("Cell 7, line 3: NameError: name 'x' is not defined")).toBeTruthy();
    expect(actions()).toEqual(['result', 'log', 'source', 'folder']);
  });

  it('says an error once when the reason names it', () => {
    show({
      state: 'failed',
      error: { ename: 'NameError', evalue: "name 'x' is not defined", cell_number: 7 },
      reason: text("Cell 7: NameError: name 'x' is not defined. Open the result.")
    });
    expect(screen.getAllByText(/NameError/)).toHaveLength(1);
  });

  it('that is being submitted has no log yet', () => {
    show({ state: 'submitting', job_id: null });
    expect(actions()).toEqual(['source', 'folder', 'cancel']);
  });

  it('never tells a state by colour alone', () => {
    for (const state of ['pending', 'completed', 'timeout', 'unknown'] as const) {
      show({ state });
    }
    const shown = screen.getAllByRole('listitem').map(item => item.textContent ?? '');
    expect(shown[0]).toMatch(/^◷ Waiting in the queue/);
    expect(shown[1]).toMatch(/^✓ Completed/);
    expect(shown[2]).toMatch(/^✗ Time limit reached/);
    expect(shown[3]).toMatch(/^– Unknown/);
  });

  it('tells the panel which button was pressed for which run', () => {
    const { onAction, run } = show({});
    fireEvent.click(screen.getByRole('button', { name: 'Cancel: train' }));
    expect(onAction).toHaveBeenCalledWith('cancel', run);
  });
});
