import type { Environment, EnvironmentJob } from '../api/types';
import type { Words } from '../i18n/words';

export function outdatedText(outdated: readonly Environment[], words: Words): string {
  const names = outdated.map(each => each.name).join(', ');
  return words.trans._n(
    'Your environment %2 was made for another image, or an earlier state of this one. It can be rebuilt for this image from its list of packages; the old one stays.',
    'Your environments %2 were made for another image, or an earlier state of this one. They can be rebuilt for this image from their lists of packages; the old ones stay.',
    outdated.length,
    names
  );
}

export function workText(job: EnvironmentJob, words: Words): string {
  const { trans } = words;
  return job.action === 'rebuild'
    ? trans.__('Rebuilding the environment "%1"…', job.name)
    : trans.__('Working on the environment "%1"…', job.name);
}

/** What has come of it; after a rebuild, what differs. */
export function doneText(job: EnvironmentJob, words: Words): string {
  const { trans } = words;
  if (job.action === 'remove') {
    return trans.__('The environment "%1" was removed.', job.name);
  }
  const ready = trans.__(
    'The environment "%1" is ready: choose its kernel in a notebook.',
    job.name
  );
  if (job.action !== 'rebuild') {
    return ready;
  }
  if (job.changes.length === 0) {
    return `${ready} ${trans.__('All versions are as they were.')}`;
  }
  const listed = job.changes.map(each => `${each.name} ${each.before ?? '-'} → ${each.now ?? '-'}`);
  return `${ready} ${trans.__('Other versions than before: %1', listed.join(', '))}`;
}
