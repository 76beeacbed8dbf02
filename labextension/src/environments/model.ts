import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Client } from '../api/client';
import { asFailure } from '../api/client';
import type { ApiFailure } from '../api/failure';
import type {
  Environment,
  EnvironmentJob,
  EnvironmentList,
  EnvironmentRequest
} from '../api/types';

/** How long between two looks at work that runs, and after one that failed, in milliseconds. */
const PACE = 1000;
const FAILING_PACE = 5000;

export type EnvironmentsClient = Pick<
  Client,
  'listEnvironments' | 'changeEnvironment' | 'getEnvironmentJob' | 'stopEnvironmentJob'
>;

/** The person's own environments, and the work on one of them. No view; it goes on when a dialog is closed. */
export class EnvironmentsModel {
  constructor(private readonly client: EnvironmentsClient) {}

  get changed(): ISignal<EnvironmentsModel, void> {
    return this._changed;
  }
  /** Work that was begun or taken up here has ended. */
  get ended(): ISignal<EnvironmentsModel, EnvironmentJob> {
    return this._ended;
  }
  get list(): EnvironmentList | null {
    return this._list;
  }
  get job(): EnvironmentJob | null {
    return this._job;
  }
  /** Why the list, or the last request, did not succeed. */
  get failure(): ApiFailure | null {
    return this._failure;
  }
  get isBusy(): boolean {
    return this._isBeginning || this._job?.state === 'running';
  }
  /** Those that there are, but not for this session's image: one a name. */
  get outdated(): Environment[] {
    const all = this._list?.environments ?? [];
    const good = new Set(all.filter(each => each.state !== 'earlier').map(each => each.name));
    const found = new Map<string, Environment>();
    for (const each of all) {
      if (each.state === 'lost' || (each.state === 'earlier' && !good.has(each.name))) {
        found.set(each.name, found.get(each.name) ?? each);
      }
    }
    return [...found.values()];
  }

  /** Ask for the list; work that runs already (begun by another page) is taken up. */
  async load(): Promise<void> {
    try {
      this._list = await this.client.listEnvironments();
      this._failure = null;
      if (this._list.job?.state === 'running' && !this.isBusy) {
        this._job = this._list.job;
        this._lookLater(PACE);
      }
    } catch (error) {
      this._failure = asFailure(error);
    }
    this._changed.emit();
  }

  /** True when the work has begun; else `failure` says why not. */
  async begin(request: EnvironmentRequest): Promise<boolean> {
    if (this.isBusy) {
      return false;
    }
    this._isBeginning = true;
    this._failure = null;
    this._job = null;
    this._changed.emit();
    try {
      this._job = await this.client.changeEnvironment(request);
      this._lookLater(PACE);
    } catch (error) {
      this._failure = asFailure(error);
    }
    this._isBeginning = false;
    this._changed.emit();
    return this._job !== null;
  }

  /** Stop the work; that it has ended is seen at the next look. */
  async stop(): Promise<void> {
    try {
      await this.client.stopEnvironmentJob();
    } catch (error) {
      this._failure = asFailure(error);
      this._changed.emit();
    }
  }

  /** A new dialog shows nothing of the one before. */
  forget(): void {
    if (!this.isBusy) {
      this._job = null;
      this._failure = null;
    }
  }

  private _lookLater(delay: number): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this._look(), delay);
  }

  private async _look(): Promise<void> {
    try {
      const { job } = await this.client.getEnvironmentJob();
      this._failure = null;
      // None: the server was started anew meanwhile, and the work ended with the one before.
      this._job = job ?? (this._job && { ...this._job, state: 'stopped' });
    } catch (error) {
      this._failure = asFailure(error);
      this._changed.emit();
      this._lookLater(FAILING_PACE);
      return;
    }
    if (this._job?.state === 'running') {
      this._lookLater(PACE);
      this._changed.emit();
      return;
    }
    const job = this._job;
    await this.load();
    if (job) {
      this._ended.emit(job);
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _ended = new Signal<this, EnvironmentJob>(this);
  private _list: EnvironmentList | null = null;
  private _job: EnvironmentJob | null = null;
  private _failure: ApiFailure | null = null;
  private _isBeginning = false;
  private _timer = 0;
}
