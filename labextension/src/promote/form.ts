import type { Image, Parameter, Profile, RunRequest } from '../api/types';
import { check, fieldsOf } from './fields';
import type { Field, FieldName, Problem, Values } from './fields';
import type { Options } from './options';
import { NO_OPTIONS, optionsInRequest } from './options';

/** What a person has chosen in the dialog, as it was typed. */
export interface Form {
  readonly profile: string;
  /** Only what differs from the profile by a person's hand. */
  readonly values: Readonly<Values>;
  readonly name: string;
  /** Mode, attempts, parameters; as they are without any choice if left out. */
  readonly options?: Options;
}

/** The longest name of a run, the contract's `maxLength`. */
export const NAME_LIMIT = 80;

/** The form to begin with: the last choice where it still fits, else the site's default profile. */
export function firstForm(
  profiles: readonly Profile[],
  images: readonly Image[],
  last: Form | null,
  preferred: string | null | undefined
): Form | null {
  const known = (id: string | null | undefined) => profiles.find(profile => profile.id === id);
  const profile = known(last?.profile) ?? known(preferred) ?? profiles[0];
  if (!profile) {
    return null;
  }
  const values = last?.profile === profile.id ? fitting(last.values, profile, images) : {};
  const typed = last?.options ? { options: last.options } : {};
  return { profile: profile.id, values, name: last?.name ?? '', ...typed };
}

/** The form after another profile was chosen: what was typed is kept where the new profile allows it. */
export function withProfile(form: Form, profile: Profile, images: readonly Image[]): Form {
  return { ...form, profile: profile.id, values: fitting(form.values, profile, images) };
}

export function withValue(form: Form, field: FieldName, value: string): Form {
  return { ...form, values: { ...form.values, [field]: value } };
}

/** The value that stands in a field. */
export function valueOf(form: Form, field: Field): string {
  return form.values[field.name] ?? field.preset;
}

function fitting(values: Values, profile: Profile, images: readonly Image[]): Values {
  const kept: Values = {};
  for (const field of fieldsOf(profile, images)) {
    const value = values[field.name];
    if (value !== undefined && check(field, value) === null) {
      kept[field.name] = value;
    }
  }
  return kept;
}

/** What is wrong in the form, by field, before the server is asked. */
export function problemsOf(form: Form, fields: readonly Field[]): Map<FieldName, Problem> {
  const problems = new Map<FieldName, Problem>();
  for (const field of fields) {
    const problem = check(field, valueOf(form, field));
    if (problem) {
      problems.set(field.name, problem);
    }
  }
  return problems;
}

/** The request that a form without problems stands for. Only what was chosen is sent; the server knows the rest. */
export function requestOf(
  form: Form,
  fields: readonly Field[],
  path: string,
  submitKey: string,
  parameters: readonly Parameter[] = []
): RunRequest {
  const request: RunRequest = {
    path,
    profile: form.profile,
    ...optionsInRequest(form.options ?? NO_OPTIONS, parameters),
    submit_key: submitKey
  };
  const name = form.name.trim();
  if (name) {
    request.name = name;
  }
  for (const field of fields) {
    const value = form.values[field.name];
    if (value === undefined) {
      continue;
    }
    switch (field.name) {
      case 'nodes':
      case 'gpus':
      case 'cpus':
        request[field.name] = Number(value);
        break;
      default:
        request[field.name] = value.trim();
    }
  }
  return request;
}

/** A key that makes the submission idempotent; one per opened dialog (`^[A-Za-z0-9_-]{8,64}$`). */
export function newSubmitKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
}
