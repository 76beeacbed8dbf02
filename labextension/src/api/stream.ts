import type { Event, Follow } from './types';

/** How the stream fares: `paused` because the page is hidden, `waiting` for the next attempt to connect. */
export type StreamState = 'closed' | 'connecting' | 'live' | 'waiting' | 'paused';

export interface StreamOptions {
  url: () => string;
  WebSocket: typeof WebSocket;
  /** What to follow; asked again on every connection and on `refollow()`. */
  follow: () => Follow;
  onEvent: (event: Event) => void;
  onState: (state: StreamState) => void;
}

/** Back-off between attempts to connect, in milliseconds: doubles from the first to the last. */
const FIRST_DELAY = 1000;
const LAST_DELAY = 30000;

/** The server sends something at least every 25 s; after this silence the connection counts as dead. */
const SILENCE = 60000;

/** A page hidden for this long stops listening; a short look at another tab costs nothing. */
const HIDDEN_GRACE = 20000;

/** The one event stream of a page: reconnects with back-off, and is quiet while the page is hidden. */
export class EventStream {
  constructor(private readonly options: StreamOptions) {}

  get state(): StreamState {
    return this._state;
  }

  /** Connect, and stay connected until `close()`. */
  open(): void {
    if (this._wanted) {
      return;
    }
    this._wanted = true;
    document.addEventListener('visibilitychange', this._onVisibility);
    window.addEventListener('online', this._retryNow);
    if (document.hidden) {
      this._setState('paused');
    } else {
      this._connect();
    }
  }

  close(): void {
    if (!this._wanted) {
      return;
    }
    this._wanted = false;
    document.removeEventListener('visibilitychange', this._onVisibility);
    window.removeEventListener('online', this._retryNow);
    this._drop();
    this._setState('closed');
  }

  /** Send what is to be followed again, because it changed. */
  refollow(): void {
    if (this._socket?.readyState === this.options.WebSocket.OPEN) {
      this._socket.send(JSON.stringify({ follow: this.options.follow() }));
    }
  }

  private _connect(): void {
    this._drop();
    this._setState('connecting');
    const socket = new this.options.WebSocket(this.options.url());
    this._socket = socket;
    socket.onopen = () => {
      this._watch();
      this._setState('live');
      this.refollow();
    };
    socket.onmessage = message => {
      this._attempts = 0;
      this._watch();
      const event = parseEvent(message.data);
      if (event && event.type !== 'ping') {
        this.options.onEvent(event);
      }
    };
    socket.onclose = () => this._lost(socket);
  }

  private _lost(socket: WebSocket): void {
    if (socket !== this._socket) {
      return;
    }
    this._drop();
    const delay = Math.min(FIRST_DELAY * 2 ** this._attempts, LAST_DELAY);
    this._attempts += 1;
    // Up to a quarter is left to chance, so that a server that comes back is not met by all pages at once.
    this._retryTimer = window.setTimeout(this._retryNow, delay * (0.75 + Math.random() / 4));
    this._setState('waiting');
  }

  private readonly _retryNow = (): void => {
    if (this._wanted && this._state === 'waiting') {
      this._connect();
    }
  };

  private readonly _onVisibility = (): void => {
    window.clearTimeout(this._hiddenTimer);
    if (document.hidden) {
      this._hiddenTimer = window.setTimeout(() => {
        this._drop();
        this._setState('paused');
      }, HIDDEN_GRACE);
    } else if (this._state === 'paused' || this._state === 'waiting') {
      this._attempts = 0;
      this._connect();
    }
  };

  /** Restart the watch that ends a silent connection. */
  private _watch(): void {
    window.clearTimeout(this._silenceTimer);
    const socket = this._socket;
    this._silenceTimer = window.setTimeout(() => {
      if (socket && socket === this._socket) {
        this._lost(socket);
      }
    }, SILENCE);
  }

  /** Leave the present connection and every timer. */
  private _drop(): void {
    window.clearTimeout(this._retryTimer);
    window.clearTimeout(this._silenceTimer);
    window.clearTimeout(this._hiddenTimer);
    const socket = this._socket;
    this._socket = null;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  private _setState(state: StreamState): void {
    if (state !== this._state) {
      this._state = state;
      this.options.onState(state);
    }
  }

  private _socket: WebSocket | null = null;
  private _state: StreamState = 'closed';
  private _wanted = false;
  private _attempts = 0;
  private _retryTimer = 0;
  private _silenceTimer = 0;
  private _hiddenTimer = 0;
}

/** A message of the stream, or null when it is none. */
export function parseEvent(data: unknown): Event | null {
  try {
    const event = JSON.parse(String(data)) as Event | null;
    return event !== null && typeof event === 'object' && typeof event.type === 'string'
      ? event
      : null;
  } catch {
    return null;
  }
}
