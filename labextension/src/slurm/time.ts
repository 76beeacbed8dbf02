/**
 * Slurm's notation of time limits: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S` (man sbatch, --time).
 *
 * The same as `siflab.slurm.time`; here only so that a person sees at once what was typed. The server decides.
 */

/** Seconds, or null when the text is no such time. */
export function parseTime(text: string): number | null {
  const match = /^\s*(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?\s*$/.exec(text);
  if (!match) {
    return null;
  }
  const [a, b, c] = [match[2], match[3], match[4]].map(part => (part ? Number(part) : 0));
  if (match[1] !== undefined) {
    return ((Number(match[1]) * 24 + a) * 60 + b) * 60 + c;
  }
  if (match[3] === undefined) {
    return a * 60;
  }
  return match[4] === undefined ? a * 60 + b : (a * 60 + b) * 60 + c;
}

/** `2:00:00`, `1-00:00:00`. */
export function formatTime(seconds: number): string {
  const two = (part: number) => String(part).padStart(2, '0');
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor((seconds % 86400) / 3600);
  const rest = `${two(Math.floor((seconds % 3600) / 60))}:${two(Math.floor(seconds % 60))}`;
  return days > 0 ? `${days}-${two(hours)}:${rest}` : `${hours}:${rest}`;
}
