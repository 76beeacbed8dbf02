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
  const errors = refusal.errors.filter(error => error.field !== field);
  return errors.length > 0 ? { failure: refusal.failure, errors } : null;
}
