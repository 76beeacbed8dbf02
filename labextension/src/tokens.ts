import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';

import type { Client } from './api/client';
import type { ApiFailure } from './api/failure';
import type { StreamState } from './api/stream';
import type { LogPiece, Run, RunRequest, Site, SlurmHealth, Text } from './api/types';

/** The commands, for menus, shortcuts and other extensions. */
export namespace CommandIDs {
  /** Open the dialog. Arguments: `widget` (id of a notebook panel), or `path`, or `from: "file-browser"`. */
  export const promote = 'siflab:promote';
  export const showRuns = 'siflab:show-runs';
  /** These take `id`, a run's. */
  export const openResult = 'siflab:open-result';
  export const openSource = 'siflab:open-source';
  export const openFolder = 'siflab:open-folder';
  export const openLog = 'siflab:open-log';
  export const cancelRun = 'siflab:cancel-run';
  export const createEnvironment = 'siflab:create-environment';
  /** Takes `name`; without it, the first of those that were made for an earlier image. */
  export const rebuildEnvironment = 'siflab:rebuild-environment';
}

/** The id of the plugin whose schema holds all settings, menus and toolbar items. */
export const SETTINGS_PLUGIN = 'siflab:plugin';

/** Who receives a log that is followed. */
export interface LogFollower {
  receive: (piece: LogPiece) => void;
  /** The log cannot be read; it is tried on. */
  complain: (message: Text) => void;
}

/** What a page knows of the user's runs, without any view. */
export interface IRunsModel {
  /** Something below has changed. */
  readonly changed: ISignal<IRunsModel, void>;
  /** Newest first. */
  readonly runs: readonly Run[];
  /** The public part of site.yaml, once it was asked for. */
  readonly site: Site | null;
  /** Whether Slurm answers, as far as the server has said. */
  readonly slurm: SlurmHealth | null;
  /** Whether the runs have come at least once. */
  readonly isLoaded: boolean;
  /** Why the last whole list did not come. */
  readonly failure: ApiFailure | null;
  /** The last message of kind `error` on the event stream. */
  readonly complaint: Text | null;
  readonly streamState: StreamState;

  find(id: string): Run | undefined;
  /** Ask for the site. Throws `ApiFailure`. */
  loadSite(): Promise<Site>;
  /** Keep the runs live until the returned object is disposed. */
  watch(): IDisposable;
  /** Receive a log's growth from a byte offset until the returned object is disposed. One follower a run. */
  followLog(id: string, offset: number, to: LogFollower): IDisposable;
  /** Ask for the whole list again; a failure is left in `failure`. */
  refresh(): Promise<void>;
  /** Throws `ApiFailure`. */
  submit(request: RunRequest): Promise<Run>;
  /** Throws `ApiFailure`. */
  cancel(id: string): Promise<Run>;
}

export const IRunsModel = new Token<IRunsModel>(
  'siflab:IRunsModel',
  'The runs of the user on the Slurm cluster: their state, live.'
);

export type ISiflabClient = Client;

export const ISiflabClient = new Token<ISiflabClient>(
  'siflab:ISiflabClient',
  'The REST API of the siflab server extension.'
);
