import * as React from 'react';

import type { Finding } from '../api/types';
import type { Words } from '../i18n/words';
import type { Promotion } from './model';

/** What the preflight found, most severe first. */
export function Findings(props: { promotion: Promotion; words: Words }): React.ReactElement | null {
  const { promotion, words } = props;
  const { trans } = words;
  const { findings } = promotion;
  if (findings === null) {
    return null;
  }
  if (findings.length === 0) {
    return (
      <p className="siflab-Findings-none" data-siflab="promote-findings">
        {trans.__('✓ Preflight: nothing found that would fail as a batch job.')}
      </p>
    );
  }
  const kinds = {
    error: trans.__('Error'),
    warning: trans.__('Warning'),
    info: trans.__('Note')
  };
  return (
    <section className="siflab-Findings" data-siflab="promote-findings" aria-live="polite">
      <h3 className="siflab-Heading">
        {trans._n('Preflight: %1 finding', 'Preflight: %1 findings', findings.length)}
      </h3>
      <ul>
        {findings.map((finding, index) => (
          <li
            key={index}
            className={`siflab-Message siflab-mod-${finding.severity}`}
            data-siflab-finding={finding.code}
          >
            <strong>{kinds[finding.severity]}</strong>
            {place(finding, words)}
            {' · '}
            {words.say(finding.message)}
            <FindingActions promotion={promotion} finding={finding} words={words} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The fix, where one click makes it, and the way to the line. */
function FindingActions(props: {
  promotion: Promotion;
  finding: Finding;
  words: Words;
}): React.ReactElement | null {
  const { promotion, finding, words } = props;
  const { trans } = words;
  const fix = promotion.canFix(finding) ? finding.fix : null;
  const goes = promotion.canGoTo(finding);
  if (!fix && !goes) {
    return null;
  }
  const what = `${words.say(finding.message)}${place(finding, words)}`;
  return (
    <div className="siflab-Finding-actions">
      {fix && (
        <button
          type="button"
          className="siflab-Button"
          data-siflab-action="fix"
          aria-label={trans.__('Fix: %1 (%2)', words.say(fix.title), what)}
          onClick={() => void promotion.fix(finding)}
        >
          {trans.__('Fix: %1', words.say(fix.title))}
        </button>
      )}
      {goes && (
        <button
          type="button"
          className="siflab-Button"
          data-siflab-action="go-to"
          title={trans.__('Close this dialog and show the line; what was chosen is kept')}
          aria-label={trans.__('Go there: %1', what)}
          onClick={() => promotion.goTo(finding)}
        >
          {trans.__('Go there')}
        </button>
      )}
    </div>
  );
}

/** Where a finding is, counted as a person counts: from one. */
function place(finding: Finding, words: Words): string {
  const { trans } = words;
  if (finding.cell === null || finding.cell === undefined) {
    return '';
  }
  const cell = finding.cell + 1;
  return finding.line
    ? ` · ${trans.__('cell %1, line %2', cell, finding.line)}`
    : ` · ${trans.__('cell %1', cell)}`;
}
