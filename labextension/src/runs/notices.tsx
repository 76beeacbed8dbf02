import * as React from 'react';

import { API_VERSION, isUnderstood } from '../api/version';
import type { Words } from '../i18n/words';
import type { IRunsModel } from '../tokens';

/** What stands above the runs when something is not as it should be; most weighty first. */
export function Notices(props: { model: IRunsModel; words: Words }): React.ReactElement {
  return (
    <div className="siflab-Notices" role="status" data-siflab="runs-notices">
      {noticesOf(props.model, props.words).map(notice => (
        <div
          key={notice.code}
          className={`siflab-Message siflab-mod-${notice.severity}`}
          data-siflab-notice={notice.code}
        >
          {notice.text}
        </div>
      ))}
    </div>
  );
}

export interface Notice {
  code: 'version' | 'failure' | 'slurm' | 'cannot-submit' | 'complaint' | 'interrupted';
  severity: 'error' | 'warning' | 'info';
  text: string;
}

export function noticesOf(model: IRunsModel, words: Words): Notice[] {
  const { trans } = words;
  const { site, slurm, failure, complaint } = model;
  const notices: Notice[] = [];
  if (site && !isUnderstood(site.api_version)) {
    notices.push({
      code: 'version',
      severity: 'error',
      text: trans.__(
        'This page was made for version %1 of the Siflab API, the server speaks version %2. Reload the page; if that does not help, the image needs the matching siflab.',
        API_VERSION,
        site.api_version
      )
    });
  }
  if (failure) {
    notices.push({ code: 'failure', severity: 'error', text: words.say(failure.text) });
  }
  if (slurm && !slurm.reachable) {
    notices.push({
      code: 'slurm',
      severity: 'warning',
      text:
        words.say(slurm.message) ||
        trans.__('Slurm does not answer. The states below are the last ones known.')
    });
  }
  if (site && !site.can_submit) {
    notices.push({
      code: 'cannot-submit',
      severity: 'warning',
      text:
        words.say(site.cannot_submit_reason) ||
        trans.__("Slurm's commands are not within reach of this server.")
    });
  }
  if (complaint) {
    notices.push({ code: 'complaint', severity: 'warning', text: words.say(complaint) });
  }
  if (model.streamState === 'waiting' && !failure) {
    notices.push({
      code: 'interrupted',
      severity: 'info',
      text: trans.__('Live updates are interrupted; trying again…')
    });
  }
  return notices;
}
