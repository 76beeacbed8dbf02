import type { IDisposable } from '@lumino/disposable';
import { DisposableDelegate } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { asFailure } from '../api/client';
import type { Client } from '../api/client';
import type { ApiFailure } from '../api/failure';
import { EventStream } from '../api/stream';
import type { StreamState } from '../api/stream';
import type { Event, Follow, Run, RunRequest, Site, SlurmHealth, Text } from '../api/types';
import type { IRunsModel, LogFollower } from '../tokens';
import { NO_RUNS, reconnected, withList, withoutRun, withRuns } from './list';

interface Follower extends LogFollower {
  offset: number;
}

/** What a page knows of the user's runs. It listens to the server only while somebody looks. */
export class RunsModel implements IRunsModel {
  constructor(private readonly client: Client) {
    this._stream = new EventStream({
      url: () => client.eventsUrl(),
      WebSocket: client.settings.WebSocket,
      follow: () => this._follow(),
      onEvent: event => this._onEvent(event),
      onState: state => this._onStreamState(state)
    });
  }

  get changed(): ISignal<IRunsModel, void> {
    return this._changed;
  }

  get runs(): readonly Run[] {
    this._takeArrived();
    return this._runs.items;
  }

  get site(): Site | null {
    return this._site;
  }

  get slurm(): SlurmHealth | null {
    return this._slurm;
  }

  get isLoaded(): boolean {
    return this._isLoaded;
  }

  get failure(): ApiFailure | null {
    return this._failure;
  }

  get complaint(): Text | null {
    return this._complaint;
  }

  get streamState(): StreamState {
    return this._stream.state;
  }

  find(id: string): Run | undefined {
    return this.runs.find(run => run.id === id);
  }

  async loadSite(): Promise<Site> {
    // Asked once for all who ask at the same time; a failure is not kept.
    this._siteRequest ??= this.client.getSite().finally(() => {
      this._siteRequest = null;
    });
    this._site = await this._siteRequest;
    this._changed.emit();
    return this._site;
  }

  watch(): IDisposable {
    this._watchers += 1;
    this._listen();
    return new DisposableDelegate(() => {
      this._watchers -= 1;
      this._listen();
    });
  }

  followLog(id: string, offset: number, to: LogFollower): IDisposable {
    const follower = { ...to, offset };
    this._followers.set(id, follower);
    this._listen();
    return new DisposableDelegate(() => {
      if (this._followers.get(id) === follower) {
        this._followers.delete(id);
        this._listen();
      }
    });
  }

  async refresh(): Promise<void> {
    try {
      const [list] = await Promise.all([this.client.listRuns(), this.loadSite()]);
      this._takeArrived();
      this._runs = withList(this._runs, list.runs);
      this._slurm = list.slurm ?? this._slurm;
      this._isLoaded = true;
      this._failure = null;
    } catch (error) {
      this._failure = asFailure(error);
    }
    this._changed.emit();
  }

  async submit(request: RunRequest): Promise<Run> {
    return this._take(await this.client.createRun(request));
  }

  async cancel(id: string): Promise<Run> {
    return this._take(await this.client.cancelRun(id));
  }

  private _take(run: Run): Run {
    this._arrived.push(run);
    this._changed.emit();
    return run;
  }

  private _follow(): Follow {
    return {
      runs: this._watchers > 0,
      logs: Array.from(this._followers, ([id, { offset }]) => ({ id, offset }))
    };
  }

  private _listen(): void {
    if (this._watchers === 0 && this._followers.size === 0) {
      this._stream.close();
      return;
    }
    this._stream.open();
    this._stream.refollow();
  }

  private _onStreamState(state: StreamState): void {
    if (state === 'connecting') {
      this._takeArrived();
      this._runs = reconnected(this._runs);
      // The list also tells what the stream cannot: why it does not come up, and which runs are gone.
      void this.refresh();
    }
    this._changed.emit();
  }

  private _onEvent(event: Event): void {
    switch (event.type) {
      case 'run':
        if (event.run) {
          this._arrived.push(event.run);
        }
        break;
      case 'removed':
        if (event.id) {
          this._takeArrived();
          this._runs = withoutRun(this._runs, event.id);
        }
        break;
      case 'slurm':
        this._slurm = event.slurm ?? null;
        // The contract: it also says that an error in listing the runs is over.
        this._complaint = null;
        break;
      case 'error':
        if (event.id) {
          // The panel follows logs only; what else a page follows is not its own.
          if (event.of === 'metrics') {
            return;
          }
          this._followers.get(event.id)?.complain(event.message ?? { en: '', zh: '' });
          return;
        }
        this._complaint = event.message ?? null;
        break;
      case 'log':
        this._onLog(event);
        return;
    }
    this._emitSoon();
  }

  private _onLog(event: Event): void {
    const follower = event.id ? this._followers.get(event.id) : undefined;
    if (follower && event.log) {
      follower.offset = event.log.next_offset;
      follower.receive(event.log);
    }
  }

  private _takeArrived(): void {
    if (this._arrived.length > 0) {
      this._runs = withRuns(this._runs, this._arrived);
      this._arrived = [];
    }
  }

  /** The first events after connecting are all runs at once: they make one change, not a thousand. */
  private _emitSoon(): void {
    if (this._emitTimer === 0) {
      this._emitTimer = window.setTimeout(() => {
        this._emitTimer = 0;
        this._changed.emit();
      }, 30);
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _stream: EventStream;
  private readonly _followers = new Map<string, Follower>();
  private _runs = NO_RUNS;
  /** What the stream has told since the list was last looked at. */
  private _arrived: Run[] = [];
  private _site: Site | null = null;
  private _siteRequest: Promise<Site> | null = null;
  private _slurm: SlurmHealth | null = null;
  private _failure: ApiFailure | null = null;
  private _complaint: Text | null = null;
  private _isLoaded = false;
  private _watchers = 0;
  private _emitTimer = 0;
}
