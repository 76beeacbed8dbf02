import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { asFailure } from '../api/client';
import type { LogPiece } from '../api/types';
import type { Words } from '../i18n/words';
import type { IRunsModel, ISiflabClient } from '../tokens';
import { headOf } from './lines';
import { Screen } from './screen';

/** The most that the server sends in one piece, in bytes. */
const PIECE = 256 * 1024;

export interface LogViewOptions {
  id: string;
  client: ISiflabClient;
  model: IRunsModel;
  words: Words;
}

/** A run's log: the last piece at once, then what is printed, as it is printed. */
export class LogView extends Widget {
  constructor(private readonly options: LogViewOptions) {
    super();
    const { trans } = options.words;
    this.addClass('siflab-Log');
    this.node.dataset.siflab = 'log';
    this.node.dataset.siflabRun = options.id;
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'log');
    this.node.setAttribute('aria-live', 'off');
    this.node.setAttribute('aria-label', trans.__('Log'));
    this._notice = document.createElement('div');
    this._notice.className = 'siflab-Log-notice siflab-Muted';
    this.node.append(this._notice, this._screen.node);
    this.node.addEventListener('scroll', this._onScroll, { passive: true });
    this._say(trans.__('Asking the server for the log…'));
    // Blocks take their true height only when they are drawn: who follows stays at the end.
    this._heights = new ResizeObserver(() => this._scroll());
    this._heights.observe(this._screen.node);
  }

  /** Whether it follows, or what may be shown before it, has changed. */
  get changed(): ISignal<LogView, void> {
    return this._changed;
  }

  get isFollowing(): boolean {
    return this._isFollowing;
  }

  set isFollowing(value: boolean) {
    if (value !== this._isFollowing) {
      this._isFollowing = value;
      this._changed.emit();
    }
    this._scroll();
  }

  /** Whether something was printed before what is shown. */
  get hasEarlier(): boolean {
    return this._start > 0;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._following?.dispose();
      this._heights.disconnect();
      Signal.clearData(this);
      super.dispose();
    }
  }

  async load(): Promise<void> {
    this._following?.dispose();
    this._screen.clear();
    try {
      const piece = await this.options.client.getLog(this.options.id, -PIECE);
      if (this.isDisposed) {
        return;
      }
      this._start = piece.offset;
      this._end = piece.offset;
      this._receive({ ...piece, text: this._fromWholeLine(piece) });
      if (!piece.complete) {
        const { id, model } = this.options;
        this._following = model.followLog(id, this._end, {
          receive: next => this._receive(next),
          complain: message => this._say(this.options.words.say(message))
        });
      }
    } catch (error) {
      this._say(this.options.words.say(asFailure(error).text));
    }
    this._changed.emit();
  }

  /** Show the piece before what is shown. */
  async loadEarlier(): Promise<void> {
    if (!this.hasEarlier) {
      return;
    }
    const from = Math.max(0, this._start - PIECE);
    try {
      const piece = await this.options.client.getLog(this.options.id, from);
      const text = headOf(piece.text, this._start - piece.offset) + this._fragment;
      this._start = piece.offset;
      this.isFollowing = false;
      this._move(() => {
        const height = this.node.scrollHeight;
        this._screen.prepend(this._fromWholeLine({ ...piece, text }));
        // What was in view stays in view.
        this.node.scrollTop += this.node.scrollHeight - height;
      });
    } catch (error) {
      this._say(this.options.words.say(asFailure(error).text));
    }
    this._changed.emit();
  }

  protected override onActivateRequest(): void {
    this.node.focus();
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._scroll();
  }

  private _receive(piece: LogPiece): void {
    const { trans } = this.options.words;
    if (piece.offset < this._end) {
      // The log is shorter than it was: a further attempt writes a new one.
      this._screen.clear();
      this._start = piece.offset;
    }
    this._end = piece.next_offset;
    this._screen.append(piece.text);
    if (piece.complete) {
      this._following?.dispose();
      this._following = null;
    }
    if (piece.size > 0) {
      this._say('');
    } else if (piece.complete) {
      this._say(trans.__('The job printed nothing.'));
    } else {
      this._say(trans.__('Nothing printed yet. What the job prints appears here by itself.'));
    }
    this._scroll();
  }

  private _say(text: string): void {
    this._notice.textContent = text;
    this._notice.hidden = text === '';
  }

  private _scroll(): void {
    if (this._isFollowing && this.isVisible) {
      this._move(() => {
        this.node.scrollTop = this.node.scrollHeight;
      });
    }
  }

  /** A piece that begins within a line is shown from the next line on; the rest waits for the piece before it. */
  private _fromWholeLine(piece: { text: string; offset: number }): string {
    const end = piece.offset > 0 ? piece.text.indexOf('\n') + 1 : 0;
    this._fragment = piece.text.slice(0, end);
    return piece.text.slice(end);
  }

  /** Scroll without taking it for a person's wish. */
  private _move(scroll: () => void): void {
    this._moves += 1;
    scroll();
    // The scroll event comes with the next frame.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        this._moves -= 1;
        this._lastTop = this.node.scrollTop;
      })
    );
  }

  /** Who scrolls up reads; who scrolls to the end wants to follow. */
  private readonly _onScroll = (): void => {
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    const atEnd = scrollHeight - scrollTop - clientHeight < 4;
    const movedUp = scrollTop < this._lastTop;
    this._lastTop = scrollTop;
    if (this._moves === 0 && (this._isFollowing ? movedUp && !atEnd : !movedUp && atEnd)) {
      this._isFollowing = !this._isFollowing;
      this._changed.emit();
    }
  };

  private readonly _changed = new Signal<this, void>(this);
  private readonly _screen = new Screen();
  private readonly _notice: HTMLDivElement;
  private readonly _heights: ResizeObserver;
  private _following: IDisposable | null = null;
  private _isFollowing = true;
  private _start = 0;
  private _end = 0;
  private _lastTop = 0;
  private _moves = 0;
  /** The beginning of the shown output that belongs to a line of the piece before. */
  private _fragment = '';
}
