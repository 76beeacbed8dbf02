import { PathExt } from '@jupyterlab/coreutils';
import * as React from 'react';

import type { Profile, Site } from '../api/types';
import { API_VERSION } from '../api/version';
import type { Words } from '../i18n/words';
import type { Field, FieldName } from './fields';
import { SelectField, TextField } from './field';
import type { Form } from './form';
import { NAME_LIMIT, valueOf } from './form';
import { fieldHint, fieldLabel, problemText } from './labels';
import type { Promotion } from './model';
import { Findings } from './findings';
import { Outlook, Script } from './outlook';
import { isAt } from './refusal';
import { RunOptions } from './run-options';

/** The inside of the dialog. */
export function PromotionForm(props: { promotion: Promotion; words: Words }): React.ReactElement {
  const { promotion, words } = props;
  const [, redraw] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    promotion.changed.connect(redraw);
    return () => {
      promotion.changed.disconnect(redraw);
    };
  }, [promotion]);
  const { site, form, profile, rejections } = promotion;
  const node = React.useRef<HTMLDivElement>(null);
  const hasFields = form !== null;
  React.useEffect(() => {
    if (hasFields) {
      node.current?.querySelector<HTMLElement>('[name="profile"]')?.focus();
    }
  }, [hasFields]);
  React.useEffect(() => {
    if (rejections > 0) {
      focusTrouble(node.current);
    }
  }, [rejections]);
  return (
    <div className="siflab-Promotion" data-siflab="promote-form" ref={node}>
      <Subject promotion={promotion} words={words} />
      {!site && !promotion.failure && (
        <p className="siflab-Muted">{words.trans.__('Asking the server for the profiles…')}</p>
      )}
      {site && <Obstacle promotion={promotion} site={site} words={words} />}
      {site && form && profile && promotion.obstacle !== 'version' && (
        <>
          <Choices promotion={promotion} form={form} profile={profile} site={site} words={words} />
          <RunOptions promotion={promotion} words={words} />
          <Trouble promotion={promotion} words={words} />
          <Outlook
            preview={promotion.preview}
            isPreviewing={promotion.isPreviewing}
            words={words}
          />
          <Findings promotion={promotion} words={words} />
          <Script preview={promotion.preview} words={words} />
        </>
      )}
      {!form && <Trouble promotion={promotion} words={words} />}
    </div>
  );
}

/** After a submission was turned down: to the first field that is to be mended, or to the message. */
function focusTrouble(node: HTMLElement | null): void {
  const field = node?.querySelector<HTMLElement>('[aria-invalid="true"]');
  const trouble = node?.querySelector<HTMLElement>('[data-siflab="promote-trouble"]');
  (field ?? trouble)?.scrollIntoView({ block: 'center' });
  field?.focus();
}

/** What is promoted. */
function Subject(props: { promotion: Promotion; words: Words }): React.ReactElement {
  const { promotion, words } = props;
  const { trans } = words;
  const image = promotion.site?.images.find(
    item => item.id === (promotion.form?.values.image ?? promotion.profile?.image)
  );
  const folder = PathExt.dirname(promotion.path);
  return (
    <section className="siflab-Subject" aria-label={trans.__('What is promoted')}>
      <div className="siflab-Subject-path" data-siflab="promote-path" title={promotion.path}>
        {folder && <span className="siflab-Muted">{folder}/</span>}
        <strong>{PathExt.basename(promotion.path)}</strong>
      </div>
      {image && (
        <div className="siflab-Muted" data-siflab="promote-image">
          {trans.__('runs in the image %1', words.say(image.title))}
          {image.current && trans.__(' (the one of this session)')}
        </div>
      )}
      {promotion.wasSaved && (
        <div className="siflab-Message siflab-mod-info" data-siflab="promote-saved">
          {trans.__('The notebook had unsaved changes: they have been saved.')}
        </div>
      )}
    </section>
  );
}

function Choices(props: {
  promotion: Promotion;
  form: Form;
  profile: Profile;
  site: Site;
  words: Words;
}): React.ReactElement {
  const { promotion, form, profile, site, words } = props;
  const { trans } = words;
  const errorsAt = (name: string) =>
    distinct(
      promotion.errors.filter(error => error.field === name).map(error => words.say(error.message))
    );
  return (
    <div className="siflab-Choices">
      <SelectField
        name="profile"
        label={trans.__('Profile')}
        hint={words.say(profile.description)}
        errors={errorsAt('profile')}
        wide
        value={form.profile}
        options={promotion.profiles.map(item => ({ value: item.id, label: words.say(item.title) }))}
        onChange={id => promotion.setProfile(id)}
      />
      {promotion.fields.map(field => {
        const problem = promotion.problems.get(field.name);
        return (
          <ResourceField
            key={`${profile.id} ${field.name}`}
            field={field}
            value={valueOf(form, field)}
            label={fieldLabel(field.name, profile, words)}
            errors={problem ? [problemText(problem, words)] : errorsAt(field.name)}
            site={site}
            words={words}
            onChange={(name, value) => promotion.setValue(name, value)}
          />
        );
      })}
      <TextField
        name="name"
        label={trans.__('Name of the run (optional)')}
        errors={errorsAt('name')}
        wide
        placeholder={PathExt.basename(promotion.path, PathExt.extname(promotion.path))}
        maxLength={NAME_LIMIT}
        value={form.name}
        onChange={name => promotion.setName(name)}
      />
    </div>
  );
}

function ResourceField(props: {
  field: Field;
  value: string;
  label: string;
  errors: readonly string[];
  site: Site;
  words: Words;
  onChange: (name: FieldName, value: string) => void;
}): React.ReactElement {
  const { field, site, words } = props;
  const shared = {
    name: field.name,
    label: props.label,
    errors: props.errors,
    hint: fieldHint(field, props.value, words),
    wide: field.name === 'image',
    value: props.value,
    onChange: (value: string) => props.onChange(field.name, value)
  };
  if (field.kind !== 'choice') {
    return <TextField {...shared} isInteger={field.kind === 'integer'} />;
  }
  const label = (choice: string) => {
    const image = field.name === 'image' && site.images.find(item => item.id === choice);
    return image ? words.say(image.title) : choice;
  };
  return (
    <SelectField
      {...shared}
      options={field.choices.map(choice => ({ value: choice, label: label(choice) }))}
    />
  );
}

/** Why nothing can be submitted here at all. */
function Obstacle(props: {
  promotion: Promotion;
  site: Site;
  words: Words;
}): React.ReactElement | null {
  const { promotion, site, words } = props;
  const { trans } = words;
  const { obstacle } = promotion;
  if (!obstacle) {
    return null;
  }
  const text = {
    version: trans.__(
      'This page was made for version %1 of the Siflab API, the server speaks version %2. Reload the page; if that does not help, the image needs the matching siflab.',
      API_VERSION,
      site.api_version
    ),
    'no-slurm':
      words.say(site.cannot_submit_reason) ||
      trans.__("Slurm's commands are not within reach of this server."),
    'no-profiles': trans.__(
      'The site offers no profile for runs. Its administrator can add one to site.yaml (for_runs).'
    )
  }[obstacle];
  return (
    <div
      className="siflab-Message siflab-mod-error"
      role="alert"
      data-siflab="promote-obstacle"
      data-siflab-obstacle={obstacle}
    >
      {text}
    </div>
  );
}

/** Why the last request failed, and the errors that belong to no field that is shown. */
function Trouble(props: { promotion: Promotion; words: Words }): React.ReactElement {
  const { promotion, words } = props;
  const shown = ['profile', 'name', 'mode', 'attempts', ...promotion.fields.map(f => f.name)];
  const { mode } = promotion.options;
  shown.push(...promotion.parameters.map(parameter => parameter.name));
  shown.push(...(mode === 'distributed' ? ['processes'] : []));
  shown.push(...(mode === 'sweep' ? ['table', 'sweep.at_once'] : []));
  shown.push(...(promotion.isScript ? ['arguments'] : []));
  const elsewhere = promotion.errors.filter(error => !shown.some(field => isAt(error, field)));
  const { failure } = promotion;
  // The general sentence is left out when every error stands at its field.
  const general = failure && (failure.errors.length === 0 ? [words.say(failure.text)] : []);
  const texts = distinct([...(general ?? []), ...elsewhere.map(error => words.say(error.message))]);
  return (
    <div role="alert" data-siflab="promote-trouble">
      {texts.map(text => (
        <div key={text} className="siflab-Message siflab-mod-error">
          {text}
        </div>
      ))}
      {failure && !promotion.site && (
        <button
          type="button"
          className="jp-mod-styled jp-mod-reject siflab-Retry"
          onClick={() => void promotion.load()}
        >
          {words.trans.__('Try again')}
        </button>
      )}
    </div>
  );
}

/** The preview and the submission may say the same; a person reads it once. */
function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
