import { PathExt } from '@jupyterlab/coreutils';
import * as React from 'react';

import type { Run } from '../api/types';
import { duration, moment, secondsBetween } from '../i18n/time';
import type { Words } from '../i18n/words';
import { hasEnded, stateText, toneOf } from '../model/states';
import type { Tone } from '../model/states';
import { resourcesText } from '../promote/labels';

/** What the buttons of a card do; the panel maps them to commands. */
export type CardAction = 'result' | 'source' | 'log' | 'folder' | 'cancel';

export interface CardProps {
  run: Run;
  words: Words;
  /** The present; for a run that has ended the panel passes always the same, so that the card rests. */
  now: Date;
  isHighlighted: boolean;
  onAction: (action: CardAction, run: Run) => void;
}

/** Shapes that tell the states apart without colour. */
const MARKS: Record<Tone, string> = {
  waiting: '◷',
  running: '▶',
  good: '✓',
  bad: '✗',
  neutral: '–'
};

export const RunCard = React.memo(function RunCard(props: CardProps): React.ReactElement {
  const { run, words, now } = props;
  const { trans } = words;
  const tone = toneOf(run.state);
  const reason = words.say(run.reason);
  // The reason often names the error itself; then it need not be said twice.
  const isErrorNamed = run.error && reason.includes(run.error.evalue || run.error.ename);
  return (
    <li
      className={`siflab-Run siflab-tone-${tone}${props.isHighlighted ? ' siflab-mod-highlighted' : ''}`}
      data-siflab-run={run.id}
      data-siflab-state={run.state}
      data-siflab-job={run.job_id ?? ''}
      aria-label={trans.__('Run %1', run.name)}
    >
      <div className="siflab-Run-head">
        <span className="siflab-Run-state" data-siflab="run-state">
          <span aria-hidden="true">{MARKS[tone]} </span>
          {stateText(run, words)}
        </span>
        <time className="siflab-Muted" dateTime={run.created_at} title={run.created_at}>
          {moment(run.created_at, words, now)}
        </time>
      </div>
      <div className="siflab-Run-name" title={run.source}>
        {run.name || PathExt.basename(run.source)}
      </div>
      <Progress run={run} words={words} />
      <Facts run={run} words={words} now={now} />
      {run.error && !isErrorNamed && (
        <div className="siflab-Run-error" data-siflab="run-error">
          {errorText(run, words)}
        </div>
      )}
      {reason && (
        <div className="siflab-Run-reason" data-siflab="run-reason">
          {reason}
        </div>
      )}
      {run.source_changed && (
        <div className="siflab-Run-facts">
          {trans.__('The notebook has been changed since it was promoted.')}
        </div>
      )}
      <Buttons {...props} />
    </li>
  );
});

function Progress(props: { run: Run; words: Words }): React.ReactElement | null {
  const { run, words } = props;
  const { progress } = run;
  if (!progress || progress.cells_total === 0) {
    return null;
  }
  const { trans } = words;
  const { cells_done: done, cells_total: total, current_cell: current } = progress;
  const text =
    run.state === 'running' && current
      ? trans.__('Cell %1 of %2', current, total)
      : trans.__('%1 of %2 cells done', done, total);
  return (
    <div className="siflab-Progress">
      <div
        className="siflab-Progress-bar"
        role="progressbar"
        aria-label={trans.__('Cells executed')}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
        aria-valuetext={text}
      >
        <div style={{ width: `${(100 * done) / total}%` }} />
      </div>
      <span className="siflab-Progress-text" data-siflab="run-progress">
        {text}
      </span>
    </div>
  );
}

/** Job, resources, place and time, in one or two quiet lines. */
function Facts(props: { run: Run; words: Words; now: Date }): React.ReactElement {
  const { run, words, now } = props;
  const { trans } = words;
  const parts: string[] = [];
  if (run.job_id) {
    parts.push(trans.__('Job %1', run.job_id));
  }
  if (run.node) {
    parts.push(trans.__('on %1', run.node));
  }
  if (run.attempts > 1) {
    parts.push(trans._n('%1 attempt', '%1 attempts', run.attempts));
  }
  const time = timeText(run, words, now);
  if (time) {
    parts.push(time);
  }
  return (
    <div className="siflab-Run-facts">
      <div data-siflab="run-job">{parts.join(' · ')}</div>
      <div>{`${run.resources.partition} · ${resourcesText(run.resources, words)}`}</div>
    </div>
  );
}

function timeText(run: Run, words: Words, now: Date): string {
  const { trans } = words;
  if (run.started_at) {
    const ran = duration(secondsBetween(run.started_at, run.ended_at, now), words);
    return hasEnded(run) ? trans.__('took %1', ran) : trans.__('running for %1', ran);
  }
  if (hasEnded(run)) {
    return '';
  }
  const waited = duration(secondsBetween(run.created_at, null, now), words);
  return run.estimated_start
    ? trans.__('waiting for %1, may start %2', waited, moment(run.estimated_start, words, now))
    : trans.__('waiting for %1', waited);
}

function errorText(run: Run, words: Words): string {
  const { error } = run;
  if (!error) {
    return '';
  }
  const { trans } = words;
  const what = error.evalue ? `${error.ename}: ${error.evalue}` : error.ename;
  if (!error.cell_number) {
    return what;
  }
  return error.line
    ? trans.__('Cell %1, line %2: %3', error.cell_number, error.line, what)
    : trans.__('Cell %1: %2', error.cell_number, what);
}

function Buttons(props: CardProps): React.ReactElement {
  const { run, words, onAction } = props;
  const { trans } = words;
  const buttons: { action: CardAction; label: string; caption: string; isShown: boolean }[] = [
    {
      action: 'result',
      label: trans.__('Open result'),
      caption: trans.__('Open the executed notebook beside its source'),
      isShown: Boolean(run.output)
    },
    {
      action: 'log',
      label: trans.__('Log'),
      caption: trans.__('Show what the job prints'),
      isShown: run.job_id !== null && run.job_id !== undefined
    },
    {
      action: 'source',
      label: trans.__('Source'),
      caption: trans.__('Open the notebook that was promoted'),
      isShown: true
    },
    {
      action: 'folder',
      label: trans.__('Folder'),
      caption: trans.__("Show the run's folder in the file browser"),
      isShown: true
    },
    {
      action: 'cancel',
      label: trans.__('Cancel'),
      caption: trans.__('End the Slurm job'),
      isShown: !hasEnded(run)
    }
  ];
  return (
    <div className="siflab-Run-buttons" role="group" aria-label={trans.__('Actions')}>
      {buttons
        .filter(button => button.isShown)
        .map(({ action, label, caption }) => (
          <button
            key={action}
            type="button"
            className={`siflab-Button siflab-mod-${action}`}
            data-siflab-action={action}
            title={caption}
            aria-label={trans.__('%1: %2', label, run.name)}
            onClick={() => onAction(action, run)}
          >
            {label}
          </button>
        ))}
    </div>
  );
}
