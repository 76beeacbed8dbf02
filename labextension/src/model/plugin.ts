import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

import { Client } from '../api/client';
import { IRunsModel, ISiflabClient, SETTINGS_PLUGIN } from '../tokens';
import { RunsModel } from './runs';

export const clientPlugin: JupyterFrontEndPlugin<ISiflabClient> = {
  id: 'siflab:client',
  description: 'The REST API of the siflab server extension.',
  autoStart: true,
  provides: ISiflabClient,
  activate: (app: JupyterFrontEnd) => new Client(app.serviceManager.serverSettings)
};

/** Its id is that of the schema with all settings, menus and toolbar items. */
export const modelPlugin: JupyterFrontEndPlugin<IRunsModel> = {
  id: SETTINGS_PLUGIN,
  description: 'The runs of the user on the Slurm cluster, live.',
  autoStart: true,
  requires: [ISiflabClient],
  provides: IRunsModel,
  activate: (_app: JupyterFrontEnd, client: ISiflabClient) => new RunsModel(client)
};
