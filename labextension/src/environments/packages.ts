/**
 * The packages in what a person typed: one a line, or several with blanks between them. A blank beside an operator
 * belongs to its package, as in `torch >= 2.7`.
 */
export function packagesOf(typed: string): string[] {
  return typed
    .split('\n')
    .map(line => line.replace(/(^|\s)#.*$/, '').trim())
    .flatMap(line =>
      line.includes(';') || line.includes(' @ ')
        ? [line]
        : line.replace(/\s*([<>=!~]=?|===|,)\s*/g, '$1').split(/\s+/)
    )
    .filter(each => each !== '');
}

/** What is wrong with a name, as the server has it; empty while nothing is typed yet. */
export function isGoodName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,30}$/.test(name);
}
