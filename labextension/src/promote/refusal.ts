import { asFailure } from '../api/client';
import type { ApiFailure } from '../api/failure';
import type { FieldError } from '../api/types';

/** Why the server did not take a request, and what is left of it while a person mends the fields. */
export interface Refusal {
  readonly failure: ApiFailure;
  readonly errors: readonly FieldError[];
}

export function refusalOf(error: unknown): Refusal {
  const failure = asFailure(error);
  return { failure, errors: failure.errors };
}

/** A refusal after a field was changed: its errors are gone, and with the last of them the refusal. */
export function withoutField(refusal: Refusal | null, field: string): Refusal | null {
  if (!refusal || refusal.failure.errors.length === 0) {
    return refusal;
  }
  const errors = refusal.errors.filter(error => !isAt(error, field));
  return errors.length > 0 ? { failure: refusal.failure, errors } : null;
}

/** Whether an error is about a field; a parameter is named alone, whichever part of the request holds it. */
export function isAt(error: FieldError, field: string): boolean {
  const parts = error.field.split('.');
  if (field === 'table') {
    return parts[0] === 'sweep' && !['grid', 'at_once'].includes(parts[1] ?? '');
  }
  return (
    error.field === field ||
    (parts[0] === 'parameters' && parts[1] === field) ||
    (parts[0] === 'sweep' && parts[1] === 'grid' && parts[2] === field)
  );
}
