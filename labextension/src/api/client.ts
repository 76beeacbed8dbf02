import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { ApiFailure, failureOfNetwork, failureOfResponse } from './failure';
import type {
  EnvironmentJob,
  EnvironmentList,
  EnvironmentRequest,
  Finding,
  LogPiece,
  Parameter,
  Preview,
  Run,
  RunList,
  RunRequest,
  Session,
  Site
} from './types';

/** The folder of Siflab's routes, relative to the server's base URL. */
const NAMESPACE = 'siflab';

/** Siflab's REST API, one method an operation. Every method throws `ApiFailure`. */
export class Client {
  constructor(readonly settings: ServerConnection.ISettings) {}

  getSite(): Promise<Site> {
    return this.request('GET', ['site']);
  }

  getSession(): Promise<Session> {
    return this.request('GET', ['session']);
  }

  /** The parameters of a notebook, by its path below the server's root. */
  async getParameters(path: string): Promise<Parameter[]> {
    const query = `?path=${encodeURIComponent(path)}`;
    const answer = await this.request<{ parameters: Parameter[] }>('GET', ['parameters'], {
      query
    });
    return answer.parameters;
  }

  async preflight(request: RunRequest, signal?: AbortSignal): Promise<Finding[]> {
    const answer = await this.request<{ findings: Finding[] }>('POST', ['preflight'], {
      body: request,
      signal
    });
    return answer.findings;
  }

  preview(request: RunRequest, signal?: AbortSignal): Promise<Preview> {
    return this.request('POST', ['preview'], { body: request, signal });
  }

  listRuns(): Promise<RunList> {
    return this.request('GET', ['runs']);
  }

  createRun(request: RunRequest): Promise<Run> {
    return this.request('POST', ['runs'], { body: request });
  }

  getRun(id: string): Promise<Run> {
    return this.request('GET', ['runs', id]);
  }

  cancelRun(id: string): Promise<Run> {
    return this.request('POST', ['runs', id, 'cancel']);
  }

  /** A piece of a run's log from a byte offset; a negative offset counts from the end. */
  getLog(id: string, offset: number): Promise<LogPiece> {
    return this.request('GET', ['runs', id, 'log'], { query: `?offset=${offset}` });
  }

  listEnvironments(): Promise<EnvironmentList> {
    return this.request('GET', ['environments']);
  }

  /** Begin to make, change, rebuild or remove an environment. */
  changeEnvironment(request: EnvironmentRequest): Promise<EnvironmentJob> {
    return this.request('POST', ['environments'], { body: request });
  }

  getEnvironmentJob(): Promise<{ job: EnvironmentJob | null }> {
    return this.request('GET', ['environments', 'job']);
  }

  stopEnvironmentJob(): Promise<EnvironmentJob> {
    return this.request('POST', ['environments', 'job', 'stop']);
  }

  /** The address of the event stream. The token is in it only where Lab itself puts it there. */
  eventsUrl(): string {
    const { wsUrl, token, appendToken } = this.settings;
    const url = URLExt.join(wsUrl, NAMESPACE, 'events');
    return appendToken && token ? `${url}?token=${encodeURIComponent(token)}` : url;
  }

  private async request<T>(
    method: string,
    path: string[],
    { body = {}, query = '', signal }: { body?: object; query?: string; signal?: AbortSignal } = {}
  ): Promise<T> {
    const init: RequestInit = { method, signal };
    if (method === 'POST') {
      init.body = JSON.stringify(body);
    }
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(
        URLExt.join(this.settings.baseUrl, NAMESPACE, ...path) + query,
        init,
        this.settings
      );
    } catch (error) {
      if (signal?.aborted) {
        throw error;
      }
      throw failureOfNetwork();
    }
    const answer = await readJson(response);
    if (!response.ok) {
      throw failureOfResponse(response.status, answer);
    }
    return answer as T;
  }
}

/** The body of an answer, or null when it is no JSON (a proxy's page, for example). */
async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

/** Any error as the failure that a person is shown. */
export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) {
    return error;
  }
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure('internal', { en: message, zh: message });
}
