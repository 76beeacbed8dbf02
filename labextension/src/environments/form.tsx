import * as React from 'react';

import { alone } from '../i18n/language';
import type { Words } from '../i18n/words';
import { SelectField, TextField } from '../promote/field';
import type { EnvironmentsModel } from './model';
import { isGoodName, packagesOf } from './packages';

/** What is typed into the dialog; kept outside of the view, so that the dialog can send it. */
export interface Draft {
  name: string;
  packages: string;
  root: string;
}

export interface EnvironmentFormProps {
  model: EnvironmentsModel;
  draft: Draft;
  words: Words;
}

/** The inside of the dialog. */
export function EnvironmentForm(props: EnvironmentFormProps): React.ReactElement {
  const { model, draft, words } = props;
  const { trans } = words;
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const { list } = model;
  const set = (change: Partial<Draft>) => {
    Object.assign(draft, change);
    redraw();
  };
  const errorsOf = (field: string) =>
    (model.failure?.errors ?? [])
      .filter(error => error.field.split('.')[0] === field)
      .map(error => words.say(error.message));
  const badName =
    draft.name !== '' && !isGoodName(draft.name)
      ? [trans.__('Use small letters, digits, - and _, at most 31.')]
      : [];
  const isReadOnly = model.isBusy;
  return (
    <div className="siflab-Environment" data-siflab="environment-form">
      {list && !list.available && (
        <div className="siflab-Message siflab-mod-error" role="alert">
          {words.say(list.why_not)}
        </div>
      )}
      <p className="siflab-Muted">
        {list?.image
          ? trans.__(
              'Your own packages on top of %1, as a kernel of its own. What the image has already is there.',
              words.say(list.image.title)
            )
          : trans.__('Your own packages on top of this image, as a kernel of its own.')}
      </p>
      <fieldset className="siflab-Environment-fields" disabled={isReadOnly}>
        <TextField
          name="environment-name"
          label={trans.__('Name')}
          hint={trans.__('The kernel will be called so, e.g. nlp.')}
          maxLength={31}
          value={draft.name}
          errors={[...badName, ...errorsOf('name')]}
          onChange={name => set({ name })}
        />
        <Packages
          words={words}
          value={draft.packages}
          errors={errorsOf('packages')}
          onChange={packages => set({ packages })}
        />
        {(list?.roots.length ?? 0) > 1 && (
          <SelectField
            name="environment-root"
            label={trans.__('Place')}
            value={draft.root || list!.roots[0]}
            errors={errorsOf('root')}
            options={list!.roots.map(root => ({
              value: root,
              label: root === 'scratch' ? trans.__('scratch (large, fast)') : trans.__('home')
            }))}
            onChange={root => set({ root })}
          />
        )}
      </fieldset>
      <Progress model={model} words={words} />
      <Trouble model={model} words={words} />
    </div>
  );
}

function Packages(props: {
  words: Words;
  value: string;
  errors: readonly string[];
  onChange: (value: string) => void;
}): React.ReactElement {
  const { words, value, errors, onChange } = props;
  const { trans } = words;
  const id = 'siflab-environment-packages';
  return (
    <div className="siflab-Field" data-siflab-field="environment-packages">
      <label className="siflab-Field-label" htmlFor={id}>
        {trans.__('Packages')}
      </label>
      <textarea
        id={id}
        name="environment-packages"
        className="jp-mod-styled siflab-Environment-packages"
        rows={4}
        spellCheck={false}
        value={value}
        aria-invalid={errors.length > 0 || undefined}
        aria-describedby={`${id}-hint ${id}-error`}
        onChange={event => onChange(event.currentTarget.value)}
      />
      <div className="siflab-Field-hint" id={`${id}-hint`}>
        {trans.__('As for pip, one a line or with blanks between them: einops torch>=2.7')}
      </div>
      <div className="siflab-Field-errors" id={`${id}-error`} role="alert">
        {errors.map(error => (
          <div key={error} className="siflab-Field-error">
            {error}
          </div>
        ))}
      </div>
    </div>
  );
}

/** What is done just now, and pip's last lines. */
function Progress(props: { model: EnvironmentsModel; words: Words }): React.ReactElement {
  const { model, words } = props;
  const { trans } = words;
  const { job } = model;
  const lines = job?.lines.join('\n') ?? '';
  const log = React.useRef<HTMLPreElement>(null);
  React.useEffect(() => {
    if (log.current) {
      log.current.scrollTop = log.current.scrollHeight;
    }
  }, [lines]);
  return (
    <div data-siflab="environment-progress" data-siflab-state={job?.state ?? 'none'}>
      <div role="status" className="siflab-Environment-step">
        {model.isBusy && (
          <>
            <span className="siflab-Environment-spinner" aria-hidden="true" />
            {job ? words.say(job.step) : trans.__('Beginning…')}
          </>
        )}
      </div>
      {lines !== '' && (
        <pre
          ref={log}
          className="siflab-Environment-log"
          // A region that scrolls must be reachable by the keyboard.
          tabIndex={0} // eslint-disable-line jsx-a11y/no-noninteractive-tabindex
          aria-label={trans.__('What pip says')}
        >
          {lines}
        </pre>
      )}
      {job?.state === 'running' && (
        <button
          type="button"
          className="jp-mod-styled jp-mod-warn"
          data-siflab="environment-stop"
          onClick={() => void model.stop()}
        >
          {trans.__('Stop')}
        </button>
      )}
    </div>
  );
}

/** Why it did not succeed, unless that stands at a field. */
function Trouble(props: { model: EnvironmentsModel; words: Words }): React.ReactElement {
  const { model, words } = props;
  const failure = model.job?.failure;
  const own = model.failure;
  const atField = (own?.errors.length ?? 0) > 0 && own!.errors.every(error => error.field !== '');
  const texts = [
    ...(failure ? [alone(words.say(failure.message))] : []),
    ...(own && !atField ? [alone(words.say(own.text))] : [])
  ];
  return (
    <div role="alert" data-siflab="environment-trouble">
      {texts.map(text => (
        <div key={text} className="siflab-Message siflab-mod-error">
          {text}
        </div>
      ))}
    </div>
  );
}

/** What is asked of the server, or null while something typed is wrong. */
export function requestOf(draft: Draft) {
  if (!isGoodName(draft.name)) {
    return null;
  }
  return {
    action: 'create' as const,
    name: draft.name,
    packages: packagesOf(draft.packages),
    root: draft.root || null,
    from_source: false
  };
}
