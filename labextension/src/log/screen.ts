import { AnsiUp } from 'ansi_up';

import { LINE_LIMIT, LineCutter } from './lines';

/** So many lines stand in one block; the browser lays out only the blocks that are in view. */
const BLOCK = 250;

/** Output as a terminal shows it, in a `<pre>`: colours, carriage returns, growing at its end. */
export class Screen {
  constructor() {
    this.node = document.createElement('pre');
    this.node.className = 'siflab-Log-screen';
    this._ansi = newAnsi();
    this._open = document.createElement('div');
    this._open.className = 'siflab-Log-open';
    this.node.append(this._open);
  }

  readonly node: HTMLPreElement;

  get lineCount(): number {
    return this._lines;
  }

  append(text: string): void {
    const { finished, open } = this._cutter.append(text);
    for (let from = 0; from < finished.length;) {
      from += this._write(finished.slice(from, from + BLOCK));
    }
    // The open line is drawn with a copy of no state: it is drawn again when it is finished.
    this._open.innerHTML = open ? newAnsi().ansi_to_html(open) : '';
    this._dropOldest();
  }

  /** Put text that was printed before what stands here in front of it. */
  prepend(text: string): void {
    const ansi = newAnsi();
    const block = newBlock();
    const { finished, open } = new LineCutter().append(text);
    const lines = open === '' ? finished : [...finished, open];
    block.innerHTML = lines.map(line => `${ansi.ansi_to_html(line)}\n`).join('');
    setLines(block, lines.length);
    this._lines += lines.length;
    this.node.prepend(block);
  }

  clear(): void {
    this._cutter.reset();
    this._ansi = newAnsi();
    this._block = null;
    this._lines = 0;
    this._open.innerHTML = '';
    this.node.replaceChildren(this._open);
  }

  /** Write as many of the lines as fit into the last block, and say how many. */
  private _write(lines: readonly string[]): number {
    if (!this._block || Number(this._block.dataset.lines) >= BLOCK) {
      this._block = newBlock();
      this.node.insertBefore(this._block, this._open);
    }
    const written = Number(this._block.dataset.lines);
    const fitting = lines.slice(0, BLOCK - written);
    const html = fitting.map(line => `${this._ansi.ansi_to_html(line)}\n`);
    this._block.insertAdjacentHTML('beforeend', html.join(''));
    setLines(this._block, written + fitting.length);
    this._lines += fitting.length;
    return fitting.length;
  }

  private _dropOldest(): void {
    while (this._lines > LINE_LIMIT && this.node.children.length > 2) {
      const oldest = this.node.firstElementChild as HTMLElement;
      this._lines -= Number(oldest.dataset.lines);
      oldest.remove();
    }
  }

  private readonly _cutter = new LineCutter();
  private readonly _open: HTMLDivElement;
  private _ansi: AnsiUp;
  private _block: HTMLDivElement | null = null;
  private _lines = 0;
}

/** ansi_up escapes all HTML in the text; colours become classes, which follow the theme. */
function newAnsi(): AnsiUp {
  const ansi = new AnsiUp();
  ansi.use_classes = true;
  ansi.url_allowlist = {};
  return ansi;
}

function newBlock(): HTMLDivElement {
  const block = document.createElement('div');
  block.className = 'siflab-Log-block';
  setLines(block, 0);
  return block;
}

function setLines(block: HTMLElement, lines: number): void {
  block.dataset.lines = String(lines);
  block.style.setProperty('--siflab-lines', String(lines));
}
