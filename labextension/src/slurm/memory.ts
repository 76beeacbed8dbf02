/**
 * Slurm's notation of memory: a number with K, M, G or T; MiB without a letter (man sbatch, --mem).
 *
 * The same as `siflab.slurm.memory`; here only so that a person sees at once what was typed. The server decides.
 */

const MIB: Record<string, number> = { K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024 };

/** MiB, or null when the text is no such size. */
export function parseMemory(text: string): number | null {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*$/i.exec(text);
  if (!match) {
    return null;
  }
  return Math.ceil(Number(match[1]) * MIB[match[2].toUpperCase() || 'M']);
}

/** `16G`, `1500M`: the largest unit that shows it whole. */
export function formatMemory(mib: number): string {
  if (mib > 0 && mib % MIB.T === 0) {
    return `${mib / MIB.T}T`;
  }
  return mib > 0 && mib % MIB.G === 0 ? `${mib / MIB.G}G` : `${mib}M`;
}
