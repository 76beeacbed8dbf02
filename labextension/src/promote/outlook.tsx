import * as React from 'react';

import type { Preview } from '../api/types';
import { alone } from '../i18n/language';
import { duration, figure, moment } from '../i18n/time';
import type { Words } from '../i18n/words';
import { resourcesText } from './labels';

/** What a request costs and when it may start, and what Slurm has against it. */
export function Outlook(props: {
  preview: Preview | null;
  isPreviewing: boolean;
  words: Words;
}): React.ReactElement {
  const { preview, isPreviewing, words } = props;
  const { trans } = words;
  const none = isPreviewing ? trans.__('asking Slurm…') : '–';
  return (
    <section
      className="siflab-Outlook"
      data-siflab="promote-outlook"
      data-siflab-busy={isPreviewing}
      aria-label={trans.__('What it takes')}
      aria-live="polite"
      aria-busy={isPreviewing}
    >
      <dl className="siflab-Outlook-figures">
        <div className="siflab-mod-wide">
          <dt>{trans.__('Resources')}</dt>
          <dd data-siflab="promote-resources">
            {preview ? resourcesText(preview.resources, words) : none}
          </dd>
        </div>
        <div>
          <dt>{trans.__('GPU-hours at most')}</dt>
          <dd data-siflab="promote-gpu-hours">
            {preview ? figure(preview.gpu_hours, words) : none}
          </dd>
        </div>
        <div>
          <dt>{trans.__('Estimated start')}</dt>
          <dd data-siflab="promote-start">{preview ? startText(preview, words) : none}</dd>
        </div>
      </dl>
      {preview?.slurm_says && (
        <div className="siflab-Message siflab-mod-warning" data-siflab="promote-slurm-says">
          {alone(words.say(preview.slurm_says))}
        </div>
      )}
    </section>
  );
}

function startText(preview: Preview, words: Words): string {
  const { trans } = words;
  if (!preview.estimated_start) {
    return trans.__('Slurm cannot tell yet');
  }
  const wait = (new Date(preview.estimated_start).getTime() - Date.now()) / 1000;
  if (wait < 60) {
    return trans.__('at once');
  }
  return trans.__(
    '%1 (in %2)',
    moment(preview.estimated_start, words),
    duration(Math.round(wait / 60) * 60, words)
  );
}

/** The job script as it would be submitted. */
export function Script(props: { preview: Preview | null; words: Words }): React.ReactElement {
  const { preview, words } = props;
  const { trans } = words;
  return (
    <details className="siflab-Script" data-siflab="promote-script">
      <summary>{trans.__('The job script')}</summary>
      <pre role="region" tabIndex={0} aria-label={trans.__('The job script')}>
        {preview ? preview.script : trans.__('The script appears when the fields above are right.')}
      </pre>
    </details>
  );
}
