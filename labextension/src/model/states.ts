import type { TranslationBundle } from '@jupyterlab/translation';

import type { Run, RunState } from '../api/types';
import { alone } from '../i18n/language';
import type { Words } from '../i18n/words';

/** How a state looks: never by colour alone, the text always stands beside it. */
export type Tone = 'waiting' | 'running' | 'good' | 'bad' | 'neutral';

const TONES: Record<RunState, Tone> = {
  not_submitted: 'neutral',
  submitting: 'waiting',
  pending: 'waiting',
  running: 'running',
  completing: 'running',
  completed: 'good',
  failed: 'bad',
  cancelled: 'neutral',
  timeout: 'bad',
  out_of_memory: 'bad',
  node_fail: 'bad',
  unknown: 'neutral'
};

const ENDED: ReadonlySet<RunState> = new Set<RunState>([
  'completed',
  'failed',
  'cancelled',
  'timeout',
  'out_of_memory',
  'node_fail'
]);

export function toneOf(state: RunState): Tone {
  return TONES[state] ?? 'neutral';
}

/** Whether nothing more will happen to a run. `unknown` is no end. */
export function hasEnded(run: Run): boolean {
  return ENDED.has(run.state);
}

/** A run's state in words: the server's, or our own where it sent none. */
export function stateText(run: Run, words: Words): string {
  return alone(words.say(run.state_text)) || stateWord(run.state, words.trans);
}

function stateWord(state: RunState, trans: TranslationBundle): string {
  const words: Record<RunState, string> = {
    not_submitted: trans.__('Not submitted'),
    submitting: trans.__('Submitting'),
    pending: trans.__('Waiting in the queue'),
    running: trans.__('Running'),
    completing: trans.__('Finishing'),
    completed: trans.__('Completed'),
    failed: trans.__('Failed'),
    cancelled: trans.__('Cancelled'),
    timeout: trans.__('Time limit reached'),
    out_of_memory: trans.__('Out of memory'),
    node_fail: trans.__('Node failed'),
    unknown: trans.__('Unknown')
  };
  return words[state] ?? state;
}
