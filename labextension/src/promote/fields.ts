import type { Image, Profile, Range } from '../api/types';
import { formatMemory, parseMemory } from '../slurm/memory';
import { formatTime, parseTime } from '../slurm/time';

/** The fields that a profile may let a person choose, in the order in which they are shown. */
export const FIELD_NAMES = ['nodes', 'gpus', 'cpus', 'memory', 'time', 'image'] as const;

export type FieldName = (typeof FIELD_NAMES)[number];

/** What is typed into a field: always the text as it stands there. */
export type Values = Partial<Record<FieldName, string>>;

/** One field of the dialog, made from a profile. */
export interface Field {
  name: FieldName;
  /** `choice`: one of `choices`; else a number or Slurm's notation is typed. */
  kind: 'choice' | 'integer' | 'memory' | 'time';
  /** The profile's value. */
  preset: string;
  choices: readonly string[];
  /** Limits in the field's unit (a count, MiB, seconds), where there are any. */
  min: number | null;
  max: number | null;
}

/** What is wrong with a value, before the server is asked. */
export type Problem =
  | { code: 'empty' | 'not-an-integer' | 'not-memory' | 'not-time' | 'not-a-choice' | 'open-quote' }
  | { code: 'too-small' | 'too-large'; limit: string };

/** Up to this many whole numbers are offered as a list; more are typed. */
const LISTED = 16;

/** The fields that a profile allows to be chosen; those it does not name are fixed. */
export function fieldsOf(profile: Profile, images: readonly Image[]): Field[] {
  const fields: Field[] = [];
  for (const name of FIELD_NAMES) {
    const range = profile.allow[name];
    const field = range ? fieldOf(name, range, profile, images) : null;
    // A field with one choice is no choice.
    if (field && !(field.kind === 'choice' && field.choices.length < 2)) {
      fields.push(field);
    }
  }
  return fields;
}

function fieldOf(name: FieldName, range: Range, profile: Profile, images: readonly Image[]): Field {
  const preset = String(profile[name]);
  const kind =
    name === 'memory' || name === 'time' ? name : name === 'image' ? 'choice' : 'integer';
  const min = limitOf(kind, range.min);
  const max = limitOf(kind, range.max);
  let choices = (range.choices ?? []).map(choice => String(choice));
  if (name === 'image' && choices.length === 0) {
    choices = images.map(image => image.id);
  } else if (kind === 'integer' && choices.length === 0 && max !== null) {
    const from = min ?? (name === 'gpus' ? 0 : 1);
    if (max - from < LISTED && name !== 'cpus') {
      choices = Array.from({ length: max - from + 1 }, (_, i) => String(from + i));
    }
  }
  if (choices.length > 0) {
    // The preset is always a choice, and stands where its size puts it.
    if (!choices.includes(preset)) {
      choices.unshift(preset);
    }
    return { name, kind: 'choice', preset, choices, min: null, max: null };
  }
  return { name, kind, preset, choices: [], min, max };
}

/** A limit in the field's unit. Numbers stand for counts, MiB or seconds; texts are Slurm's notation. */
function limitOf(kind: Field['kind'], limit: number | string | undefined): number | null {
  if (limit === undefined || limit === null) {
    return null;
  }
  if (typeof limit === 'number') {
    return limit;
  }
  return measure(kind, limit);
}

/** A typed value in the field's unit, or null when it is none. */
export function measure(kind: Field['kind'], value: string): number | null {
  switch (kind) {
    case 'memory':
      return parseMemory(value);
    case 'time':
      return parseTime(value);
    default:
      return /^\s*\d+\s*$/.test(value) ? Number(value) : null;
  }
}

/** A limit as a person reads it: `4`, `64G`, `8:00:00`. */
export function showLimit(kind: Field['kind'], limit: number): string {
  switch (kind) {
    case 'memory':
      return formatMemory(limit);
    case 'time':
      return formatTime(limit);
    default:
      return String(limit);
  }
}

/** What is wrong with a value, or null. */
export function check(field: Field, value: string): Problem | null {
  if (value.trim() === '') {
    return { code: 'empty' };
  }
  if (field.kind === 'choice') {
    return field.choices.includes(value) ? null : { code: 'not-a-choice' };
  }
  const size = measure(field.kind, value);
  if (size === null) {
    return { code: field.kind === 'integer' ? 'not-an-integer' : (`not-${field.kind}` as const) };
  }
  if (field.min !== null && size < field.min) {
    return { code: 'too-small', limit: showLimit(field.kind, field.min) };
  }
  if (field.max !== null && size > field.max) {
    return { code: 'too-large', limit: showLimit(field.kind, field.max) };
  }
  return null;
}
