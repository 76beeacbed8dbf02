/** A WebSocket whose other end is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static opened: FakeSocket[] = [];

  static get last(): FakeSocket {
    return FakeSocket.opened[FakeSocket.opened.length - 1];
  }

  constructor(readonly url: string) {
    FakeSocket.opened.push(this);
  }

  readyState = 0;
  sent: unknown[] = [];
  isClosed = false;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }

  close(): void {
    this.isClosed = true;
  }

  /** The server accepts. */
  accept(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  /** The server says something. */
  say(event: object): void {
    this.onmessage?.({ data: JSON.stringify(event) });
  }

  /** The connection breaks. */
  break(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

/** The page is hidden, or shown again. */
export function hidePage(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new window.Event('visibilitychange'));
}
