/** The records of the REST contract (openapi.yaml), by their own names. */

import type { components } from './schema';

type Schemas = components['schemas'];

export type Text = Schemas['Text'];
export type FieldError = Schemas['FieldError'];
export type Failure = Schemas['Failure'];
export type Session = Schemas['Session'];
export type Site = Schemas['Site'];
export type Image = Schemas['Image'];
export type Profile = Schemas['Profile'];
export type Range = Schemas['Range'];
export type Parameter = Schemas['Parameter'];
export type RunRequest = Schemas['RunRequest'];
export type Finding = Schemas['Finding'];
export type Preview = Schemas['Preview'];
export type Resources = Schemas['Resources'];
export type Run = Schemas['Run'];
export type RunState = Run['state'];
export type LogPiece = Schemas['LogPiece'];
export type SlurmHealth = Schemas['SlurmHealth'];
export type Event = Schemas['Event'];
export type Environment = Schemas['Environment'];
export type EnvironmentList = Schemas['EnvironmentList'];
export type EnvironmentRequest = Schemas['EnvironmentRequest'];
export type EnvironmentJob = Schemas['EnvironmentJob'];

/** What `GET runs` answers. */
export interface RunList {
  runs: Run[];
  slurm?: SlurmHealth;
}

/** What this page wants to hear of; sent whole, each replaces the one before. */
export interface Follow {
  runs: boolean;
  logs: { id: string; offset: number }[];
}
