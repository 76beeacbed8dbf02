/** The most lines that are kept; beyond it the oldest go, and are said to have gone. */
export const LINE_LIMIT = 20000;

/** What a piece of output adds: lines that are finished, and the line that is still being written. */
export interface Growth {
  finished: string[];
  open: string;
}

/**
 * Cuts output into lines as a terminal would show them.
 *
 * A carriage return starts its line anew (progress bars redraw themselves so). Escape sequences are left in place.
 */
export class LineCutter {
  append(text: string): Growth {
    const parts = (this._rest + text).split('\n');
    this._rest = parts.pop() ?? '';
    return { finished: parts.map(overwritten), open: overwritten(this._rest) };
  }

  reset(): void {
    this._rest = '';
  }

  private _rest = '';
}

/** What remains of a line after its carriage returns: the last text written from its start. */
function overwritten(line: string): string {
  if (!line.includes('\r')) {
    return line;
  }
  const written = line.split('\r').filter(part => part !== '');
  return written[written.length - 1] ?? '';
}

/** The first `bytes` bytes of a text in UTF-8; a character that is cut in two is left out. */
export function headOf(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) {
    return text;
  }
  let end = Math.max(0, bytes);
  // A byte 10xxxxxx continues a character: go back to its start.
  while (end > 0 && (encoded[end] & 0xc0) === 0x80) {
    end -= 1;
  }
  return new TextDecoder().decode(encoded.subarray(0, end));
}
