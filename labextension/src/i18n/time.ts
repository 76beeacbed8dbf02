import type { Words } from './words';

/** A moment as a person says it: only the time on the same day, else with the date. */
export function moment(iso: string, words: Words, now: Date = new Date()): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) {
    return iso;
  }
  const sameDay = date.toDateString() === now.toDateString();
  const sameYear = date.getFullYear() === now.getFullYear();
  return new Intl.DateTimeFormat(words.locale, {
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
    ...(sameDay ? {} : { month: 'short', day: 'numeric' }),
    ...(sameYear ? {} : { year: 'numeric' })
  }).format(date);
}

/** Seconds between two moments; the second defaults to now. Never negative. */
export function secondsBetween(from: string, to: string | null | undefined, now: Date): number {
  const end = to ? new Date(to) : now;
  return Math.max(0, Math.round((end.getTime() - new Date(from).getTime()) / 1000));
}

/** A length of time in words: `45 s`, `12 min`, `2 h 5 min`, `1 d 3 h`. */
export function duration(seconds: number, words: Words): string {
  const { trans } = words;
  const whole = Math.round(seconds);
  if (whole < 60) {
    return trans.__('%1 s', whole);
  }
  if (whole < 3600) {
    return trans.__('%1 min', Math.round(whole / 60));
  }
  const hours = Math.floor(whole / 3600);
  if (hours < 24) {
    const minutes = Math.floor((whole % 3600) / 60);
    return minutes ? trans.__('%1 h %2 min', hours, minutes) : trans.__('%1 h', hours);
  }
  const days = Math.floor(hours / 24);
  return hours % 24 ? trans.__('%1 d %2 h', days, hours % 24) : trans.__('%1 d', days);
}

/** A number with at most two decimals, in the locale's form. */
export function figure(value: number, words: Words): string {
  return new Intl.NumberFormat(words.locale, { maximumFractionDigits: 2 }).format(value);
}
