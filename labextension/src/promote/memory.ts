import type { IStateDB } from '@jupyterlab/statedb';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { FIELD_NAMES } from './fields';
import type { Values } from './fields';
import type { Form } from './form';

/** Where Lab's state database keeps the last choice of the dialog. */
const KEY = 'siflab:last-promotion';

export async function rememberForm(state: IStateDB | null, form: Form): Promise<void> {
  await state?.save(KEY, { profile: form.profile, values: form.values });
}

export async function recallForm(state: IStateDB | null): Promise<Form | null> {
  return formOf(await state?.fetch(KEY));
}

/** A form from what was stored, which may be of another version or damaged. */
export function formOf(stored: unknown): Form | null {
  const form = stored as ReadonlyPartialJSONObject | null | undefined;
  if (typeof form !== 'object' || form === null || typeof form.profile !== 'string') {
    return null;
  }
  const values: Values = {};
  const typed = form.values as ReadonlyPartialJSONObject | undefined;
  for (const name of FIELD_NAMES) {
    const value = typed?.[name];
    if (typeof value === 'string') {
      values[name] = value;
    }
  }
  return { profile: form.profile, values, name: '' };
}
